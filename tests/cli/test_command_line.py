"""The command line: exit status 0 only when everything was done; errors without a traceback."""

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from nbgrader.api import Gradebook

from autograder.authoring.course_folder import read_course, read_labs
from autograder.demo.students import collect_reference, fill_notebook
from autograder.sandbox.doctor import LEVELS
from autograder.sandbox.layers import LAYERS
from tests.conftest import ROOT, CommandLine, run_main
from tests.reports.written_class import LAB, StudentWork, write_class


def run_gradlab(*arguments: str, status: int = 0, cwd: Path = ROOT) -> str:
    """Run the command in its own process, which imports torch: for tests of the process itself."""
    command = [sys.executable, "-m", "autograder.cli", *arguments]
    process = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    output = process.stdout + process.stderr
    assert process.returncode == status, output
    assert "Traceback" not in output
    return output


def test_help_names_every_command(cli: CommandLine) -> None:
    output = cli("--help")
    for command in ("build", "prove", "grade", "feedback", "report", "export", "new", "doctor", "demo"):
        assert command in output


@pytest.mark.parametrize("arguments", ["--help", "status", "report", f"similar {LAB}"])
def test_commands_that_only_read_marks_do_not_wait_for_torch(small_course: Path, arguments: str) -> None:
    write_class(small_course, [StudentWork(f"s{n}") for n in range(6)])
    code = (
        f"import sys; sys.argv = ['gradlab', *{arguments.split()}]\n"
        "from autograder.cli import main\n"
        "try: main()\n"
        "except SystemExit as end: print(end.code or 0, 'torch' in sys.modules)\n"
    )
    process = subprocess.run([sys.executable, "-c", code], cwd=small_course, capture_output=True, text=True)
    assert process.stdout.splitlines()[-1] == "0 False", process.stdout + process.stderr


def test_build_check_names_the_stale_file_and_the_fix(small_course: Path, cli: CommandLine) -> None:
    cli("build --check")
    lab = small_course / "labs" / "01_squares" / "lab.py"
    lab.write_text(lab.read_text().replace("What is the sum", "What, then, is the sum"))
    output = cli("build --check", status=1)
    assert "release/01_squares/01_squares.ipynb" in output
    assert "run gradlab build" in output


@pytest.fixture
def two_labs(small_course: Path, cli: CommandLine) -> Path:
    """A course of two labs that aren't built: one was edited, and one is new."""
    cli("new 02_cubes")
    lab = small_course / "labs" / "01_squares" / "lab.py"
    lab.write_text(lab.read_text().replace("What is the sum", "What, then, is the sum"))
    return small_course


def test_only_the_labs_that_are_named_are_checked(two_labs: Path, cli: CommandLine) -> None:
    output = cli("build 02_cubes --check", status=1)
    assert "release/02_cubes" in output
    assert "01_squares" not in output


def test_only_the_labs_that_are_named_are_built(two_labs: Path, cli: CommandLine) -> None:
    assert "1 lab built, 3 files changed" in cli("build 02_cubes")
    assert "1 lab up to date" in cli("build --check 02_cubes")
    assert "source/01_squares" in cli("build --check", status=1)


def test_a_lab_is_built_whatever_is_wrong_with_another(two_labs: Path, cli: CommandLine) -> None:
    other = two_labs / "labs" / "02_cubes" / "lab.py"
    other.write_text(other.read_text() + "# %% nonsense\n")
    assert "1 lab built" in cli("build 01_squares")


def test_a_lab_that_does_not_exist_is_not_built(two_labs: Path, cli: CommandLine) -> None:
    assert "name one of 01_squares, 02_cubes" in cli("build 03_none", status=1)


def test_a_missing_exchange_is_reported_only_by_commands_that_use_it(small_course: Path, cli: CommandLine) -> None:
    with (small_course / "nbgrader_config.py").open("a") as config:
        config.write(f'c.Exchange.root = "{small_course}/nowhere"\n')
    output = cli("status")
    assert "nowhere" not in output and "instructor" not in output, output
    output = run_gradlab("watch", "01_squares", "--once", status=1, cwd=small_course)
    assert "contact your instructor" not in output and f"there is no {small_course}/nowhere/gradlab/inbound" in output
    assert "set c.Exchange.root" in output


