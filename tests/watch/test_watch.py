"""A watch marks submissions as they arrive, returns the page where nbgrader looks for it, and continues after a kill."""

import os
import signal
import subprocess
import time
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from threading import Event

import pytest
from nbgrader.api import Gradebook

from autograder.base.timestamps import get_utc_now
from autograder.exchange.collection import collect_submission
from autograder.exchange.course_exchange import open_inbox, read_exchange
from autograder.exchange.inbox import HANDING_IN
from autograder.exchange.inbox_memory import InboxMemory
from autograder.gradebook.history import remember_mark
from autograder.gradebook.nbgrader_course import open_course
from autograder.gradebook.submission_folders import get_submitted_path
from autograder.model.arrivals import select_newest
from autograder.model.result import Result
from autograder.model.term import FILE, Team, Term
from autograder.model.versions import Versions
from autograder.reports.notice_page import render_notice_page
from autograder.watch.watch_state import WatchState, describe_leftovers, inspect_inbox, report_problems
from tests.classroom.graded_class import FOR_EVER, LAB, WRONG, be_patient
from tests.classroom.processes import list_children
from tests.watch.watched_exchange import ONE, THREE, TWO, add_exchange, read_scores, start, submit

AHEAD = "9999-01-01 10:00:00.000000 UTC"


@pytest.fixture
def course(small_course: Path) -> Path:
    return add_exchange(small_course)


def end(running: subprocess.Popen[str]) -> str:
    running.send_signal(signal.SIGINT)
    output = running.communicate()[0]
    assert running.returncode == 0 and "Traceback" not in output, output
    return output


def wait_for(running: subprocess.Popen[str], *pages: Path) -> None:
    while not all(page.exists() for page in pages):
        assert running.poll() is None, running.communicate()[0]
        time.sleep(0.02)


@pytest.mark.slow
def test_an_arriving_submission_is_marked_and_its_page_returned_even_after_a_kill(course: Path) -> None:
    """Slow: two watches start, each with a fork server."""
    (course / FILE).write_text(f'[labs.{LAB}]\nattempts = 3\n\n[[team]]\nname = "blue"\nmembers = ["ben", "cy"]\n')
    before = submit(course, "ada", ONE, WRONG)
    newest = submit(course, "ada", TWO)  # the newer one of two that wait
    bens = submit(course, "ben", ONE)
    running = start(course)
    wait_for(running, newest, bens)
    assert not before.exists() and read_scores(course) == {"ada": 2, "ben": 2, "cy": 2}
    assert "sum_of_squares" in newest.read_text() and "vector_norm" not in newest.read_text()

    submit(course, "ada", THREE, WRONG)
    while (course / "submitted" / "ada" / LAB / "timestamp.txt").read_text() != THREE:
        time.sleep(0.005)
    os.kill(running.pid, signal.SIGKILL)  # it is being graded
    running.communicate()

    fourth = submit(course, "ada", "2026-02-01 10:04:00.000000 UTC")
    dees = submit(course, "dee", ONE)
    running = start(course, LAB, "--jobs", "1")
    wait_for(running, dees, fourth)
    assert read_scores(course) == {"ada": 2, "ben": 2, "cy": 2, "dee": 2}
    workers = list_children(running.pid)
    assert end(running).count(" after it arrived") == 2, "ben's page is final"
    assert workers and not any(Path(f"/proc/{pid}").exists() for pid, _ in workers)


@pytest.mark.slow
def test_students_see_their_attempts_and_which_submissions_wait_or_are_not_marked(course: Path) -> None:
    """Slow: two watches start, each with a fork server."""
    term = f'[labs.{LAB}]\nattempts = {{}}\ntell = "visible"\nuntil = 2999-01-01T12:00:00Z\n'
    (course / FILE).write_text(term.format(1))
    first, right = submit(course, "ada", ONE, WRONG), submit(course, "ben", ONE)
    damaged_page = submit(course, "cy", ONE, content="not a notebook")
    running = start(course)
    wait_for(running, first, right, damaged_page)
    second, dees = submit(course, "ada", TWO), submit(course, "dee", THREE)
    wait_for(running, dees, second)
    page, answer = first.read_text(), right.read_text()
    assert "Attempt 1 of 1. No more are marked until your instructor grades the lab." in page
    assert "The lab is open until 2999-01-01 12:00 UTC." in page
    assert "3 and 4 give 25" in page and "other shapes and float64" not in page + answer
    assert "0.5 of 0.5 points without hidden checks" in answer
    refusal_page = second.read_text()
    assert "Not marked: the only attempt is used up." in refusal_page
    assert "The mark of the submission from 2026-02-01 10:01 UTC counts" in refusal_page

    (course / FILE).write_text(term.format(2) + "wait_minutes = 600\n")  # it is checked once more, and waits
    while "It will be marked after 20" not in second.read_text():
        time.sleep(0.05)
    output = end(running)
    assert "ada 01_squares: not marked, the only attempt is used up" in output
    assert "ada 01_squares: 0 of 2" in output and "4 submissions marked" in output
    assert "cy 01_squares: damaged, Your file could not be graded, so it counts as empty." in output
    assert read_scores(course) == {"ada": 0, "ben": 2, "cy": 0, "dee": 2}

    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        for student in ("ben", "cy", "dee"):
            gradebook.update_or_create_student(student, first_name=student)
    output = start(course, "--once", "--newest").communicate()[0]
    assert output.count("ada is not on the roster") == 1 and "1 submission marked" in output
    assert "as term.toml asks" not in output and "for no one" not in output
    assert "Attempt" not in second.read_text() and "0.5 of 0.5 points without hidden checks" in second.read_text()
    assert read_scores(course)["ada"] == 2


