"""The whole life of a lab with nbgrader's own commands, a real gradebook and a real exchange folder."""

import datetime
import html
import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest
from nbgrader.api import Gradebook
from nbgrader.apps import NbGraderApp
from nbgrader.validator import Validator
from traitlets.config import Application

from autograder.authoring.course_folder import build_course, read_course, read_labs
from autograder.authoring.regions import HIDDEN
from autograder.demo.students import collect_reference, fill_notebook
from autograder.gradebook.result_reader import read_results
from autograder.model.course import Lab
from autograder.reports.feedback import write_feedback
from tests.authoring.secret_lines import find_secret_lines

pytestmark = pytest.mark.gate

LAB = "01_squares"
NOISY = (
    "def sum_of_squares(x):\n    import sys, warnings\n    warnings.warn('careful')\n"
    "    print('noise', file=sys.stderr)\n    return (x * x).sum()\n\nimport sys\nsys.stderr.write('more')\n"
)
HALF = "def sum_of_squares(x):\n    return x.mul_(x).sum()\n"
WRONG = "def sum_of_squares(x):\n    return x.sum()\n"
LATE_PENALTY = """
from nbgrader.plugins import BasePlugin

class HalfAPointADay(BasePlugin):
    def late_submission_penalty(self, student_id, score, total_seconds_late):
        return 0.5 * (total_seconds_late // 86400)
"""


@dataclass
class Workplace:
    """A person's folder, and nbgrader's commands run in it."""

    folder: Path
    exchange: Path

    def run_command(self, *arguments: str) -> None:
        """In its own process, as a person starts it: importing all of nbgrader takes seconds."""
        command = [sys.executable, "-m", "nbgrader", *arguments, f"--Exchange.root={self.exchange}"]
        environment = {**os.environ, **self._build_environment(), "PYTHONPATH": str(self.folder)}
        process = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True)
        assert process.returncode == 0, process.stdout + process.stderr

    def run_nbgrader(self, *arguments: str) -> str:
        """Run the same command in this process, and return its output and log."""
        output, status = io.StringIO(), None
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(output), redirect_stderr(output):
            patch.chdir(self.folder)
            patch.setattr(Validator, "stream", output)  # otherwise the stdout at nbgrader's import
            for name, value in self._build_environment().items():
                patch.setenv(name, value)
            try:
                NbGraderApp.launch_instance(argv=[*arguments, f"--Exchange.root={self.exchange}"])
            except SystemExit as end:
                status = end.code
            finally:
                Application.instance().clear_instance()  # the command; there is one application in a process
        assert not status, output.getvalue()
        return output.getvalue()

    def _build_environment(self) -> dict[str, str]:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        return {"PATH": path, "HOME": str(self.folder)}


@pytest.fixture
def instructor(small_course: Path, tmp_path_factory: pytest.TempPathFactory) -> Workplace:
    exchange = tmp_path_factory.mktemp("exchange")
    exchange.chmod(0o777)
    manifest = small_course / "labs" / LAB / "lab.py"
    question = (
        "\n# %% question: why [markdown] points=3\n# Why?\n#\n# ### BEGIN SOLUTION\n# Because.\n# ### END SOLUTION\n"
    )
    manifest.write_text(manifest.read_text() + question)
    build_course(read_course(small_course))
    (small_course / "half_a_point_a_day.py").write_text(LATE_PENALTY)
    with (small_course / "nbgrader_config.py").open("a") as config:
        config.write("\nc.ExchangeCollect.check_owner = False  # here one person plays every student\n")
        config.write('c.AssignLatePenalties.plugin_class = "half_a_point_a_day.HalfAPointADay"\n')
    return Workplace(small_course, exchange)


def make_student(name: str, instructor: Workplace, tmp_path_factory: pytest.TempPathFactory) -> Workplace:
    folder = tmp_path_factory.mktemp(name)
    config = f'c = get_config()\nc.CourseDirectory.course_id = "gradlab"\nc.CourseDirectory.student_id = "{name}"\n'
    (folder / "nbgrader_config.py").write_text(config)
    return Workplace(folder, instructor.exchange)


def write_answer(place: Workplace, lab: Lab, source: str) -> None:
    notebook = fill_notebook(lab, {"sum_of_squares": source})
    next(c for c in notebook.cells if c.id == "question-why").source = "Because a square is never negative."
    (place.folder / LAB / f"{LAB}.ipynb").write_text(json.dumps(notebook))


class Cycle:
    """A class of five from the release of a lab to their feedback, by nbgrader's commands."""

    def __init__(self, instructor: Workplace, tmp_path_factory: pytest.TempPathFactory) -> None:
        self.instructor = instructor
        self.lab = next(read_labs(read_course(instructor.folder)))
        reference = collect_reference(self.lab)["sum_of_squares"]
        self.answers = {"ada": reference, "ben": HALF, "cleo": WRONG, "dan": NOISY, "eve": ""}
        self.places = {name: make_student(name, instructor, tmp_path_factory) for name in self.answers}


