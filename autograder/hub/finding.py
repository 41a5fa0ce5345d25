"""What a check of a hub finds."""

from __future__ import annotations

import shlex
from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """Something to cure."""

    problem: str
    cure: str
    """A command, or what to write."""
    blocks: bool = True
    """Whether the hub must not start with it."""


def format_command(*words: object) -> str:
    return shlex.join(map(str, words))
