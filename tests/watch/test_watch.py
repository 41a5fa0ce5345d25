"""A watch marks submissions as they arrive, returns the page where nbgrader looks for it, and continues after a kill."""

import os
import shutil
import signal
import subprocess
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from nbgrader.api import Gradebook

from autograder.base.stop_request import StopRequest
from autograder.base.timestamps import get_utc_now
from autograder.exchange.collection import collect_submission
from autograder.exchange.course_exchange import open_inbox, read_exchange
from autograder.exchange.inbox import SUBMIT_GRACE
from autograder.exchange.inbox_memory import InboxMemory
from autograder.gradebook.history import remember_mark
from autograder.gradebook.nbgrader_course import open_course
from autograder.gradebook.submission_folders import get_submitted_path
from autograder.model.arrivals import select_newest
from autograder.model.result import ResultDocument
from autograder.model.term import TERM_FILE, Team, Term
from autograder.model.versions import Versions
from autograder.reports.notice_page import render_notice_page
from autograder.watch.watch_state import WatchState, describe_leftovers, poll_inbox, report_problems
from tests.classroom.graded_class import FOR_EVER, LAB, WRONG, be_patient
from tests.classroom.processes import list_children, wait_for
from tests.watch.watched_exchange import ONE, THREE, TWO, add_exchange, read_scores, start, submit

AHEAD = "9999-01-01 10:00:00.000000 UTC"


@pytest.fixture
def course(small_course: Path) -> Path:
    return add_exchange(small_course)


def end(running: subprocess.Popen[str], status: int | None = 0) -> str:
    """Interrupt a watch, and return its output. status: None if it may be any."""
    running.send_signal(signal.SIGINT)
    output = running.communicate()[0]
    assert status in (None, running.returncode), output
    assert "Traceback" not in output, output
    return output


def wait_for_pages(running: subprocess.Popen[str], *pages: Path) -> None:
    wait_for(lambda: all(page.exists() for page in pages), running)


@pytest.mark.slow
def test_an_arriving_submission_is_marked_and_its_page_returned_even_after_a_kill(course: Path) -> None:
    """Slow: two watches start, each with a fork server."""
    (course / TERM_FILE).write_text(f'[labs.{LAB}]\nattempts = 3\n\n[[team]]\nname = "blue"\nmembers = ["ben", "cy"]\n')
    before = submit(course, "ada", ONE, WRONG)
    newest = submit(course, "ada", TWO)  # the newer one of two that wait
    bens = submit(course, "ben", ONE)
    running = start(course)
    wait_for_pages(running, newest, bens)
    assert not before.exists()
    assert read_scores(course) == {"ada": 2, "ben": 2, "cy": 2}
    assert "sum_of_squares" in newest.read_text()
    assert "vector_norm" not in newest.read_text()

    submit(course, "ada", THREE, WRONG)
    collected = course / "submitted" / "ada" / LAB / "timestamp.txt"
    wait_for(lambda: collected.read_text() == THREE, running)
    os.kill(running.pid, signal.SIGKILL)  # it is being graded
    running.communicate()

    fourth = submit(course, "ada", "2026-02-01 10:04:00.000000 UTC")
    dees = submit(course, "dee", ONE)
    running = start(course, LAB, "--jobs", "1")
    wait_for_pages(running, dees, fourth)
    assert read_scores(course) == {"ada": 2, "ben": 2, "cy": 2, "dee": 2}
    workers = list_children(running.pid)
    assert end(running).count(" after it arrived") == 2, "ben's page is final"
    assert workers
    assert not any(Path(f"/proc/{pid}").exists() for pid, _ in workers)


@dataclass(frozen=True)
class WatchedTerm:
    """What two watches did in a course with a limit on attempts."""

    first_page: str
    """Ada's, of a wrong answer: her only attempt."""
    right_page: str
    """Ben's, of a correct answer."""
    refusal_page: str
    """Ada's second submission, without an attempt left."""
    waiting_page: str
    """The same page, after the term allows a second attempt that has to wait."""
    newest_page: str
    """The same page, after `gradlab watch --once --newest`."""
    output: str
    """The first watch's."""
    newest_output: str
    """That of `gradlab watch --once --newest`, with a roster without ada."""
    scores: dict[str, float]
    """After the first watch."""
    newest_scores: dict[str, float]
    """After the second."""


