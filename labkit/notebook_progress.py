"""Reads a student's progress from the notebooks of a course and the grader's marks, and from nothing else.

A notebook says what its cells are for in `metadata.gradlab`. The verdict of a check is in the output of its cell. Marks
are the grader's latest; see `get_marks_path`.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from labkit.cause import NOT_WRITTEN, Cause
from labkit.cell_digests import digest_source
from labkit.faulty_uses import add_faulty_uses
from labkit.lab_progress import LabProgress, MissedPrediction, WorkItem, WorkKind, WorkState
from labkit.mark_file import ExerciseMark, read_marks
from labkit.quiz_source import parse_letters
from labkit.untrusted_json import DAMAGED, check_number, check_text, read_notebook, read_object
from labkit.verdict import MIME

KEY = "gradlab"
PREDICTION = "gradlab_prediction"  # metadata key of a cell that asks for a prediction
COMPARED = "gradlab_compared"  # metadata key of a quiz's cell: {question: whether its letters were right at first}
MAX_QUESTION = 90  # characters of a prediction's question in a list
REVIEW_DAYS = (1, 3, 7)  # after which a prediction that was once wrong is due again
START = "00_start_here.ipynb"
GLOSSARY = "00_glossary.ipynb"
WORK = (WorkKind.EXERCISE, WorkKind.QUESTION)  # kinds of cell that a student writes
# What Markdown doesn't show: around code, around a formula, before an escaped character, and stars of emphasis.
MARKUP = re.compile(
    r"(?P<ticks>`+)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)|\$(?P<formula>[^\s$](?:[^$]*[^\s$])?)\$(?!\w)"
    r"|\\(?P<escaped>[^\w\s])|(?<![ *])\*+|\*+(?![ *])"
)
FactsAndCell = tuple[Mapping[str, Any], Mapping[str, Any]]  # what the course says about a cell, and the cell


def read_progress(folder: Path) -> list[LabProgress]:
    """Read the labs in this folder, each at NAME/NAME.ipynb, in order. Notebooks that aren't labs are skipped."""
    labs = []
    for path in sorted(path for path in folder.glob("*/*.ipynb") if path.stem == path.parent.name):
        # A damaged lab must not keep the others out of the panel.
        with contextlib.suppress(*DAMAGED):
            labs.append(parse_progress(read_notebook(path), path.relative_to(folder).as_posix(), read_marks(path)))
    return [lab for lab in labs if lab]


def parse_progress(notebook: Mapping[str, Any], path: str, marks: Mapping[str, ExerciseMark]) -> LabProgress | None:
    """Return the progress in one notebook; None if it isn't a lab.

    Raises one of DAMAGED if a fact in the notebook is missing, or has a type that a page can't show.

    Args:
        notebook: The notebook as JSON.
        marks: Those of its exercises, by name.
    """
    lab = notebook.get("metadata", {}).get(KEY, {})
    if "lab" not in lab:
        return None
    cells = [(cell.get("metadata", {}).get(KEY, {}), cell) for cell in notebook.get("cells", [])]
    written = _find_written(cells)
    # Of a copied check, the first one counts.
    checks = {facts["exercise"]: (facts, cell) for facts, cell in reversed(cells) if facts.get("kind") == "check"}
    quizzes = {facts["exercise"] for facts, _ in cells if facts.get("kind") == "prose" and facts.get("exercise")}
    work = tuple(
        _build_work(
            check_text(name),
            WorkKind.QUIZ if name in quizzes else WorkKind(facts["kind"]),
            facts,
            cell,
            checks.get(name),
            marks.get(name),
        )
        for name, (facts, cell) in written.items()
    )
    work = add_faulty_uses(work, {name: _join_source(cell) for name, (_, cell) in written.items()})
    has_work = any(each.state is not WorkState.UNTOUCHED for each in work)
    begun = has_work or any(_has_been_used(cell) for _, cell in cells)
    return LabProgress(
        name=check_text(lab["lab"]),
        title=check_text(lab["title"]),
        path=path,
        minutes=int(check_number(lab["minutes"])),
        needs=tuple(check_text(each) for each in lab["needs"]),
        milestone=check_text(lab.get("milestone", "")),
        accuracy=check_number(lab.get("accuracy", 0)),
        work=work,
        missed=_find_missed(cells),
        begun=begun,
    )


def _find_written(cells: Iterable[FactsAndCell]) -> dict[str, FactsAndCell]:
    """Return the cell of each exercise or question, by name.

    Of several cells for one, it's the last one that was changed: the grader runs them all.
    """
    written: dict[str, FactsAndCell] = {}
    for facts, cell in cells:
        if facts.get("kind") not in WORK:
            continue
        is_stub = _join_source(cell).strip() == str(facts.get("stub", "")).strip()
        if not is_stub or facts["exercise"] not in written:
            written[facts["exercise"]] = facts, cell
    return written


def _has_been_used(cell: Mapping[str, Any]) -> bool:
    return bool(cell.get("execution_count")) or PREDICTION in cell.get("metadata", {})


def _find_missed(cells: Iterable[FactsAndCell]) -> tuple[MissedPrediction, ...]:
    today = date.today()
    return tuple(
        MissedPrediction(check_text(facts["exercise"]), _read_question(cell))
        for facts, cell in cells
        if facts.get("kind") == "predict" and _is_due(cell["metadata"].get(PREDICTION, {}), today)
    )


