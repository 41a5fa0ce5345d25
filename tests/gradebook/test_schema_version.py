"""A new gradebook has the version that nbgrader would record, without starting nbgrader's program for it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import nbgrader.alembic
import pytest
from nbgrader import api
from sqlalchemy import text

from autograder.gradebook import schema_version
from autograder.gradebook.database import open_gradebook
from autograder.gradebook.schema_version import ask_alembic, find_newest_version


def test_the_version_is_what_alembic_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")  # alembic is there
    assert find_newest_version() == ask_alembic()


def test_a_new_gradebook_has_it_and_starts_no_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api.sp, "check_output", lambda *_: pytest.fail("a program was started"))
    with open_gradebook(f"sqlite:///{tmp_path}/gradebook.db") as gradebook:
        assert gradebook.db.execute(text("SELECT * FROM alembic_version")).scalar() == find_newest_version()


def test_alembic_is_asked_in_unclear_cases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "versions").mkdir()
    for name in ("a1", "b2"):
        (tmp_path / f"versions/{name}.py").write_text(f"revision = '{name}'\ndown_revision = None\n")
    monkeypatch.setattr(nbgrader.alembic, "__path__", [str(tmp_path)])
    monkeypatch.setattr(schema_version, "ask_alembic", lambda: "asked")
    assert find_newest_version() == "asked"
