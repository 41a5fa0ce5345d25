"""A student's progress in a course, read only from the notebooks and the grader's marks.

A notebook says what its cells are for in `metadata.gradlab`. The verdict of a check is in the output of its cell. Marks
are the grader's latest; see `get_marks_path`.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import date
from html import escape
from pathlib import Path
from typing import Any

from labkit.blame import NOT_WRITTEN
from labkit.cause import Cause
from labkit.cell_digests import digest_source
from labkit.verdict import MIME

KEY = "gradlab"
UNTOUCHED, WRITTEN, FAILING, PASSING, MARKED = ("untouched", "written", "failing", "passing", "marked")
PREDICTION = "gradlab_prediction"  # metadata key of a cell that asks for a prediction
REVIEW_DAYS = (1, 3, 7)  # after which a prediction that was once wrong is due again
START = "00_start_here.ipynb"
WORK = ("exercise", "question")  # kinds of cell that a student writes
MAX_NUMBER = 1e9  # of points or minutes
MAX_BYTES = 100_000_000  # of a notebook
# Exceptions from reading a damaged notebook.
DAMAGED = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


@dataclass(frozen=True)
class Work:
    """One exercise, quiz or written answer."""

    name: str
    kind: str
    """exercise, quiz or question."""
    state: str
    """One of the five states above. `written` means that no check has run on the present text."""
    points: float
    """What it's worth."""
    earned: float | None = None
    """What the grader gave for the present text, else None."""
    passed: int = 0
    """How many visible checks passed when they last ran on this text."""
    checks: int = 0
    """How many visible checks ran then."""
    stale: bool = False
    """Whether the card in the notebook is about an earlier text."""

    @property
    def done(self) -> bool:
        """Whether no visible work is left: it passes, or it got full marks."""
        if self.state == MARKED:
            return (self.earned or 0.0) >= self.points - 1e-6
        return self.state == PASSING or (self.state == WRITTEN and self.kind != "exercise")

    @property
    def ready(self) -> bool:
        """Whether only the grader's mark is missing. A written answer is marked by a person."""
        return self.done and self.state != MARKED and self.kind != "question"

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"done": self.done}


@dataclass(frozen=True)
class LabProgress:
    """One lab of the course."""

    name: str
    title: str
    path: str
    """The notebook's path, relative to the course's folder."""
    minutes: int
    needs: tuple[str, ...]
    """The labs to do before it."""
    work: tuple[Work, ...]
    missed: tuple[str, ...] = ()
    """The predictions to make again, because they were once wrong."""
    begun: bool = False
    """Whether a cell ran or something was written."""

    @property
    def number(self) -> str:
        return get_number(self.name)

    @property
    def points(self) -> float:
        return sum(work.points for work in self.work)

    @property
    def earned(self) -> float:
        return sum(work.earned or 0.0 for work in self.work)

    @property
    def ready(self) -> int:
        """How many exercises and quizzes are ready to be marked."""
        return sum(work.ready for work in self.work)

    @property
    def next(self) -> str:
        """The first exercise that's neither passing nor fully marked; empty if there is none."""
        return next((work.name for work in self.work if not work.done), "")

    def as_dict(self) -> dict[str, Any]:
        totals = {"number": self.number, "points": self.points, "earned": round(self.earned, 4)}
        totals |= {"ready": self.ready, "next": self.next}
        return asdict(self) | {"work": [work.as_dict() for work in self.work]} | totals


def read_progress(folder: Path) -> list[LabProgress]:
    """Read the labs in this folder, each at NAME/NAME.ipynb, in order. Notebooks that aren't labs are skipped."""
    labs = []
    for path in sorted(path for path in folder.glob("*/*.ipynb") if path.stem == path.parent.name):
        # A damaged lab must not keep the others out of the panel.
        with contextlib.suppress(*DAMAGED):
            labs.append(parse_progress(_read(path), path.relative_to(folder).as_posix(), read_marks(path)))
    return [lab for lab in labs if lab]


