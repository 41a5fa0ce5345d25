"""Objects of other packages are found by entry points, and one that can't be used is named with its package."""

from pathlib import Path

import pytest

from autograder.base.entry_points import list_names
from autograder.base.errors import GradlabError
from autograder.lms.learning_system import GROUP, load_system
from tests.other_packages import install


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_gradlabs_own_systems_are_found_by_their_entry_points() -> None:
    assert {"canvas", "csv", "gradescope", "moodle"} <= set(list_names(GROUP))


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    names = ", ".join(list_names(GROUP))
    with pytest.raises(
        GradlabError, match=rf"no package provides 'canvass' in gradlab.lms\n    fix: name one of {names}"
    ):
        load_system("canvass")


def test_a_name_that_two_packages_provide_is_refused(site: Path) -> None:
    install(site, "impostor", "CANVAS = 1", lms="canvas = CANVAS")
    with pytest.raises(GradlabError, match="several packages provide 'canvas': gradlab, impostor"):
        load_system("canvas")


@pytest.mark.parametrize(
    "source, words",
    [
        ("1 / 0", "broken:SLATE of the package broken can't be loaded: division by zero"),
        ("SLATE = 1", "broken:SLATE of the package broken isn.t a LearningSystem"),
        ("", "can't be loaded: module 'broken' has no attribute 'SLATE'"),
    ],
)
def test_an_object_that_cannot_be_used_is_named_with_its_package(
    source: str, words: str, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(__import__("sys").modules, "broken", raising=False)
    install(site, "broken", source, lms="slate = SLATE")
    with pytest.raises(GradlabError, match=words):
        load_system("slate")
