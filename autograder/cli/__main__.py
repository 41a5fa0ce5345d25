"""Makes `python -m autograder.cli` the command gradlab."""

from autograder.cli import run

run()
