"""Gradlab waits for a gradebook that another program has locked, and then names it."""

import getpass
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from nbgrader.api import Gradebook
from sqlalchemy import text

from autograder.base.errors import GradlabError
from autograder.gradebook import database
from autograder.gradebook.database import open_gradebook
from autograder.gradebook.writer import write_marks
from autograder.model.marks import MarkSheet


@pytest.fixture
def gradebook(built_course: Path, tmp_path: Path) -> Iterator[Gradebook]:
    path = tmp_path / "gradebook.db"
    path.write_bytes((built_course / "gradebook.db").read_bytes())
    with Gradebook(f"sqlite:///{path}?timeout=0.2") as book:
        book.add_assignment("a")
        yield book


def list_submitters(gradebook: Gradebook) -> list[str]:
    return [submission.student_id for submission in gradebook.assignment_submissions("a")]


def record_ada(gradebook: Gradebook) -> None:
    write_marks(gradebook, "a", [MarkSheet("ada", {})], lambda *_: None, {})


@contextmanager
def lock_database(path: Path) -> Iterator[sqlite3.Connection]:
    """Lock the database as another program that is writing."""
    with closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield other


def test_a_gradebook_that_is_held_for_a_while_gets_its_marks(
    gradebook: Gradebook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    with lock_database(tmp_path / "gradebook.db") as other:

        def wait(seconds: float) -> None:
            waits.append(seconds)
            if len(waits) == 2:
                other.rollback()

        monkeypatch.setattr(database.time, "sleep", wait)
        record_ada(gradebook)
    assert tuple(waits) == database.WAITS[:2] and list_submitters(gradebook) == ["ada"]


def test_a_gradebook_that_stays_held_is_named_and_the_next_try_succeeds(
    gradebook: Gradebook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "WAITS", (0.1,))
    with (
        lock_database(tmp_path / "gradebook.db"),
        pytest.raises(GradlabError, match="another program has locked the gradebook"),
    ):
        record_ada(gradebook)
    record_ada(gradebook)
    assert list_submitters(gradebook) == ["ada"]


def test_a_gradebook_that_is_held_when_it_is_opened_is_named_too(gradebook: Gradebook, tmp_path: Path) -> None:
    with (
        lock_database(tmp_path / "gradebook.db"),
        pytest.raises(GradlabError, match="another program has locked the gradebook"),
        open_gradebook(f"sqlite:///{tmp_path}/gradebook.db?timeout=0.2"),
    ):
        pass


def test_a_gradebook_that_the_user_may_only_read_is_named_with_its_owner(gradebook: Gradebook, tmp_path: Path) -> None:
    gradebook.db.execute(text("PRAGMA query_only = 1"))  # as SQLite refuses a file of someone else, even to root
    gradebook.db.commit()
    with pytest.raises(GradlabError) as refusal:
        record_ada(gradebook)
    path, user = tmp_path / "gradebook.db", getpass.getuser()
    assert f"{user} can't write to the gradebook {path}, which belongs to {user}: correct" in str(refusal.value)
