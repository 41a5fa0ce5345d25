"""The service that sends scores, as a real process, and a learning management system that fails at times."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from autograder.gradebook.nbgrader_course import open_course
from autograder.hub.hub_folder import create_settings
from autograder.hub.lti_key import create_key, read_public_keys
from autograder.hub.lti_ledger import Ledger
from autograder.hub.lti_records import Context, LaunchRecords, LtiUser, Role, write_records
from autograder.hub.settings import HUB_FILE, read_settings
from autograder.lms.people import list_people
from tests.conftest import ROOT
from tests.hub.lti_platform import CONTEXT, SCOPE, LtiPlatform, Person, run_platform
from tests.reports.written_class import LAB, StudentWork, WrittenClass, mark_by_hand, write_class
from tests.waiting import wait_until

COURSE = "gradlab"
ANA, BEN, CLEO, PROF = Person("ana"), Person("ben"), Person("cleo"), Person("prof", "Instructor")


@dataclass
class Grades:
    """A course with marks, the LMS, and the service between them."""

    course: Path
    hub: Path
    platform: LtiPlatform
    process: subprocess.Popen[bytes] | None = None

    @property
    def folder(self) -> Path:
        return self.hub / "lti"

    @property
    def log(self) -> str:
        return (self.hub.parent / "log").read_text()

    def record(self, *people: Person, **services: Any) -> None:
        """Keep launches of these people. services: which the LMS offers, instead of columns."""
        values: dict[str, Any] = {
            "line_items": f"{self.platform.url}/Columns?course=7",
            "scopes": (f"{SCOPE}lineitem", f"{SCOPE}score"),
        }
        context = Context(course=COURSE, **(values | services))
        users = {
            person.name: LtiUser(
                subject=person.subject, roles={CONTEXT: Role.TEACHER if person is PROF else Role.STUDENT}
            )
            for person in people
        }
        write_records(self.folder, LaunchRecords(contexts={CONTEXT: context}, users=users))

    def start(self) -> None:
        command = [sys.executable, "-m", "autograder.hub.lti_service", str(self.hub / HUB_FILE), COURSE]
        with (self.hub.parent / "log").open("ab") as log:
            self.process = subprocess.Popen(
                command, env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=log, stderr=subprocess.STDOUT
            )

    def end(self, kill: bool = False) -> None:
        if self.process:
            (self.process.kill if kill else self.process.terminate)()
            self.process.wait()
            self.process = None

    def wait_for(self, count: int) -> list[dict[str, Any]]:
        """The scores that the LMS has, once there are this many."""
        wait_until(lambda: len(self.platform.scores) >= count, f"the LMS has {count} scores")
        assert len(self.platform.scores) == count
        return [score for _, score in self.platform.scores]


@pytest.fixture
def grades(small_course: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Grades]:
    place = tmp_path_factory.mktemp("grades")
    with run_platform(ANA, BEN, CLEO, PROF) as platform, contextlib.ExitStack() as stack:
        create_settings(place / "hub", small_course, "", (), True, 20_000)
        settings = place / "hub" / HUB_FILE
        settings.write_text(settings.read_text() + platform.configure(username_key="email"))
        folder = read_settings(settings).lti_folder
        create_key(folder)
        platform.tool_keys = read_public_keys(folder)
        grades = Grades(small_course, place / "hub", platform)
        stack.callback(grades.end)
        yield grades


def write_marks(grades: Grades) -> WrittenClass:
    return write_class(grades.course, [StudentWork("ana"), StudentWork("ben", points=0.5)])


@pytest.mark.slow
def test_each_mark_is_sent_once_and_again_when_it_changes(grades: Grades) -> None:
    """Slow: the service and the process that reads marks start twice."""
    marks = write_marks(grades)
    mark_by_hand(marks, "ben", needs_manual_grade=True)
    grades.record(ANA, BEN, PROF)
    grades.start()
    scores = {score["userId"]: score for score in grades.wait_for(2)}
    assert (scores[ANA.subject]["scoreGiven"], scores[ANA.subject]["gradingProgress"]) == (2, "FullyGraded")
    assert (scores[BEN.subject]["scoreGiven"], scores[BEN.subject]["gradingProgress"]) == (0.5, "PendingManual")
    assert scores[BEN.subject]["activityProgress"] == "Submitted"
    ((number, column),) = grades.platform.columns.items()
    assert (column["tag"], column["scoreMaximum"]) == (LAB, 2)

    mark_by_hand(marks, "ben", manual_score=1.5, needs_manual_grade=False)
    ben = grades.wait_for(3)[-1]
    assert (ben["userId"], ben["scoreGiven"], ben["gradingProgress"]) == (BEN.subject, 1.5, "FullyGraded")
    assert ben["timestamp"] > scores[BEN.subject]["timestamp"]

    # A kill before the service has recorded a score that arrived would send it again.
    ledger, key = Ledger(grades.folder / f"{COURSE}.sqlite"), (CONTEXT, LAB, BEN.subject)
    wait_until(lambda: ledger.read_scores()[key].points == 1.5, "the service has recorded Ben's score")
    grades.end(kill=True)
    mark_by_hand(marks, "ana", manual_score=1.0)
    grades.start()
    ana = grades.wait_for(4)[-1]  # neither of the others again
    assert (ana["userId"], ana["scoreGiven"]) == (ANA.subject, 1)
    assert [column for column, _ in grades.platform.scores] == [number] * 4


@pytest.mark.slow
@pytest.mark.nightly
def test_scores_wait_for_a_platform_that_is_down(grades: Grades) -> None:
    """Slow: see above."""
    grades.platform.is_down = True
    write_marks(grades)
    grades.record(ANA, BEN)
    grades.start()
    wait_until(lambda: grades.platform.refused >= 2, "the service has tried twice")
    assert not grades.platform.scores and "closed for maintenance" in grades.log
    grades.platform.is_down = False
    assert {score["userId"] for score in grades.wait_for(2)} == {ANA.subject, BEN.subject}


@pytest.mark.slow
@pytest.mark.nightly
def test_a_token_that_the_platform_forgets_is_replaced(grades: Grades) -> None:
    """Slow: see above."""
    marks = write_marks(grades)
    grades.record(ANA, BEN)
    grades.start()
    grades.wait_for(2)
    grades.platform.tokens.clear()
    mark_by_hand(marks, "ana", manual_score=1.0)
    assert grades.wait_for(3)[-1]["scoreGiven"] == 1


@pytest.mark.slow
@pytest.mark.nightly
def test_a_score_goes_to_the_column_of_the_labs_own_link(grades: Grades) -> None:
    """Slow: see above."""
    grades.platform.columns["8"] = {"id": f"{grades.platform.url}/Columns/8?course=7", "label": "the link's"}
    write_marks(grades)
    grades.record(ANA, labs={LAB: f"{grades.platform.url}/Columns/8?course=7"})
    grades.start()
    grades.wait_for(1)
    assert grades.platform.scores[0][0] == "8" and list(grades.platform.columns) == ["8"]


@pytest.mark.slow
@pytest.mark.nightly
def test_a_refused_score_does_not_keep_others_back(grades: Grades) -> None:
    """Slow: see above."""
    write_marks(grades)
    grades.record(ANA, BEN)
    refused = {ANA.subject}
    answer = grades.platform.answer

    def refuse(method: str, address: str, headers: Any, body: bytes) -> Any:
        if "/scores" in address and any(subject.encode() in body for subject in refused):
            return 422, {"error": "not in this course"}, {}
        return answer(method, address, headers, body)

    grades.platform.answer = refuse  # type: ignore[method-assign]
    grades.start()
    assert grades.wait_for(1)[0]["userId"] == BEN.subject
    refused.clear()
    assert grades.wait_for(2)[1]["userId"] == ANA.subject


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["practice = true", 'tell = "visible"'])
@pytest.mark.nightly
def test_a_lab_whose_marks_are_not_for_students_is_not_sent(grades: Grades, setting: str) -> None:
    """Slow: see above."""
    write_marks(grades)
    term = grades.course / "term.toml"
    term.write_text(f'[labs."{LAB}"]\n{setting}\n')
    grades.record(ANA, members=f"{grades.platform.url}/Members")
    grades.start()
    wait_until(lambda: "the roster has" in grades.log, "the service is at work")
    assert not grades.platform.scores
    term.unlink()
    wait_until(lambda: grades.platform.scores, "the score is sent")


@pytest.mark.slow
def test_members_of_the_platforms_course_are_students_before_they_launch(grades: Grades) -> None:
    """Slow: see above."""
    write_class(grades.course, [StudentWork("cleo@example.org", points=1.0)])
    grades.record(PROF, members=f"{grades.platform.url}/Members")
    grades.start()
    assert grades.wait_for(1)[0]["userId"] == CLEO.subject  # of the second page

    def read_people() -> list[tuple[str, str, str]]:
        with open_course(grades.course).open_gradebook() as gradebook:
            return [(person.id, person.full_name, person.lms_id) for person in list_people(gradebook)]

    people = read_people()
    assert len(people) == 3 and ("cleo@example.org", "Cleo Smith", CLEO.subject) in people


@pytest.mark.slow
@pytest.mark.nightly
def test_no_process_is_left(grades: Grades) -> None:
    """Slow: see above."""
    from tests.classroom.processes import list_children

    grades.record(ANA, BEN)
    write_marks(grades)
    stops: list[Callable[[], None]] = [grades.end, lambda: grades.end(kill=True)]
    for count, stop in enumerate(stops):
        grades.start()
        assert grades.process
        pid = grades.process.pid
        children = wait_until(lambda: dict(list_children(pid)), "the process that reads marks has started")
        if not count:
            grades.wait_for(2)
        stop()
        wait_until(lambda: not [child for child in children if Path(f"/proc/{child}").exists()], "it has ended, too")
