"""Errors that a person can act on. The command line prints them without a traceback."""

from __future__ import annotations

from pathlib import Path


def format_problem(problem: str, fix: str) -> str:
    """Format a problem with its fix below it, as every command prints it."""
    return f"{problem}\n    fix: {fix}"


class GradlabError(Exception):
    """A problem that the person who runs gradlab can fix; the message says how.

    Args:
        problem: What is wrong, and where.
        fix: What to do about it, unless that's clear from the problem.
    """

    def __init__(self, problem: str, fix: str = "") -> None:
        super().__init__(format_problem(problem, fix) if fix else problem)
        self.problem, self.fix = problem, fix

    @property
    def placed_problem(self) -> str:
        """The problem, after its file and line if it has one."""
        return self.problem


class SourceError(GradlabError):
    """A mistake in a lab's source, with its place, the problem, and what to write instead."""

    def __init__(self, path: Path | str, line: int, problem: str, fix: str) -> None:
        super().__init__(f"{path}:{line}: {problem}", fix)
        self.path, self.line, self.problem = Path(path), line, problem

    @property
    def placed_problem(self) -> str:
        return f"{self.path}:{self.line}: {self.problem}"

    def __reduce__(self) -> tuple[type[SourceError], tuple[Path, int, str, str]]:
        """Say how to build a copy in another process: pickle would pass only the message."""
        return type(self), (self.path, self.line, self.problem, self.fix)