@pytest.mark.slow
def test_one_submission_neither_holds_others_up_nor_ends_the_watch(course: Path) -> None:
    """Slow: a fork server, and a cell that goes on for as long as the others take."""
    (course / FILE).write_text(f"[labs.{LAB}]\n")
    (course / "source" / LAB / "data").mkdir()
    (course / "source" / LAB / "data" / "given.csv").write_text("the course's")
    inbound = course / "exchange" / "gradlab" / "inbound"
    be_patient(course)
    running = start(course, "--jobs", "2")
    slow = submit(course, "ada", ONE, f"{FOR_EVER}{WRONG}")
    while not (course / "submitted" / "ada").exists():
        time.sleep(0.01)
    bens = submit(course, "ben", ONE)
    (inbound / f"ben+{LAB}+{ONE}+x1" / "data").write_text("a file where the course has a folder")
    pipes = submit(course, "cy", ONE)
    os.mkfifo(inbound / f"cy+{LAB}+{ONE}+x1" / "pipe")
    for name in (f"dee+{LAB}+2026-99-99 00:00:00 UTC", os.fsdecode(b"\xff") + f"+{LAB}+{ONE}", f"..+{LAB}+{ONE}"):
        (inbound / name).mkdir()
        (inbound / name / "submission_secret.txt").write_text("x")
    wait_for(running, bens, pipes)
    later = submit(course, "ben", TWO)
    wait_for(running, later)
    time.sleep(1)  # in which it checks five times
    assert not slow.exists()
    running.send_signal(signal.SIGINT)
    output = running.communicate()[0]
    assert "Traceback" not in output and "3 submissions marked" in output
    assert output.count("its name has no valid time") == 1 and output.count("its name has no valid student") == 1
    assert (course / "autograded" / "ben" / LAB / "data" / "given.csv").read_text() == "the course's"


def test_a_folder_of_another_user_does_not_count_for_the_student_that_it_names(course: Path) -> None:
    submit(course, "ada", ONE)
    inbox = open_inbox(open_course(course))
    (arrival,) = inbox.iter_arrivals([LAB])
    assert (arrival.student, arrival.lab, arrival.problem) == ("ada", LAB, "")
    (arrival,) = replace(inbox, check_owner=True).iter_arrivals([LAB])
    assert arrival.problem.startswith(f"its folder belongs to {arrival.folder.owner()} ")


def test_a_submission_that_is_still_being_copied_has_not_arrived(course: Path) -> None:
    submit(course, "ada", ONE)
    inbox, memory = open_inbox(open_course(course)), InboxMemory()
    (folder,) = inbox.inbound.iterdir()
    (folder / "submission_secret.txt").rename(folder / "later")
    (coming,) = inbox.iter_arrivals([LAB], memory)
    assert coming.in_transit and not memory.arrivals and not select_newest([coming], get_utc_now())
    (folder / "later").rename(folder / "submission_secret.txt")
    assert [arrival.student for arrival in inbox.iter_arrivals([LAB], memory)] == ["ada"]
    assert not list(inbox.iter_arrivals(["01_square"])), "a name that begins like the lab's"


def test_an_incomplete_folder_is_reported_once_a_copy_would_be_done(course: Path) -> None:
    submit(course, "ada", ONE)
    inbound = course / "exchange" / "gradlab" / "inbound"
    (inbound / f"ada+{LAB}+{ONE}+x1" / "submission_secret.txt").unlink()
    (inbound / f"ben+{LAB}+{ONE}+x1").write_text("no folder")
    messages: list[str] = []
    api, memory = open_course(course), InboxMemory()
    on = WatchState(api, [LAB], open_inbox(api), messages.append, Event(), Term(), memory=memory)
    assert inspect_inbox(on) == [] and messages == []
    (line,) = describe_leftovers(on)
    assert line.startswith("2 may still be arriving, so run the same command in a minute: ")
    late = get_utc_now() + 2 * HANDING_IN
    on.arrivals = list(on.inbox.iter_arrivals([LAB], memory, late))
    assert {each.student: each.problem for each in on.arrivals if not each.in_transit} == {
        "ada": "it has no readable submission_secret.txt, which nbgrader submit writes last",
        "ben": "it can't be read: Not a directory",
    }
    for _ in range(2):
        report_problems(on, late)
    assert sorted(words.partition(": ")[2][:14] for words in messages) == ["not marked, it"] * 2
    on.arrivals += [replace(on.arrivals[0], folder=on.inbox.inbound / name) for name in ("a", "b")]
    report_problems(on, late)
    assert len(messages) == 3 and messages[-1].startswith("a, b: "), "submissions with the same reason share a line"
    submit(course, "cy", ONE)
    assert [each.student for each in inspect_inbox(on)] == ["cy"] and set(memory.arrivals) == {f"cy+{LAB}+{ONE}+x1"}


