"""Every mark as a row of a CSV file, for a spreadsheet or a learning management system."""

from __future__ import annotations

import csv
from pathlib import Path

from autograder.errors import GradlabError
from autograder.gradebook.reader import read_results

FORMULA = ("=", "+", "-", "@", "\t", "\r")
COLUMNS = ("student", "lab", "points", "worth", "penalty", "needs_manual_grade")


def write_csv(db_url: str, course: Path, labs: list[str], path: Path) -> int:
    """Write the marks of these labs, and say how many there are. Labs that nobody has graded are left out."""
    results = []
    for lab in labs:
        try:
            results += read_results(db_url, course, lab)
        except GradlabError:
            continue  # not graded yet
    if not results:
        raise GradlabError("the gradebook holds no marks yet: run gradlab grade LAB first")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows([_plain(getattr(result, column)) for column in COLUMNS] for result in results)
    return len(results)


def _plain(value: object) -> object:
    """A text that a spreadsheet takes for a text: one that begins like a formula gets a quote, as OWASP says."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value