@pytest.fixture(scope="module")
def watched_term(built_course: Path, tmp_path_factory: pytest.TempPathFactory) -> WatchedTerm:
    """Shared, since two watches start, each with a fork server."""
    course = add_exchange(Path(shutil.copytree(built_course, tmp_path_factory.mktemp("copies") / "watched_term")))
    term = f'[labs.{LAB}]\nattempts = {{}}\ntell = "visible"\nuntil = 2999-01-01T12:00:00Z\n'
    (course / TERM_FILE).write_text(term.format(1))
    first, right = submit(course, "ada", ONE, WRONG), submit(course, "ben", ONE)
    damaged = submit(course, "cy", ONE, content="not a notebook")
    running = start(course)
    wait_for_pages(running, first, right, damaged)
    second, dees = submit(course, "ada", TWO), submit(course, "dee", THREE)
    wait_for_pages(running, dees, second)
    first_page, right_page, refusal_page = (page.read_text() for page in (first, right, second))

    (course / TERM_FILE).write_text(term.format(2) + "wait_minutes = 600\n")  # it is checked once more, and waits
    wait_for(lambda: "It will be marked after 20" in second.read_text(), running)
    waiting_page, output, scores = second.read_text(), end(running), read_scores(course)

    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        for student in ("ben", "cy", "dee"):
            gradebook.update_or_create_student(student, first_name=student)
    newest_output = start(course, "--once", "--newest").communicate()[0]
    return WatchedTerm(
        first_page=first_page,
        right_page=right_page,
        refusal_page=refusal_page,
        waiting_page=waiting_page,
        newest_page=second.read_text(),
        output=output,
        newest_output=newest_output,
        scores=scores,
        newest_scores=read_scores(course),
    )


@pytest.mark.slow
def test_students_see_how_many_attempts_are_left_and_until_when_the_lab_is_open(watched_term: WatchedTerm) -> None:
    """Slow: the shared watches."""
    page = watched_term.first_page
    assert "Attempt 1 of 1. No further attempts will be marked until your instructor grades the lab." in page
    assert "The lab is open until 2999-01-01 12:00 UTC." in page


@pytest.mark.slow
def test_students_see_only_visible_checks_if_the_term_says_so(watched_term: WatchedTerm) -> None:
    """Slow: the shared watches."""
    assert "3 and 4 give 25" in watched_term.first_page
    assert "other shapes and float64" not in watched_term.first_page
    assert "other shapes and float64" not in watched_term.right_page
    assert "0.5 of 0.5 points without hidden checks" in watched_term.right_page


@pytest.mark.slow
def test_students_see_why_a_submission_is_not_marked_and_which_mark_counts(watched_term: WatchedTerm) -> None:
    """Slow: the shared watches."""
    assert "Not marked: the only attempt is used up." in watched_term.refusal_page
    assert "The mark of the submission from 2026-02-01 10:01 UTC counts" in watched_term.refusal_page


@pytest.mark.slow
@pytest.mark.nightly
def test_a_submission_that_was_refused_waits_once_the_term_allows_it(watched_term: WatchedTerm) -> None:
    """Slow: the shared watches."""
    assert "It will be marked after 20" in watched_term.waiting_page
    assert "Not marked" not in watched_term.waiting_page


@pytest.mark.slow
def test_the_output_of_a_watch_has_each_mark_and_each_refusal(watched_term: WatchedTerm) -> None:
    """Slow: the shared watches."""
    assert "ada 01_squares: not marked, the only attempt is used up" in watched_term.output
    assert "ada 01_squares: 0 of 2" in watched_term.output
    assert "cy 01_squares: damaged, Your file could not be graded, so it counts as empty." in watched_term.output
    assert "4 submissions marked" in watched_term.output
    assert watched_term.scores == {"ada": 0, "ben": 2, "cy": 0, "dee": 2}


@pytest.mark.slow
def test_newest_marks_a_submission_that_waits_without_a_limit_on_attempts(watched_term: WatchedTerm) -> None:
    """Slow: the shared watches."""
    assert "1 submission marked" in watched_term.newest_output
    assert "as term.toml asks" not in watched_term.newest_output
    assert "Attempt" not in watched_term.newest_page
    assert "0.5 of 0.5 points without hidden checks" in watched_term.newest_page
    assert watched_term.newest_scores["ada"] == 2


@pytest.mark.slow
def test_a_student_who_is_not_on_the_roster_is_reported_once_and_counts(watched_term: WatchedTerm) -> None:
    """Slow: the shared watches."""
    assert watched_term.newest_output.count("ada is not on the roster") == 1
    assert "for no one" not in watched_term.newest_output


