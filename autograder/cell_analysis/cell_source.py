"""Static analysis of one cell: the names that it binds, reads and writes into, and whether it may do more."""

from __future__ import annotations

import ast
import functools
import symtable
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from autograder.cell_analysis.pure_cells import is_immutable, is_pure
from autograder.cell_analysis.write_targets import find_root_name, find_written_target, list_top_level

MAX_SOURCE = 20_000  # characters; a longer cell may do anything
MAX_DEPTH = 100  # of its syntax tree, for functions that recurse; a long formula has 30
COMPREHENSIONS = ("listcomp", "dictcomp", "setcomp", "genexpr")


@dataclass(frozen=True)
class NameUse:
    """The names that a cell's source uses."""

    binds: frozenset[str] = frozenset()
    """Names of values."""
    constants: frozenset[str] = frozenset()
    """The names in `binds` whose values nothing can write into."""
    defines: frozenset[str] = frozenset()
    """Names of functions, classes and modules."""
    reads: frozenset[str] = frozenset()
    """Global names."""
    recalls: frozenset[str] = frozenset()
    """Global names that its functions read when they are called."""
    writes: frozenset[str] = frozenset()
    """Names whose values it writes into."""
    is_pure: bool = False
    """Whether it keeps and reaches nothing else."""


@functools.lru_cache(maxsize=1024)
def inspect_source(source: str) -> NameUse:
    """Return the names in this source. It counts as able to do anything if it isn't only Python, too long or too deep.

    A student wrote it, so the time is proportional to its length.
    """
    if len(source) > MAX_SOURCE:
        return NameUse()
    try:
        return _read_source(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return NameUse()


def _read_source(source: str) -> NameUse:
    """Analyse the source. Raises what Python's parser raises, and RecursionError if it is too deep."""
    tree = ast.parse(source)
    check_depth(tree)
    table = symtable.symtable(source, "<cell>", "exec")
    symbols = table.get_symbols()
    bound = frozenset(s.get_name() for s in symbols if s.is_assigned() or s.is_imported() or s.is_namespace())
    nodes = list_top_level(tree)
    values = frozenset(
        node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    ) | frozenset(node.name for node in nodes if isinstance(node, ast.ExceptHandler) and node.name)
    inside, outside = frozenset(_iter_globals(table, functions=True)), frozenset(_iter_globals(table, functions=False))
    reads = frozenset(s.get_name() for s in symbols if s.is_referenced()) | inside | outside
    writes = [find_root_name(target) for target in map(find_written_target, nodes) if target]
    return NameUse(
        binds=bound & values,
        constants=_find_constants(tree, nodes) & bound & values,
        defines=bound - values,
        reads=reads,
        recalls=inside,
        writes=frozenset(filter(None, writes)),
        is_pure=all(writes) and is_pure(tree, nodes, inside),
    )


def check_depth(tree: ast.Module) -> None:
    """Raise RecursionError if the tree is deeper than MAX_DEPTH."""
    level: list[ast.AST] = [tree]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    if level:
        raise RecursionError


def _iter_globals(table: symtable.SymbolTable, functions: bool) -> Iterator[str]:
    """Yield global names in functions and classes, or in the comprehensions outside them, which have a scope too."""
    for child in table.get_children():
        if functions or child.get_name() in COMPREHENSIONS:
            if not (functions and table.get_type() == "module" and child.get_name() in COMPREHENSIONS):
                yield from (s.get_name() for s in child.get_symbols() if s.is_global())
            yield from _iter_globals(child, functions)


def _find_constants(tree: ast.Module, nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Return names that the cell binds only once, by a plain assignment at the top level, to an immutable value."""
    counts = Counter(node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load))
    names = {
        statement.targets[0].id
        for statement in tree.body
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
        if len(statement.targets) == 1 and is_immutable(statement.value)
    }
    return frozenset(name for name in names if counts[name] == 1)
