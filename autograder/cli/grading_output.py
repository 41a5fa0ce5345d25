"""What the commands that grade print, besides progress."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from shlex import quote
from typing import TYPE_CHECKING

from autograder.base.errors import GradlabError
from autograder.cli.app import SEE_ABOVE, err, format_count, out, print_warnings
from labkit.points import format_points

if TYPE_CHECKING:
    from autograder.classroom.grading_outcome import GradingOutcome
    from autograder.gradebook.nbgrader_course import NbgraderCourse
    from autograder.model.term import Term
    from autograder.watch.grading_round import ArrivalMark


def print_opening(lines: Iterable[str], excluded: Sequence[str]) -> None:
    """Print what an instructor should know before grading begins.

    Args:
        lines: About changes to the lab, and settings without effect.
        excluded: Students whom nbgrader_config.py excludes.
    """
    from autograder.base.text import join_names

    for line in lines:
        err.print(line, markup=False)
    if excluded:
        settings = "c.CourseDirectory.student_id_exclude or c.Autograde.create_student"
        err.print(f"excluded by {settings}: {join_names(excluded)}", markup=False)


def print_summary(
    nbgrader: NbgraderCourse, lab: str, term: Term, outcomes: Sequence[GradingOutcome], before: Mapping[str, float]
) -> None:
    """Print the outcome of grading, with warnings.

    Args:
        before: What read_totals() returned before it.
    """
    from autograder.base.timestamps import get_utc_now
    from autograder.classroom.summary import describe_regraded, list_remarks, summarize_lab
    from autograder.classroom.unknown_names import list_warnings
    from autograder.exchange.course_exchange import read_exchange
    from autograder.gradebook.counting_submissions import find_counting_times
    from autograder.model.arrivals import find_uncollected, group_times_by_student

    with nbgrader.open_gradebook() as gradebook:
        times = group_times_by_student(read_exchange(nbgrader, [lab])[0], lab, get_utc_now())
        uncollected = find_uncollected(times, find_counting_times(nbgrader.root, lab, term))
        summary = summarize_lab(gradebook, lab, outcomes, uncollected, before)
        lines = list_warnings(nbgrader.root, term, gradebook, lab)
    print_warnings(lines)
    for line in list_remarks(outcomes, lab):
        err.print(line, markup=False)
    if reasons := describe_regraded(outcomes):
        out.print(reasons, markup=False)
    desk = "gradlab desk, " if summary.waiting else ""
    some_are_graded = summary.graded or summary.kept
    then = f". Next: {desk}gradlab feedback {quote(lab)}, gradlab report {quote(lab)}" if some_are_graded else ""
    out.print(f"{lab}: {summary.describe()}{then}")


def print_mark(mark: ArrivalMark) -> bool:
    """Print the mark, or why there is none. Return whether there is one."""
    from autograder.reports.standing import format_delay

    name = f"{mark.arrival.student} {mark.arrival.lab}"
    if mark.points is None:
        err.print(f"{name}: {mark.reason}", markup=False)
        return False
    damaged = f"damaged, {mark.reason}\n    " if mark.reason else ""
    waits = " until a person reads the rest" if mark.needs_manual_grade else ""
    points = f"{format_points(mark.points)} of {format_points(mark.worth)}{waits}"
    out.print(f"{name}: {damaged}{points}, {format_delay(mark.seconds)} after it arrived", markup=False)
    return True


def print_totals(marked_labs: Counter[str], failed_count: int) -> None:
    """Print how many submissions have a mark.

    Args:
        marked_labs: How many of each lab have one.
        failed_count: How many couldn't be graded.

    Raises:
        GradlabError: If some couldn't be graded.
    """
    reports = ", ".join(f"gradlab report {quote(lab)}" for lab in sorted(marked_labs)) or "gradlab status"
    out.print(f"{format_count(marked_labs.total(), 'submission')} marked. Next: {reports}")
    if failed_count:
        raise GradlabError(f"{format_count(failed_count, 'submission')} could not be graded", fix=SEE_ABOVE)
