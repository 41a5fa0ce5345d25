"""A whole course in nbgrader's own style: the marks of `gradlab grade`, and of nbgrader with the plugin, are stock nbgrader's."""

from pathlib import Path

import pytest

from tests.stock.kept import LABS, grade_with_stock, load_kept_marks, read_marks
from tests.stock.small_course import make
from tests.stock.stock_course import OURS, copy_course, release, run

pytestmark = pytest.mark.gate


@pytest.fixture(scope="module")
def submitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("submitted_work"))


@pytest.mark.slow
def test_gradlab_gives_the_marks_of_stock_nbgrader(submitted: Path, tmp_path: Path) -> None:
    """Slow: two assignments are graded."""
    course = copy_course(submitted, tmp_path / "ours", OURS)
    for lab in LABS:
        output = run(course, "gradlab", "grade", lab)
        assert "exit status 0" in output, output
    assert read_marks(course) == load_kept_marks(submitted)


@pytest.mark.nightly
@pytest.mark.slow
def test_stock_nbgrader_gives_the_marks_that_are_kept(submitted: Path, tmp_path: Path) -> None:
    """Slow: it starts a kernel for each notebook. By day the same marks are read from the file."""
    assert read_marks(grade_with_stock(submitted, tmp_path / "stock")) == load_kept_marks(submitted)


@pytest.mark.nightly
@pytest.mark.slow
def test_nbgraders_own_command_gives_the_same_marks(submitted: Path, tmp_path: Path) -> None:
    """Slow: the same, and by night, because it shares everything but its loop with `gradlab grade`."""
    course = copy_course(submitted, tmp_path / "plugin", OURS)
    release(course, LABS)
    for lab in LABS:
        output = run(course, "nbgrader", "autograde", lab)
        assert "exit status 0" in output, output
    assert read_marks(course) == load_kept_marks(submitted)
