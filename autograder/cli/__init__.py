"""The command line. Each module holds the commands of one kind of work; importing it makes them known."""

from autograder.cli import authoring, corrections, desk, grading, lms, machine, reports
from autograder.cli.app import main, run

__all__ = ["authoring", "corrections", "desk", "grading", "lms", "machine", "main", "reports", "run"]
