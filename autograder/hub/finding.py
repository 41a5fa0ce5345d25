"""What a check of a hub finds."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from autograder.base.errors import format_problem

CONTINUATION = "\n         "  # below the word after "    fix: "


@dataclass(frozen=True)
class Finding:
    """Something to cure."""

    problem: str
    cure: str
    """A command, or what to write."""
    blocks: bool = True
    """Whether the hub must not start with it."""

    def format(self) -> str:
        """Format it as errors are, with all lines of the cure below the first."""
        return format_problem(self.problem, self.cure.replace("\n", CONTINUATION))


def format_command(*words: object) -> str:
    return shlex.join(map(str, words))