@pytest.mark.slow
@pytest.mark.nightly
def test_one_submission_neither_holds_others_up_nor_ends_the_watch(course: Path) -> None:
    """Slow: a fork server, and a cell that goes on for as long as the others take."""
    (course / TERM_FILE).write_text(f"[labs.{LAB}]\n")
    (course / "source" / LAB / "data").mkdir()
    (course / "source" / LAB / "data" / "given.csv").write_text("the course's")
    inbound = course / "exchange" / "gradlab" / "inbound"
    be_patient(course)
    running = start(course, "--jobs", "2")
    slow = submit(course, "ada", ONE, f"{FOR_EVER}{WRONG}")
    wait_for((course / "submitted" / "ada").exists, running)
    bens = submit(course, "ben", ONE)
    (inbound / f"ben+{LAB}+{ONE}+x1" / "data").write_text("a file where the course has a folder")
    pipes = submit(course, "cy", ONE)
    os.mkfifo(inbound / f"cy+{LAB}+{ONE}+x1" / "pipe")
    for name in (f"dee+{LAB}+2026-99-99 00:00:00 UTC", os.fsdecode(b"\xff") + f"+{LAB}+{ONE}", f"..+{LAB}+{ONE}"):
        (inbound / name).mkdir()
        (inbound / name / "submission_secret.txt").write_text("x")
    wait_for_pages(running, bens, pipes)
    for timestamp in (TWO, THREE, "2026-02-01 10:04:00.000000 UTC"):  # another look at the inbox finds each
        wait_for_pages(running, submit(course, "ben", timestamp))
    assert not slow.exists()
    output = end(running, status=None)
    assert "5 submissions marked" in output
    assert output.count("its name has no valid time") == 1
    assert output.count("its name has no valid student") == 1
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
    assert coming.in_transit
    assert not memory.arrivals
    assert not select_newest([coming], get_utc_now())
    (folder / "later").rename(folder / "submission_secret.txt")
    assert [arrival.student for arrival in inbox.iter_arrivals([LAB], memory)] == ["ada"]
    assert not list(inbox.iter_arrivals(["01_square"])), "a name that begins like the lab's"


@dataclass
class IncompleteInbox:
    """A watch of an inbox with two folders that are no whole submissions."""

    course: Path
    state: WatchState
    messages: list[str]

    @property
    def late(self) -> datetime:
        """When a copy would be done."""
        return get_utc_now() + 2 * SUBMIT_GRACE

    def look_late(self) -> None:
        self.state.arrivals = list(self.state.inbox.iter_arrivals([LAB], self.state.memory, self.late))


@pytest.fixture
def incomplete_inbox(course: Path) -> IncompleteInbox:
    submit(course, "ada", ONE)
    inbound = course / "exchange" / "gradlab" / "inbound"
    (inbound / f"ada+{LAB}+{ONE}+x1" / "submission_secret.txt").unlink()
    (inbound / f"ben+{LAB}+{ONE}+x1").write_text("no folder")
    messages: list[str] = []
    api = open_course(course)
    state = WatchState(api, [LAB], open_inbox(api), messages.append, StopRequest(), Term(), memory=InboxMemory())
    assert poll_inbox(state) == []
    return IncompleteInbox(course, state, messages)


def test_an_incomplete_folder_may_still_be_arriving_at_first(incomplete_inbox: IncompleteInbox) -> None:
    assert incomplete_inbox.messages == []
    (line,) = describe_leftovers(incomplete_inbox.state)
    assert line.startswith("2 may still be arriving, so run the same command in a minute: ")


def test_an_incomplete_folder_has_a_problem_once_a_copy_would_be_done(incomplete_inbox: IncompleteInbox) -> None:
    incomplete_inbox.look_late()
    arrivals = incomplete_inbox.state.arrivals
    assert {each.student: each.problem for each in arrivals if not each.in_transit} == {
        "ada": "it has no readable submission_secret.txt, which nbgrader submit writes last",
        "ben": "it can't be read: Not a directory",
    }


def test_an_incomplete_folder_is_reported_only_once(incomplete_inbox: IncompleteInbox) -> None:
    incomplete_inbox.look_late()
    for _ in range(2):
        report_problems(incomplete_inbox.state, incomplete_inbox.late)
    lines = incomplete_inbox.messages
    assert sorted(words.partition(": ")[2][:14] for words in lines) == ["not marked, it"] * 2


def test_submissions_with_the_same_reason_share_a_line(incomplete_inbox: IncompleteInbox) -> None:
    incomplete_inbox.look_late()
    on = incomplete_inbox.state
    report_problems(on, incomplete_inbox.late)
    on.arrivals += [replace(on.arrivals[0], folder=on.inbox.inbound / name) for name in ("a", "b")]
    report_problems(on, incomplete_inbox.late)
    assert len(incomplete_inbox.messages) == 3
    assert incomplete_inbox.messages[-1].startswith("a, b: ")


