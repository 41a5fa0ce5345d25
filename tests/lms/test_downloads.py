"""A zip's submissions are sorted into submitted/ by student, and feedback is returned under the names in the zip."""

import zipfile
from pathlib import Path

import pytest

from autograder.base.errors import GradlabError
from autograder.base.submission_files import SECRET
from autograder.lms.downloads import collect_zip
from autograder.lms.feedback_zip import refuse_unnamed, write_feedback_zip
from autograder.lms.learning_system import LearningSystem, load_system
from tests.lms.zips import (
    CANVAS,
    GRADESCOPE,
    LAB,
    MALLORY,
    METADATA,
    MOODLE,
    PEOPLE,
    collect,
    read_submitted,
    write_zip,
)


@pytest.mark.parametrize("files", [CANVAS, MOODLE, GRADESCOPE], ids=["canvas", "moodle", "gradescope"])
def test_each_systems_zip_is_collected(files: dict[str, bytes], tmp_path: Path) -> None:
    students, problems = collect(write_zip(tmp_path / "a.zip", files), tmp_path, LAB, PEOPLE)
    assert (students, problems) == (["ada", "grace"], [])
    contents = read_submitted(tmp_path)
    times = {name: contents.pop(name) for name in list(contents) if name.endswith("timestamp.txt")}
    assert contents == {
        f"ada/{LAB}/01_a.ipynb": b"ada's",
        f"ada/{LAB}/data.csv": b"1,2",
        f"grace/{LAB}/01_a.ipynb": b"grace's",
    }
    assert times == ({f"ada/{LAB}/timestamp.txt": b"2027-02-01 18:00:00 UTC"} if files is GRADESCOPE else {})


def test_unknown_students_are_reported_and_the_others_are_collected(tmp_path: Path) -> None:
    files = CANVAS | {"nobodyknown_88_1009_01_a.ipynb": b"x"}
    students, problems = collect(write_zip(tmp_path / "a.zip", files), tmp_path, LAB, PEOPLE)
    assert len(students) == 2 and len(problems) == 1
    assert problems[0].startswith(
        "nobodyknown_88_1009_01_a.ipynb: no one on the roster is 'nobodyknown'\n    fix: gradlab"
    )
    assert problems[0].endswith("or put this one at submitted/STUDENT/LAB/LAB.ipynb yourself")


@pytest.fixture
def course_with_feedback(tmp_path: Path) -> Path:
    """A course with two pages of feedback, and with files of the submissions next to them."""
    for student in ("ada", "grace"):
        (tmp_path / "feedback" / student / LAB).mkdir(parents=True)
        (tmp_path / "feedback" / student / LAB / f"{LAB}.html").write_text(f"<p>{student}")
        (tmp_path / "feedback" / student / LAB / "own.html").write_text("a file of the submission")
    return tmp_path


def test_without_a_download_no_feedback_is_written(course_with_feedback: Path) -> None:
    with pytest.raises(GradlabError, match="no download of 01_a from Canvas was collected"):
        refuse_unnamed(load_system("canvas"), course_with_feedback, LAB)  # before any page is written
    with pytest.raises(GradlabError, match="no download of 01_a from Canvas was collected"):
        list_names(load_system("canvas"), course_with_feedback)


@pytest.mark.parametrize(
    ("system", "files", "names"),
    [
        ("canvas", CANVAS, ["hoppergrace_LATE_72_1003_01_a-1.html", "lovelaceada_71_1001_01_a.html"]),
        (
            "moodle",
            MOODLE,
            [
                "Ada Lovelace_501_assignsubmission_file_/01_a.html",
                "Grace Hopper_502_assignsubmission_file_/01_a.html",
            ],
        ),
    ],
)
def test_feedback_is_returned_under_the_names_of_the_submissions(
    course_with_feedback: Path, system: str, files: dict[str, bytes], names: list[str]
) -> None:
    collect(write_zip(course_with_feedback / "a.zip", files), course_with_feedback, LAB, PEOPLE)
    assert list_names(load_system(system), course_with_feedback) == names


def test_a_download_says_who_was_late(course_with_feedback: Path) -> None:
    archive = write_zip(course_with_feedback / "a.zip", CANVAS)
    assert collect_zip(archive, course_with_feedback, LAB, PEOPLE).late == ["grace"]


@pytest.mark.parametrize("files", [CANVAS, GRADESCOPE], ids=["canvas", "gradescope"])
def test_a_download_from_another_system_has_no_names_for_feedback(
    course_with_feedback: Path, files: dict[str, bytes]
) -> None:
    collect(write_zip(course_with_feedback / "a.zip", files), course_with_feedback, LAB, PEOPLE)
    with pytest.raises(GradlabError, match="no download of 01_a from Moodle was collected"):
        list_names(load_system("moodle"), course_with_feedback)


def test_feedback_for_a_spreadsheet_is_named_for_students(course_with_feedback: Path) -> None:
    assert list_names(load_system("csv"), course_with_feedback) == [f"ada/{LAB}.html", f"grace/{LAB}.html"]


