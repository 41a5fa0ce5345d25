"""Reads what a class's files say: who handed in and when, with which outcome, and which pages are written."""

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
    """Read when each student's submission in submitted/ was handed in; None if nbgrader kept no time."""
    return {folder.parent.name: read_time(folder) for folder in (course / "submitted").glob(f"*/{lab}")}


def read_counting_times(course: Path, lab: str, term: Term) -> dict[str, datetime | None]:
    """Read when each student's counting submission was handed in: a team's newest one counts for all who handed in."""
    submitted = read_submitted_times(course, lab)
    counting = dict(submitted)
    for student in submitted:
        team = term.find_team(lab, student)
        times = [time for member in (team.members if team else ()) if (time := submitted.get(member))]
        counting[student] = max(times, default=submitted[student])
    return counting


def read_trouble(course: Path, lab: str, student: str) -> dict[str, Any]:
    """Read the notes, the stopped cells and `made_of` of a result document, without its checks."""
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
        raise GradlabError(f"{path} isn't a result document: grade this submission again\n    {error}") from None


def find_page(course: Path, lab: str, student: str) -> str:
    """Return the path of a student's page, or of the graded notebook if there is no page yet, relative to results/.

    For a stock assignment with several notebooks, it's the first one's.
    """
    feedback = course / "feedback" / student / lab / f"{lab}.html"
    for path in (feedback, get_autograded_path(course, lab, student)):
        candidates = [path] if path.exists() else sorted(path.parent.glob(f"*{path.suffix}"))
        if candidates:
            return f"../{candidates[0].relative_to(course).as_posix()}"
    return ""
