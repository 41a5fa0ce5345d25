"""The report on a lab for programs: CSV with a row for each student, and JSON with everything on the page."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

from autograder.gradebook.class_results import ClassResults, Member
from autograder.reports import findings
from autograder.reports.class_statistics import compute_spread
from autograder.reports.csv_files import write_table
from autograder.reports.standing import group_by_standing, list_standings

HEAD = "student name points worth penalty submitted extended_until late_seconds attempts standing".split()


def write_class_csv(class_results: ClassResults, path: Path) -> None:
    """Write a row for everyone in the course; an exercise without points has an empty cell."""
    any_submitted = any(member.has_submitted for member in class_results.members)
    rows = []
    for member in class_results.members:
        marks = [mark.points if (mark := member.marks.get(column.name)) else None for column in class_results.columns]
        standings = ", ".join(list_standings(member, any_submitted))
        times = [
            _format_time(member.submitted),
            _format_time(member.extension_end),
            member.seconds_late,
            len(member.attempts),
        ]
        total = [
            member.student,
            member.name,
            member.points if member.graded else None,
            class_results.worth,
            member.penalty,
        ]
        rows.append([*total, *times, standings, *marks])
    write_table(path, [*HEAD, *(column.name for column in class_results.columns)], rows)


def write_class_json(class_results: ClassResults, path: Path) -> None:
    """Write JSON with the keys of the CSV and of the page's tables. It quotes hidden checks: it's for instructors."""
    spread = compute_spread([member.points for member in class_results.counting_members])
    document = {
        "format": "gradlab class 1",
        "lab": class_results.lab,
        "worth": class_results.worth,
        "due": _format_time(class_results.due),
        "points": vars(spread) if spread else None,
        "standing": {str(s): [m.student for m in members] for s, members in group_by_standing(class_results).items()},
        "exercises": [_encode_exercise(e) for e in findings.summarize_exercises(class_results)],
        "failed_checks": [vars(check) for check in findings.list_failed_checks(class_results)],
        "misconceptions": [_encode_alike(a) for a in findings.list_misconceptions(class_results)],
        "alike": [_encode_alike(a) for a in findings.find_shared_mistakes(class_results)],
        "students": [_encode_member(member) for member in class_results.members],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def _encode_exercise(finding: findings.ExerciseFinding) -> dict[str, Any]:
    return {
        **vars(finding.column),
        "wrote": finding.wrote,
        "blank": finding.blank,
        "waiting": finding.waiting,
        "share": finding.share,
        "discrimination": vars(finding.discrimination) if finding.discrimination else None,
    }


def _encode_alike(answers: findings.AlikeAnswers) -> dict[str, Any]:
    return {"exercise": answers.exercise, "how": answers.failures, "students": [m.student for m in answers.members]}


def _encode_member(member: Member) -> dict[str, Any]:
    """Encode a student for JSON. `points` is null if there is no mark yet; times are UTC."""
    return {
        "student": member.student,
        "name": member.name,
        "team": member.team,
        "handed_in": member.has_submitted,
        "graded": member.graded,
        "points": member.points if member.graded else None,
        "penalty": member.penalty,
        "submitted": _format_time(member.submitted),
        "extended_until": _format_time(member.extension_end),
        "late_seconds": member.seconds_late,
        "attempts": [_format_time(time) for time in member.attempts],
        "marks": {name: mark.points for name, mark in member.marks.items()},
        "waits": [name for name, mark in member.marks.items() if mark.needs_manual_grade],
        "notes": member.messages,
        "changed": member.changed_names,
    }


def _format_time(time: datetime | None) -> str | None:
    return f"{time.isoformat(timespec='seconds')}Z" if time else None