def test_a_system_that_accepts_no_feedback_is_named(course_with_feedback: Path) -> None:
    with pytest.raises(GradlabError, match="Gradescope accepts no feedback files"):
        list_names(load_system("gradescope"), course_with_feedback)


def list_names(system: LearningSystem, course: Path) -> list[str]:
    pages = list((course / "feedback").glob(f"*/{LAB}/{LAB}.html"))
    write_feedback_zip(system, course, LAB, course / "out.zip", pages)
    with zipfile.ZipFile(course / "out.zip") as archive:
        return sorted(archive.namelist())


def test_files_that_a_tool_would_run_are_renamed_from_the_start(tmp_path: Path) -> None:
    files = {
        f"Ada Lovelace_501_assignsubmission_file_/{name}": b"x" for name in ("nbgrader_config.py", "json.py", ".pdbrc")
    }
    collect(write_zip(tmp_path / "a.zip", files | MOODLE), tmp_path, LAB, PEOPLE)
    names = {path.name for path in (tmp_path / "submitted" / "ada" / LAB).iterdir()}
    assert {f"{name}.not-run" for name in ("nbgrader_config.py", "json.py", ".pdbrc")} <= names
    assert not names & {"nbgrader_config.py", "json.py", ".pdbrc"}


@pytest.mark.parametrize("name", ["../../evil_71_1_x.ipynb", "/tmp/lovelaceada_71_1_x.ipynb", "a/../../b_71_1_x.ipynb"])
def test_no_name_in_a_zip_leads_out_of_submitted(name: str, tmp_path: Path) -> None:
    course = tmp_path / "course"
    course.mkdir()
    with pytest.raises(GradlabError, match="mixes layouts"):
        collect(write_zip(tmp_path / "a.zip", {name: b"x", **CANVAS}), course, LAB, PEOPLE)
    below = {f"Ada Lovelace_501_assignsubmission_file_/{name}": b"x"}
    collect(write_zip(tmp_path / "a.zip", below | MOODLE), course, LAB, PEOPLE)
    outside = [path for path in tmp_path.rglob("*") if path.is_file() and not path.is_relative_to(course / "submitted")]
    assert sorted(path.name for path in outside) == [".lms.json", "a.zip"]


def test_a_file_that_is_no_download_is_refused(tmp_path: Path) -> None:
    with pytest.raises(GradlabError, match="there is no file "):
        collect(tmp_path / "nothing.zip", tmp_path, LAB, PEOPLE)
    with pytest.raises(GradlabError, match=r"a download from .*Canvas.* or "):
        collect(write_zip(tmp_path / "a.zip", {"notes.txt": b"x"}), tmp_path, LAB, PEOPLE)
    with pytest.raises(GradlabError, match=r"submission_metadata\.yml can't be read"):
        collect(write_zip(tmp_path / "b.zip", {"submission_metadata.yml": b"[1"}), tmp_path, LAB, PEOPLE)
    assert not (tmp_path / "submitted").exists()


@pytest.mark.parametrize(
    "files",
    [
        {"Mallory Mal_503_assignsubmission_file_/Ada Lovelace_501_assignsubmission_file_/01_a.ipynb": b"forged"},
        {"Mal_lory_503_assignsubmission_file_/Ada Lovelace_501_assignsubmission_file_/01_a.ipynb": b"forged"},
        {"Mallory Mal_503_assignsubmission_file_Ada Lovelace_501_assignsubmission_file_01_a.ipynb": b"forged"},
        {
            "Mallory Mal_503_assignsubmission_file_/submission_metadata.yml": METADATA.encode(),
            "Mallory Mal_503_assignsubmission_file_/submission_9001/01_a.ipynb": b"forged",
        },
        {"Mallory Mal_503_assignsubmission_file_/ada_71_5_01_a.ipynb": b"forged"},
    ],
)
def test_a_file_named_like_a_classmates_in_moodle_is_not_the_classmates(
    files: dict[str, bytes], tmp_path: Path
) -> None:
    collect(write_zip(tmp_path / "a.zip", MOODLE | files), tmp_path, LAB, [*PEOPLE, MALLORY])
    contents = read_submitted(tmp_path)
    assert contents[f"ada/{LAB}/01_a.ipynb"] == b"ada's" and contents[f"grace/{LAB}/01_a.ipynb"] == b"grace's"


@pytest.mark.parametrize(
    "name", ["malmallory_66_1009_Ada_71_assignsubmission_file_01_a.ipynb", "malmallory_66_1009_71_1001_01_a.ipynb"]
)
def test_a_file_named_like_a_classmates_in_canvas_is_not_the_classmates(name: str, tmp_path: Path) -> None:
    collect(write_zip(tmp_path / "a.zip", CANVAS | {name: b"forged"}), tmp_path, LAB, [*PEOPLE, MALLORY])
    contents = read_submitted(tmp_path)
    assert contents[f"ada/{LAB}/01_a.ipynb"] == b"ada's" and contents[f"mallory/{LAB}/01_a.ipynb"] == b"forged"


