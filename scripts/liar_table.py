"""Writes the table of liars in docs/trust.md from labs/proofs.json: python -m scripts.liar_table."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from autograder.authoring.course_folder import read_course, read_labs
from autograder.model.course import Lab
from autograder.proving.proof_store import PROOFS_FILE

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "trust.md"
HEAD = """\
| lab | lies of the first kind | points | of the second kind, points |
|---|---|---|---|
"""


def format_liar_table(labs: Sequence[Lab]) -> str:
    """Return the table, with a row for each lab. Raises KeyError if a lab has no proof."""
    records = _load_records()
    return HEAD + "".join(_format_row(lab, records[lab.name]) for lab in sorted(labs, key=lambda lab: lab.name))


def _load_records() -> dict[str, Any]:
    return dict(json.loads((ROOT / "labs" / PROOFS_FILE).read_text(encoding="utf-8"))["labs"])


def _format_row(lab: Lab, proofs: dict[str, dict[str, float]]) -> str:
    number = lab.name.partition("_")[0]
    lies, generated, written = (
        sum(proof.get(name, 0) for proof in proofs.values())
        for name in ("lies", "generated_liar_points", "written_liar_points")
    )
    second = f"{written:.3g}" if any(a.liar for e in lab.exercises for a in e.answers) else "none written"
    return f"| {number} | {lies} | {generated:g} of {lab.points:g} | {second} |\n"


def main() -> None:
    """Replace the table on the page. Exits with a message if a lab has no proof, or the page no table."""
    labs = list(read_labs(read_course(ROOT)))
    if unproved := {lab.name for lab in labs} - _load_records().keys():
        sys.exit(f"no proof of {', '.join(sorted(unproved))}: run gradlab prove first")
    page = PAGE.read_text(encoding="utf-8")
    page, count = re.subn(re.escape(HEAD) + r"(\|.*\n)*", format_liar_table(labs), page)
    if not count:
        sys.exit(f"{PAGE} has no such table")
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
