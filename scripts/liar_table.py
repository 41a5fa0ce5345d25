"""Writes the table of liars in docs/trust.md from labs/proofs.json: python -m scripts.liar_table."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from autograder.proving.proof_store import PROOFS_FILE

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "trust.md"
HEAD = """\
| lab | lies of the first kind | points | of the second kind, points |
|---|---|---|---|
"""


def format_liar_table(labs: Path) -> str:
    """Return the table, with a row for each lab that has a proof."""
    records = sorted(_load_records(labs).items())
    return HEAD + "".join(_format_row(labs / name, record["proof"]) for name, record in records)


def _load_records(labs: Path) -> dict[str, Any]:
    return dict(json.loads((labs / PROOFS_FILE).read_text(encoding="utf-8"))["labs"])


def _format_row(lab: Path, proof: dict[str, Any]) -> str:
    number = lab.name.partition("_")[0]
    generated_liar_points, written_liar_points = (
        sum(proof.get("generated_liar_points", {}).values()),
        sum(proof.get("written_liar_points", {}).values()),
    )
    exercises = (file.read_text(encoding="utf-8") for file in lab.glob("exercises/*.py"))
    second = f"{written_liar_points:.3g}" if any("\n# %% liar" in text for text in exercises) else "none written"
    return f"| {number} | {proof.get('lies', 0)} | {generated_liar_points:g} of {proof['points']:g} | {second} |\n"


def main() -> None:
    """Replace the table on the page. Exits with a message if a lab has no proof, or the page no table."""
    unproved = {path.parent.name for path in (ROOT / "labs").glob("*/lab.py")} - _load_records(ROOT / "labs").keys()
    if unproved:
        sys.exit(f"no proof of {', '.join(sorted(unproved))}: run gradlab prove first")
    page = PAGE.read_text(encoding="utf-8")
    page, count = re.subn(re.escape(HEAD) + r"(\|.*\n)*", format_liar_table(ROOT / "labs"), page)
    if not count:
        sys.exit(f"{PAGE} has no such table")
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