def test_a_whole_submission_is_due_next_to_incomplete_ones(incomplete_inbox: IncompleteInbox) -> None:
    submit(incomplete_inbox.course, "cy", ONE)
    assert [each.student for each in poll_inbox(incomplete_inbox.state)] == ["cy"]
    assert set(incomplete_inbox.state.memory.arrivals) == {f"cy+{LAB}+{ONE}+x1"}


def test_the_newest_submission_is_restored_if_another_one_replaced_it(course: Path) -> None:
    api = open_course(course)
    page = submit(course, "ada", ONE)
    on = WatchState(api, [LAB], open_inbox(api), lambda words: None, StopRequest(), Term(), ignores_limits=True)
    (arrival,) = poll_inbox(on)
    result = ResultDocument(
        lab=LAB, student="ada", versions=Versions(gradlab="", python="", torch=""), isolation=(), cells=()
    )
    remember_mark(course, result, 0.0, arrival.submitted, "watch", {})
    page.parent.mkdir(exist_ok=True)
    page.write_text("its mark")
    collect_submission(arrival, course)
    assert poll_inbox(on) == [] and arrival.folder in on.finished
    on.finished.clear()
    (
        get_submitted_path(course, arrival.lab, arrival.student) / "timestamp.txt"
    ).unlink()  # as a zip from an LMS leaves it
    assert poll_inbox(on) == [arrival] and describe_leftovers(on) == []


def test_an_older_submission_of_a_team_is_not_marked_after_the_newer_one(course: Path) -> None:
    api = open_course(course)
    submit(course, "ben", ONE)
    submit(course, "cy", TWO)
    term = Term(team=(Team(name="blue", members=("ben", "cy")),))
    (course / TERM_FILE).write_text('[[team]]\nname = "blue"\nmembers = ["ben", "cy"]\n')
    on = WatchState(api, [LAB], open_inbox(api), lambda words: None, StopRequest(), term, ignores_limits=True)
    ben, cy = poll_inbox(on)
    collect_submission(cy, course)
    assert poll_inbox(on) == [cy] and ben.folder in on.finished


def test_unmarked_submissions_are_counted_when_a_watch_ends(course: Path) -> None:
    api = open_course(course)
    for student, timestamp in (("ada", ONE), ("ben", TWO), ("cy", THREE)):
        submit(course, student, timestamp)
    on = WatchState(api, [LAB], open_inbox(api), lambda words: None, StopRequest(), Term())
    assert {arrival.student for arrival in poll_inbox(on)} == {"ada", "ben", "cy"} and describe_leftovers(on) == []
    ada, ben, cy = (on.memory.arrivals[name] for name in sorted(on.memory.arrivals))
    on.due_times |= {ada.folder: ada.submitted + timedelta(days=1), ben.folder: ada.submitted}
    on.tries[ben.folder] = 1  # it failed, which its student's line reports
    on.refused.add(ben.folder)
    on.arrivals = [ada, ben, replace(cy, problem="its folder is a link"), replace(cy, submitted=datetime(9999, 1, 1))]
    assert describe_leftovers(on) == [
        "1 submission waits as term.toml asks, the first until 2026-02-02 10:01 UTC: --newest marks them now",
        "1 submission not marked because of limits in term.toml: --newest marks them",
        "2 folders aren't counted for any student, for the reasons above",
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
        future_line.startswith("in the exchange, but not counted for any student, since its time is in the future")
        and "cy+" in future_line
    )
    assert misplaced_line.endswith("nbgrader submit makes a folder STUDENT+LAB+TIME): essay.ipynb")
    (course / "nbgrader_config.py").write_text("c = get_config()\n")
    assert read_exchange(open_course(course), [LAB]) == ([], []), "a course without an exchange has nothing in it"


def test_a_page_that_explains_a_missing_mark_is_no_page_of_a_mark(course: Path) -> None:
    page = submit(course, "ada", ONE)
    inbox = open_inbox(open_course(course))
    (arrival,) = inbox.iter_arrivals([LAB])
    inbox.write_page(arrival, LAB, render_notice_page(LAB, "ada", "today", "Not marked: it came late.").encode())
    assert page.exists() and not inbox.has_page(arrival, LAB)
    inbox.write_page(arrival, LAB, b"<!doctype html>")
    assert inbox.has_page(arrival, LAB)
