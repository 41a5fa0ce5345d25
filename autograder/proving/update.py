"""Rewrites the lists `fails=` of wrong answers from the checks that they failed."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from autograder.model.course import Answer

FAILS = re.compile(r"\s+fails=\S*")
HEADER = "# %% wrong "


class FailingChecks(NamedTuple):
    """The checks that the wrong answer with its header at this line failed."""

    path: Path
    line: int
    ids: tuple[str, ...]


def update_lists(outdated: Iterable[FailingChecks]) -> str:
    """Write each list into its header. Returns what changed, as a unified diff."""
    outdated = list(outdated)
    changes: list[str] = []
    for path in sorted({found.path for found in outdated}):
        before = path.read_text(encoding="utf-8").splitlines()
        after = list(before)
        for found in outdated:
            if found.path == path:
                after[found.line - 1] = replace_list(before[found.line - 1], found.ids)
        changes += difflib.unified_diff(before, after, str(path), str(path), lineterm="", n=0)
        path.write_text("\n".join(after) + "\n", encoding="utf-8")
    return "\n".join(changes)


def replace_list(header: str, ids: tuple[str, ...]) -> str:
    """The header of a wrong answer with this list after its label."""
    label, quote, options = header.rpartition('"')
    return f"{label}{quote} fails={','.join(ids)}{FAILS.sub('', options)}"


def can_update(answer: Answer) -> bool:
    """Whether the answer has its own header: those of a quiz are the builder's."""
    return answer.path.read_text(encoding="utf-8").splitlines()[answer.line - 1].startswith(HEADER)
