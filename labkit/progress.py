"""Where a student stands in a course: read from what the notebooks hold, and from nothing else.

A notebook says what its cells are for in `metadata.gradlab`; the verdict of a check stands in the output of its cell.
Marks are those that the grader gave last, see `marks_path`.
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
from labkit.history import digest_source
from labkit.verdict import MIME

KEY = "gradlab"
UNTOUCHED, WRITTEN, FAILING, PASSING, MARKED = ("untouched", "written", "failing", "passing", "marked")
PREDICTION = "gradlab_prediction"  # in the metadata of a cell that asks for one
REVIEW_DAYS = (1, 3, 7)  # after which a prediction that was wrong once is asked for again
START = "00_start_here.ipynb"
WORK = ("exercise", "question")  # kinds of cells that a student writes
MAX_NUMBER = 1e9  # of points or minutes
MAX_BYTES = 100_000_000  # of a notebook
# What reading a damaged notebook raises.
DAMAGED = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


@dataclass(frozen=True)
class Work:
    """One exercise, quiz or written answer. state: one of the five above; `written` is tried by no check as it stands.

    points: that it is worth. earned: what the grader gave for the text that stands there now, else None.
    passed, checks: of the visible checks when they ran last on this text. kind: exercise, quiz or question.
    stale: the card below it speaks of another text.
    """

    name: str
    kind: str
    state: str
    points: float
    earned: float | None = None
    passed: int = 0
    checks: int = 0
    stale: bool = False

    @property
    def done(self) -> bool:
        """Whether nothing is left to do that can be seen: it passes, or it was marked in full."""
        if self.state == MARKED:
            return (self.earned or 0.0) >= self.points - 1e-6
        return self.state == PASSING or (self.state == WRITTEN and self.kind != "exercise")

    @property
    def ready(self) -> bool:
        """Whether a mark is all that is missing. A person gives that of a written answer."""
        return self.done and self.state != MARKED and self.kind != "question"

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"done": self.done}


@dataclass(frozen=True)
class LabProgress:
    """One lab of the course. path: of its notebook, from the course's folder. needs: labs to do before it.

    missed: predictions that were wrong when they were made last. begun: whether a cell ran or something was written.
    """

    name: str
    title: str
    path: str
    minutes: int
    needs: tuple[str, ...]
    work: tuple[Work, ...]
    missed: tuple[str, ...] = ()
    begun: bool = False

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
        """How many exercises and quizzes only wait for a mark."""
        return sum(work.ready for work in self.work)

    @property
    def next(self) -> str:
        """The first exercise that is neither passing nor marked in full; empty where there is none."""
        return next((work.name for work in self.work if not work.done), "")

    def as_dict(self) -> dict[str, Any]:
        told = {"number": self.number, "points": self.points, "earned": round(self.earned, 4)}
        told |= {"ready": self.ready, "next": self.next}
        return asdict(self) | {"work": [work.as_dict() for work in self.work]} | told


def read_progress(folder: Path) -> list[LabProgress]:
    """The labs in this folder, each at NAME/NAME.ipynb, in their order. What is no notebook of a lab is left out."""
    found = []
    for path in _find_labs(folder):
        # A notebook that claims to be a lab and isn't whole must not cost the others their place in the panel.
        with contextlib.suppress(*DAMAGED):
            found.append(parse_progress(_read(path), path.relative_to(folder).as_posix(), read_marks(path)))
    return [lab for lab in found if lab]


def parse_progress(notebook: Mapping[str, Any], path: str, marks: Mapping[str, Any]) -> LabProgress | None:
    """Of one notebook as JSON; None where it is no lab's. marks: exercise -> {source, points}, as they were given.

    Raises one of DAMAGED if a fact in the notebook is missing, or of another type than a page can show.
    """
    lab = notebook.get("metadata", {}).get(KEY, {})
    if "lab" not in lab:
        return None
    cells = [(cell.get("metadata", {}).get(KEY, {}), cell) for cell in notebook.get("cells", [])]
    known = {facts["exercise"]: (facts, cell) for facts, cell in cells if facts.get("kind") in WORK}
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
        for name, (facts, cell) in known.items()
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
    asked = [
        (facts["exercise"], cell["metadata"].get(PREDICTION, {}))
        for facts, cell in cells
        if facts.get("kind") == "predict"
    ]
    return tuple(_check_text(name) for name, made in asked if _is_due(made, date.today()))


def _is_due(made: Mapping[str, Any], today: date) -> bool:
    """Whether a prediction that was wrong once is to be made again: at once, and after REVIEW_DAYS of right ones.

    made: {given, right, missed: whether it was ever wrong, again: right ones since then, on: the day of the last}.
    """
    again = int(made.get("again", 0))
    if not made.get("right", True):
        return True
    if not made.get("missed") or again > len(REVIEW_DAYS):
        return False
    with contextlib.suppress(ValueError):
        return (today - date.fromisoformat(str(made.get("on", "")))).days >= REVIEW_DAYS[again - 1]
    return False


def _build_work(
    name: str, kind: str, facts: Mapping[str, Any], cell: Mapping[str, Any], check: Any, mark: Mapping[str, Any]
) -> Work:
    text = _join_source(cell)
    source = digest_source(text)
    points = _check_number(check[0]["points"] if check else facts.get("points", 0.0))
    verdict = _find_verdict(check[1]) if check else {}
    ran = verdict.get("checks", []) if verdict.get("source") == source else []
    passed = sum(bool(outcome.get("passed")) for outcome in ran)
    stale = verdict.get("source", source) not in ("", source)
    if text.strip() == facts.get("stub", "").strip():
        return Work(name, kind, UNTOUCHED, points, stale=stale)
    if mark.get("source") == source:
        return Work(name, kind, MARKED, points, float(mark["points"]), passed, len(ran), stale)
    if not ran or all(_is_unwritten(outcome) for outcome in ran):
        return Work(name, kind, WRITTEN, points, stale=stale)
    # The visible check of a quiz looks at its form only: passing it says nothing of the letters.
    fine = WRITTEN if kind == "quiz" else PASSING
    return Work(name, kind, fine if passed == len(ran) else FAILING, points, None, passed, len(ran))


def _is_unwritten(outcome: Mapping[str, Any]) -> bool:
    """Whether the exercise was as handed out. A card that an earlier version wrote says so in words only."""
    return bool(outcome.get("cause", "") == Cause.UNWRITTEN or outcome.get("seen") == NOT_WRITTEN)


def get_number(name: str) -> str:
    """What texts call a lab: 7 of 07_memory, 7b of 07b_profiler."""
    return name.partition("_")[0].lstrip("0")


def digest_sources(notebook: Mapping[str, Any]) -> dict[str, str]:
    """Exercise or question -> the digest of its cell, of a notebook as JSON."""
    cells = [(cell.get("metadata", {}).get(KEY, {}), cell) for cell in notebook.get("cells", [])]
    return {facts["exercise"]: digest_source(_join_source(cell)) for facts, cell in cells if facts.get("kind") in WORK}


def get_marks_path(notebook: Path) -> Path:
    """Where the marks of a notebook are kept that the grader gave: exercise -> {source: digest of its cell, points}."""
    return notebook.parent.parent / ".gradlab" / f"{notebook.stem}.json"


def get_page_path(notebook: Path) -> Path:
    """Where the feedback page of a notebook is kept that the grader wrote."""
    return get_marks_path(notebook).with_suffix(".html")


def read_marks(notebook: Path) -> Mapping[str, Any]:
    """The marks of the notebook at this path; none where it was not marked. What is no mark is left out."""
    marks = {}
    for name, mark in _read(get_marks_path(notebook)).items():
        with contextlib.suppress(*DAMAGED):
            marks[name] = {"source": _check_text(mark["source"]), "points": _check_number(mark["points"])}
    return marks


def read_title(folder: Path) -> str:
    """The course's title, as its start page has it; empty where there is none."""
    with contextlib.suppress(*DAMAGED):
        return _check_text(_read(folder / START)["metadata"][KEY]["title"])
    return ""


