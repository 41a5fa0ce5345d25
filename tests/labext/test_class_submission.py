"""In a class, Mark my work submits through a real exchange, and shows the page that a watch returns."""

import asyncio
import json
import shutil
from html import escape
from pathlib import Path
from threading import Thread

import pytest

from autograder.exchange.inbox import Inbox
from autograder.reports.notice_page import render_notice_page
from labext.class_submission import LATER, SubmissionError, find_class, is_submitted, submit_notebook
from labext.workspace import Workspace
from labkit.mark_file import get_page_path, read_marks
from labkit.untrusted_json import read_object
from tests.waiting import wait_until

LAB = "01_squares"
MARKS = '{"sum_of_squares": {"source": "d1", "points": 1.5}}'
PAGE = f'<meta name="gradlab-mark" content="1.5 of 2 points"><meta name="gradlab-marks" content="{escape(MARKS)}">your page'


@pytest.fixture
def student(small_course: Path, tmp_path: Path) -> Path:
    """A student's folder with a fetched notebook; the exchange of the class is next to it."""
    folder, exchange = tmp_path / "student", tmp_path / "exchange" / "gradlab"
    (exchange / "inbound").mkdir(parents=True)
    (tmp_path / "exchange").chmod(0o777)
    (exchange / "inbound").chmod(0o777)
    for target in (exchange / "outbound" / LAB, folder / LAB):
        shutil.copytree(small_course / "release" / LAB, target)
    config = f'c = get_config()\nc.CourseDirectory.course_id = "gradlab"\nc.Exchange.root = "{tmp_path}/exchange"\n'
    (folder / "nbgrader_config.py").write_text(f'{config}c.Exchange.cache = "{tmp_path}/cache"\n')
    return folder


def open_student_inbox(student: Path) -> Inbox:
    exchange = student.parent / "exchange" / "gradlab"
    return Inbox(exchange / "inbound", exchange / "outbound", exchange / "feedback", check_owner=False)


def answer_next_submission(student: Path, page: Path, text: str = PAGE) -> Thread:
    """Act as a watch: release the page of a submission as soon as it arrives."""

    def watch() -> None:
        inbox = open_student_inbox(student)
        arrivals = wait_until(
            lambda: [each for each in inbox.iter_arrivals([LAB]) if not each.problem], "a submission arrives"
        )
        inbox.release_pages(arrivals[0], [page])

    page.write_text(text)
    thread = Thread(target=watch)
    thread.start()
    return thread


@pytest.mark.slow
def test_a_submission_gets_its_mark_back(student: Path, tmp_path: Path) -> None:
    """Slow: imports nbgrader, and submits twice."""
    notebook = student / LAB / f"{LAB}.ipynb"
    to = find_class(notebook, Workspace(student))
    assert to is not None
    assert not is_submitted(to, read_object(notebook))
    watching = answer_next_submission(student, tmp_path / f"{LAB}.html")
    reply = asyncio.run(submit_notebook(to, notebook, wait=3600))
    watching.join()
    assert is_submitted(to, read_object(notebook))
    changed = notebook.read_text().replace("# YOUR CODE HERE", "return x")
    assert not is_submitted(to, json.loads(changed))
    assert reply == {"words": "Submitted, and marked: 1.5 of 2 points", "marked": True}
    assert get_page_path(notebook).read_text() == PAGE
    assert read_marks(notebook)["sum_of_squares"].points == 1.5
    (arrival,) = open_student_inbox(student).iter_arrivals([LAB])
    assert json.loads((arrival.folder / f"{LAB}.ipynb").read_text())["metadata"]["gradlab"]["lab"] == LAB
    assert asyncio.run(submit_notebook(to, notebook, wait=0.1)) == {"words": LATER, "marked": False}


@pytest.mark.slow
def test_a_waiting_or_unmarked_submission_is_reported_and_keeps_the_page_of_the_last_mark(
    student: Path, tmp_path: Path
) -> None:
    """Slow: see above."""
    notebook = student / LAB / f"{LAB}.ipynb"
    to = find_class(notebook, Workspace(student))
    assert to is not None
    get_page_path(notebook).parent.mkdir(exist_ok=True)
    get_page_path(notebook).write_text("of the last mark")
    words = "It will be marked after 2026-02-01 14:20 UTC."
    page = render_notice_page(LAB, "ada", "today", words)
    watching = answer_next_submission(student, tmp_path / f"{LAB}.html", page)
    reply = asyncio.run(submit_notebook(to, notebook, wait=3600))
    watching.join()
    assert reply == {"words": f"Submitted. {words}", "marked": False}
    assert get_page_path(notebook).read_text() == "of the last mark"


@pytest.mark.slow
def test_a_refusal_of_the_exchange_is_shown_in_its_own_words(student: Path) -> None:
    """Slow: see above."""
    to = find_class(student / LAB / f"{LAB}.ipynb", Workspace(student))
    assert to is not None
    shutil.rmtree(student.parent / "exchange" / "gradlab" / "inbound")
    with pytest.raises(SubmissionError, match="Inbound directory doesn't exist"):
        asyncio.run(submit_notebook(to, student / LAB / f"{LAB}.ipynb"))


def test_without_an_exchange_that_offers_the_lab_there_is_no_class(student: Path, tmp_path: Path) -> None:
    other = student / "02_other" / "02_other.ipynb"
    assert find_class(other, Workspace(student)) is None
    assert find_class(student / LAB / f"{LAB}.ipynb", Workspace(tmp_path)) is None


@pytest.mark.slow
def test_nbgrader_runs_no_file_of_a_folder_that_others_write(student: Path, tmp_path: Path) -> None:
    """Slow: see above."""
    trace, student_folder = tmp_path / "it_ran", tmp_path / "own"
    student_folder.mkdir()
    (student / "nbgrader_config.py").rename(student_folder / "nbgrader_config.py")
    for name in ("nbgrader_config.py", "jupyter_config.py", "sqlalchemy.py", "nbgrader.py"):
        (student / name).write_text(f"open({str(trace)!r}, 'w')\n")
    student.chmod(0o777)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_CONFIG_DIR", str(student_folder))
        to = find_class(student / LAB / f"{LAB}.ipynb", Workspace(student))
        assert to is not None and not Workspace(student).runs_config
        assert asyncio.run(submit_notebook(to, student / LAB / f"{LAB}.ipynb", wait=0.1)) == {
            "words": LATER,
            "marked": False,
        }
    assert not trace.exists() and not [
        each for each in open_student_inbox(student).iter_arrivals([LAB]) if each.problem
    ]
