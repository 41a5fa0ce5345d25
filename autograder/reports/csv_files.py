"""CSV files that a spreadsheet opens without running anything."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write_table(path: Path, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([escape_formula(name) for name in head])
        writer.writerows([escape_formula(value) for value in row] for row in rows)


def escape_formula(value: object) -> object:
    """Put a quote in front of a text that begins like a formula, so spreadsheets read it as text, as OWASP advises."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value
