"""Reads the answers of an exercise: right, wrong and lying ones, and mutants equivalent to the solution."""

from __future__ import annotations

from collections.abc import Sequence

from autograder.authoring.exercise_file import EQUIVALENT_MUTANT
from autograder.authoring.raw_cells import RawCell
from autograder.authoring.syntax_trees import parse_source
from autograder.base.errors import SourceError
from autograder.model.answer import Answer, AnswerKind
from autograder.model.course import Check

FORM = "'# %% right \"label\"', '# %% wrong \"label\" fails=id,id raises=Type' or '# %% liar \"label\"'"
EQUIVALENT = "'# %% equivalent \"the mutant as prove --mutate prints it\"', with the reason in comments below"


def read_answers(
    raw_cells: Sequence[RawCell], exercise: str, checks: Sequence[Check]
) -> tuple[tuple[Answer, ...], dict[str, str]]:
    """Return the answers, and the reason for each mutant that is equivalent to the solution.

    Args:
        exercise: The exercise's name.
        checks: The checks that `fails=` may name.
    """
    answers = tuple(_parse_answer(raw, exercise, checks) for raw in raw_cells if raw.words != [EQUIVALENT_MUTANT])
    return answers, {raw.label: _parse_reason(raw) for raw in raw_cells if raw.words == [EQUIVALENT_MUTANT]}


def _parse_reason(raw: RawCell) -> str:
    reason = " ".join(line.lstrip("# ") for line in raw.source.splitlines()).strip()
    if not reason:
        raise SourceError(raw.path, raw.line, "an equivalent mutant needs its reason", f"write {EQUIVALENT}")
    return reason


def _parse_answer(raw: RawCell, exercise: str, checks: Sequence[Check]) -> Answer:
    """Build the answer of a cell. Raises SourceError if its header or its code isn't valid."""
    kind = AnswerKind(raw.words[0])
    if set(raw.options) - {"fails", "raises"} or (kind is not AnswerKind.WRONG and raw.options):
        raise SourceError(raw.path, raw.line, "can't read this header", f"write {FORM}")
    ids = [check.id for check in checks]
    fails = tuple(filter(None, raw.options.get("fails", "").split(",")))
    if unknown := [name for name in fails if name not in ids]:
        raise SourceError(
            raw.path,
            raw.line,
            f"no check {unknown[0]!r} of {exercise}",
            f"it has {', '.join(ids)}; gradlab prove --update writes this list",
        )
    try:
        parse_source(raw.source)
    except SyntaxError as error:
        line = raw.first_line + (error.lineno or 1) - 1
        raise SourceError(raw.path, line, f"not valid Python: {error.msg}", "correct this line") from None
    return Answer(
        exercise=exercise,
        kind=kind,
        label=raw.label,
        source=raw.source,
        path=raw.path,
        line=raw.line,
        fails=fails,
        raises=raw.options.get("raises", ""),
    )
