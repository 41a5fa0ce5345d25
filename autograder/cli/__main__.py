"""python -m autograder.cli is the command gradlab."""

from autograder.cli import run

run()
