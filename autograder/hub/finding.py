"""What a check of a hub finds."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable
from dataclasses import asdict, dataclass

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


def print_findings(findings: Iterable[Finding]) -> None:
    """Print them for the process that started this one, in the last line: other code may print something, too."""
    print(f"\n{json.dumps([asdict(finding) for finding in findings])}")


def parse_findings(output: str) -> list[Finding]:
    """Parse what print_findings printed."""
    return [Finding(**values) for values in json.loads(output.splitlines()[-1])]
