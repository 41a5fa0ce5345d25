"""What a student's home shows of a class: labs to get, submissions and newer versions, of each course."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from autograder.hub.course_pages import DUE_DATES
from labext.class_labs import read_offered_courses
from labext.lab_page import fetch_lab, replace_lab
from labext.workspace import Workspace
from tests.hub.exchange_process import COURSE, LAB, OTHER_COURSE, PREFIX, ExchangeProcess, run_exchange
from tests.hub.test_plugins import STUDENT_CONFIG

LABS = {"lab": LAB, "title": "Squares", "minutes": 60, "needs": []}


@pytest.fixture
def exchange(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An exchange of this test's own, since it releases labs. Ben is in both courses."""
    with run_exchange(tmp_path / "exchange") as running:
        monkeypatch.setenv("GRADLAB_EXCHANGE", f"http://127.0.0.1:{running.port}{PREFIX}")
        monkeypatch.setenv("JUPYTERHUB_API_TOKEN", "ben-token")
        monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
        monkeypatch.setenv("JUPYTER_CONFIG_PATH", str(STUDENT_CONFIG))
        write_lab(running, COURSE, "Squares")
        yield running


@pytest.fixture
def workspace(exchange: ExchangeProcess, tmp_path: Path) -> Workspace:
    (tmp_path / "home").mkdir()
    return Workspace((tmp_path / "home").resolve())


def write_lab(exchange: ExchangeProcess, course: str, title: str) -> None:
    notebook = {"cells": [], "metadata": {"gradlab": LABS | {"title": title}}}
    (exchange.folder / course / "outbound" / LAB / f"{LAB}.ipynb").write_text(json.dumps(notebook))


def read_labs(workspace: Workspace) -> dict[str, dict[str, Any]]:
    """The lab of each course."""
    return {course.name: lab for course in read_offered_courses(workspace).courses for lab in course.labs}


def test_labs_of_one_name_are_offered_and_got_course_by_course(workspace: Workspace) -> None:
    labs = read_labs(workspace)
    assert {course: (lab["title"], lab["path"]) for course, lab in labs.items()} == {
        COURSE: ("Squares", ""),
        OTHER_COURSE: (LAB, ""),  # not a lab of Gradlab's
    }
    fetch_lab(workspace, COURSE, LAB)
    labs = read_labs(workspace)
    assert labs[COURSE]["path"] == f"{COURSE}/{LAB}/{LAB}.ipynb" and labs[OTHER_COURSE]["path"] == ""
    assert labs[COURSE]["offer"] == {"newer": False, "submission": None}
    assert workspace.find_own_copy(labs[COURSE]["path"]) == workspace.root / labs[COURSE]["path"]
    assert workspace.find_class_course(workspace.root / OTHER_COURSE / LAB) == OTHER_COURSE
    assert workspace.find_class_course(workspace.root / LAB) == ""


def test_a_newer_version_is_offered_and_the_students_work_is_kept(
    workspace: Workspace, exchange: ExchangeProcess
) -> None:
    fetch_lab(workspace, COURSE, LAB)
    notebook = workspace.root / COURSE / LAB / f"{LAB}.ipynb"
    text = notebook.read_text()
    write_lab(exchange, COURSE, "Squares")  # again, unchanged
    assert not read_labs(workspace)[COURSE]["offer"]["newer"]
    write_lab(exchange, COURSE, "Squares and more")
    assert read_labs(workspace)[COURSE]["offer"]["newer"]
    replace_lab(workspace, COURSE, LAB)
    assert not read_labs(workspace)[COURSE]["offer"]["newer"]
    assert "Squares and more" in notebook.read_text()
    (kept,) = (path for path in (workspace.root / COURSE).iterdir() if path.name.startswith(f"{LAB} until "))
    assert (kept / notebook.name).read_text() == text
    assert list(read_labs(workspace)) == [COURSE, OTHER_COURSE], "the old copy isn't another lab"


def test_without_the_exchange_the_labs_that_were_seen_are_listed_with_the_reason(
    workspace: Workspace, exchange: ExchangeProcess
) -> None:
    assert len(read_labs(workspace)) == 2
    exchange.kill()
    offered = read_offered_courses(workspace)
    assert sorted(course.name for course in offered.courses) == [OTHER_COURSE, COURSE]
    assert "the exchange can't be reached" in offered.problem


def test_labs_of_one_name_have_the_due_dates_of_their_courses(workspace: Workspace, exchange: ExchangeProcess) -> None:
    (exchange.course / "pages").mkdir()
    due = "2027-02-01T18:00:00+00:00"
    (exchange.course / "pages" / DUE_DATES).write_text(json.dumps({LAB: {"": due}}))
    assert {course: lab["due"] for course, lab in read_labs(workspace).items()} == {COURSE: due, OTHER_COURSE: ""}
    exchange.kill()
    assert read_labs(workspace)[COURSE]["due"] == "", "it may have changed"


def test_a_lab_that_is_no_longer_released_stays_if_the_student_has_it(
    workspace: Workspace, exchange: ExchangeProcess
) -> None:
    fetch_lab(workspace, COURSE, LAB)
    for course in (COURSE, OTHER_COURSE):
        shutil.rmtree(exchange.folder / course / "outbound" / LAB)
    labs = read_labs(workspace)
    assert list(labs) == [COURSE] and labs[COURSE]["offer"] is None


def test_outside_a_class_nothing_is_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", str(tmp_path))
    assert read_offered_courses(Workspace(tmp_path)).courses == ()