def _find_labs(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*/*.ipynb") if path.stem == path.parent.name)


def _read(path: Path) -> dict[str, Any]:
    """The JSON in this file; nothing if there is none, or if it is damaged, too large, or no regular file.

    A pipe is not waited for.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            is_regular = stat.S_ISREG(status.st_mode) and status.st_size <= MAX_BYTES
            found = json.loads(file.read(MAX_BYTES)) if is_regular else {}
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _check_text(value: object) -> str:
    """A text. Raises TypeError for anything else: a page could not show it."""
    if not isinstance(value, str):
        raise TypeError("this is no text")
    return value


def _check_number(value: object) -> float:
    """A number whose sums are finite. Raises ValueError for anything else: JSON for a browser has no others."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= MAX_NUMBER:  # NaN is neither
        raise ValueError("this is no number of points or minutes")
    return value


def _join_source(cell: Mapping[str, Any]) -> str:
    source = cell.get("source", "")
    return "".join(source) if isinstance(source, list) else str(source)


def _find_verdict(cell: Mapping[str, Any]) -> Mapping[str, Any]:
    for output in cell.get("outputs", []):
        found = output.get("data", {}).get(MIME) if isinstance(output, dict) else None
        if isinstance(found, dict):
            return found
    return {}


@dataclass(frozen=True)
class Progress:
    """What `labkit.progress()` shows."""

    labs: tuple[LabProgress, ...]

    def __repr__(self) -> str:
        return "\n".join(_format_line(lab) for lab in self.labs) or "no lab is here"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": _render_html(self.labs)}


def progress(folder: str = "") -> Progress:
    """Where you stand in the labs of this folder, of the one above it where this is a lab's own."""
    here = Path(folder or ".").resolve()
    return Progress(tuple(read_progress(here) or read_progress(here.parent)))


def _format_line(lab: LabProgress) -> str:
    done = sum(work.done for work in lab.work)
    marked = f", {lab.earned:g} of {lab.points:g} points" if any(w.state == MARKED for w in lab.work) else ""
    after = f"; next: {lab.next}" if done and lab.next else ""
    return f"{lab.name}: {done} of {len(lab.work)} done{marked}{after}"


def _render_html(labs: tuple[LabProgress, ...]) -> str:
    rows = []
    for lab in labs:
        done = sum(work.done for work in lab.work)
        link = f'<a href="{escape(lab.path, quote=True)}">{escape(lab.title)}</a>'
        label = escape(_format_line(lab), quote=True)
        bar = f'<progress max="{len(lab.work)}" value="{done}" aria-label="{label}"></progress>'
        text = escape(_format_line(lab).partition(": ")[2])
        rows.append(f"<tr><td>{escape(lab.number)}</td><td>{link}</td><td>{bar}</td><td>{text}</td></tr>")
    return f"<table>{''.join(rows)}</table>"
