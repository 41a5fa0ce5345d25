"""The light lab of the benchmarks follows the rules for labs, so the benchmarks start."""

from pathlib import Path

import pytest

from autograder.authoring.course_folder import read_course, read_labs, render_files
from autograder.model.course import Lab
from benchmarks.classroom import LIGHT_LAB, add_light_lab, iter_submissions


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    (tmp_path / "labs").mkdir()
    (tmp_path / "labs" / "course.toml").write_text('title = "Benchmarks"\n')
    add_light_lab(tmp_path)
    (lab,) = read_labs(read_course(tmp_path))
    return lab


def test_its_notebooks_build(lab: Lab, tmp_path: Path) -> None:
    assert [path.name for path in render_files(lab, tmp_path)] == 3 * [f"{LIGHT_LAB}.ipynb"]


def test_its_answers_make_a_class(lab: Lab) -> None:
    notebooks = dict(iter_submissions(lab, 12, distinct=6))
    assert len(notebooks) == 12 and len(set(notebooks.values())) == 6