def parse_progress(notebook: Mapping[str, Any], path: str, marks: Mapping[str, Any]) -> LabProgress | None:
    """Return the progress in one notebook; None if it isn't a lab.

    Raises one of DAMAGED if a fact in the notebook is missing, or has a type that a page can't show.

    Args:
        notebook: The notebook as JSON.
        marks: Exercise -> {source, points}, as `read_marks` returns them.
    """
    lab = notebook.get("metadata", {}).get(KEY, {})
    if "lab" not in lab:
        return None
    cells = [(cell.get("metadata", {}).get(KEY, {}), cell) for cell in notebook.get("cells", [])]
    written = {facts["exercise"]: (facts, cell) for facts, cell in cells if facts.get("kind") in WORK}
    checks = {facts["exercise"]: (facts, cell) for facts, cell in cells if facts.get("kind") == "check"}
    quizzes = {facts["exercise"] for facts, _ in cells if facts.get("kind") == "prose" and facts.get("exercise")}
    work = tuple(
        _build_work(
            _check_text(name),
            "quiz" if name in quizzes else facts["kind"],
            facts,
            cell,
            checks.get(name),
            marks.get(name, {}),
        )
        for name, (facts, cell) in written.items()
    )
    begun = any(each.state != UNTOUCHED for each in work) or any(_has_been_used(cell) for _, cell in cells)
    name, title, needs = (
        _check_text(lab["lab"]),
        _check_text(lab["title"]),
        tuple(_check_text(each) for each in lab["needs"]),
    )
    return LabProgress(name, title, path, int(_check_number(lab["minutes"])), needs, work, _find_missed(cells), begun)


def _has_been_used(cell: Mapping[str, Any]) -> bool:
    return bool(cell.get("execution_count")) or PREDICTION in cell.get("metadata", {})


