"""Runs every command of docs/teaching.md in order, and checks its output. By night the class has forty students; by day
only those who differ.
"""

import csv
import io
import json
import os
import re
import shutil
import sys
import zipfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from nbgrader.api import Gradebook
from nbgrader.apps import NbGraderApp
from nbgrader.utils import notebook_hash
from traitlets.config import Application

from autograder.authoring.course_folder import build_course, read_course, read_labs
from autograder.authoring.new_lab import create_lab
from autograder.cli import main
from autograder.demo.students import fill_notebook
from autograder.gradebook.history import read_history
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "teaching.md").read_text(encoding="utf-8").replace("2027-", "2026-")  # later submissions wait
UNTIL, OPEN = "until = 2026-02-01", "until = 2999-02-01"  # files of today sort after these
ONE, TWO, THREE = "01_tensors", "02_shapes_and_devices", "03_autograd"
EXERCISES = {ONE: ["blank_padding_"], TWO: ["sum_of_squares"], THREE: ["sum_of_squares", "graph_size"]}
FORTY = [f"s{number:02}" for number in range(1, 41)]
EMPTY_IS_WRONG = "    assert_close(sum_of_squares(torch.empty(0, 3)), torch.tensor(0.0))\n"
IN_TIME, A_DAY_LATE, SECOND = (f"2026-02-0{day} 10:00:00.000000 UTC" for day in ("1", "2", "1"))
SECOND = "2026-02-01 11:00:00.000000 UTC"
LATE, ILL, TWICE, NEVER, DAMAGED, NO_EMPTY, BY_HAND = "s36", "s05", "s37", "s38", "s39", "s35", "s31"
TEAM = ("s11", "s12")
ALL_WRONG = {"s31", "s32", "s33", "s34"}
FEWER = [*FORTY[:2], ILL, *TEAM, *FORTY[30:]]  # all students who differ from one another


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

    def read_points(self, lab: str) -> dict[str, float]:
        with Gradebook(f"sqlite:///{self.folder}/gradebook.db") as gradebook:
            return {each.student_id: each.score for each in gradebook.assignment_submissions(lab)}

    def read_table(self, name: str) -> dict[str, dict[str, str]]:
        with (self.folder / "results" / name).open(newline="", encoding="utf-8") as file:
            return {next(iter(row.values())): row for row in csv.DictReader(file)}


@pytest.fixture(params=[pytest.param(FEWER, id="fifteen"), pytest.param(FORTY, marks=pytest.mark.nightly, id="forty")])
def term(request: pytest.FixtureRequest, tmp_path: Path) -> TermFolder:
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
    rows = "".join(f"{student},First{student},Last{student},{student}@example.org,\n" for student in request.param)
    (tmp_path / "roster.csv").write_text(f"id,first_name,last_name,email,lms_user_id\n{rows}")
    return TermFolder(tmp_path, request.param)


