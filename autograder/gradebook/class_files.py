"""What lies in files about a class: who handed in and how often, what came of it, and which pages are written."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from autograder.base.errors import GradlabError
from autograder.base.timestamps import read_time
from autograder.gradebook.autograded_folder import get_autograded_path
from autograder.gradebook.store import get_result_path
from autograder.model.notes import Note
from autograder.model.result_upgrade import upgrade
from autograder.model.term import Term


def read_submitted_times(course: Path, lab: str) -> dict[str, datetime | None]:
    """student -> when the file in submitted/ was handed in, where nbgrader says so."""
    return {folder.parent.name: read_time(folder) for folder in (course / "submitted").glob(f"*/{lab}")}


def read_counting_times(course: Path, lab: str, term: Term) -> dict[str, datetime | None]:
    """The same where a team's newest submission counts for those of its members who handed in, too."""
    there = read_submitted_times(course, lab)
    counts = dict(there)
    for student in there:
        team = term.find_team(lab, student)
        times = [time for member in (team.members if team else ()) if (time := there.get(member))]
        counts[student] = max(times, default=there[student])
    return counts


def read_trouble(course: Path, lab: str, student: str) -> dict[str, Any]:
    """The notes, the stopped cells and made_of of a result document, without its checks."""
    path = get_result_path(course, lab, student)
    try:
        document = upgrade(from_json(path.read_bytes()) | {"cells": ()})
        return {
            "notes": tuple(Note.model_validate(note) for note in document.get("notes", ())),
            "notebooks": len(document.get("notebooks", ())),
            "damaged": document.get("empty", False),
            "stopped": tuple(document.get("stopped", ())),
            "made_of": document.get("made_of", {}),
        }
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise GradlabError(f"{path} is no result document: grade this submission again\n    {error}") from None


def find_page(course: Path, lab: str, student: str) -> str:
    """Where a student's page is, seen from results/; the graded notebook where no feedback is written yet.

    Of a stock assignment of several notebooks, the first one's.
    """
    feedback = course / "feedback" / student / lab / f"{lab}.html"
    for path in (feedback, get_autograded_path(course, lab, student)):
        found = [path] if path.exists() else sorted(path.parent.glob(f"*{path.suffix}"))
        if found:
            return f"../{found[0].relative_to(course).as_posix()}"
    return ""
