"""What gradlab hub check finds in a course's exchange, and in its folder."""

import os
import shutil
from pathlib import Path

import pytest

from autograder.hub.checks import check_hub
from autograder.hub.hub_folder import prepare_folder
from autograder.hub.settings import read_settings
from tests.hub.hub_file import list_problems

pytestmark = pytest.mark.usefixtures("equipped")


@pytest.fixture
def exchange(folder: Path) -> Path:
    """The exchange of a course, as the hub's start makes it."""
    prepare_folder(read_settings(folder / "hub.toml"))
    assert list_problems(folder) == ""
    return folder / "exchange" / "physics"


@pytest.mark.parametrize("name", ["", "nbgrader", "nbgrader/physics/inbound", "nbgrader/physics/.staging"])
def test_a_folder_of_the_exchange_with_another_mode_is_found(folder: Path, exchange: Path, name: str) -> None:
    path = exchange / name
    mode = path.stat().st_mode & 0o777
    path.chmod(0o707)
    problems = list_problems(folder)
    assert f"{path} has mode 707 and owner " in problems
    assert f"the exchange needs it to have mode {mode:o} and owner" in problems and f"chmod {mode:o} {path}" in problems


def test_a_file_that_replaced_a_folder_of_the_exchange_is_found(folder: Path, exchange: Path) -> None:
    path = exchange / "nbgrader" / "physics" / "outbound"
    path.rmdir()
    os.symlink("/etc", path)
    assert f"{path} isn't a folder, and the exchange needs one there FIX move it away" in list_problems(folder)


def test_a_course_without_a_lab_is_a_warning(folder: Path) -> None:
    shutil.rmtree(folder.parent / "physics" / "source")
    (found,) = check_hub(read_settings(folder / "hub.toml"))
    assert found.problem == f"{folder.parent}/physics/source has no lab, so there is nothing to release"
    assert not found.blocks