def test_a_mistake_in_a_lab_is_printed_with_file_and_line(small_course: Path) -> None:
    exercise = small_course / "labs" / "01_squares" / "exercises" / "sum_of_squares.py"
    exercise.write_text(exercise.read_text().replace("    ### END SOLUTION\n", ""))
    output = run_gradlab("build", status=1, cwd=small_course)
    assert "labs/01_squares/exercises/sum_of_squares.py:" in output
    assert "fix: add '### END SOLUTION'" in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("build --course labs/01_squares", "--course"),
        ("prove 02_circles", "fix: name one of 01_squares"),
        ("grade 02_circles", "no lab '02_circles'"),
        ("grade 01_squares", "gradlab watch 01_squares --once --newest"),
        ("report 01_squares", "gradlab grade"),
        ("collect 02_circles all.zip", "no lab '02_circles'"),
        ("excuse 01_squares empty --student eve", "no student 'eve'"),
        ("export", "gradlab grade"),
        ("new 01_squares", "already exists"),
        ("new ../x", "can't be a lab's name"),
        (
            "grade 01_squares --isolation strict",
            "there's no level --isolation=strict\n    fix: choose one of full, no-namespaces, same-user, none",
        ),
    ],
)
def test_an_impossible_request_is_refused_with_an_alternative(cli: CommandLine, arguments: str, message: str) -> None:
    assert message in cli(arguments, status=1)


def test_prove_fails_if_a_check_is_not_proved(small_course: Path, cli: CommandLine) -> None:
    exercise = small_course / "labs" / "01_squares" / "exercises" / "sum_of_squares.py"
    exercise.write_text(exercise.read_text().replace("return (x * x).sum()", "return (x * x).sum() + 1"))
    output = cli("prove", status=1)
    assert "sum_of_squares.py:" in output
    assert "reference solution of sum_of_squares: it gets 0 of 2" in " ".join(output.split())
    assert "1 problem" in output


def test_doctor_lists_every_layer_and_level_and_says_what_to_do_next(cli: CommandLine) -> None:
    output = cli("doctor")
    for name in (*map(str, LAYERS), *LEVELS):
        assert name in output
    assert "Next: gradlab grade LAB" in output


@dataclass(frozen=True)
class GradedTerm:
    """A class with a missing, a broken and a hostile file, after the commands of a term."""

    course: Path
    outputs: dict[str, str]
    """Of each command."""


@pytest.fixture(scope="module")
def graded_term(built_course: Path, tmp_path_factory: pytest.TempPathFactory) -> GradedTerm:
    course = Path(shutil.copytree(built_course, tmp_path_factory.mktemp("term") / "course"))
    lab = next(read_labs(read_course(course)))
    right = json.dumps(fill_notebook(lab, collect_reference(lab)))
    exits = {"sum_of_squares": "def sum_of_squares(x):\n    import os\n    os._exit(1)"}
    files = {"ada": right, "ben": "not a notebook", "cleo": json.dumps(fill_notebook(lab, exits)), "dan": None}
    for student, content in files.items():
        folder = course / "submitted" / student / "01_squares"
        folder.mkdir(parents=True)
        if content is not None:
            (folder / "01_squares.ipynb").write_text(content)
    (course / "submitted" / "eve" / "01_squares").mkdir(parents=True)
    (course / "submitted" / "eve" / "01_squares" / "my answers.ipynb").write_text(right)
    (course / "submitted" / "slash" / "sub").mkdir(parents=True)
    (course / "submitted" / "Ada" / "sub").mkdir(parents=True)
    outputs = {"grade 01_squares": run_gradlab("grade", "01_squares", cwd=course)}
    for command in ("grade 01_squares --student ada", "feedback 01_squares", "report 01_squares", "export"):
        outputs[command] = run_main(command, course)
    return GradedTerm(course, outputs)


@pytest.mark.slow
def test_grading_counts_damaged_submissions_and_those_at_a_limit(graded_term: GradedTerm) -> None:
    """Slow: a fork server, and five commands."""
    output = graded_term.outputs["grade 01_squares"]
    assert "01_squares: 5 graded; 2 damaged; 1 at a limit. Next: gradlab feedback 01_squares" in output


@pytest.mark.slow
def test_grading_warns_of_folders_that_count_for_no_one(graded_term: GradedTerm) -> None:
    """Slow: the same commands."""
    output = graded_term.outputs["grade 01_squares"]
    assert "submitted/slash/ contains sub, which isn't an assignment" in output
    assert "Ada and ada look like one student" in output


@pytest.mark.slow
def test_a_missing_or_broken_file_earns_nothing_and_another_name_costs_nothing(graded_term: GradedTerm) -> None:
    """Slow: the same commands."""
    with Gradebook(f"sqlite:///{graded_term.course}/gradebook.db") as book:
        scores = {s.student_id: s.score for s in book.assignment_submissions("01_squares")}
    assert scores == {"ada": 2, "ben": 0, "cleo": 0, "dan": 0, "eve": 2}


@pytest.mark.slow
def test_a_submission_that_did_not_change_is_kept(graded_term: GradedTerm) -> None:
    """Slow: the same commands."""
    assert "01_squares: 0 graded; 1 kept" in graded_term.outputs["grade 01_squares --student ada"]