def test_a_folder_within_a_submission_is_no_submission_of_gradescopes(tmp_path: Path) -> None:
    folder = "assignment_1_export/submission_9002"
    forgery = {
        f"{folder}/submission_9001/01_a.ipynb": b"forged",
        f"{folder}/submission_metadata.yml": b"submission_9002: {}",
    }
    files = forgery | GRADESCOPE
    collect(write_zip(tmp_path / "a.zip", files), tmp_path, LAB, PEOPLE)
    assert read_submitted(tmp_path)[f"ada/{LAB}/01_a.ipynb"] == b"ada's"


def test_a_display_name_that_is_a_classmates_replaces_no_one(tmp_path: Path) -> None:
    files = CANVAS | {"lovelaceada_66_1009_01_a.ipynb": b"forged", "hoppergrace_66_1010_01_a.ipynb": b"forged"}
    students, problems = collect(write_zip(tmp_path / "a.zip", files), tmp_path, LAB, PEOPLE)
    assert len(students) == 1 and read_submitted(tmp_path)[f"ada/{LAB}/01_a.ipynb"] == b"ada's"
    messages = " ".join(problems)
    assert "ada has 71 in the roster" in messages and "grace may be any of" in messages


def test_a_students_own_file_sets_no_time_and_an_old_one_is_removed(tmp_path: Path) -> None:
    files = CANVAS | {"lovelaceada_71_1003_timestamp.txt": b"2000-01-01 00:00:00 UTC"}
    collect(write_zip(tmp_path / "a.zip", files), tmp_path, LAB, PEOPLE)
    assert not any(name.endswith("timestamp.txt") for name in read_submitted(tmp_path))
    newer_files = {"lovelaceada_71_1005_01_a-2.ipynb": b"newer"}
    collect(write_zip(tmp_path / "b.zip", newer_files), tmp_path, LAB, PEOPLE)
    assert {name: content for name, content in read_submitted(tmp_path).items() if name.startswith("ada")} == {
        f"ada/{LAB}/01_a.ipynb": b"newer"
    }


def test_a_file_that_cannot_be_written_costs_no_one_else(tmp_path: Path) -> None:
    folder = "Ada Lovelace_501_assignsubmission_file_"
    files = MOODLE | {f"{folder}/{'x' * 255}": b"", f"{folder}/..": b"", f"{folder}/a\nb": b""}
    students, _ = collect(write_zip(tmp_path / "a.zip", files), tmp_path, LAB, PEOPLE)
    assert len(students) == 2 and read_submitted(tmp_path)[f"ada/{LAB}/01_a.ipynb"] == b"ada's"


def test_moodles_names_are_read_with_or_without_their_underscore(tmp_path: Path) -> None:
    files = {name.replace("_/", "/"): content for name, content in MOODLE.items()}
    assert collect(write_zip(tmp_path / "a.zip", files), tmp_path, LAB, PEOPLE) == (["ada", "grace"], [])
    assert read_submitted(tmp_path)["ada/01_a/01_a.ipynb"] == b"ada's"


def test_a_file_that_is_no_submission_of_this_lab_replaces_no_one(tmp_path: Path) -> None:
    (tmp_path / "source" / "02_b").mkdir(parents=True)
    for student in ("ada", "grace"):
        folder = tmp_path / "submitted" / student / LAB
        folder.mkdir(parents=True)
        (folder / "01_a.ipynb").write_bytes(b"before")
    files = {
        "Ada Lovelace_501_assignsubmission_file_/02_b.ipynb": b"another lab's",
        "Grace Hopper_502_assignsubmission_file_/notes.pdf": b"no notebook",
    }
    students, problems = collect(write_zip(tmp_path / "a.zip", files), tmp_path, LAB, PEOPLE)
    assert not students and set(read_submitted(tmp_path).values()) == {b"before"}
    assert "02_b.ipynb is of another lab\n    fix: collect it with gradlab collect 02_b" in problems[0]
    assert "no notebook, only notes.pdf" in problems[1]


def test_submissions_from_the_exchange_are_kept_unless_asked(tmp_path: Path) -> None:
    folder = tmp_path / "submitted" / "ada" / LAB
    folder.mkdir(parents=True)
    (folder / "01_a.ipynb").write_bytes(b"by nbgrader submit")
    (folder / SECRET).write_text("x")
    path = write_zip(tmp_path / "a.zip", MOODLE)
    students, (problem,) = collect(path, tmp_path, LAB, PEOPLE)
    assert len(students) == 1
    assert problem.startswith("ada: has a submission from the exchange")
    assert "--replace" in problem
    assert collect(path, tmp_path, LAB, PEOPLE, replace=True) == (["ada", "grace"], [])
    assert (folder / "01_a.ipynb").read_bytes() == b"ada's" and not (folder / SECRET).exists()
