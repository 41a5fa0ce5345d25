"""The page that a student gets instead of feedback while a submission isn't marked."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo
from pathlib import Path

from autograder.base.timestamps import format_time
from autograder.exchange.attempts import AttemptDecision, describe_counting_mark
from autograder.exchange.inbox import Inbox
from autograder.gradebook.history import HistoryEntry
from autograder.gradebook.notebook_file import read_lab_title
from autograder.model.arrivals import Arrival
from autograder.model.assignments import list_source_notebooks
from autograder.reports.notice_page import render_notice_page


def render_notice(
    course: Path, arrival: Arrival, decision: AttemptDecision, history: Sequence[HistoryEntry], zone: tzinfo
) -> str:
    """Render the page that says why a submission isn't marked, or when it will be."""
    if decision.due_from:
        message = f"It will be marked after {format_time(decision.due_from, zone)}."
        more = "If you submit again, the newer submission is marked instead."
    else:
        message, more = f"Not marked: {decision.refusal}.", describe_counting_mark(history, zone)
    submitted = format_time(arrival.submitted, zone)
    return render_notice_page(read_lab_title(course, arrival.lab), arrival.student, submitted, message, more)


def write_notice(inbox: Inbox, course: Path, arrival: Arrival, page: str) -> None:
    """Give this page to the student for each notebook without a mark. Raises OSError."""
    for notebook in list_source_notebooks(course, arrival.lab):
        if not inbox.has_page(arrival, notebook.stem):
            inbox.write_page(arrival, notebook.stem, page.encode())
