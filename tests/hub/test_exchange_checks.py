"""What gradlab hub check finds in a course's exchange, and in its folder."""

import fcntl
import os
import shutil
from pathlib import Path

import pytest

from autograder.hub.checks import check_hub
from autograder.hub.hub_folder import prepare_folder
from autograder.hub.hub_lock import LOCK_FILE
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


def test_an_exchange_that_is_gone_is_found_while_the_hub_runs(folder: Path, exchange: Path) -> None:
    exchange.rename(exchange.with_name("elsewhere"))
    assert list_problems(folder) == "", "the next start makes it"
    with (folder / LOCK_FILE).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert f"{exchange} is missing, so no one can submit while the hub runs FIX put it back" in list_problems(
            folder
        )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")
def test_a_class_that_was_made_a_demo_is_found_and_nothing_else(folder: Path, exchange: Path) -> None:
    os.chown(exchange, 12345, 12345)
    exchange.chmod(0o777)
    (found,) = check_hub(read_settings(folder / "hub.toml"))
    assert "says demo = true, and this hub has had users with accounts" in found.problem and found.blocks


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")
@pytest.mark.parametrize("name", ["hub.toml", "jupyterhub_config.py"])
def test_a_file_of_the_hub_that_another_user_owns_is_found(folder: Path, exchange: Path, name: str) -> None:
    os.chown(folder / name, 12345, 12345)
    problem, _, fix = list_problems(folder).partition(" FIX ")
    assert problem == f"{folder / name} belongs to 12345, who could change what the hub does"
    assert fix == f"chown root {folder / name}"


def test_a_course_without_a_lab_is_a_warning(folder: Path) -> None:
    shutil.rmtree(folder.parent / "physics" / "source")
    (found,) = check_hub(read_settings(folder / "hub.toml"))
    assert found.problem == f"{folder.parent}/physics/source has no lab, so there is nothing to release"
    assert not found.blocks
