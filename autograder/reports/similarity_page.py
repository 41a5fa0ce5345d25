"""The page of similar submissions: pairs side by side, and how they were found. It isn't a verdict."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path

from autograder.base.text import truncate
from autograder.gradebook.class_results import ClassResults
from autograder.reports.page_templates import render_live
from autograder.reports.similar_pairs import LEVEL, MIN_NOTEBOOKS, SearchResult

MAX_CODE = 4000  # characters of an answer


def write_similar_page(class_results: ClassResults, similar: SearchResult, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render_similar_page(class_results, similar), encoding="utf-8")


def render_similar_page(class_results: ClassResults, similar: SearchResult) -> str:
    return render_live(
        "similar.html.j2",
        lab=class_results.lab,
        heading=class_results.heading,
        similar=similar,
        members={member.student: member for member in class_results.members},
        min_notebooks=MIN_NOTEBOOKS,
        level=LEVEL,
        cut=functools.partial(truncate, length=MAX_CODE),
    )


def collect_written_texts(class_results: ClassResults) -> dict[str, Mapping[str, str]]:
    """Return what students wrote, by student and exercise, without answers in words."""
    questions = {column.name for column in class_results.columns if column.by_hand}
    texts = {
        m.student: {name: text for name, text in m.answers.items() if name not in questions}
        for m in class_results.graded_members
    }
    return {student: answers for student, answers in texts.items() if answers}


def collect_known_texts(class_results: ClassResults) -> dict[str, Sequence[str]]:
    """Return the stub and the worked solution of each exercise."""
    return {name: (stub, class_results.solutions.get(name, "")) for name, stub in class_results.stubs.items()}
