"""What the source of one cell shows: the names that it binds, reads and writes into, and whether it may do more."""

from __future__ import annotations

import ast
import functools
import symtable
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from autograder.examiner.pure_cells import is_immutable, is_pure
from autograder.examiner.writes import find_root_name, find_written_target, list_top_level

MAX_SOURCE = 20_000  # characters; a longer cell may do anything
MAX_DEPTH = 100  # of its syntax tree, for what follows it by recursion; a long formula has 30
COMPREHENSIONS = ("listcomp", "dictcomp", "setcomp", "genexpr")


@dataclass(frozen=True)
class CellSource:
    """What the source of a cell shows.

    binds: names that it gives to values. constants: those of them whose values nothing can write into. defines: names
    that it gives to functions, classes and modules. reads: global names in it. recalls: those that its functions read
    when they are called. writes: names into whose values it writes. is_pure: it keeps and reaches nothing else.
    """

    binds: frozenset[str] = frozenset()
    constants: frozenset[str] = frozenset()
    defines: frozenset[str] = frozenset()
    reads: frozenset[str] = frozenset()
    recalls: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()
    is_pure: bool = False


@functools.lru_cache(maxsize=1024)
def inspect_source(source: str) -> CellSource:
    """What this source shows; that it may do anything if it isn't Python alone, or too large or deep to be followed.

    A student wrote it, so nothing here takes longer than in proportion to its length.
    """
    if len(source) > MAX_SOURCE:
        return CellSource()
    try:
        return _read_source(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return CellSource()


def _read_source(source: str) -> CellSource:
    """What this source shows. Raises what Python's parser raises, and RecursionError when it is too deep."""
    tree = ast.parse(source)
    _refuse_depth(tree)
    table = symtable.symtable(source, "<cell>", "exec")
    symbols = table.get_symbols()
    bound = frozenset(s.get_name() for s in symbols if s.is_assigned() or s.is_imported() or s.is_namespace())
    nodes = list_top_level(tree)
    given_values = frozenset(
        node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    ) | frozenset(node.name for node in nodes if isinstance(node, ast.ExceptHandler) and node.name)
    inside, outside = frozenset(_iter_globals(table, functions=True)), frozenset(_iter_globals(table, functions=False))
    read = frozenset(s.get_name() for s in symbols if s.is_referenced()) | inside | outside
    writes = [find_root_name(target) for target in map(find_written_target, nodes) if target]
    return CellSource(
        binds=bound & given_values,
        constants=_find_constants(tree, nodes) & bound & given_values,
        defines=bound - given_values,
        reads=read,
        recalls=inside,
        writes=frozenset(filter(None, writes)),
        is_pure=all(writes) and is_pure(tree, nodes, inside),
    )


def _refuse_depth(tree: ast.Module) -> None:
    level: list[ast.AST] = [tree]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    if level:
        raise RecursionError


def _iter_globals(table: symtable.SymbolTable, functions: bool) -> Iterator[str]:
    """Global names in functions and classes, or in the comprehensions outside of them, which have a scope too."""
    for child in table.get_children():
        if functions or child.get_name() in COMPREHENSIONS:
            if not (functions and table.get_type() == "module" and child.get_name() in COMPREHENSIONS):
                yield from (s.get_name() for s in child.get_symbols() if s.is_global())
            yield from _iter_globals(child, functions)


def _find_constants(tree: ast.Module, nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Names that the cell binds once, by a statement of its own, to a value without a part that can be changed."""
    once = Counter(node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load))
    found = {
        statement.targets[0].id
        for statement in tree.body
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
        if len(statement.targets) == 1 and is_immutable(statement.value)
    }
    return frozenset(name for name in found if once[name] == 1)
