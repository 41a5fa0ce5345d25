"""Applies the instructor's decisions to a submission's marks: excused checks, and marks by hand that still hold."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from autograder.gradebook.excuses import Excused, compute_points, find_excused
from autograder.gradebook.labels import make_labels
from autograder.model.marks import MarkSheet
from autograder.model.metadata import get_answer_name

if TYPE_CHECKING:
    from autograder.model.result import ResultDocument


def apply_decisions(
    sheet: MarkSheet, result: ResultDocument, excused: Excused, before: ResultDocument | None
) -> MarkSheet:
    """Apply the decisions for this student to the marks: excused checks, and marks by hand that still hold.

    Args:
        excused: The excused checks.
        before: The submission's earlier result.
    """
    scores, labels = dict(sheet.scores), make_labels(result)
    for cell in result.cells:
        scores[cell.id] = compute_points(labels, cell, excused)
    for name in scores:
        if result.get_points(name) is None and find_excused(labels, name, excused):
            scores[name] = sheet.worth[name]
    unchanged = frozenset(name for name in scores if before and is_same_answer(name, before, result))
    return replace(sheet, scores=scores, unchanged_answers=unchanged)


def is_same_answer(name: str, before: ResultDocument, now: ResultDocument) -> bool:
    """Return whether the answer that this graded cell is about is unchanged.

    If it's unclear which answer that is, return whether all answers are unchanged.

    Args:
        name: The graded cell's id in result documents.
        before: The submission's earlier result.
        now: Its new result.
    """
    answer = get_answer_name(name)
    if answer in now.answers and answer not in before.answers:  # the cell was renamed
        return now.answers[answer] in {text for cell, text in before.answers.items() if cell not in now.answers}
    if answer in now.answers:
        return before.answers.get(answer) == now.answers[answer]
    return bool(now.answers) and before.answers == now.answers
