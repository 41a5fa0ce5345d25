"""The course names that are restored in a student process before checks call it.

These are the names that checks use, and those that their functions read when called. A notebook that rebinds one would
answer a probe with something else, by accident or not. This stops only casual tampering: a process can still lie.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Sequence

from autograder.cell_analysis.cell_source import inspect_source


@functools.lru_cache(maxsize=64)
def select_protected_names(cells: tuple[tuple[bool, str], ...]) -> tuple[tuple[str, ...], ...]:
    """Return, for each cell, the names to restore as they are after it has run; none for a check.

    Args:
        cells: The cells of the course in order: whether each is a check, and its source.
    """
    given = [source for is_check, source in cells if not is_check]
    reads = _find_reads(given)
    bound = frozenset().union(*(_find_bound_names(source) for source in given))
    used = frozenset().union(*(_find_free_names(source) for is_check, source in cells if is_check))
    protected: set[str] = set()
    left = set(used & reads.keys())
    while left:
        name = left.pop()
        protected.add(name)
        left |= (reads.get(name, frozenset()) & bound) - protected
    return tuple(() if is_check else tuple(sorted(_find_bound_names(source) & protected)) for is_check, source in cells)


def _find_bound_names(source: str) -> frozenset[str]:
    cell = inspect_source(source)
    return cell.binds | cell.defines


def _find_free_names(source: str) -> frozenset[str]:
    """Return the names that this source reads but doesn't bind."""
    return inspect_source(source).reads - _find_bound_names(source)


def _find_reads(sources: Sequence[str]) -> dict[str, frozenset[str]]:
    """Return the global names in each top-level function or class of the given cells, by its name."""
    reads: dict[str, frozenset[str]] = {}
    for source in sources:
        for node in ast.parse(source).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                reads[node.name] = _find_free_names(ast.unparse(node))
    return reads
