"""Every mark as a row of a CSV file, for a spreadsheet or a learning management system."""

from __future__ import annotations

from pathlib import Path

from autograder.errors import GradlabError
from autograder.gradebook.reader import read_results
from autograder.reports.tables import write_table

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
    write_table(path, COLUMNS, ([getattr(result, column) for column in COLUMNS] for result in results))
    return len(results)
