"""A whole course in nbgrader's own style: the marks of `gradlab grade`, and of nbgrader with the plugin, are stock nbgrader's."""

from pathlib import Path

import pytest

from tests.plain.plain_course import OURS, STOCK, copied, released, rows, run
from tests.plain.small_course import make

LABS = ("ps1", "ps2")


@pytest.fixture(scope="module")
def handed_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("handed_in"))


@pytest.fixture(scope="module")
def by_nbgrader(handed_in: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    course = copied(handed_in, tmp_path_factory.mktemp("stock"), STOCK)
    released(course, LABS)
    for lab in LABS:
        said = run(course, "nbgrader", "autograde", lab)
        assert "exit status 0" in said, said
    return course


@pytest.mark.slow
def test_gradlab_gives_the_marks_of_stock_nbgrader(handed_in: Path, by_nbgrader: Path, tmp_path: Path) -> None:
    """Slow: stock nbgrader starts a kernel for each notebook."""
    course = copied(handed_in, tmp_path / "ours", OURS)
    for lab in LABS:
        said = run(course, "gradlab", "grade", lab)
        assert "exit status 0" in said, said
    assert rows(course) == rows(by_nbgrader)


@pytest.mark.nightly
@pytest.mark.slow
def test_nbgraders_own_command_gives_them_too(handed_in: Path, by_nbgrader: Path, tmp_path: Path) -> None:
    """Slow: the same, and by night, since it shares all but its loop with `gradlab grade`."""
    course = copied(handed_in, tmp_path / "plugin", OURS)
    released(course, LABS)
    for lab in LABS:
        said = run(course, "nbgrader", "autograde", lab)
        assert "exit status 0" in said, said
    assert rows(course) == rows(by_nbgrader)
