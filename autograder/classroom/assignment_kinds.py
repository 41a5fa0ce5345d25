"""Opens an assignment as what it is: a lab assignment or a stock assignment."""

from __future__ import annotations

from pathlib import Path

from autograder.classroom.assignment import Assignment
from autograder.classroom.lab_assignment import LabAssignment
from autograder.classroom.stock_assignment import StockAssignment
from autograder.model.assignments import AssignmentKind, find_kind


def open_assignment(course: Path, name: str) -> Assignment:
    """Open the assignment with this name. Without a source notebook, it counts as a lab."""
    if find_kind(course, name) is AssignmentKind.STOCK:
        return StockAssignment(course, name)
    return LabAssignment(course, name)