@pytest.mark.slow
def test_feedback_says_how_to_return_it_without_an_exchange(graded_term: GradedTerm) -> None:
    """Slow: the same commands."""
    output = graded_term.outputs["feedback 01_squares"]
    assert "5 feedback pages" in output
    assert "hand these out yourself" in output
    assert "nbgrader release_feedback" not in output


@pytest.mark.slow
@pytest.mark.parametrize(
    ("student", "words"),
    [
        ("ben", "it is not JSON"),
        ("cleo", "the Python process ended during this check"),
        ("dan", "No notebook named 01_squares.ipynb was submitted"),
    ],
)
def test_a_page_says_what_was_wrong_with_a_file(graded_term: GradedTerm, student: str, words: str) -> None:
    """Slow: the same commands."""
    page = (graded_term.course / "feedback" / student / "01_squares" / "01_squares.html").read_text()
    assert words in page.replace("<wbr>", "")


@pytest.mark.slow
def test_no_page_shows_a_hidden_check(graded_term: GradedTerm) -> None:
    """Slow: the same commands."""
    pages = list((graded_term.course / "feedback").glob("*/01_squares/01_squares.html"))
    assert len(pages) == 5
    assert not any("vector_norm" in page.read_text().replace("<wbr>", "") for page in pages)


@pytest.mark.slow
def test_the_report_of_a_lab_lists_every_student(graded_term: GradedTerm) -> None:
    """Slow: the same commands."""
    report = (graded_term.course / "results" / "01_squares.html").read_text()
    assert all(f">{student}<" in report for student in ("ada", "ben", "cleo", "dan", "eve"))


@pytest.mark.slow
def test_exported_marks_have_a_row_for_each_student(graded_term: GradedTerm) -> None:
    """Slow: the same commands."""
    rows = (graded_term.course / "results" / "marks.csv").read_text().splitlines()
    assert rows[0].startswith("id,first_name,last_name,email,lms_user_id,01_squares,01_squares before lateness")
    assert "ada,,,,,2,2,2,0:00:00,graded" in rows


@pytest.mark.slow
def test_an_error_in_the_course_is_named_and_changes_no_mark(
    small_course: Path, cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slow: a fork server for each grading."""
    lab = next(read_labs(read_course(small_course)))
    folder = small_course / "submitted" / "ada" / "01_squares"
    folder.mkdir(parents=True)
    (folder / "01_squares.ipynb").write_text(json.dumps(fill_notebook(lab, collect_reference(lab))))
    cli("grade 01_squares")
    with (small_course / "nbgrader_config.py").open("a") as config:
        config.write('\nc.AssignLatePenalties.plugin_class = "nowhere.Late"\n')
    output = cli("grade 01_squares", status=1)
    assert "ModuleNotFoundError: No module named 'nowhere'" in output
    assert "no mark was changed" in output
    with Gradebook(f"sqlite:///{small_course}/gradebook.db") as book:
        assert book.find_submission("01_squares", "ada").score == 2
    (small_course / "nowhere.py").write_text("from nbgrader.plugins import LateSubmissionPlugin as Late\n")
    monkeypatch.syspath_prepend(small_course)  # as in the command's own process
    cli("grade 01_squares")


def test_a_lab_that_was_edited_and_not_built_is_not_graded_by_its_old_checks(
    small_course: Path, cli: CommandLine
) -> None:
    exercise = small_course / "labs" / "01_squares" / "exercises" / "sum_of_squares.py"
    (small_course / "submitted" / "ada" / "01_squares").mkdir(parents=True)
    exercise.write_text(exercise.read_text().replace("3 and 4 give 25", "3 and 4 are 25"))
    assert "fix: gradlab build" in cli("grade 01_squares", status=1)


def test_a_full_disk_is_one_line_with_a_fix_that_says_how_to_continue(
    small_course: Path, cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a file system of one page can be mounted: a real one, full."""
    full = small_course / "full"
    full.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "none", full], capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        lines = cli(f"release --student {full}/labs", status=1).splitlines()
    finally:
        subprocess.run(["umount", full], check=True)
    assert len(lines) == 2, lines
    assert lines[0].startswith("gradlab: the disk is full: ")
    assert lines[1] == "    fix: free some space, then run the same command to continue"


@pytest.mark.parametrize(("command", "folder"), [("build", "release"), ("build", "source"), ("report", "results")])
def test_a_course_folder_that_cannot_be_written_is_one_line_with_its_path(
    small_course: Path, cli: CommandLine, command: str, folder: str
) -> None:
    """A file is where the folder should be: permissions don't keep root from writing."""
    write_class(small_course, [StudentWork("ada")])
    shutil.rmtree(small_course / folder, ignore_errors=True)
    (small_course / folder).write_text("no folder")
    (line,) = cli(command, status=1).splitlines()
    program, path, _reason = line.split(": ")
    assert program == "gradlab"
    assert (small_course / path).is_relative_to(small_course / folder)
