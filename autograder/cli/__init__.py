"""The command line. Each module has the commands for one kind of work; importing it registers them."""

from autograder.cli import authoring, corrections, desk, grading, hub, lms, machine, reports
from autograder.cli.app import main, run

__all__ = ["authoring", "corrections", "desk", "grading", "hub", "lms", "machine", "main", "reports", "run"]
