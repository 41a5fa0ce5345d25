"""The term at a glance: every student's points in every lab, the labs side by side, and who is falling behind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from autograder.base.errors import GradlabError
from autograder.base.text import format_count
from autograder.base.timestamps import get_utc_now
from autograder.gradebook.class_results import ClassResults, Member
from autograder.model.arrivals import describe_collecting
from autograder.model.term import Term
from autograder.reports import charts
from autograder.reports.calendar import build_calendar
from autograder.reports.class_statistics import MIN_STUDENTS, compute_spread
from autograder.reports.csv_files import write_table
from autograder.reports.page_templates import render_live
from labkit.points import format_points

MISSED = 2  # labs
DROP = 0.3  # of the points, from the earlier labs to the last two
LOW = 0.5  # of the points


@dataclass(frozen=True)
class StudentRow:
    """A student's term."""

    student: str
    name: str
    by_lab: tuple[Member | None, ...]
    """The student in each lab; None if the lab wasn't submitted."""
    points: float
    """Points in labs that count."""
    worth: float
    """What these labs are worth."""
    behind: tuple[str, ...]
    """Why the student is falling behind, if so."""
    on_roster: bool = True
    """False only if there is a roster and it doesn't name the student."""


def build_rows(labs: Sequence[ClassResults], practice: frozenset[str] = frozenset()) -> list[StudentRow]:
    """Return a row for each student. A lab that no one submitted doesn't count.

    Args:
        practice: Labs whose marks are in no total.
    """
    begun = [lab for lab in labs if any(member.has_submitted for member in lab.members)]
    members = [{member.student: member for member in lab.members} for lab in labs]
    rows = []
    for student in dict.fromkeys(member.student for lab in labs for member in lab.members):
        in_labs = [lab.get(student) for lab in members]
        by_lab = tuple(member if member and member.has_submitted else None for member in in_labs)
        counted = [(m, lab) for m, lab in zip(in_labs, labs, strict=True) if lab in begun and lab.lab not in practice]
        total = sum(member.points for member, _ in counted if member and member.has_submitted)
        worth = sum(lab.worth for _, lab in counted)
        name = next((member.name for member in in_labs if member), "")
        behind = _explain_behind([(member or Member(student), lab) for member, lab in counted])
        on_roster = all(member.on_roster for member in in_labs if member)
        rows.append(StudentRow(student, name, by_lab, round(total, 4), worth, behind if on_roster else (), on_roster))
    return rows


def _explain_behind(counted: Sequence[tuple[Member, ClassResults]]) -> tuple[str, ...]:
    """Return reasons to ask this student how it is going; none if the student keeps up."""
    due = [(member, lab) for member, lab in counted if _is_due(member, lab)]
    absent = [lab for member, lab in due if not (member.has_submitted or member.uncollected)]
    if absent and not any(member.has_submitted or member.uncollected for member, _ in counted):
        return (f"submitted nothing so far: {', '.join(lab.lab for lab in absent)}",)
    reasons = []
    missed = [lab for lab in absent if sum(m.has_submitted for m in lab.members) * 2 >= len(lab.members)]
    if len(missed) >= MISSED:
        names = ", ".join(lab.lab for lab in missed)
        reasons.append(f"{format_count(len(missed), 'lab', 'is', 'are')} missing: {names}")
    marked = [(m.points, lab.worth) for m, lab in counted if m.graded and lab.worth and not m.needs_manual_grade]
    shares = [points / worth for points, worth in marked]
    if len(shares) > 3 and fmean(shares[:-2]) - fmean(shares[-2:]) >= DROP:
        reasons.append(
            f"from {fmean(shares[:-2]):.0%} of the points in earlier labs to {fmean(shares[-2:]):.0%} in the last two"
        )
    points = sum(points for points, _ in marked)
    worth = sum(lab.worth for lab in missed) + sum(worth for _, worth in marked)
    if worth and points / worth < LOW:
        reasons.append(
            f"{format_points(points)} of the {format_points(worth)} points of labs that are marked or missing"
        )
    return tuple(reasons)


def _is_due(member: Member, lab: ClassResults) -> bool:
    return lab.due is None or max(lab.due, member.extension_end or lab.due) <= get_utc_now()


def write_term_page(labs: Sequence[ClassResults], term: Term, path: Path) -> None:
    """Write the page, and the table of points as CSV next to it."""
    if not any(member.has_submitted for lab in labs for member in lab.members):
        raise GradlabError("no one has submitted anything yet", fix=describe_collecting())
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = build_rows(labs, term.practice_labs)
    reports = {lab.lab: f"{lab.lab}.html" for lab in labs if path.with_name(f"{lab.lab}.html").exists()}
    path.write_text(render_term_page(labs, rows, term, reports), encoding="utf-8")
    table = [
        [r.student, r.name, r.points, r.worth, *(m.points if m and m.graded else None for m in r.by_lab)] for r in rows
    ]
    write_table(path.with_suffix(".csv"), ["student", "name", "points", "worth", *(lab.lab for lab in labs)], table)


def render_term_page(
    labs: Sequence[ClassResults], rows: Sequence[StudentRow], term: Term, reports: dict[str, str]
) -> str:
    """Return the page as HTML.

    Args:
        reports: The existing reports, by lab.
    """
    shares = {
        lab.lab: [member.points / lab.worth for member in lab.counting_members] if lab.worth else [] for lab in labs
    }
    numbers = {name: spread for name, values in shares.items() if (spread := compute_spread(values))}
    headings = {lab.lab: lab.heading for lab in labs}
    # Extra credit may exceed 100 %, where a chart ends.
    boxes = [
        (headings[name], box, len(values))
        for name, values in shares.items()
        if (box := compute_spread([min(share, 1.0) for share in values]))
    ]
    return render_live(
        "term.html.j2",
        chart=charts.draw_labs_chart(boxes) if boxes else None,
        labs=labs,
        headings=headings,
        rows=rows,
        behind=[row for row in rows if row.behind],
        practice=term.practice_labs,
        dates=build_calendar(labs, term),
        reports=reports,
        numbers=numbers,
        on_roster=sum(row.on_roster for row in rows),
        cells=_make_row_renderer(labs),
        min_students=MIN_STUDENTS,
        rules={"missed": MISSED, "drop": DROP, "low": LOW},
    )


def _make_row_renderer(labs: Sequence[ClassResults]) -> Callable[[StudentRow], list[tuple[str, str, str]]]:
    """Return a function that renders a student's row: text, page and CSS class for each lab."""

    def render_row(row: StudentRow) -> list[tuple[str, str, str]]:
        return [_render_cell(member, lab) for member, lab in zip(row.by_lab, labs, strict=True)]

    return render_row


def _render_cell(member: Member | None, lab: ClassResults) -> tuple[str, str, str]:
    if member is None:
        return "", "", ""
    if not member.graded:
        return "to grade", "", "h"
    text = format_points(member.points) + (", waits" if member.needs_manual_grade else "")
    share = member.points / lab.worth if lab.worth else 1.0
    return text, member.page, "f" if share >= 0.9 else "z" if share < LOW else "p"
