"""What `gradlab feedback` prints about handing out its pages, and the zip that it writes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from autograder.base.text import join_names
from autograder.cli.app import err, format_count, out

if TYPE_CHECKING:
    from autograder.lms.learning_system import LearningSystem
    from autograder.model.term import Term


def print_still_working(term: Term, lab: str, due: datetime | None) -> bool:
    """Print who may still submit this lab. Return whether there is anyone."""
    from autograder.base.timestamps import get_utc_now
    from autograder.model.term import to_naive_utc
    from autograder.reports.feedback_release import describe_still_working

    until = term.lab(lab).until
    until_utc = to_naive_utc(until) if until else None
    if working := describe_still_working(due, term.get_extensions(lab), get_utc_now(), until_utc):
        err.print(f"still working: {working}. The pages show right answers and a quiz's key, so release them later")
    return bool(working)


def print_unreachable(lab: str, pages: Sequence[Path], unreachable: Sequence[str]) -> str:
    """Print whose pages the exchange can't hand out. Return what hands out the others.

    Args:
        unreachable: Students whose submissions aren't from the exchange.
    """
    if unreachable:
        err.print(
            f"not from the exchange, so their pages can't be fetched there: {join_names(unreachable)}\n"
            "    hand these out yourself, for instance with --zip csv",
            markup=False,
        )
    students = {page.parent.parent.name for page in pages}
    return f"nbgrader release_feedback {quote(lab)}" if len(unreachable) < len(students) else "hand them out"


def zip_pages(system: LearningSystem, course: Path, lab: str, path: Path, pages: Sequence[Path]) -> None:
    """Write the pages as a zip for this LMS, and print what's in it."""
    from autograder.lms.feedback_zip import write_feedback_zip

    count, unnamed = write_feedback_zip(system, course.resolve(), lab, path, pages)
    if unnamed:
        err.print(f"not in a download from {system.title}, so not in the zip: {join_names(unnamed)}", markup=False)
    out.print(f"{format_count(count, 'page')} in {path}. Next: {'upload it' if system.is_origin else 'hand them out'}")
