"""Refuses checks that believe a student's process: that look into a value too early, or rest on its own word."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from autograder.authoring.checks import is_check
from autograder.authoring.taint import uses_before_comparison
from autograder.course import Cell, Exercise
from autograder.errors import SourceError

# Probes of labkit's that tell counts and bytes of the process that they run in. Nothing can be computed from these.
MEASURES = {
    "compilations",
    "forwards",
    "graph_breaks",
    "live_bytes",
    "on_second_device",
    "operations",
    "saved",
    "saved_bytes",
}


def given_probes(cells: Iterable[Cell]) -> list[str]:
    """Functions of given cells that run in the student's process."""
    nodes = [node for cell in cells if cell.kind.traits.step == "given" for node in ast.parse(cell.source).body]
    return [node.name for node in nodes if isinstance(node, ast.FunctionDef) and is_probe(node)]


def is_probe(function: ast.FunctionDef) -> bool:
    return any("probe" in ast.unparse(decorator) for decorator in function.decorator_list)


def refuse_trust(cells: Sequence[Cell], exercises: Sequence[Exercise]) -> None:
    """Raises SourceError at the first place."""
    asked = {*given_probes(cells), *(e.name for e in exercises)}
    by_id = {cell.id: cell for cell in cells}
    for exercise in exercises:
        cell = by_id[exercise.check_id]
        nodes = [n for n in ast.parse(cell.source).body if isinstance(n, ast.With) and is_check(n)]
        for check, node in zip(exercise.checks, nodes, strict=True):
            for line, what in uses_before_comparison(node, asked):
                raise SourceError(
                    cell.path,
                    cell.line_of(line),
                    f"a look into a value from the student's process before the whole of it was compared: {what}",
                    "compare all of it with all that is wanted first: assert_close(got, [want] * n), got == want",
                )
            if not check.observed and (line := _measured(node, asked)):
                raise SourceError(
                    cell.path,
                    cell.line_of(line),
                    "a check that rests on what the student's process says of itself",
                    "write observed=True, or see it from here: pass a function of the check's own, and count its calls",
                )


def _measured(check: ast.With, asked: set[str]) -> int:
    """The line of the first count or size that a student's process is asked for, or 0."""
    for node in ast.walk(check):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in MEASURES:
            names = {n.id for arg in node.args for n in ast.walk(arg) if isinstance(n, ast.Name)}
            if ast.unparse(node.func.value) == "probes" and names & asked:
                return node.lineno
    return 0
