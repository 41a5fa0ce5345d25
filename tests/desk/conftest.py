"""A class whose answers wait to be read."""

import shutil
from pathlib import Path

import pytest

from tests.desk.answered_class import add_question, hand_in


@pytest.fixture(scope="session")
def waiting_course(built_course: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made once: nbgrader needs a second to read the lab into its gradebook."""
    course = Path(shutil.copytree(built_course, tmp_path_factory.mktemp("waiting"), dirs_exist_ok=True))
    add_question(course)
    hand_in(course)
    return course


@pytest.fixture
def course(waiting_course: Path, tmp_path: Path) -> Path:
    """Five students: four answers in words wait, two of them alike, and one is not written."""
    return Path(shutil.copytree(waiting_course, tmp_path / "course"))
