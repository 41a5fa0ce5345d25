"""docs/claims.md has a row for each claim, says where it is shown, and ticks exactly those that a test here runs."""

from __future__ import annotations

import re
from pathlib import Path

from autograder.course import Course

HERE = Path(__file__).parent
TESTED = {
    int(number)
    for path in HERE.glob("test_*.py")
    for numbers in re.findall(r"^def test_((?:\d{3}_)+)", path.read_text(), re.MULTILINE)
    for number in numbers.strip("_").split("_")
}


def rows() -> dict[int, list[str]]:
    """number -> [said, verdict, what PyTorch does, tick, where]."""
    page = (HERE.parent.parent / "docs" / "claims.md").read_text()
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line[:1] == "|"]
    return {int(number): rest for number, *rest in lines if number.isdigit()}


def test_every_claim_has_a_row_with_a_verdict_and_a_place() -> None:
    found = rows()
    assert sorted(found) == list(range(1, 233))
    for number, (said, verdict, does, _, where) in found.items():
        assert said and verdict in ("T", "F", "O", "M", "N") and does and where, number


def test_a_row_is_ticked_where_a_test_runs_it_and_says_why_where_none_does() -> None:
    for number, (_, _, _, tick, where) in rows().items():
        assert (tick == "✓") == (number in TESTED), number
        assert (tick == "✓") != bool(re.search("not run: |left out: ", where)) or where.startswith("left out"), number


def test_the_labs_that_it_names_are_there(course: Course) -> None:
    there = {entry.name[:2] for entry in course.labs}
    for number, (*_, where) in rows().items():
        named = set(re.findall(r"\b(0[1-9]|1[0-2])\b", where))
        assert where.startswith("left out") or named, number
        assert named <= there, number
