"""Reads the file of an exercise: given cells, stub and solution, checks, and the answers that prove them."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

from autograder.authoring.raw_cells import RawCell, read_cells
from autograder.authoring.regions import MARKER
from autograder.authoring.syntax_trees import parse_source
from autograder.base.errors import SourceError
from autograder.model.answer import AnswerKind
from autograder.model.course import Cell

EQUIVALENT_MUTANT = "equivalent"
ANSWERS = (*AnswerKind, EQUIVALENT_MUTANT)  # the first words of their headers
ORDER = ("given", "exercise", "promises", "domain", "checks", "hidden checks", "answers")
SINGLE = ("exercise", "promises", "domain", "checks", "hidden checks")
FORM = (
    "write its cells in this order: '# %% given' (helpers, if any), '# %% exercise', '# %% promises', '# %% domain', "
    "'# %% checks', '# %% hidden checks', and answers: '# %% right \"label\"', '# %% wrong \"label\" fails=id,id', "
    "'# %% liar \"label\"', '# %% equivalent \"mutant\"'"
)


@dataclass(frozen=True)
class ExerciseFile:
    """The cells of an exercise's file, by purpose."""

    given: list[RawCell]
    exercise: RawCell
    promises: RawCell
    domain: RawCell | None
    """None if no inputs are drawn: its cell then says why."""
    checks: RawCell
    hidden: RawCell | None
    """None if there are no hidden checks."""
    answers: list[RawCell]


def read_exercise_file(text: str, path: Path) -> ExerciseFile:
    """Read the file. Raises SourceError if a cell is missing, of an unknown kind, or in the wrong place."""
    parts: dict[str, list[RawCell]] = {part: [] for part in ORDER}
    last = ORDER[0]
    for raw in read_cells(text, path):
        part = _parse_part(raw)
        if ORDER.index(part) < ORDER.index(last):
            raise SourceError(path, raw.line, f"{part} below {last}", FORM)
        if part in SINGLE and parts[part]:
            raise SourceError(path, raw.line, f"a second cell '# %% {part}'", "join the two")
        _refuse_markers_of_checks(raw, part)
        parts[part].append(raw)
        last = part
    for part in ("exercise", "promises", "domain", "checks"):
        if not parts[part]:
            raise SourceError(path, 1, f"this file has no cell '# %% {part}'", FORM)
    domain = _find_code(parts["domain"][0])
    if domain and not parts["hidden checks"]:
        raise SourceError(path, domain.line, "a domain without hidden checks", "try it out in hidden checks")
    return ExerciseFile(
        given=parts["given"],
        exercise=parts["exercise"][0],
        promises=parts["promises"][0],
        domain=domain,
        checks=parts["checks"][0],
        hidden=parts["hidden checks"][0] if parts["hidden checks"] else None,
        answers=parts["answers"],
    )


def _find_code(domain: RawCell) -> RawCell | None:
    """Return the cell, or None if it's a comment. Raises SourceError if it's empty."""
    lines = [line for line in domain.source.splitlines() if line.strip()]
    if not lines:
        fix = "declare the arguments with @domain, or say in a comment why they can't be drawn"
        raise SourceError(domain.path, domain.line, "an empty domain", fix)
    return None if all(line.startswith("#") for line in lines) else domain


def _refuse_markers_of_checks(raw: RawCell, part: str) -> None:
    for line, text in zip(raw.line_numbers, raw.source.split("\n"), strict=True):
        if part in ("checks", "hidden checks") and MARKER.match(text):
            raise SourceError(raw.path, line, "a marker among checks", "write hidden checks below '# %% hidden checks'")


def _parse_part(raw: RawCell) -> str:
    words = " ".join(raw.words)
    if not raw.markdown:
        if words in ANSWERS and raw.label:
            return "answers"
        if words in ORDER[:-1] and not raw.label and not raw.options:
            return words
    raise SourceError(raw.path, raw.line, "unknown kind of cell in an exercise", FORM)


def find_parameters(cell: Cell) -> tuple[str, ...]:
    """Return the parameters of the function that an exercise defines; () for a class."""
    for node in parse_source(cell.source).body:
        if isinstance(node, ast.ClassDef) and node.name == cell.name:
            return ()
        if isinstance(node, ast.FunctionDef) and node.name == cell.name:
            a = node.args
            args = [*a.posonlyargs, *a.args, *filter(None, [a.vararg]), *a.kwonlyargs, *filter(None, [a.kwarg])]
            return tuple(arg.arg for arg in args)
    raise SourceError(
        cell.path, cell.line, f"the exercise does not define {cell.name!r}", f"write 'def {cell.name}(...)' or a class"
    )
