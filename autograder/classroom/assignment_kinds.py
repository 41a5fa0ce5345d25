"""Opens an assignment as what it is: a lab assignment or a stock assignment."""

from __future__ import annotations

from pathlib import Path

from autograder.classroom.assignment import Assignment
from autograder.classroom.lab_assignment import LabAssignment
from autograder.classroom.stock_assignment import StockAssignment
from autograder.model.assignments import is_stock


def open_assignment(course: Path, name: str) -> Assignment:
    """Open the assignment with this name. Without a source notebook, it counts as a lab."""
    return StockAssignment(course, name) if is_stock(course, name) else LabAssignment(course, name)
