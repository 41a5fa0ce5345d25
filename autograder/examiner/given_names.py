"""Which names of the course's a student process must have as the course left them when checks ask it.

Those that checks use, and what these functions read when they are called. A notebook that binds one of them anew would
answer a probe with something else, by accident or not. It stops the curious: a process can still lie.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Sequence

from autograder.examiner.cell_source import look_at


@functools.lru_cache(maxsize=64)
def names_to_keep(cells: tuple[tuple[bool, str], ...]) -> tuple[tuple[str, ...], ...]:
    """For each cell the names to keep as they are when it has run; none for a check.

    cells: the course's own, in order: whether it is a check, and its source.
    """
    given = [source for is_check, source in cells if not is_check]
    reads = _reads(given)
    bound = frozenset().union(*(_bound(source) for source in given))
    asked = frozenset().union(*(_not_its_own(source) for is_check, source in cells if is_check))
    wanted: set[str] = set()
    left = set(asked & reads.keys())
    while left:
        name = left.pop()
        wanted.add(name)
        left |= (reads.get(name, frozenset()) & bound) - wanted
    return tuple(() if is_check else tuple(sorted(_bound(source) & wanted)) for is_check, source in cells)


def _bound(source: str) -> frozenset[str]:
    cell = look_at(source)
    return cell.binds | cell.defines


def _not_its_own(source: str) -> frozenset[str]:
    """Names that this source reads and does not bind."""
    return look_at(source).reads - _bound(source)


def _reads(sources: Sequence[str]) -> dict[str, frozenset[str]]:
    """Function or class at the top of a given cell -> the global names in it."""
    found: dict[str, frozenset[str]] = {}
    for source in sources:
        for node in ast.parse(source).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found[node.name] = _not_its_own(ast.unparse(node))
    return found
