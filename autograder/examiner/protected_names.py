"""Which names of the course's a student process must have as the course left them when checks ask it.

Those that checks use, and what these functions read when they are called. A notebook that binds one of them anew would
answer a probe with something else, by accident or not. It stops the curious: a process can still lie.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Sequence

from autograder.examiner.cell_source import inspect_source


@functools.lru_cache(maxsize=64)
def select_kept_names(cells: tuple[tuple[bool, str], ...]) -> tuple[tuple[str, ...], ...]:
    """For each cell the names to keep as they are when it has run; none for a check.

    cells: the course's own, in order: whether it is a check, and its source.
    """
    given = [source for is_check, source in cells if not is_check]
    reads = _find_reads(given)
    bound = frozenset().union(*(_find_bound_names(source) for source in given))
    asked = frozenset().union(*(_find_free_names(source) for is_check, source in cells if is_check))
    wanted: set[str] = set()
    left = set(asked & reads.keys())
    while left:
        name = left.pop()
        wanted.add(name)
        left |= (reads.get(name, frozenset()) & bound) - wanted
    return tuple(() if is_check else tuple(sorted(_find_bound_names(source) & wanted)) for is_check, source in cells)


def _find_bound_names(source: str) -> frozenset[str]:
    cell = inspect_source(source)
    return cell.binds | cell.defines


def _find_free_names(source: str) -> frozenset[str]:
    """Names that this source reads and does not bind."""
    return inspect_source(source).reads - _find_bound_names(source)


def _find_reads(sources: Sequence[str]) -> dict[str, frozenset[str]]:
    """Function or class at the top of a given cell -> the global names in it."""
    found: dict[str, frozenset[str]] = {}
    for source in sources:
        for node in ast.parse(source).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found[node.name] = _find_free_names(ast.unparse(node))
    return found
