"""Refuses checks that trust a student's process: that inspect a value too early, or rely on what it reports."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from autograder.authoring.checks import is_check
from autograder.authoring.syntax_trees import parse_source
from autograder.authoring.taint import find_early_uses
from autograder.base.errors import SourceError
from autograder.model.course import Cell, CellKind, Exercise, StepKind

# labkit's probes that report counts and bytes of their own process, which the examiner can't recompute.
MEASURES = {
    "live_bytes",
    "on_second_device",
    "derivatives",
    "operations",
    "saved",
    "saved_bytes",
}


# Modules and functions that read a file format, in which the file's author chooses sizes and numbers.
READERS = {"bz2", "gzip", "lzma", "marshal", "pickle", "shelve", "tarfile", "zipfile", "zlib"}
READING = {"np.load", "numpy.load", "torch.export.load", "torch.jit.load", "torch.load"}


def find_given_probes(cells: Iterable[Cell]) -> list[str]:
    """Return the names of functions in given cells that run in the student's process."""
    nodes = [
        node for cell in cells if cell.kind.traits.step is StepKind.GIVEN for node in parse_source(cell.source).body
    ]
    return [node.name for node in nodes if isinstance(node, ast.FunctionDef) and is_probe(node)]


def is_probe(node: ast.stmt) -> bool:
    """Return whether this is a function that runs in the student's process."""
    return isinstance(node, ast.FunctionDef) and any(
        "probe" in ast.unparse(decorator) for decorator in node.decorator_list
    )


def refuse_trusting_checks(cells: Sequence[Cell], exercises: Sequence[Exercise]) -> None:
    """Raise SourceError for the first check that trusts a student's process."""
    student_names = {*find_given_probes(cells), *(e.name for e in exercises)}
    by_id = {cell.id: cell for cell in cells}
    _refuse_file_reads(cells)
    for exercise in exercises:
        cell = by_id[exercise.check_id]
        nodes = [n for n in parse_source(cell.source).body if isinstance(n, ast.With) and is_check(n)]
        for check, node in zip(exercise.checks, nodes, strict=True):
            for line, use in find_early_uses(node, student_names):
                raise SourceError(
                    cell.path,
                    cell.get_line(line),
                    f"a value from the student's process is used before it was compared as a whole: {use}",
                    "first compare all of it with everything expected: assert_close(got, [want] * n), got == want",
                )
            if not check.observed and (line := _find_measure(node, student_names)):
                raise SourceError(
                    cell.path,
                    cell.get_line(line),
                    "a check relies on what the student's process says about itself",
                    "write observed=True, or let the examiner see it: pass in its own function, and count the calls",
                )


def _refuse_file_reads(cells: Sequence[Cell]) -> None:
    """Refuse checks that read a file, also in a given function, since a student's bytes could fill the memory."""
    given = {
        node.name: (cell, node)
        for cell in cells
        if cell.kind.traits.step is StepKind.GIVEN
        for node in parse_source(cell.source).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not is_probe(node)
    }
    waiting: list[tuple[Cell, ast.AST]] = [
        (cell, node)
        for cell in cells
        if cell.kind is CellKind.CHECK
        for node in parse_source(cell.source).body
        if not is_probe(node)
    ]
    while waiting:
        cell, node = waiting.pop()
        for inner in ast.walk(node):
            if isinstance(inner, ast.Attribute):
                if ast.unparse(inner) in READING or ast.unparse(inner.value) in READERS:
                    raise SourceError(
                        cell.path,
                        cell.get_line(inner.lineno),
                        f"a check reads a file in the grader: {ast.unparse(inner)}",
                        "let a probe read it in the student's process, and compare the values that it returns",
                    )
            elif isinstance(inner, ast.Name) and inner.id in given:
                waiting.append(given.pop(inner.id))


def _find_measure(check: ast.With, student_names: set[str]) -> int:
    """Return the line of the first count or size that only the student process can report; 0 if there is none."""
    for node in ast.walk(check):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in MEASURES:
            names = {n.id for arg in node.args for n in ast.walk(arg) if isinstance(n, ast.Name)}
            if ast.unparse(node.func.value) == "probes" and names & student_names:
                return node.lineno
    return 0
