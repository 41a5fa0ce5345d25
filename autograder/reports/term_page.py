"""The term at a glance: every student's points in every lab, the labs side by side, and who falls behind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from autograder.base.errors import GradlabError
from autograder.base.text import format_count
from autograder.base.timestamps import COLLECT, get_utc_now
from autograder.gradebook.class_schema import LabClass, Member
from autograder.model.term import Term
from autograder.reports import charts
from autograder.reports.calendar import build_calendar
from autograder.reports.class_statistics import FEW, compute_spread
from autograder.reports.render import format_points, render_live
from autograder.reports.tables import write_table

MISSED = 2  # labs
FELL = 0.3  # of the points, from the earlier labs to the last two
LOW = 0.5  # of the points


@dataclass(frozen=True)
class Row:
    """A student's term."""

    student: str
    name: str
    by_lab: tuple[Member | None, ...]
    """The student in each lab; None if the lab wasn't handed in."""
    points: float
    """Points in labs that count."""
    worth: float
    """What these labs are worth."""
    behind: tuple[str, ...]
    """Why the student is falling behind, if so."""
    on_roster: bool = True
    """False only if there is a roster and it doesn't name the student."""


def build_rows(labs: Sequence[LabClass], practice: frozenset[str] = frozenset()) -> list[Row]:
    """A row for each student. A lab that no one handed in doesn't count.

    Args:
        practice: Labs whose marks are in no total.
    """
    begun = [lab for lab in labs if any(member.handed_in for member in lab.members)]
    members = [{member.student: member for member in lab.members} for lab in labs]
    rows = []
    for student in dict.fromkeys(member.student for lab in labs for member in lab.members):
        known = [lab.get(student) for lab in members]
        own = tuple(member if member and member.handed_in else None for member in known)
        counted = [(m, lab) for m, lab in zip(known, labs, strict=True) if lab in begun and lab.lab not in practice]
        total = sum(member.points for member, _ in counted if member and member.handed_in)
        worth = sum(lab.worth for _, lab in counted)
        name = next((member.name for member in known if member), "")
        behind = _explain_behind([(member or Member(student), lab) for member, lab in counted])
        on_roster = all(member.on_roster for member in known if member)
        rows.append(Row(student, name, own, round(total, 4), worth, behind if on_roster else (), on_roster))
    return rows


def _explain_behind(counted: Sequence[tuple[Member, LabClass]]) -> tuple[str, ...]:
    """Why an instructor might ask this student how it is going; empty if the student keeps up."""
    due = [(member, lab) for member, lab in counted if _is_due(member, lab)]
    absent = [lab for member, lab in due if not (member.handed_in or member.uncollected)]
    if absent and not any(member.handed_in or member.uncollected for member, _ in counted):
        return (f"handed in nothing so far: {', '.join(lab.lab for lab in absent)}",)
    why = []
    missed = [lab for lab in absent if sum(m.handed_in for m in lab.members) * 2 >= len(lab.members)]
    if len(missed) >= MISSED:
        why.append(f"{format_count(len(missed), 'lab', 'is', 'are')} missing: {', '.join(lab.lab for lab in missed)}")
    marked = [(m.points, lab.worth) for m, lab in counted if m.graded and lab.worth and not m.waits]
    shares = [got / worth for got, worth in marked]
    if len(shares) > 3 and fmean(shares[:-2]) - fmean(shares[-2:]) >= FELL:
        why.append(
            f"from {fmean(shares[:-2]):.0%} of the points in earlier labs to {fmean(shares[-2:]):.0%} in the last two"
        )
    got, worth = sum(got for got, _ in marked), sum(lab.worth for lab in missed) + sum(worth for _, worth in marked)
    if worth and got / worth < LOW:
        why.append(f"{format_points(got)} of the {format_points(worth)} points of labs that are marked or missing")
    return tuple(why)


def _is_due(member: Member, lab: LabClass) -> bool:
    return lab.due is None or max(lab.due, member.until or lab.due) <= get_utc_now()


def write_term_page(labs: Sequence[LabClass], term: Term, path: Path) -> None:
    """Write the page, and beside it the table of points as CSV."""
    if not any(member.handed_in for lab in labs for member in lab.members):
        raise GradlabError(f"nobody handed in anything yet\n    fix: {COLLECT.format(lab='LAB')}")
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = build_rows(labs, term.practice)
    there = {lab.lab: f"{lab.lab}.html" for lab in labs if path.with_name(f"{lab.lab}.html").exists()}
    path.write_text(render_term_page(labs, rows, term, there), encoding="utf-8")
    table = [
        [r.student, r.name, r.points, r.worth, *(m.points if m and m.graded else None for m in r.by_lab)] for r in rows
    ]
    write_table(path.with_suffix(".csv"), ["student", "name", "points", "worth", *(lab.lab for lab in labs)], table)


def render_term_page(labs: Sequence[LabClass], rows: Sequence[Row], term: Term, reports: dict[str, str]) -> str:
    """The page as HTML.

    Args:
        reports: The labs' reports that are written, by lab.
    """
    shares = {lab.lab: [member.points / lab.worth for member in lab.counted] if lab.worth else [] for lab in labs}
    numbers = {name: found for name, own in shares.items() if (found := compute_spread(own))}
    # Extra credit may exceed 100 %, where a chart ends.
    boxes = [
        (name, box, len(own)) for name, own in shares.items() if (box := compute_spread([min(s, 1.0) for s in own]))
    ]
    return render_live(
        "term.html.j2",
        chart=charts.draw_labs_chart(boxes) if boxes else None,
        lab="term",
        labs=labs,
        rows=rows,
        behind=[row for row in rows if row.behind],
        practice=term.practice,
        dates=build_calendar(labs, term),
        reports=reports,
        numbers=numbers,
        on_roster=sum(row.on_roster for row in rows),
        cells=_make_row_renderer(labs),
        few=FEW,
        rules={"missed": MISSED, "fell": FELL, "low": LOW},
    )


def _make_row_renderer(labs: Sequence[LabClass]) -> Callable[[Row], list[tuple[str, str, str]]]:
    """A function that gives a student's row: text, page and CSS class for each lab."""

    def render_row(row: Row) -> list[tuple[str, str, str]]:
        return [_render_cell(member, lab) for member, lab in zip(row.by_lab, labs, strict=True)]

    return render_row


def _render_cell(member: Member | None, lab: LabClass) -> tuple[str, str, str]:
    if member is None:
        return "", "", ""
    if not member.graded:
        return "to grade", "", "h"
    text = format_points(member.points) + (", waits" if member.waits else "")
    part = member.points / lab.worth if lab.worth else 1.0
    return text, member.page, "f" if part >= 0.9 else "z" if part < LOW else "p"