def release_and_fetch(cycle: Cycle) -> None:
    cycle.instructor.run_nbgrader("generate_assignment", LAB)
    cycle.instructor.run_nbgrader("release_assignment", LAB)
    for place in cycle.places.values():
        place.run_nbgrader("fetch_assignment", LAB)


def answer_validate_and_submit(cycle: Cycle) -> None:
    for name, place in cycle.places.items():
        if cycle.answers[name]:
            write_answer(place, cycle.lab, cycle.answers[name])
    output = cycle.places["ben"].run_nbgrader("validate", f"{LAB}/{LAB}.ipynb")
    assert "Success" in output, "its mistake shows in hidden checks only"
    assert "failed" in cycle.places["eve"].run_nbgrader("validate", f"{LAB}/{LAB}.ipynb")
    for place in cycle.places.values():
        place.run_nbgrader("submit", LAB)


def collect_and_autograde(cycle: Cycle) -> None:
    instructor = cycle.instructor
    instructor.run_nbgrader("collect", LAB)
    make_late(instructor.folder / "submitted" / "ada" / LAB / "timestamp.txt", instructor.folder)
    instructor.run_command("autograde", LAB)
    assert read_worth(instructor) == {"ada": 1.0, "ben": 1.5, "cleo": 0.0, "dan": 2.0, "eve": 0.0}


def mark_by_hand(cycle: Cycle) -> None:
    instructor = cycle.instructor
    with open_gradebook(instructor) as book:
        grade = book.find_grade("question-why", LAB, LAB, "ada")
        assert grade.needs_manual_grade
        grade.manual_score, grade.needs_manual_grade = 2.5, False
        book.db.commit()
    assert read_worth(instructor)["ada"] == 3.5
    instructor.run_nbgrader("autograde", LAB, "--force", "--student", "ada")
    assert read_worth(instructor)["ada"] == 3.5, "a manual score survives another autograding"


def release_and_fetch_feedback(cycle: Cycle) -> None:
    cycle.instructor.run_nbgrader("generate_feedback", LAB)
    cycle.instructor.run_nbgrader("release_feedback", LAB)
    cycle.places["cleo"].run_nbgrader("fetch_feedback", LAB)
    (page,) = (cycle.places["cleo"].folder / LAB / "feedback").rglob("*.html")
    assert "3 and 4 give 25" in page.read_text()


def compare_with_feedback_of_gradlab(cycle: Cycle) -> None:
    instructor = cycle.instructor
    by_nbgrader = {p: p.read_text() for p in (instructor.folder / "feedback").glob("*/*/*.html")}
    assert len(by_nbgrader) == 5
    secrets = find_secret_lines(cycle.lab, HIDDEN)
    assert secrets
    for text in by_nbgrader.values():
        assert not secrets & {line.strip() for line in html.unescape(text).splitlines()}
    write_feedback(read_cycle_results(instructor), instructor.folder, LAB)
    assert {p: p.read_text() for p in by_nbgrader} == by_nbgrader, "nbgrader writes the pages of gradlab feedback"


def read_results_of_the_class(cycle: Cycle) -> None:
    by_name = {r.student: r for r in read_cycle_results(cycle.instructor)}
    assert [c.passed for c in by_name["ben"].exercises[0].checks] == [True, True, True, False]
    assert by_name["ada"].penalty == 1.0


STEPS = [
    release_and_fetch,
    answer_validate_and_submit,
    collect_and_autograde,
    mark_by_hand,
    release_and_fetch_feedback,
    compare_with_feedback_of_gradlab,
    read_results_of_the_class,
]


@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_from_generate_to_fetched_feedback(instructor: Workplace, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Slow: a kernel for each Validate, and two nbgrader commands that grade, the first in its own process.

    The steps depend on one another. A failure's traceback names the one that broke.
    """
    cycle = Cycle(instructor, tmp_path_factory)
    for step in STEPS:
        step(cycle)


def make_late(stamp: Path, course: Path) -> None:
    """The lab is due an hour from now, and this submission's timestamp says two days after that."""
    due = datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=1)
    stamp.write_text(f"{due + datetime.timedelta(days=2, minutes=1):%Y-%m-%d %H:%M:%S.%f} UTC")
    with Gradebook(f"sqlite:///{course}/gradebook.db", "gradlab") as book:
        book.update_or_create_assignment(LAB, duedate=due.replace(tzinfo=None))


def open_gradebook(instructor: Workplace) -> Gradebook:
    return Gradebook(f"sqlite:///{instructor.folder}/gradebook.db")


def read_cycle_results(instructor: Workplace) -> list:  # type: ignore[type-arg]
    return read_results(f"sqlite:///{instructor.folder}/gradebook.db", instructor.folder, LAB)


def read_worth(instructor: Workplace) -> dict[str, float]:
    return {r.student: r.points for r in read_cycle_results(instructor)}
