"""The report on a lab for programs: a row a student as CSV, and all that the page says as JSON."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

from autograder.gradebook.class_schema import LabClass, Member
from autograder.reports import findings
from autograder.reports.class_statistics import spread
from autograder.reports.standing import by_standing, standings
from autograder.reports.tables import write_table

HEAD = "student name points worth penalty submitted extended_until late_seconds attempts standing".split()


def write_class_csv(group: LabClass, path: Path) -> None:
    """A row for everybody in the course; an exercise without points has an empty cell."""
    anybody = any(member.handed_in for member in group.members)
    rows = []
    for member in group.members:
        marks = [mark.points if (mark := member.marks.get(column.name)) else None for column in group.columns]
        words = ", ".join(standings(member, anybody))
        times = [_time(member.submitted), _time(member.until), member.late, len(member.attempts)]
        known = [member.student, member.name, member.points if member.graded else None, group.worth, member.penalty]
        rows.append([*known, *times, words, *marks])
    write_table(path, [*HEAD, *(column.name for column in group.columns)], rows)


def write_class_json(group: LabClass, path: Path) -> None:
    """Keys are those of the CSV's head and of the page's tables. It quotes hidden checks: it is for the instructor."""
    numbers = spread([member.points for member in group.counted])
    said = {
        "format": "gradlab class 1",
        "lab": group.lab,
        "worth": group.worth,
        "due": _time(group.due),
        "points": vars(numbers) if numbers else None,
        "standing": {str(s): [m.student for m in members] for s, members in by_standing(group).items()},
        "exercises": [_exercise(e) for e in findings.exercises(group)],
        "failed_checks": [vars(check) for check in findings.failed_checks(group)],
        "misconceptions": [_alike(a) for a in findings.misconceptions(group)],
        "alike": [_alike(a) for a in findings.alike(group)],
        "students": [_member(member) for member in group.members],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")


def _exercise(found: findings.ExerciseFinding) -> dict[str, Any]:
    goes = found.discrimination
    return {
        **vars(found.column),
        "wrote": found.wrote,
        "blank": found.blank,
        "waiting": found.waiting,
        "share": found.share,
        "discrimination": vars(goes) if goes else None,
    }


def _alike(found: findings.AlikeAnswers) -> dict[str, Any]:
    return {"exercise": found.exercise, "how": found.how, "students": [m.student for m in found.members]}


def _member(member: Member) -> dict[str, Any]:
    return {
        "student": member.student,
        "name": member.name,
        "team": member.team,
        "handed_in": member.handed_in,
        "graded": member.graded,
        "points": member.points if member.graded else None,
        "penalty": member.penalty,
        "submitted": _time(member.submitted),
        "extended_until": _time(member.until),
        "late_seconds": member.late,
        "attempts": [_time(when) for when in member.attempts],
        "marks": {name: mark.points for name, mark in member.marks.items()},
        "waits": [name for name, mark in member.marks.items() if mark.waits],
        "notes": member.notes,
        "changed": member.changed,
    }


def _time(when: datetime | None) -> str | None:
    return f"{when.isoformat(timespec='seconds')}Z" if when else None
