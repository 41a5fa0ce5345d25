"""Earlier exercises that an answer uses and that aren't right yet: a fault of theirs can be why it fails."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace

from labkit.lab_progress import WorkItem, WorkKind, WorkState


def add_faulty_uses(work: Sequence[WorkItem], sources: Mapping[str, str]) -> tuple[WorkItem, ...]:
    """Return a lab's work, in its order, with the faulty exercises that each failing one uses.

    Args:
        sources: The student's text by exercise.
    """
    faulty: list[str] = []
    found = []
    for item in work:
        is_wrong = item.state is WorkState.FAILING or (item.state is WorkState.MARKED and not item.is_full)
        used = _find_names(sources[item.name]) if is_wrong else set()
        found.append(replace(item, faulty_uses=tuple(name for name in faulty if name in used)))
        if item.kind is WorkKind.EXERCISE and (is_wrong or item.state is WorkState.UNTOUCHED):
            faulty.append(item.name)
    return tuple(found)


def _find_names(source: str) -> set[str]:
    try:
        nodes = ast.walk(ast.parse(source))
    except (SyntaxError, ValueError, RecursionError):
        return set()
    return {node.id for node in nodes if isinstance(node, ast.Name)}