def run(line: str, folder: Path) -> str:
    """Run a command of the page in this process: a new process would import torch."""
    import shlex

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
    assert len(lines) > 25 and all(line.startswith(("gradlab ", "nbgrader ")) for line in lines)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_term_is_walked_by_the_commands_of_the_page(term: TermFolder, capfd: Any) -> None:
    """Slow: three labs are graded, some twice, with nbgrader's commands around them."""
    outputs: dict[str, str] = {}
    everyone = term.students
    tomls = iter(find_blocks("toml"))

    def walk(until: str) -> None:
        """Run the next commands, up to the one that begins like this."""
        while lines and not lines[0].startswith(until):
            line = lines.pop(0)
            with capfd.disabled():
                outputs[line] = run(line, term.folder)

    lines = [line for block in find_blocks("sh") for line in block.splitlines()]

    walk("gradlab status")
    before = [term.submit(ONE, TWICE, IN_TIME, term.build_notebook(ONE, "s31")), term.submit(ONE, "s01", IN_TIME)]
    (term.folder / "term.toml").write_text(next(tomls).replace(UNTIL, OPEN))
    walk(f"gradlab watch {ONE}")
    assert all(page.exists() for page in before) and term.read_points(ONE) == {TWICE: 0, "s01": 2}
    page = before[0].read_text()
    assert "other shapes and float64" not in page and "points without hidden checks" in page
    assert "Attempt 1 of 5. The next one will be marked after 20" in page and "open until 2999-02-01 18:00 UTC." in page

    shutil.rmtree(before[0].parent)
    shutil.rmtree(term.exchange / "pytorch" / "inbound")
    (term.exchange / "pytorch" / "inbound").mkdir()
    for lab in (ONE, TWO):
        term.hand_in(lab)
    term.submit(ONE, TWICE, SECOND)
    with (term.folder / "term.toml").open("a") as file:
        file.write(next(tomls))
    walk("gradlab feedback")
    output = outputs[f"gradlab grade {ONE}"]
    assert f"0 graded; {len(everyone) - 1} kept; 1 damaged; 2 late; 1 not submitted." in output
    output_of_watch = outputs[f"gradlab watch {ONE} --once --newest"]
    assert f"{len(everyone) - 2} submissions marked" in output_of_watch
    assert f"{DAMAGED} {ONE}: damaged, Your file could not be" in output_of_watch
    assert "not on the roster" not in output_of_watch and "not marked" not in output_of_watch
    assert (term.folder / "results" / f"{ONE}.html").stat().st_size > 10_000
    walk("gradlab extend")
    assert term.find_page(TWICE, ONE, SECOND).exists() and not term.find_page(NEVER, ONE, IN_TIME).exists()
    points = {**dict.fromkeys(everyone, 2.0), **dict.fromkeys(ALL_WRONG, 0.0), DAMAGED: 0.0, NO_EMPTY: 1.5}
    del points[NEVER]
    assert term.read_points(ONE) == points

    walk("gradlab build")
    points[NO_EMPTY] = 2.0
    assert term.read_points(ONE) == points
    page = (term.folder / "feedback" / NO_EMPTY / ONE / f"{ONE}.html").read_text()
    assert "1.5 of 2" in page, "the page is the previous one: feedback is written later"

    for student in everyone:
        if student not in (NEVER, TEAM[0]):
            folder = term.folder / "submitted" / student / TWO
            shutil.copytree(term.exchange / "pytorch" / "inbound" / f"{student}+{TWO}+{IN_TIME}+x", folder)
    run(f"gradlab grade {TWO}", term.folder)
    with Gradebook(f"sqlite:///{term.folder}/gradebook.db") as gradebook:
        by_hand = gradebook.find_grade("check-sum_of_squares", TWO, TWO, BY_HAND)
        by_hand.manual_score, by_hand.needs_manual_grade = 1.0, False
        gradebook.db.commit()
    assert term.read_points(TWO)["s01"] == 1.5
    wrong = term.folder / "labs" / TWO / "exercises" / "sum_of_squares.py"
    wrong.write_text(wrong.read_text().replace(EMPTY_IS_WRONG.replace("0.0)", "1.0)"), EMPTY_IS_WRONG))
    walk("gradlab feedback")
    assert "Nothing was written" in outputs[f"gradlab regrade {TWO}"]
    of_two = {**points, BY_HAND: 1.0, NO_EMPTY: 1.5}
    assert term.read_points(TWO) == of_two
    with Gradebook(f"sqlite:///{term.folder}/gradebook.db") as gradebook:
        assert not gradebook.find_grade("check-sum_of_squares", TWO, TWO, BY_HAND).needs_manual_grade
    assert [mark.command for mark in read_history(term.folder, TWO, "s01")] == ["grade", "regrade"]

    term_file = term.folder / "term.toml"
    term_file.write_text(term_file.read_text().replace("tell =", "solutions = 2026-02-08T18:00:00Z\ntell =", 1))
    walk("gradlab collect")
    page = (term.folder / "feedback" / NO_EMPTY / ONE / f"{ONE}.html").read_text()
    assert "Your instructor excused this check" in page and "2 of 2" in page and "The worked solution" in page
    with zipfile.ZipFile(term.folder / "submissions.zip", "w") as archive:
        for number, student in enumerate(everyone):
            if student != NEVER:
                name = f"First{student} Last{student}_{500 + number}_assignsubmission_file_/{THREE}.ipynb"
                archive.writestr(name, term.build_notebook(THREE, student))
    walk("gradlab report")
    with zipfile.ZipFile(term.folder / "results" / f"{THREE}.moodle.zip") as archive:
        assert len(archive.namelist()) == len(everyone) - 1
        assert f"Firsts01 Lasts01_500_assignsubmission_file_/{THREE}.html" in archive.namelist()

    walk("nothing")
    assert (term.folder / "results" / "term.html").stat().st_size > 5_000
    marks = term.read_table("marks.csv")
    assert sorted(marks) == everyone
    late = {LATE: 2 - 0.1 * 2}
    for student in everyone:
        row = marks[student]
        expected = {} if student == NEVER else {ONE: {**points, **late}[student], TWO: of_two[student]}
        assert {lab: float(row[lab]) for lab in (ONE, TWO) if row[lab]} == pytest.approx(expected), student
    assert (marks[LATE][f"{ONE} before lateness"], marks[LATE][f"{ONE} late (H:M:S)"]) == ("2", "16:00:00")
    assert (marks[ILL][ONE], marks[ILL][f"{ONE} late (H:M:S)"]) == ("2", "0:00:00")
    assert (marks["s01"][THREE], marks["s01"][f"{THREE} of"], marks[NEVER][f"{THREE} state"]) == ("4", "2", "missing")
    canvas = {row["SIS Login ID"]: row for row in term.read_table("canvas.csv").values()}
    moodle = {row["ID number"]: row for row in term.read_table("moodle.csv").values()}
    for student in everyone:
        for lab in (ONE, TWO, THREE):
            assert canvas[student][lab] == moodle[student][f"{lab} (Real)"] == marks[student][lab]
