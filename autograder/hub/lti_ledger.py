"""What a course's grades service has sent and learned, on disk: each score, columns' addresses, and members."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TABLES = """
create table if not exists scores (context text, lab text, subject text, points real, worth real, is_final integer,
    address text, primary key (context, lab, subject)) without rowid;
create table if not exists columns (context text, lab text, address text, primary key (context, lab)) without rowid;
create table if not exists members (context text, subject text, name text,
    primary key (context, subject)) without rowid;
"""


@dataclass(frozen=True)
class SentScore:
    """A score as the platform knows it."""

    points: float
    worth: float
    is_final: bool
    column: str
    """The address of the column that has it."""


class Ledger:
    """The file. Each method is one transaction, which survives a crash."""

    def __init__(self, path: Path) -> None:
        path.touch(mode=0o600)
        self._path = path
        with closing(self._connect()) as connection:
            connection.executescript(TABLES)

    def read_scores(self) -> dict[tuple[str, str, str], SentScore]:
        """Read what was sent, by context, lab and the person's ID."""
        rows = self._read("select context, lab, subject, points, worth, is_final, address from scores")
        return {
            (context, lab, subject): SentScore(points, worth, bool(is_final), address)
            for context, lab, subject, points, worth, is_final, address in rows
        }

    def record_score(self, context: str, lab: str, subject: str, score: SentScore) -> None:
        row = (context, lab, subject, score.points, score.worth, score.is_final, score.column)
        self._write("insert or replace into scores values (?, ?, ?, ?, ?, ?, ?)", [row])

    def find_column(self, context: str, lab: str) -> str:
        """Find the address of a lab's column; empty if it isn't known."""
        rows = self._read("select address from columns where context = ? and lab = ?", (context, lab))
        return str(rows[0][0]) if rows else ""

    def record_column(self, context: str, lab: str, address: str) -> None:
        self._write("insert or replace into columns values (?, ?, ?)", [(context, lab, address)])

    def forget_column(self, context: str, lab: str) -> None:
        self._write("delete from columns where context = ? and lab = ?", [(context, lab)])

    def read_members(self, context: str) -> dict[str, str]:
        """Read the names of the students in a context, by the person's ID."""
        return dict(self._read("select subject, name from members where context = ?", (context,)))

    def record_members(self, context: str, names: dict[str, str]) -> None:
        """Replace the students of a context."""
        with closing(self._connect()) as connection, connection:
            connection.execute("delete from members where context = ?", (context,))
            rows = [(context, subject, name) for subject, name in names.items()]
            connection.executemany("insert into members values (?, ?, ?)", rows)

    def _read(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        with closing(self._connect()) as connection:
            return connection.execute(query, values).fetchall()

    def _write(self, query: str, rows: Sequence[tuple[object, ...]]) -> None:
        with closing(self._connect()) as connection, connection:
            connection.executemany(query, rows)

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path)
