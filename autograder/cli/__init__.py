"""The command line. Each module holds the commands of one kind of work; importing it makes them known."""

from autograder.cli import authoring, desk, grading, lms, machine, pages, term
from autograder.cli.app import main, run

__all__ = ["authoring", "desk", "grading", "lms", "machine", "main", "pages", "run", "term"]
