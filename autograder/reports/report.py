"""The report on a class: marks, notes, and which checks cost it its points."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from autograder.errors import GradlabError
from autograder.gradebook.schema import SubmissionResult
from autograder.reports.pages import render


def write_report(results: list[SubmissionResult], lab: str, path: Path) -> None:
    """Write one HTML page, without scripts or anything from elsewhere."""
    if not results:
        raise GradlabError(f"no graded submission of {lab}: run gradlab grade {lab} first")
    path.parent.mkdir(parents=True, exist_ok=True)
    page = render(
        "report.html.j2",
        lab=lab,
        results=results,
        columns=columns(results),
        missed=missed_checks(results),
        mean=sum(r.points for r in results) / len(results),
    )
    path.write_text(page, encoding="utf-8")


def columns(results: list[SubmissionResult]) -> list[tuple[str, float]]:
    """(name, worth) of each graded cell, in the lab's order."""
    longest = max(results, key=lambda r: len(r.exercises))
    return [(e.name, e.worth) for e in longest.exercises]


def missed_checks(results: list[SubmissionResult]) -> list[tuple[str, str, int]]:
    """(exercise, check, how many submissions failed it), the commonest first."""
    counts = Counter((e.name, c.label) for r in results for e in r.exercises for c in e.checks if not c.passed)
    return [(exercise, label, n) for (exercise, label), n in sorted(counts.items(), key=lambda i: (-i[1], i[0]))]