def test_the_newest_submission_is_restored_if_another_one_replaced_it(course: Path) -> None:
    api = open_course(course)
    page = submit(course, "ada", ONE)
    on = WatchState(api, [LAB], open_inbox(api), lambda words: None, Event(), Term(), newest=True)
    (arrival,) = inspect_inbox(on)
    result = Result(lab=LAB, student="ada", versions=Versions(gradlab="", python="", torch=""), isolation=(), cells=())
    remember_mark(course, result, 0.0, arrival.when, "watch", {})
    page.parent.mkdir(exist_ok=True)
    page.write_text("its mark")
    collect_submission(arrival, course)
    assert inspect_inbox(on) == [] and arrival.folder in on.finished
    on.finished.clear()
    (
        get_submitted_path(course, arrival.lab, arrival.student) / "timestamp.txt"
    ).unlink()  # as a zip from an LMS leaves it
    assert inspect_inbox(on) == [arrival] and describe_leftovers(on) == []


def test_an_older_submission_of_a_team_is_not_marked_after_the_newer_one(course: Path) -> None:
    api = open_course(course)
    submit(course, "ben", ONE)
    submit(course, "cy", TWO)
    term = Term(team=(Team(name="blue", members=("ben", "cy")),))
    (course / FILE).write_text('[[team]]\nname = "blue"\nmembers = ["ben", "cy"]\n')
    on = WatchState(api, [LAB], open_inbox(api), lambda words: None, Event(), term, newest=True)
    ben, cy = inspect_inbox(on)
    collect_submission(cy, course)
    assert inspect_inbox(on) == [cy] and ben.folder in on.finished


def test_unmarked_submissions_are_counted_when_a_watch_ends(course: Path) -> None:
    api = open_course(course)
    for student, timestamp in (("ada", ONE), ("ben", TWO), ("cy", THREE)):
        submit(course, student, timestamp)
    on = WatchState(api, [LAB], open_inbox(api), lambda words: None, Event(), Term())
    assert {arrival.student for arrival in inspect_inbox(on)} == {"ada", "ben", "cy"} and describe_leftovers(on) == []
    ada, ben, cy = (on.memory.arrivals[name] for name in sorted(on.memory.arrivals))
    on.due_times |= {ada.folder: ada.when + timedelta(days=1), ben.folder: ada.when}
    on.tries[ben.folder] = 1  # it failed, which its student's line reports
    on.refused.add(ben.folder)
    on.arrivals = [ada, ben, replace(cy, problem="its folder is a link"), replace(cy, when=datetime(9999, 1, 1))]
    assert describe_leftovers(on) == [
        "1 submission waits as term.toml asks, the first until 2026-02-02 10:01 UTC: --newest marks them now",
        "1 submission not marked because of limits in term.toml: --newest marks them",
        "2 folders count for no one, for the reasons above",
    ]


def test_submissions_that_count_for_no_one_are_named_where_an_instructor_looks(course: Path) -> None:
    for student, timestamp in (("ada", ONE), ("ben", AHEAD), ("cy", AHEAD)):
        submit(course, student, timestamp)
    inbound = course / "exchange" / "gradlab" / "inbound"
    (inbound / "essay.ipynb").write_text("saved into the exchange by hand")
    arrivals, lines = read_exchange(open_course(course), [LAB])
    assert len(arrivals) == 3 and [each.student for each in select_newest(arrivals, get_utc_now())] == ["ada"]
    future_line, misplaced_line = lines
    assert (
        future_line.startswith("in the exchange, but counts for no one, since its time is in the future")
        and "cy+" in future_line
    )
    assert misplaced_line.endswith("nbgrader submit makes a folder STUDENT+LAB+TIME): essay.ipynb")
    (course / "nbgrader_config.py").write_text("c = get_config()\n")
    assert read_exchange(open_course(course), [LAB]) == ([], []), "a course without an exchange has nothing in it"


def test_a_page_that_explains_a_missing_mark_is_no_page_of_a_mark(course: Path) -> None:
    page = submit(course, "ada", ONE)
    inbox = open_inbox(open_course(course))
    (arrival,) = inbox.iter_arrivals([LAB])
    inbox.put(arrival, LAB, render_notice_page(LAB, "ada", "today", "Not marked: it came late.").encode())
    assert page.exists() and not inbox.has_page(arrival, LAB)
    inbox.put(arrival, LAB, b"<!doctype html>")
    assert inbox.has_page(arrival, LAB)


def test_a_watch_without_an_exchange_says_what_to_do(small_course: Path) -> None:
    with (small_course / "nbgrader_config.py").open("a") as config:
        config.write(f"\nc.Exchange.root = {str(small_course / 'nowhere')!r}\n")
    output = start(small_course, "--once").communicate()[0]
    assert "set c.Exchange.root" in output and "Traceback" not in output