def _find_missed(cells: Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> tuple[str, ...]:
    predictions = [
        (facts["exercise"], cell["metadata"].get(PREDICTION, {}))
        for facts, cell in cells
        if facts.get("kind") == "predict"
    ]
    return tuple(_check_text(name) for name, prediction in predictions if _is_due(prediction, date.today()))


def _is_due(prediction: Mapping[str, Any], today: date) -> bool:
    """Return whether a prediction is due again: at once if wrong, and REVIEW_DAYS after right ones if once wrong.

    Args:
        prediction: {given, right, missed: whether it was ever wrong, again: how often it was right since then,
            on: the date of the latest}.
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
    name: str, kind: str, facts: Mapping[str, Any], cell: Mapping[str, Any], check: Any, mark: Mapping[str, Any]
) -> Work:
    text = _join_source(cell)
    source = digest_source(text)
    points = _check_number(check[0]["points"] if check else facts.get("points", 0.0))
    verdict = _find_verdict(check[1]) if check else {}
    outcomes = verdict.get("checks", []) if verdict.get("source") == source else []
    passed = sum(bool(outcome.get("passed")) for outcome in outcomes)
    stale = verdict.get("source", source) not in ("", source)
    if text.strip() == facts.get("stub", "").strip():
        return Work(name, kind, UNTOUCHED, points, stale=stale)
    if mark.get("source") == source:
        return Work(name, kind, MARKED, points, float(mark["points"]), passed, len(outcomes), stale)
    if not outcomes or all(_is_unwritten(outcome) for outcome in outcomes):
        return Work(name, kind, WRITTEN, points, stale=stale)
    # The visible check of a quiz looks only at its form: passing it says nothing about the letters.
    success = WRITTEN if kind == "quiz" else PASSING
    return Work(name, kind, success if passed == len(outcomes) else FAILING, points, None, passed, len(outcomes))


def _is_unwritten(outcome: Mapping[str, Any]) -> bool:
    """Return whether the exercise was still untouched. A card written by an earlier version says so only in words."""
    return bool(outcome.get("cause", "") == Cause.UNWRITTEN or outcome.get("seen") == NOT_WRITTEN)


def get_number(name: str) -> str:
    """Return a lab's number as texts write it: 7 for 07_memory, 7b for 07b_profiler."""
    return name.partition("_")[0].lstrip("0")


def digest_sources(notebook: Mapping[str, Any]) -> dict[str, str]:
    """Return the digest of each exercise's or question's cell, by name, from a notebook as JSON."""
    cells = [(cell.get("metadata", {}).get(KEY, {}), cell) for cell in notebook.get("cells", [])]
    return {facts["exercise"]: digest_source(_join_source(cell)) for facts, cell in cells if facts.get("kind") in WORK}


def get_marks_path(notebook: Path) -> Path:
    """Return where the grader writes a notebook's marks: exercise -> {source: digest of its cell, points}."""
    return notebook.parent.parent / ".gradlab" / f"{notebook.stem}.json"


def get_page_path(notebook: Path) -> Path:
    """Return where the grader writes a notebook's feedback page."""
    return get_marks_path(notebook).with_suffix(".html")


def read_marks(notebook: Path) -> Mapping[str, Any]:
    """Read the marks of the notebook at this path; none if it isn't marked. Malformed entries are skipped."""
    marks = {}
    for name, mark in _read(get_marks_path(notebook)).items():
        with contextlib.suppress(*DAMAGED):
            marks[name] = {"source": _check_text(mark["source"]), "points": _check_number(mark["points"])}
    return marks


def read_title(folder: Path) -> str:
    """Read the course's title from its start page; empty if there is none."""
    with contextlib.suppress(*DAMAGED):
        return _check_text(_read(folder / START)["metadata"][KEY]["title"])
    return ""


def _read(path: Path) -> dict[str, Any]:
    """Read the JSON object in this file; empty if it's missing, damaged, too large, or not a regular file.

    Reading never waits for a pipe.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            is_regular = stat.S_ISREG(status.st_mode) and status.st_size <= MAX_BYTES
            data = json.loads(file.read(MAX_BYTES)) if is_regular else {}
    except (OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def _check_text(value: object) -> str:
    """Return the text. Raises TypeError for anything else, which a page couldn't show."""
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value


def _check_number(value: object) -> float:
    """Return the number. Raises ValueError unless its sums are finite, as JSON for a browser requires."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= MAX_NUMBER:  # so is NaN
        raise ValueError("not a number of points or minutes")
    return value


def _join_source(cell: Mapping[str, Any]) -> str:
    source = cell.get("source", "")
    return "".join(source) if isinstance(source, list) else str(source)


def _find_verdict(cell: Mapping[str, Any]) -> Mapping[str, Any]:
    for output in cell.get("outputs", []):
        verdict = output.get("data", {}).get(MIME) if isinstance(output, dict) else None
        if isinstance(verdict, dict):
            return verdict
    return {}


@dataclass(frozen=True)
class Progress:
    """What `labkit.progress()` shows."""

    labs: tuple[LabProgress, ...]

    def __repr__(self) -> str:
        return "\n".join(_format_line(lab) for lab in self.labs) or "there are no labs here"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": _render_html(self.labs)}


def progress(folder: str = "") -> Progress:
    """Show your progress in the labs of this folder, or of its parent if this is a lab's own folder."""
    path = Path(folder or ".").resolve()
    return Progress(tuple(read_progress(path) or read_progress(path.parent)))


def _format_line(lab: LabProgress) -> str:
    done_count = sum(work.done for work in lab.work)
    marked = f", {lab.earned:g} of {lab.points:g} points" if any(w.state == MARKED for w in lab.work) else ""
    after = f"; next: {lab.next}" if done_count and lab.next else ""
    return f"{lab.name}: {done_count} of {len(lab.work)} done{marked}{after}"


def _render_html(labs: tuple[LabProgress, ...]) -> str:
    rows = []
    for lab in labs:
        done_count = sum(work.done for work in lab.work)
        link = f'<a href="{escape(lab.path, quote=True)}">{escape(lab.title)}</a>'
        label = escape(_format_line(lab), quote=True)
        bar = f'<progress max="{len(lab.work)}" value="{done_count}" aria-label="{label}"></progress>'
        text = escape(_format_line(lab).partition(": ")[2])
        rows.append(f"<tr><td>{escape(lab.number)}</td><td>{link}</td><td>{bar}</td><td>{text}</td></tr>")
    return f"<table>{''.join(rows)}</table>"
