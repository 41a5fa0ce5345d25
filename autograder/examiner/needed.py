"""Which given cells a lab's checks depend on. The others, examples to be looked at, need not run beside the checks.

Each cell that binds a name makes a version of it. A check needs the cells that made the versions that it reads, what
those read in turn, and every cell that had such a version in hand, under this name or another: it may have written into
it. Random numbers make no cell depend on another: the builder asks each to seed its own. In doubt a cell is needed: to
run them all is always right.
"""

from __future__ import annotations

import ast
import builtins
import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from autograder.examiner.cell_source import Cell, look_at
from autograder.examiner.exposed import exposed
from autograder.examiner.plain import imported
from autograder.examiner.writes import root_of

# What a cell may leave in the process that no name shows.
FILTERS = frozenset({"filterwarnings", "simplefilter"})
SETTINGS = (*FILTERS, "set_", "register", "use_", "rcParams")
Version = tuple[str, int]  # a name, and the place of the cell that bound it


@dataclass
class Needs:
    """Of one cell. reads: versions that it reads as it runs. touches: those whose values it may write into.

    recalls: for each name that it binds, those that functions in its value may read when they are called.
    """

    reads: set[Version] = field(default_factory=set)
    touches: set[Version] = field(default_factory=set)
    recalls: dict[str, frozenset[str]] = field(default_factory=dict)


@functools.lru_cache(maxsize=64)
def needed(cells: tuple[tuple[bool, str], ...]) -> frozenset[int]:
    """The places of the given cells that a check depends on, or that change a setting.

    cells: of the lab, in order: whether it is a check, and its source.
    """
    given = {place: source for place, (is_check, source) in enumerate(cells) if not is_check}
    needs = _needs(cells)
    imported = _imported(given.values())
    touched = _together(need.touches for need in needs)
    found: set[int] = set()
    left = {place for place in range(len(cells)) if place not in given or _changes_a_setting(given[place], imported)}
    while left:
        place = left.pop()
        found.add(place)
        for version in needs[place].reads:
            left |= {version[1], *touched.get(version, ())} - found
    return frozenset(found & given.keys())


def _needs(cells: Sequence[tuple[bool, str]]) -> list[Needs]:
    """What each cell needs, by following the names from the first cell to the last. Checks bind nothing for others."""
    given = [look_at(source) for is_check, source in cells if not is_check]
    values = frozenset(name for cell in given for name in cell.binds)
    fixed = _fixed([source for is_check, source in cells if not is_check])
    known = values.union(*(cell.defines for cell in given), dir(builtins))
    current: dict[str, set[int]] = {}
    needs: list[Needs] = []
    for place, (is_check, source) in enumerate(cells):
        cell, (reads, surely) = look_at(source), exposed(source)
        read = _through_functions(reads | cell.recalls, current, needs)
        need = Needs({(name, at) for name in read for at in current.get(name, ())})
        needs.append(need)
        if is_check:
            continue
        functions = _functions(source, cell)
        kept = cell.recalls.union(*(needs[at].recalls.get(name, ()) for name, at in need.reads))
        need.recalls = dict.fromkeys(cell.binds | cell.defines, kept) | functions
        in_hand = {(name, place) for name in cell.binds} | need.reads
        need.touches = {version for version in in_hand if version[0] in values - fixed | cell.writes}
        if not reads | cell.recalls <= known:
            surely = frozenset()  # an exercise may raise
        for name in cell.binds | cell.defines:
            current[name] = {place} if name in surely else {place, *current.get(name, ())}
    return needs


def _through_functions(names: frozenset[str], current: dict[str, set[int]], needs: list[Needs]) -> set[str]:
    """The names, and those that functions of these names read when they are called."""
    found: set[str] = set()
    left = set(names)
    while left:
        name = left.pop()
        found.add(name)
        left |= frozenset().union(*(needs[place].recalls[name] for place in current.get(name, ()))) - found
    return found


def _functions(source: str, cell: Cell) -> dict[str, frozenset[str]]:
    """The cell's functions and classes that are bound once, and those of the names it recalls that each reads."""
    body = ast.parse(source).body
    made = [node for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    once = [node for node in made if sum(node.name == other.name for other in made) == 1]
    return {
        node.name: cell.recalls.intersection(n.id for n in ast.walk(node) if isinstance(n, ast.Name))
        for node in once
        if node.name not in cell.binds
    }


def _together(groups: Iterable[set[Version]]) -> dict[Version, set[int]]:
    """Version -> the places of the cells that may have it in hand, for values that a cell had in hand at once may be
    kept in one another."""
    member: dict[Version, tuple[set[Version], set[int]]] = {}
    for place, versions in enumerate(groups):
        all_of, places = set(versions), {place} if versions else set()
        for version in versions:
            others, elsewhere = member.get(version, (set(), set()))
            all_of |= others
            places |= elsewhere
        member |= dict.fromkeys(all_of, (all_of, places))
    return {version: places for version, (_, places) in member.items()}


def _fixed(sources: Iterable[str]) -> frozenset[str]:
    """Names that are bound to constants and devices only, which nobody can write into."""
    nodes = [node for source in sources for node in ast.walk(ast.parse(source))]
    fixed = {id(target) for n in nodes if isinstance(n, ast.Assign) and _is_fixed(n.value) for target in n.targets}
    stored = [n for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    return frozenset(n.id for n in stored) - {n.id for n in stored if id(n) not in fixed}


def _is_fixed(node: ast.AST) -> bool:
    match node:
        case ast.Constant():
            return True
        case ast.UnaryOp(operand=operand):
            return _is_fixed(operand)
        case ast.Tuple(elts=items):
            return all(map(_is_fixed, items))
        case ast.Call(func=function):
            return ast.unparse(function) in ("device", "torch.device")
    return False


def _changes_a_setting(source: str, imported: frozenset[str]) -> bool:
    """By the names it uses, of what is imported. What a `with` sets, it sets back."""
    left: list[tuple[ast.AST, tuple[str, ...]]] = [(ast.parse(source), SETTINGS)]
    while left:
        node, settings = left.pop()
        if isinstance(node, ast.With):
            kept = "catch_warnings" in ast.unparse(node.items[0])
            left += [(n, tuple(set(settings) - FILTERS) if kept else settings) for n in node.body]
            continue
        name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
        sets = name == "seed" or any(setting in name for setting in settings)
        if sets and root_of(node) in imported:
            return True
        left += [(child, settings) for child in ast.iter_child_nodes(node)]
    return False


def _imported(sources: Iterable[str]) -> frozenset[str]:
    return frozenset(imported(node for source in sources for node in ast.walk(ast.parse(source))))
