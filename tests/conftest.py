"""What tests of every package share: small courses, and the project's own."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import settings

from autograder.authoring.course import build, read_course, read_labs
from autograder.authoring.new import new_lab
from autograder.course import Course, Lab

ROOT = Path(__file__).parent.parent

settings.register_profile("default", max_examples=100, deadline=None)
settings.register_profile("nightly", max_examples=5000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests first, so that at the end no worker waits for another's."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


def need(program: str) -> None:
    """Skip a test whose program is not installed; under CI=true that is an error."""
    if shutil.which(program) is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(f"{program} is not installed: run make setup")


@pytest.fixture(scope="session")
def course() -> Course:
    """The project's own course."""
    return read_course(ROOT)


@pytest.fixture(scope="session")
def labs(course: Course) -> list[Lab]:
    return list(read_labs(course))


@pytest.fixture
def small_course(tmp_path: Path) -> Path:
    """A course of one lab of one exercise, sum_of_squares (2 points), built, with nbgrader's configuration."""
    (tmp_path / "labs").mkdir()
    (tmp_path / "labs" / "course.toml").write_text('title = "A small course"\n')
    shutil.copy(ROOT / "nbgrader_config.py", tmp_path)
    new_lab(tmp_path, "01_squares")
    build(read_course(tmp_path))
    return tmp_path
