"""Every command of docs/teaching.md, and of the pages that continue it, exists; by night all are run in order."""

import csv
import io
import json
import os
import re
import shlex
import shutil
import sys
import zipfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
import typer
from nbgrader.api import Gradebook
from nbgrader.apps import NbGraderApp
from nbgrader.utils import notebook_hash
from traitlets.config import Application

from autograder.authoring.course_folder import build_course, read_course, read_labs
from autograder.authoring.new_lab import create_lab
from autograder.cli import main
from autograder.cli.app import app
from autograder.demo.students import fill_notebook
from autograder.gradebook.history import read_history
from tests.conftest import ROOT

GRADLAB = typer.main.get_group(app)
PAGES = ("teaching", "special-cases", "lms", "end-of-term")  # in the order in which a term uses them
PAGE = "\n".join((ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8") for name in PAGES)
PAGE = PAGE.replace("2027-", "2026-")  # later submissions wait
UNTIL, OPEN = "until = 2026-02-01", "until = 2999-02-01"  # files of today sort after these
ONE, TWO, THREE = "01_tensors", "02_shapes_and_devices", "03_autograd"
EXERCISES = {ONE: ["blank_padding_"], TWO: ["sum_of_squares"], THREE: ["sum_of_squares", "graph_size"]}
FORTY = [f"s{number:02}" for number in range(1, 41)]
EMPTY_IS_WRONG = "    assert_close(sum_of_squares(torch.empty(0, 3)), torch.tensor(0.0))\n"
IN_TIME, A_DAY_LATE = (f"2026-02-0{day} 10:00:00.000000 UTC" for day in (1, 2))
SECOND = "2026-02-01 11:00:00.000000 UTC"  # after IN_TIME, and in time
LATE, ILL, TWICE, NEVER, DAMAGED, NO_EMPTY, BY_HAND = "s36", "s05", "s37", "s38", "s39", "s35", "s31"
TEAM = ("s11", "s12")
ALL_WRONG = {"s31", "s32", "s33", "s34"}


def find_blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def write_answer(student: str, exercise: str) -> str:
    if student in ALL_WRONG:
        return f"def {exercise}(x):\n    return x.sum()\n"
    if student == NO_EMPTY:
        return f"def {exercise}(x):\n    return (x * x).sum() if x.numel() else None\n"
    return f"def {exercise}(x):\n    return (x * x).sum()\n"


class TermFolder:
    """The instructor's folder, and the actions in it between the commands."""

    def __init__(self, folder: Path, students: list[str]) -> None:
        self.folder, self.exchange, self.students = folder, folder / "exchange", students
        self.labs = {lab.name: lab for lab in read_labs(read_course(folder))}

    def build_notebook(self, lab: str, student: str) -> str:
        return json.dumps(fill_notebook(self.labs[lab], {name: write_answer(student, name) for name in EXERCISES[lab]}))

    def submit(self, lab: str, student: str, timestamp: str, content: str = "") -> Path:
        """Submit as `nbgrader submit` does, and return the path of the submission's page."""
        folder = self.exchange / "pytorch" / "inbound" / f"{student}+{lab}+{timestamp}+x"
        folder.mkdir()
        (folder / f"{lab}.ipynb").write_text(content or self.build_notebook(lab, student))
        (folder / "timestamp.txt").write_text(timestamp)
        (folder / "submission_secret.txt").write_text(f"{student} {timestamp}")
        return self.find_page(student, lab, timestamp)

    def find_page(self, student: str, lab: str, timestamp: str) -> Path:
        secret = notebook_hash(secret=f"{student} {timestamp}", notebook_id=lab)
        return self.exchange / "pytorch" / "feedback" / f"{secret}.html"

    def hand_in(self, lab: str) -> None:
        for student in self.students:
            if student in (NEVER, TEAM[0]):
                continue
            content = "not a notebook" if student == DAMAGED else ""
            self.submit(lab, student, A_DAY_LATE if lab == ONE and student in (LATE, ILL) else IN_TIME, content)

    def read_worth(self, lab: str) -> dict[str, float]:
        with Gradebook(f"sqlite:///{self.folder}/gradebook.db") as gradebook:
            return {each.student_id: each.score for each in gradebook.assignment_submissions(lab)}

    def read_table(self, name: str) -> dict[str, dict[str, str]]:
        with (self.folder / "results" / name).open(newline="", encoding="utf-8") as file:
            return {next(iter(row.values())): row for row in csv.DictReader(file)}


@pytest.fixture
def term(tmp_path: Path) -> TermFolder:
    """Three small labs with the page's names; the check `empty` of the second one expects a wrong value."""
    (tmp_path / "labs").mkdir()
    (tmp_path / "labs" / "course.toml").write_text('title = "A small course"\n')
    shutil.copy(ROOT / "nbgrader_config.py", tmp_path)
    for lab, exercises in EXERCISES.items():
        create_lab(tmp_path, lab)
        folder = tmp_path / "labs" / lab
        template = (folder / "exercises" / "sum_of_squares.py").read_text()
        (folder / "exercises" / "sum_of_squares.py").unlink()
        places = "\n".join(f"# %% exercise: {name} points=2" for name in exercises)
        (folder / "lab.py").write_text(
            (folder / "lab.py").read_text().replace("# %% exercise: sum_of_squares points=2", places)
        )
        for name in exercises:
            (folder / "exercises" / f"{name}.py").write_text(template.replace("sum_of_squares", name))
    wrong = tmp_path / "labs" / TWO / "exercises" / "sum_of_squares.py"
    assert EMPTY_IS_WRONG in wrong.read_text()
    wrong.write_text(wrong.read_text().replace(EMPTY_IS_WRONG, EMPTY_IS_WRONG.replace("0.0)", "1.0)")))
    build_course(read_course(tmp_path))
    (tmp_path / "exchange").mkdir(mode=0o777)
    settings, penalty = find_blocks("python")
    with (tmp_path / "nbgrader_config.py").open("a") as config:
        config.write(settings.replace("/srv/exchange", str(tmp_path / "exchange")))
        config.write(
            'c.AssignLatePenalties.plugin_class = "late.TenPercentADay"\nc.ExchangeCollect.check_owner = False\n'
        )
    (tmp_path / "late.py").write_text(penalty)
    rows = "".join(f"{student},First{student},Last{student},{student}@example.org,\n" for student in FORTY)
    (tmp_path / "roster.csv").write_text(f"id,first_name,last_name,email,lms_user_id\n{rows}")
    return TermFolder(tmp_path, FORTY)


def run(line: str, folder: Path) -> str:
    """Run a command of the page in this process: a new process would import torch."""
    program, *arguments = shlex.split(line)
    output, status = io.StringIO(), None
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(output), redirect_stderr(output):
        patch.chdir(folder)
        patch.syspath_prepend(str(folder))
        patch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
        patch.setenv("HOME", str(folder))
        try:
            if program == "gradlab":
                patch.setattr(sys, "argv", ["gradlab", *arguments])
                main()
            else:
                NbGraderApp.launch_instance(argv=arguments)
        except SystemExit as end:
            status = end.code
        finally:
            if program == "nbgrader":
                Application.instance().clear_instance()
    assert not status, f"{line}\n{output.getvalue()}"
    return output.getvalue()


def test_the_page_names_only_commands_that_exist() -> None:
    lines = [line for block in find_blocks("sh") for line in block.splitlines()]
    assert len(lines) > 25
    for program, command, *arguments in map(shlex.split, lines):
        if program == "nbgrader":
            assert command in NbGraderApp.subcommands
        else:
            assert program == "gradlab"
            GRADLAB.commands[command].make_context(command, arguments)  # refuses unknown options


class Walk:
    """The page's commands, run in order, and what the marks should be."""

    def __init__(self, term: TermFolder, capfd: pytest.CaptureFixture[str]) -> None:
        self.term, self.capfd = term, capfd
        self.lines = [line for block in find_blocks("sh") for line in block.splitlines()]
        self.tomls = iter(find_blocks("toml"))
        self.outputs: dict[str, str] = {}
        self.points: dict[str, dict[str, float]] = {}
        """lab -> student -> the points that the gradebook should have."""

    def run_until(self, start: str) -> None:
        """Run the next commands, up to the one that begins like this."""
        while self.lines and not self.lines[0].startswith(start):
            line = self.lines.pop(0)
            with self.capfd.disabled():
                self.outputs[line] = run(line, self.term.folder)

    def read_feedback_page(self, student: str, lab: str) -> str:
        return (self.term.folder / "feedback" / student / lab / f"{lab}.html").read_text()


def release_the_labs(walk: Walk) -> None:
    walk.run_until("gradlab status")


def mark_while_they_work(walk: Walk) -> None:
    term = walk.term
    wrong = term.submit(ONE, TWICE, IN_TIME, term.build_notebook(ONE, "s31"))
    right = term.submit(ONE, "s01", IN_TIME)
    (term.folder / "term.toml").write_text(next(walk.tomls).replace(UNTIL, OPEN))
    walk.run_until(f"gradlab watch {ONE}")
    assert wrong.exists()
    assert right.exists()
    assert term.read_worth(ONE) == {TWICE: 0, "s01": 2}
    page = wrong.read_text()
    assert "other shapes and float64" not in page
    assert "points without hidden checks" in page
    assert "Attempt 1 of 5. Your next attempt will be marked after 20" in page
    assert "open until 2999-02-01 18:00 UTC." in page


def submit_until_the_deadline(walk: Walk) -> None:
    """Everyone submits two labs, as if the first pages had not been."""
    exchange = walk.term.exchange / "pytorch"
    for name in ("feedback", "inbound"):
        shutil.rmtree(exchange / name)
    (exchange / "inbound").mkdir()
    for lab in (ONE, TWO):
        walk.term.hand_in(lab)
    walk.term.submit(ONE, TWICE, SECOND)
    with (walk.term.folder / "term.toml").open("a") as file:
        file.write(next(walk.tomls))


def grade_after_the_deadline(walk: Walk) -> None:
    everyone = walk.term.students
    walk.run_until("gradlab feedback")
    output = walk.outputs[f"gradlab grade {ONE}"]
    assert f"0 graded; {len(everyone) - 1} kept; 1 damaged; 2 late; 1 not submitted." in output
    output_of_watch = walk.outputs[f"gradlab watch {ONE} --once --newest"]
    assert f"{len(everyone) - 2} submissions marked" in output_of_watch
    assert f"{DAMAGED} {ONE}: damaged, Your file could not be" in output_of_watch
    assert "not on the roster" not in output_of_watch
    assert "not marked" not in output_of_watch
    assert (walk.term.folder / "results" / f"{ONE}.html").stat().st_size > 10_000


def give_feedback_back(walk: Walk) -> None:
    everyone = walk.term.students
    walk.run_until("gradlab extend")
    assert walk.term.find_page(TWICE, ONE, SECOND).exists()
    assert not walk.term.find_page(NEVER, ONE, IN_TIME).exists()
    points = {**dict.fromkeys(everyone, 2.0), **dict.fromkeys(ALL_WRONG, 0.0), DAMAGED: 0.0, NO_EMPTY: 1.5}
    del points[NEVER]
    walk.points[ONE] = points
    assert walk.term.read_worth(ONE) == points


def extend_and_excuse(walk: Walk) -> None:
    walk.run_until("gradlab build")
    walk.points[ONE] |= {NO_EMPTY: 2.0}
    assert walk.term.read_worth(ONE) == walk.points[ONE]
    page = walk.read_feedback_page(NO_EMPTY, ONE)
    assert "1.5 of 2" in page, "the page is the previous one: feedback is written later"


def grade_with_a_wrong_check(walk: Walk) -> None:
    """The second lab is graded by its wrong check, and a person changes a mark."""
    term = walk.term
    for student in term.students:
        if student not in (NEVER, TEAM[0]):
            folder = term.folder / "submitted" / student / TWO
            shutil.copytree(term.exchange / "pytorch" / "inbound" / f"{student}+{TWO}+{IN_TIME}+x", folder)
    run(f"gradlab grade {TWO}", term.folder)
    with Gradebook(f"sqlite:///{term.folder}/gradebook.db") as gradebook:
        by_hand = gradebook.find_grade("check-sum_of_squares", TWO, TWO, BY_HAND)
        by_hand.manual_score, by_hand.needs_manual_grade = 1.0, False
        gradebook.db.commit()
    assert term.read_worth(TWO)["s01"] == 1.5


def regrade_with_the_corrected_check(walk: Walk) -> None:
    term = walk.term
    wrong = term.folder / "labs" / TWO / "exercises" / "sum_of_squares.py"
    wrong.write_text(wrong.read_text().replace(EMPTY_IS_WRONG.replace("0.0)", "1.0)"), EMPTY_IS_WRONG))
    walk.run_until("gradlab feedback")
    assert "Nothing was written" in walk.outputs[f"gradlab regrade {TWO}"]
    walk.points[TWO] = {**walk.points[ONE], BY_HAND: 1.0, NO_EMPTY: 1.5}
    assert term.read_worth(TWO) == walk.points[TWO]
    with Gradebook(f"sqlite:///{term.folder}/gradebook.db") as gradebook:
        assert not gradebook.find_grade("check-sum_of_squares", TWO, TWO, BY_HAND).needs_manual_grade
    assert [mark.command for mark in read_history(term.folder, TWO, "s01")] == ["grade", "regrade"]


def write_feedback_with_solutions(walk: Walk) -> None:
    term_file = walk.term.folder / "term.toml"
    term_file.write_text(term_file.read_text().replace("tell =", "solutions = 2026-02-08T18:00:00Z\ntell =", 1))
    walk.run_until("gradlab collect")
    page = walk.read_feedback_page(NO_EMPTY, ONE)
    assert "Your instructor excused this check" in page
    assert "2 of 2" in page
    assert "The worked solution" in page


def use_a_learning_management_system(walk: Walk) -> None:
    term, everyone = walk.term, walk.term.students
    with zipfile.ZipFile(term.folder / "submissions.zip", "w") as archive:
        for number, student in enumerate(everyone):
            if student != NEVER:
                name = f"First{student} Last{student}_{500 + number}_assignsubmission_file_/{THREE}.ipynb"
                archive.writestr(name, term.build_notebook(THREE, student))
    walk.run_until("gradlab report")
    with zipfile.ZipFile(term.folder / "results" / f"{THREE}.moodle.zip") as archive:
        assert len(archive.namelist()) == len(everyone) - 1
        assert f"Firsts01 Lasts01_500_assignsubmission_file_/{THREE}.html" in archive.namelist()


def export_at_the_end(walk: Walk) -> None:
    term, everyone = walk.term, walk.term.students
    walk.run_until("nothing")
    assert (term.folder / "results" / "term.html").stat().st_size > 5_000
    marks = term.read_table("marks.csv")
    assert sorted(marks) == everyone
    late = {LATE: 2 - 0.1 * 2}
    for student in everyone:
        row, expected = marks[student], dict[str, float]()
        if student != NEVER:
            expected = {ONE: (walk.points[ONE] | late)[student], TWO: walk.points[TWO][student]}
        assert {lab: float(row[lab]) for lab in (ONE, TWO) if row[lab]} == pytest.approx(expected), student
    assert (marks[LATE][f"{ONE} before lateness"], marks[LATE][f"{ONE} late (H:M:S)"]) == ("2", "16:00:00")
    assert (marks[ILL][ONE], marks[ILL][f"{ONE} late (H:M:S)"]) == ("2", "0:00:00")
    assert (marks["s01"][THREE], marks["s01"][f"{THREE} of"], marks[NEVER][f"{THREE} state"]) == ("4", "2", "missing")


def compare_the_tables_of_learning_management_systems(walk: Walk) -> None:
    marks = walk.term.read_table("marks.csv")
    canvas = {row["SIS Login ID"]: row for row in walk.term.read_table("canvas.csv").values()}
    moodle = {row["ID number"]: row for row in walk.term.read_table("moodle.csv").values()}
    for student in walk.term.students:
        for lab in (ONE, TWO, THREE):
            assert canvas[student][lab] == moodle[student][f"{lab} (Real)"] == marks[student][lab]


CHAPTERS = [
    release_the_labs,
    mark_while_they_work,
    submit_until_the_deadline,
    grade_after_the_deadline,
    give_feedback_back,
    extend_and_excuse,
    grade_with_a_wrong_check,
    regrade_with_the_corrected_check,
    write_feedback_with_solutions,
    use_a_learning_management_system,
    export_at_the_end,
    compare_the_tables_of_learning_management_systems,
]


@pytest.mark.nightly  # by day each command has tests of its own
@pytest.mark.timeout(3600)
def test_a_term_is_walked_by_the_commands_of_the_page(term: TermFolder, capfd: pytest.CaptureFixture[str]) -> None:
    """Three labs are graded, some twice, with nbgrader's commands around them.

    The chapters depend on one another. A failure's traceback names the one that broke.
    """
    walk = Walk(term, capfd)
    for chapter in CHAPTERS:
        chapter(walk)
    assert not walk.lines
