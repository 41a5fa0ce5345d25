"""The report on a lab: one page for the instructor, with pictures and tables that sort."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from shlex import quote
from typing import Any

from autograder.base.errors import GradlabError
from autograder.base.timestamps import COLLECT, get_utc_now
from autograder.gradebook.class_schema import Column, LabClass, Member
from autograder.reports import charts, findings
from autograder.reports.class_statistics import compute_spread
from autograder.reports.render import format_points, render_live
from autograder.reports.standing import Standing, format_duration, group_by_standing, list_reasons

MOST_GROUPS = 50
WORDS = {
    Standing.MISSING: "Handed in nothing that counts",
    Standing.UNCOLLECTED: "Have something in the exchange that gradlab watch LAB --once --newest has yet to collect",
    Standing.TO_GRADE: "Wait for gradlab grade",
    Standing.OLDER: "Marked by an earlier build of the lab; gradlab regrade LAB shows what would change",
    Standing.DAMAGED: "Could not be read, and count as empty",
    Standing.LIMIT: "Ran into a limit, or ended its process",
    Standing.WAITS: "Wait for a person to read an answer",
    Standing.LATE: "Late",
    Standing.STRANGER: "Handed in, and are not on the roster",
}


def write_report(group: LabClass, path: Path, stray: Sequence[str] = ()) -> None:
    """Write one page that needs no other files.

    Args:
        stray: A line for each thing in submitted/ and in the exchange that isn't graded.
    """
    if not any(member.handed_in for member in group.members):
        raise GradlabError(f"nobody handed in {group.lab} yet\n    fix: {COLLECT.format(lab=quote(group.lab))}")
    path.parent.mkdir(parents=True, exist_ok=True)
    term, similar = path.with_name("term.html"), path.with_name(f"{group.lab}.similar.html")
    others = {"term": term.name if term.exists() else "", "similar": similar.name if similar.exists() else ""}
    path.write_text(render_report(group, stray=stray, **others), encoding="utf-8")


def render_report(group: LabClass, term: str = "", similar: str = "", stray: Sequence[str] = ()) -> str:
    """The page as HTML.

    Args:
        term: The term's page, if there is one.
        similar: The page of similar submissions, if there is one.
        stray: As in write_report().
    """
    graded = group.graded
    exercises = findings.summarize_exercises(group)
    drawn = _draw_charts(group, exercises)
    sections = {
        "extended": group.extended,
        "checks": findings.list_failed_checks(group),
        "misconceptions": findings.list_misconceptions(group),
        "alike": findings.find_alike_answers(group),
        "repaired": [m for m in graded if m.messages],
        "changed": [m for m in graded if m.changed],
        "moved": [m for m in graded if len({(h.points, h.worth) for h in m.history}) > 1],
    }
    return render_live(
        "report.html.j2",
        lab=group.lab,
        group=group,
        handed_in=sum(member.handed_in and member.on_roster for member in group.members),
        on_roster=sum(member.on_roster for member in group.members),
        numbers=compute_spread([member.points for member in group.counted]),
        standings=group_by_standing(group),
        words=WORDS,
        exercises=exercises,
        chart={name: drawn.get(name) for name in ("points", "exercises", "timeline")},
        contents=_list_contents(group, drawn, sections),
        unwritten=sum(not member.page.endswith(".html") for member in graded),
        waiting=sum(member.waits for member in group.counted),
        several=sum(len(member.attempts) > 1 for member in group.members),
        with_attempts=any(member.attempts for member in group.members),
        most_groups=MOST_GROUPS,
        term=term,
        similar=similar,
        cells=_make_row_renderer(group.columns),
        duration=format_duration,
        reasons=list_reasons,
        stray=stray,
        **sections,
    )


def _draw_charts(group: LabClass, exercises: list[findings.ExerciseFinding]) -> dict[str, charts.Chart]:
    if not group.counted:
        return {}
    found = [charts.draw_points_chart([member.points for member in group.counted], group.worth)] if group.worth else []
    shares = [(e.column.name, e.share, e.wrote) for e in exercises if e.share is not None]
    if shares:
        found.append(charts.draw_exercises_chart(shares))
    now = get_utc_now()  # a name in the exchange can give any time
    firsts = [member.attempts[0] for member in group.members if member.attempts and member.attempts[0] <= now]
    latest = [member.submitted for member in group.members if member.submitted]
    if firsts or latest:
        found.append(charts.draw_timeline_chart(sorted(firsts or latest), group.due, bool(firsts)))
    return {chart.name: chart for chart in found}


def _list_contents(group: LabClass, drawn: dict[str, Any], sections: dict[str, Any]) -> list[tuple[str, str]]:
    """The anchors and titles of the page's sections."""
    graded = bool(group.graded)
    listed = [
        ("look", "Who needs a look", True),
        ("extensions", "Extensions", bool(sections["extended"])),
        ("points", "Points", graded),
        ("exercises", "Exercises", graded),
        ("checks", "Where points were lost", graded),
        ("misconceptions", "Misconceptions", graded),
        ("alike", "Wrong alike", graded),
        ("timeline", "When", "timeline" in drawn),
        ("history", "Marks that changed", bool(sections["moved"])),
        ("marks", "Marks", graded),
        ("repaired", "Put right", bool(sections["repaired"])),
        ("ask", "To ask about", bool(sections["changed"])),
    ]
    return [(anchor, words) for anchor, words, there in listed if there]


def _make_row_renderer(columns: tuple[Column, ...]) -> Callable[[Member], list[tuple[str, str]]]:
    """A function that gives a member's row of marks: the text and the CSS class of each cell."""

    def render_row(member: Member) -> list[tuple[str, str]]:
        return [_render_cell(member, column) for column in columns]

    return render_row


def _render_cell(member: Member, column: Column) -> tuple[str, str]:
    mark = member.marks.get(column.name)
    if mark is None:
        return "", ""
    if mark.points is None:
        return ("waits", "h") if mark.waits else ("", "")
    if mark.waits:
        return f"{format_points(mark.points)}, again", "h"
    if not findings.has_written(member, column.name):
        return "", ""
    return format_points(mark.points), "f" if mark.points >= column.worth else "z" if mark.points == 0 else "p"
