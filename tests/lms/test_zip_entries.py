"""Only names by an LMS say which LMS a zip is from and whose each file is; files that aren't collected are named."""

from pathlib import Path

import pytest

from autograder.base.errors import GradlabError
from autograder.lms import gradescope, zip_entries
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

ALL = [*PEOPLE, MALLORY]
TEXT = "Mallory Mal_503_assignsubmission_onlinetext_"
FORGED = [
    "adalovelace_71_2_01_a.ipynb",
    "submission_metadata.yml",
    "Ada Lovelace_501_assignsubmission_file_/01_a.ipynb",
    "Ada Lovelace_501_assignsubmission_file_01_a.ipynb",
    "a/adalovelace_71_2_01_a.ipynb",
    "assignment_1_export/submission_metadata.yml",
]


@pytest.mark.parametrize("name", FORGED)
@pytest.mark.parametrize("first", [f"{TEXT}/", TEXT, "Mallory Mal_503_assignsubmission_comments_/"])
def test_no_name_in_moodles_online_text_changes_the_owner_of_a_file(first: str, name: str, tmp_path: Path) -> None:
    content = b"? ''\n: {':submitters': [{':sid': ada}, {':sid': grace}]}\n"
    files = MOODLE | {f"{first}{name}": content, f"{first}/onlinetext.html": b"hi"}
    students, problems = collect(write_zip(tmp_path / "a.zip", files), tmp_path, LAB, ALL)
    assert students == ["ada", "grace"]
    assert read_submitted(tmp_path)[f"ada/{LAB}/01_a.ipynb"] == b"ada's"
    assert read_submitted(tmp_path)[f"grace/{LAB}/01_a.ipynb"] == b"grace's"
    messages = "\n".join(problems)
    assert name in messages and "onlinetext.html" in messages


@pytest.mark.parametrize(
    "files",
    [
        MOODLE | CANVAS,
        MOODLE | GRADESCOPE,
        CANVAS | GRADESCOPE,
        MOODLE | {"submission_metadata.yml": METADATA.encode()},
        CANVAS | {"submission_metadata.yml": METADATA.encode()},
        CANVAS | {"notes.txt": b""},
        GRADESCOPE | {"another/01_a.ipynb": b""},
        GRADESCOPE | {"another/submission_metadata.yml": METADATA.encode()},
    ],
)
@pytest.mark.parametrize("order", [1, -1])
def test_a_zip_of_several_forms_is_refused_whole(files: dict[str, bytes], order: int, tmp_path: Path) -> None:
    with pytest.raises(GradlabError, match="mixes layouts"):
        collect(write_zip(tmp_path / "a.zip", dict(list(files.items())[::order])), tmp_path, LAB, PEOPLE)
    assert not (tmp_path / "submitted").exists()


def test_a_zip_whose_only_name_fits_two_forms_is_refused(tmp_path: Path) -> None:
    files = {"malmallory_66_1009_Ada_71_assignsubmission_file_01_a.ipynb": b"x"}
    with pytest.raises(GradlabError, match="may be Canvas's or Moodle's"):
        collect(write_zip(tmp_path / "a.zip", files), tmp_path, LAB, ALL)


def test_files_by_canvas_itself_or_in_a_students_folder_are_named(tmp_path: Path) -> None:
    files = CANVAS | {"malmallory_66_text.html": b"typed", "malmallory_66_1009_a/01_a.ipynb": b"nested"}
    students, problems = collect(write_zip(tmp_path / "a.zip", files), tmp_path, LAB, ALL)
    assert students == ["ada", "grace"]
    assert [line.split(": ")[0] for line in problems] == ["malmallory_66"]
    assert problems[0].endswith("malmallory_66_text.html, malmallory_66_1009_a/01_a.ipynb")


def test_files_missing_from_gradescopes_list_are_named(tmp_path: Path) -> None:
    files = GRADESCOPE | {"assignment_1_export/submission_9003/01_a.ipynb": b"x", "assignment_1_export/a.txt": b""}
    students, problems = collect(write_zip(tmp_path / "a.zip", files), tmp_path, LAB, PEOPLE)
    assert students == ["ada", "grace"]
    assert ["submission_9003" in problems[0], "a.txt" in problems[1], len(problems)] == [True, True, 2]


def test_one_students_many_files_cost_no_one_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zip_entries, "MAX_FILES", 3)
    forms = [
        (MOODLE, "Ada Lovelace_501_assignsubmission_file_/"),
        (CANVAS, "lovelaceada_71_1_"),
        (GRADESCOPE, "assignment_1_export/submission_9001/"),
    ]
    for files, first in forms:
        many = {f"{first}f{number}": b"" for number in range(9)} | files
        students, problems = collect(write_zip(tmp_path / "a.zip", many), tmp_path, LAB, PEOPLE)
        assert sorted(students) == ["ada", "grace"]
        assert "more than 3 files; left out: f2" in problems[0] and len(problems) == 1
        assert read_submitted(tmp_path)[f"ada/{LAB}/01_a.ipynb"] == b"ada's"


def test_files_of_one_name_and_names_that_cannot_be_kept_are_named(tmp_path: Path) -> None:
    first = "Ada Lovelace_501_assignsubmission_file_"
    files = {f"{first}/a/01_a.ipynb": b"deeper", f"{first}/timestamp.txt": b"", f"{first}/{'x' * 255}": b""}
    students, problems = collect(write_zip(tmp_path / "a.zip", MOODLE | files), tmp_path, LAB, PEOPLE)
    assert students == ["ada", "grace"] and read_submitted(tmp_path)[f"ada/{LAB}/01_a.ipynb"] == b"ada's"
    messages = "\n".join(problems)
    assert f"{first}/a/01_a.ipynb" in messages
    assert "timestamp.txt" in messages
    assert "x" * 200 in messages


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [x, x]\nb: [*a, *a]\n",
        "a: &a {x: 1}\nb: {<<: *a}\n",
        "a: &a [*a]\n",
        "[" * 100_000,
        "a: 2027-99-99\n",
        "a: {':submitters': [{':sid': 0x" + "f" * 5000 + "}]}\n",
        "a: !!python/object/apply:os.system [ls]\n",
        "- a\n",
        "",
    ],
)
def test_an_invalid_or_expanding_list_is_refused(text: str, tmp_path: Path) -> None:
    files = GRADESCOPE | {"assignment_1_export/submission_metadata.yml": text.encode()}
    with pytest.raises(GradlabError, match=r"submission_metadata\.yml can't be read"):
        collect(write_zip(tmp_path / "a.zip", files), tmp_path, LAB, PEOPLE)


def test_a_list_beyond_its_size_is_not_parsed() -> None:
    with pytest.raises(GradlabError, match="it's over 10 MB"):
        gradescope.read_list(b"[" * (gradescope.MAX_LIST + 1))
