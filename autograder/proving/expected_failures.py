"""Rewrites the `fails=` lists of wrong answers from the checks that they failed."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from autograder.model.answer import Answer

FAILS = re.compile(r"\s+fails=\S*")
HEADER = "# %% wrong "


class FailingChecks(NamedTuple):
    """The checks that a wrong answer failed, and the place of its header."""

    path: Path
    line: int
    ids: tuple[str, ...]


def update_fails_options(outdated: Iterable[FailingChecks]) -> str:
    """Write each list into its header. Returns the changes as a unified diff."""
    outdated = list(outdated)
    changes: list[str] = []
    for path in sorted({checks.path for checks in outdated}):
        before = path.read_text(encoding="utf-8").splitlines()
        after = list(before)
        for checks in outdated:
            if checks.path == path:
                after[checks.line - 1] = replace_fails_option(before[checks.line - 1], checks.ids)
        changes += difflib.unified_diff(before, after, str(path), str(path), lineterm="", n=0)
        path.write_text("\n".join(after) + "\n", encoding="utf-8")
    return "\n".join(changes)


def replace_fails_option(header: str, ids: tuple[str, ...]) -> str:
    """Return the header of a wrong answer with this list after its label."""
    label, quote, options = header.rpartition('"')
    return f"{label}{quote} fails={','.join(ids)}{FAILS.sub('', options)}"


def can_update(answer: Answer) -> bool:
    """Return whether the answer has its own header. The builder makes those of a quiz."""
    return answer.path.read_text(encoding="utf-8").splitlines()[answer.line - 1].startswith(HEADER)
