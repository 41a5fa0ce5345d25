"""Authors need no gradebook, and nbgrader takes seconds to create one."""

import shutil
from pathlib import Path

import pytest


@pytest.fixture
def small_course(course_without_gradebook: Path, tmp_path: Path) -> Path:
    """A course of one lab of one exercise, sum_of_squares (2 points), built."""
    return Path(shutil.copytree(course_without_gradebook, tmp_path, dirs_exist_ok=True))
