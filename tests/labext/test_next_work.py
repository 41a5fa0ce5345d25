"""Which lab a student continues with."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import labext
from autograder.hub.programs import find_node

SCRIPTS = Path(str(labext.__file__)).parent / "share" / "jupyter" / "labextensions" / "gradlab-course" / "js"
ASK = """
import { chooseNextLab, listUnopened } from './next_work.js';
const [labs, open] = JSON.parse(process.argv[2]);
const next = chooseNextLab({ labs }, labs.find(lab => lab.name === open));
console.log(next?.name ?? '', ...(next ? listUnopened({ labs }, next).map(lab => lab.name) : []));
"""
DONE, LEFT = "", "squares"  # the next exercise of a lab


def describe_lab(name: str, left: str, changed: int = 0, needs: tuple[str, ...] = ()) -> dict[str, Any]:
    """Describe a lab as the server does; begun if it has changed since the student got it."""
    return {"name": name, "next": left, "begun": changed > 0, "changed": changed, "needs": needs}


def choose_lab(folder: Path, *labs: dict[str, Any], front: str = "") -> str:
    """Return the lab's name, followed by those of the labs that it builds on and that weren't opened."""
    node = find_node()
    assert node is not None, "make setup installs Node"
    shutil.copytree(SCRIPTS, folder / "js")
    (folder / "package.json").write_text('{"type": "module"}')
    script = folder / "js" / "ask.js"
    script.write_text(ASK)
    asked = [str(node), str(script), json.dumps([labs, front])]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize(
    ("second", "third", "following"),
    [
        pytest.param((LEFT, 0), (LEFT, 0), "1", id="a new student begins at the beginning"),
        pytest.param((LEFT, 5), (LEFT, 0), "2", id="a later lab that has begun is continued"),
        pytest.param((DONE, 5), (LEFT, 0), "3", id="the lab after a finished one is next"),
        pytest.param((LEFT, 5), (LEFT, 9), "3", id="the lab worked on last is continued"),
        pytest.param((LEFT, 9), (LEFT, 5), "2", id="even if a lab below it has begun"),
        pytest.param((DONE, 5), (DONE, 9), "1", id="what was left out follows the last lab"),
    ],
)
def test_labs_done_elsewhere_are_passed_over(
    tmp_path: Path, second: tuple[str, int], third: tuple[str, int], following: str
) -> None:
    labs = [describe_lab("1", LEFT), describe_lab("2", *second), describe_lab("3", *third)]
    assert choose_lab(tmp_path, *labs) == following


def test_a_lab_left_unfinished_is_passed_over_for_a_later_one(tmp_path: Path) -> None:
    labs = [describe_lab("1", LEFT, 1), describe_lab("2", DONE, 5), describe_lab("3", LEFT)]
    assert choose_lab(tmp_path, *labs) == "3"


def test_the_labs_that_the_next_one_builds_on_are_named_if_they_were_not_opened(tmp_path: Path) -> None:
    labs = [describe_lab("1", LEFT), describe_lab("2", LEFT, 1), describe_lab("3", LEFT, 5, needs=("1", "2"))]
    assert choose_lab(tmp_path, *labs) == "3 1"


def test_the_lab_in_front_is_continued(tmp_path: Path) -> None:
    labs = [describe_lab("1", LEFT), describe_lab("2", LEFT, 5), describe_lab("3", LEFT)]
    assert choose_lab(tmp_path, *labs, front="3") == "3"


def test_a_finished_course_has_no_next_lab(tmp_path: Path) -> None:
    assert choose_lab(tmp_path, describe_lab("1", DONE, 1), describe_lab("2", DONE, 5)) == ""
