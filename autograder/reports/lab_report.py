"""The report on a lab: one page for the instructor, with charts and sortable tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from shlex import quote
from typing import Any

from autograder.base.errors import GradlabError
from autograder.base.timestamps import get_utc_now
from autograder.gradebook.class_results import ClassResults, Column, Member
from autograder.model.arrivals import describe_collecting
from autograder.reports import charts, findings
from autograder.reports.class_statistics import compute_spread
from autograder.reports.page_templates import render_live
from autograder.reports.standing import Standing, format_duration, group_by_standing, list_reasons
from labkit.points import format_points

MAX_GROUPS = 50
HEADINGS = {
    Standing.MISSING: "Nothing submitted that counts",
    Standing.UNCOLLECTED: "In the exchange, not collected yet; run gradlab watch LAB --once --newest",
    Standing.TO_GRADE: "Not graded yet; run gradlab grade LAB",
    Standing.OLDER: "Marked by an earlier build of the lab; gradlab regrade LAB shows what would change",
    Standing.DAMAGED: "Couldn't be read; counted as empty",
    Standing.LIMIT: "Ran into a limit, or ended its process",
    Standing.WAITS: "Has an answer that a person must read",
    Standing.LATE: "Late",
    Standing.STRANGER: "Submitted, but not on the roster",
}


def write_report(class_results: ClassResults, path: Path, stray: Sequence[str] = ()) -> None:
    """Write the report as one page that needs no other files.

    Args:
        stray: A line for each thing in submitted/ and in the exchange that isn't graded.
    """
    if not any(member.has_submitted for member in class_results.members):
        raise GradlabError(
            f"no one has submitted {class_results.lab} yet", fix=describe_collecting(quote(class_results.lab))
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    term, similar = path.with_name("term.html"), path.with_name(f"{class_results.lab}.similar.html")
    others = {"term": term.name if term.exists() else "", "similar": similar.name if similar.exists() else ""}
    path.write_text(render_report(class_results, stray=stray, **others), encoding="utf-8")


def render_report(class_results: ClassResults, term: str = "", similar: str = "", stray: Sequence[str] = ()) -> str:
    """Return the report as HTML.

    Args:
        term: The term's page, if there is one.
        similar: The page of similar submissions, if there is one.
        stray: As in write_report().
    """
    graded = class_results.graded_members
    exercises = findings.summarize_exercises(class_results)
    drawings = _draw_charts(class_results, exercises)
    sections = {
        "extended": class_results.extensions,
        "checks": findings.list_failed_checks(class_results),
        "misconceptions": findings.list_misconceptions(class_results),
        "alike": findings.find_shared_mistakes(class_results),
        "repaired": [m for m in graded if m.messages],
        "changed": [m for m in graded if m.changed_names],
        "moved": [m for m in graded if len({(h.points, h.worth) for h in m.history}) > 1],
    }
    return render_live(
        "report.html.j2",
        lab=class_results.lab,
        class_results=class_results,
        submitters=sum(member.has_submitted and member.on_roster for member in class_results.members),
        on_roster=sum(member.on_roster for member in class_results.members),
        numbers=compute_spread([member.points for member in class_results.counting_members]),
        standings=group_by_standing(class_results),
        headings=HEADINGS,
        exercises=exercises,
        chart={name: drawings.get(name) for name in ("points", "exercises", "timeline")},
        contents=_list_contents(class_results, drawings, sections),
        unwritten=sum(not member.page.endswith(".html") for member in graded),
        waiting=sum(member.needs_manual_grade for member in class_results.counting_members),
        several=sum(len(member.attempts) > 1 for member in class_results.members),
        with_attempts=any(member.attempts for member in class_results.members),
        max_groups=MAX_GROUPS,
        term=term,
        similar=similar,
        cells=_make_row_renderer(class_results.columns),
        duration=format_duration,
        reasons=list_reasons,
        stray=stray,
        **sections,
    )


def _draw_charts(class_results: ClassResults, exercises: list[findings.ExerciseFinding]) -> dict[str, charts.Chart]:
    """Draw the charts that have data, by name: of points, of exercises, and of times of submission."""
    if not class_results.counting_members:
        return {}
    drawn = (
        [charts.draw_points_chart([member.points for member in class_results.counting_members], class_results.worth)]
        if class_results.worth
        else []
    )
    shares = [(e.column.name, e.share, e.wrote) for e in exercises if e.share is not None]
    if shares:
        drawn.append(charts.draw_exercises_chart(shares))
    now = get_utc_now()  # the name of a folder in the exchange can give any time
    firsts = [member.attempts[0] for member in class_results.members if member.attempts and member.attempts[0] <= now]
    latest = [member.submitted for member in class_results.members if member.submitted]
    if firsts or latest:
        drawn.append(charts.draw_timeline_chart(sorted(firsts or latest), class_results.due, bool(firsts)))
    return {chart.name: chart for chart in drawn}


def _list_contents(
    class_results: ClassResults, drawings: dict[str, Any], sections: dict[str, Any]
) -> list[tuple[str, str]]:
    """Return the anchors and titles of the page's sections."""
    graded = bool(class_results.graded_members)
    contents = [
        ("look", "Needs attention", True),
        ("extensions", "Extensions", bool(sections["extended"])),
        ("points", "Points", graded),
        ("exercises", "Exercises", graded),
        ("checks", "Failed checks", graded),
        ("misconceptions", "Misconceptions", graded),
        ("alike", "Same mistakes", graded),
        ("timeline", "Timeline", "timeline" in drawings),
        ("history", "Marks that changed", bool(sections["moved"])),
        ("marks", "Marks", graded),
        ("repaired", "Repairs", bool(sections["repaired"])),
        ("ask", "Changed names", bool(sections["changed"])),
    ]
    return [(anchor, title) for anchor, title, is_shown in contents if is_shown]


def _make_row_renderer(columns: tuple[Column, ...]) -> Callable[[Member], list[tuple[str, str]]]:
    """Return a function that renders a member's row of marks: the text and the CSS class of each cell."""

    def render_row(member: Member) -> list[tuple[str, str]]:
        return [_render_cell(member, column) for column in columns]

    return render_row


def _render_cell(member: Member, column: Column) -> tuple[str, str]:
    mark = member.marks.get(column.name)
    if mark is None:
        return "", ""
    if mark.points is None:
        return ("waits", "h") if mark.needs_manual_grade else ("", "")
    if mark.needs_manual_grade:
        return f"{format_points(mark.points)}, again", "h"
    if not findings.has_answered(member, column.name):
        return "", ""
    if not column.worth and not column.is_extra_credit:
        is_right = all(check.passed for check in member.checks.get(column.name, ()))
        return ("right", "f") if is_right else ("tried", "p")
    return format_points(mark.points), "f" if mark.points >= column.worth else "z" if mark.points == 0 else "p"
