"""Upgrades result documents from format 1, in which a reason was a sentence, to format 2.

The sentences here are exactly those of format 1. No other code parses the sentences of results.
"""

from __future__ import annotations

import re
from typing import Any

from labkit.cause import Cause
from labkit.outcome import Blame

COUNTS_AS_EMPTY = "Your file could not be graded, so it counts as empty. "
RAN_WITHOUT = ". The cells after it ran without it."
TIMED_OUT = re.compile(r"the time limit of ([\d.e+]+) s for a check was reached")
CAUSES = {
    "This exercise is not written yet.": Cause.UNWRITTEN,
    "the machine was too busy for this check": Cause.BUSY,
    "the Python process ended during this check": Cause.ENDED,
}
NOTHING = re.compile(r"your \w+ is None")


def upgrade_result(document: dict[str, Any]) -> dict[str, Any]:
    """Upgrade a document to format 2, unless it already has it."""
    if document.get("format") != "gradlab result 1":
        return document
    notebooks = document.get("notebooks", ())
    notes = {name: [_parse_note(text, notebooks) for text in document.get(name, ())] for name in ("notes", "remarks")}
    cells = [cell | {"checks": [_add_cause(check) for check in cell["checks"]]} for cell in document.get("cells", ())]
    return document | notes | {"format": "gradlab result 2", "cells": cells}


def _parse_note(text: str, notebooks: list[str]) -> dict[str, str]:
    notebook = next((name for name in notebooks if text.startswith(f"{name}: ")), "") if len(notebooks) > 1 else ""
    text = text.removeprefix(f"{notebook}: ") if notebook else text
    note = {"notebook": notebook or (notebooks[0] if len(notebooks) == 1 else "")}
    if text.startswith(COUNTS_AS_EMPTY):
        return note | {"kind": "refused", "words": text.removeprefix(COUNTS_AS_EMPTY)}
    if text.endswith(RAN_WITHOUT):
        shown, _, words = text.removesuffix(RAN_WITHOUT).partition(": ")
        return note | {"kind": "stopped", "words": words, "shown": shown, "cell": re.split(r",| \(", shown)[0]}
    return note | {"kind": "repair", "words": text}


def _add_cause(check: dict[str, Any]) -> dict[str, Any]:
    seen = check.get("seen", "")
    is_process = check.get("blame") == Blame.PROCESS
    if is_process and (match := TIMED_OUT.fullmatch(seen)):
        return check | {"cause": Cause.TIME, "limit": float(match[1])}
    default = Cause.OTHER if is_process else None
    return check | {"cause": Cause.NOTHING if NOTHING.fullmatch(seen) else CAUSES.get(seen, default)}