def _read_question(cell: Mapping[str, Any]) -> str:
    """Return how a prediction's question begins, without its markup."""
    paragraph = _join_source(cell).partition("\n\n")[0].replace("**Predict.**", "")
    words = MARKUP.sub(_drop_markup, " ".join(paragraph.split()))
    return words if len(words) <= MAX_QUESTION else f"{words[:MAX_QUESTION].rsplit(' ', 1)[0]} …"


def _drop_markup(part: re.Match[str]) -> str:
    return (part["code"] or part["formula"] or part["escaped"] or "").strip()


def _is_due(prediction: Mapping[str, Any], today: date) -> bool:
    """Return whether a prediction is due again: at once if wrong, and REVIEW_DAYS after right ones if once wrong.

    Args:
        prediction: {"given", "right", "missed": whether it was ever wrong, "again": how often it was right since,
            "on": the date of the latest}.
    """
    right_count = int(prediction.get("again", 0))
    if not prediction.get("right", True):
        return True
    if not prediction.get("missed") or right_count > len(REVIEW_DAYS):
        return False
    with contextlib.suppress(ValueError):
        return (today - date.fromisoformat(str(prediction.get("on", "")))).days >= REVIEW_DAYS[right_count - 1]
    return False


def _build_work(
    name: str,
    kind: WorkKind,
    facts: Mapping[str, Any],
    cell: Mapping[str, Any],
    check: Any,
    mark: ExerciseMark | None,
) -> WorkItem:
    """Build the state of one exercise or question. A verdict or mark counts only if the text hasn't changed since."""
    text = _join_source(cell)
    source = digest_source(text)
    points = check_number(check[0].get("points", 0.0) if check else facts.get("points", 0.0))
    verdict = _find_verdict(check[1]) if check else {}
    outcomes = verdict.get("checks", []) if verdict.get("source") == source else []
    passed = sum(bool(outcome.get("passed")) for outcome in outcomes)
    stale = verdict.get("source", source) not in ("", source)
    level = check_text(facts.get("level") or "")
    work = WorkItem(name, kind, WorkState.WRITTEN, points, stale=stale, level=level, tries=mark.tries if mark else 0)
    questions, answered = _read_answer_counts(text, facts)
    compared = cell.get("metadata", {}).get(COMPARED, {})
    work = replace(work, title=check_text(facts.get("title", "")), questions=questions, answered=answered)
    work = replace(work, compared=len(compared), first_right=sum(map(bool, compared.values())))
    stub = facts.get("stub", "")
    if mark and mark.source not in (source, digest_source(stub)) and not work.is_practice:
        work = replace(work, earned_before=float(mark.points))
    if text.strip() == stub.strip():
        return replace(work, state=WorkState.UNTOUCHED)
    if mark and mark.source == source:
        work = replace(work, hidden=mark.hidden, another_way=mark.another_way)
        if not work.is_practice:
            return replace(work, state=WorkState.MARKED, earned=float(mark.points), passed=passed, checks=len(outcomes))
        if not all(finding.passed for finding in mark.hidden):
            return replace(work, state=WorkState.FAILING, passed=passed, checks=len(outcomes))
    if not outcomes or all(_is_blank(outcome) for outcome in outcomes):
        return work
    # The visible check of a quiz looks only at its form: passing it says nothing about the letters.
    success = WorkState.WRITTEN if kind is WorkKind.QUIZ else WorkState.PASSING
    state = success if passed == len(outcomes) else WorkState.FAILING
    return replace(work, state=state, passed=passed, checks=len(outcomes))


def _read_answer_counts(text: str, facts: Mapping[str, Any]) -> tuple[int, int]:
    """Count a quiz's questions, and those with letters; neither if the student computes the letters."""
    questions, letters = int(check_number(facts.get("questions", 0))), parse_letters(text)
    is_stub = text.strip() == facts.get("stub", "").strip()
    if letters is None and not is_stub:
        return 0, 0
    return questions, min(questions, sum(map(bool, (letters or {}).values())))


def _is_blank(outcome: Mapping[str, Any]) -> bool:
    """Return whether the exercise was still untouched. A card written by an earlier version says so only in words."""
    return bool(outcome.get("cause", "") == Cause.UNWRITTEN or outcome.get("seen") == NOT_WRITTEN)


def digest_sources(notebook: Mapping[str, Any]) -> dict[str, str]:
    """Return the digest of each exercise's or question's cell, by name, from a notebook as JSON."""
    cells = [(cell.get("metadata", {}).get(KEY, {}), cell) for cell in notebook.get("cells", [])]
    return {name: digest_source(_join_source(cell)) for name, (_, cell) in _find_written(cells).items()}


@dataclass(frozen=True)
class StartPage:
    """What the course's start page says about it; empty if there is no such page."""

    title: str = ""
    about: str = ""
    """What the course does for a student, in a sentence or two."""


def read_start_page(folder: Path) -> StartPage:
    """Read the start page in this folder."""
    with contextlib.suppress(*DAMAGED):
        facts = read_object(folder / START)["metadata"][KEY]
        return StartPage(check_text(facts["title"]), check_text(facts.get("about", "")))
    return StartPage()


def _join_source(cell: Mapping[str, Any]) -> str:
    source = cell.get("source", "")
    return "".join(source) if isinstance(source, list) else str(source)


def _find_verdict(cell: Mapping[str, Any]) -> Mapping[str, Any]:
    for output in cell.get("outputs", []):
        verdict = output.get("data", {}).get(MIME) if isinstance(output, dict) else None
        if isinstance(verdict, dict):
            return verdict
    return {}
