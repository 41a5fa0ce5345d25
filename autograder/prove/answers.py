"""Reads a lab's answers.py: right, wrong and lying answers, and mutants that are equivalent to the reference."""

from __future__ import annotations

import ast
from pathlib import Path

from autograder.build.cells import RawCell, read_cells
from autograder.course import Answer, Lab
from autograder.errors import SourceError

FORM = (
    '\'# %% right: NAME "label"\', \'# %% wrong: NAME "label" fails="check | other check" raises=Type\' '
    "or '# %% liar: NAME \"label\"'"
)
EQUIVALENT = "'# %% equivalent: NAME \"the mutant as prove --mutate prints it\"', with the reason in comments below"


def read_answers(lab: Lab) -> tuple[list[Answer], dict[tuple[str, str], str]]:
    """(answers, reasons): a reason says why a mutant, by (exercise, description), is equivalent to the reference."""
    path = lab.path / "answers.py"
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise SourceError(path, 1, f"lab {lab.name} has no answers", f"write {FORM}") from None
    answers: list[Answer] = []
    reasons: dict[tuple[str, str], str] = {}
    for raw in read_cells(text, path):
        if len(raw.words) != 2 or not raw.label:
            raise SourceError(path, raw.line, "this header says no answer", f"write {FORM}")
        _refuse_unknown_exercise(raw, lab, path)
        if raw.words[0] == "equivalent:":
            reason = " ".join(line.lstrip("# ") for line in raw.source.splitlines()).strip()
            if not reason:
                raise SourceError(path, raw.line, "an equivalent mutant needs its reason", f"write {EQUIVALENT}")
            reasons[raw.words[1], raw.label] = reason
        else:
            answers.append(_answer(raw, lab, path))
    return answers, reasons


def _refuse_unknown_exercise(raw: RawCell, lab: Lab, path: Path) -> None:
    names = [e.name for e in lab.exercises]
    if raw.words[1] not in names:
        raise SourceError(path, raw.line, f"no exercise {raw.words[1]!r} in this lab", f"it has {', '.join(names)}")


def _answer(raw: RawCell, lab: Lab, path: Path) -> Answer:
    verdict, name = raw.words[0].removesuffix(":"), raw.words[1]
    unknown = set(raw.options) - {"fails", "raises"}
    if verdict not in ("right", "wrong", "liar") or unknown or (verdict != "wrong" and raw.options):
        raise SourceError(path, raw.line, "cannot read this header", f"write {FORM}")
    labels = [c.label for c in lab.exercise(name).checks]
    fails = tuple(label.strip() for label in raw.options.get("fails", "").split("|") if label.strip())
    if verdict == "wrong" and not fails:
        raise SourceError(path, raw.line, "a wrong answer must say which checks fail", f"write {FORM}")
    for label in fails:
        if label not in labels:
            raise SourceError(path, raw.line, f"no check {label!r} of {name}", f"its checks are: {' | '.join(labels)}")
    try:
        ast.parse(raw.source)
    except SyntaxError as error:
        line = raw.first_line + (error.lineno or 1) - 1
        raise SourceError(path, line, f"not valid Python: {error.msg}", "correct this line") from None
    return Answer(
        exercise=name,
        right=verdict == "right",
        label=raw.label,
        source=raw.source,
        path=path,
        line=raw.line,
        fails=fails,
        raises=raw.options.get("raises", ""),
        liar=verdict == "liar",
    )
