"""The page of similar submissions: pairs to look at, side by side, and how they were found. It isn't a verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from autograder.gradebook.class_schema import LabClass
from autograder.reports.render import render_live
from autograder.reports.similar_pairs import DEALS, LEVEL, SMALLEST, Search

MAX_CODE = 4000  # characters of an answer


def write_similar_page(group: LabClass, found: Search, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render_similar_page(group, found), encoding="utf-8")


def render_similar_page(group: LabClass, found: Search) -> str:
    return render_live(
        "similar.html.j2",
        lab=group.lab,
        found=found,
        members={member.student: member for member in group.members},
        smallest=SMALLEST,
        deals=DEALS,
        level=LEVEL,
        cut=_truncate,
    )


def collect_written_texts(group: LabClass) -> dict[str, Mapping[str, str]]:
    """What students wrote, by student and exercise. Answers in words are left out."""
    words = {column.name for column in group.columns if column.by_hand}
    texts = {m.student: {name: text for name, text in m.written.items() if name not in words} for m in group.graded}
    return {student: written for student, written in texts.items() if written}


def collect_known_texts(group: LabClass) -> dict[str, Sequence[str]]:
    """The stub and the worked solution of each exercise."""
    return {name: (stub, group.solutions.get(name, "")) for name, stub in group.stubs.items()}


def _truncate(text: str) -> str:
    return text if len(text) <= MAX_CODE else text[:MAX_CODE] + "\n(cut off here)"
