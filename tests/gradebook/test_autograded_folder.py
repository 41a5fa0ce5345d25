"""autograded/STUDENT/LAB has what nbgrader needs, and for a team each member's own secret."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from nbgrader.utils import find_all_files

from autograder.base.submission_files import SECRET
from autograder.gradebook.autograded_folder import CopyRules, list_companion_files, list_files, write_autograded

LAB = "x"


def hand_in(course: Path, student: str) -> None:
    folder = course / "submitted" / student / LAB
    folder.mkdir(parents=True)
    (folder / SECRET).write_text(f"{student}'s")
    (folder / "data.csv").write_text(f"1,{student}")


@pytest.mark.parametrize(("student", "secret"), [("ada", "ada's"), ("ben", "ben's"), ("cy", None)])
def test_a_page_of_a_team_is_fetched_by_each_members_own_secret(tmp_path: Path, student: str, secret: str) -> None:
    """Otherwise the pages of a team would replace each other in the exchange."""
    for member in ("ada", "ben"):
        hand_in(tmp_path, member)
    write_autograded(tmp_path, LAB, student, {LAB: "{}"}, CopyRules(), "ada")
    folder = tmp_path / "autograded" / student / LAB
    assert (folder / "data.csv").read_text() == "1,ada" and (folder / f"{LAB}.ipynb").exists()
    assert ((folder / SECRET).read_text() if (folder / SECRET).exists() else None) == secret


NAMES = ["a.csv", "b.pyc", ".hidden", ".b.pyc", "n.ipynb", "feedback", "x[1].txt", "line\nbreak.pyc", "ä.tmp"]
FOLDERS = [
    "",
    "data",
    "data/deep",
    "__pycache__",
    "__pycache__/deep",
    ".ipynb_checkpoints",
    ".git",
    "old.tmp",
    "old.tmp/x",
]
PATTERNS = [".ipynb_checkpoints", "*.pyc", "__pycache__", "feedback", "*.ipynb", "*.tmp", ".g*", "x[[]1].txt", "data/*"]


@pytest.mark.parametrize("ignore", [[], ["*"], [".*"], ["?*"], PATTERNS, *([pattern] for pattern in PATTERNS), [LAB]])
def test_the_files_are_those_that_nbgrader_finds(tmp_path: Path, ignore: list[str]) -> None:
    folder = tmp_path / LAB
    for place in FOLDERS:
        (folder / place).mkdir(parents=True, exist_ok=True)
        for name in NAMES:
            (folder / place / name).touch()
    (folder / "dangling").symlink_to("nowhere")
    (folder / "linked").symlink_to(folder / "data")
    assert list_files(folder, ignore) == [
        Path(path).relative_to(folder) for path in sorted(find_all_files(str(folder), ignore))
    ]


def test_folders_are_listed_no_more_often_with_many_files_in_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise one submission of many files would delay all others in a watch."""
    for place in ("submitted/ada/x/data", "source/x"):
        (tmp_path / place).mkdir(parents=True)
        for number in range(100):
            (tmp_path / place / f"{number}.txt").touch()
    folders: list[str] = []
    real = os.scandir

    def count(path: str) -> Iterator[os.DirEntry[str]]:
        folders.append(os.fspath(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", count)
    assert len(list_companion_files(tmp_path, LAB, "ada", CopyRules(PATTERNS))) == 200
    assert len(folders) <= 4  # of three folders; the source's once more, for its notebooks


def test_the_older_folder_is_there_until_the_new_one_is_whole(tmp_path: Path) -> None:
    hand_in(tmp_path, "ada")
    write_autograded(tmp_path, LAB, "ada", {LAB: "old"}, CopyRules())
    notebook = tmp_path / "autograded" / "ada" / LAB / f"{LAB}.ipynb"
    contents: list[str] = []
    with pytest.raises(OSError):
        write_autograded(
            tmp_path, LAB, "ada", {"n" * 300: "new"}, CopyRules(), before_replace=lambda: contents.append("called")
        )
    assert notebook.read_text() == "old" and not contents
    write_autograded(
        tmp_path, LAB, "ada", {LAB: "new"}, CopyRules(), before_replace=lambda: contents.append(notebook.read_text())
    )
    assert notebook.read_text() == "new" and contents == ["old"]
    assert os.listdir(notebook.parent.parent) == [LAB]


def test_a_file_that_cannot_be_copied_costs_the_others_nothing(tmp_path: Path) -> None:
    hand_in(tmp_path, "ada")
    (tmp_path / "submitted" / "ada" / LAB / "gone").symlink_to("nowhere")
    (line,) = write_autograded(tmp_path, LAB, "ada", {LAB: "{}"}, CopyRules())
    assert line.startswith("gone could not be copied")
    assert {"data.csv", f"{LAB}.ipynb"} <= set(os.listdir(tmp_path / "autograded" / "ada" / LAB))


def test_a_folder_instead_of_the_secret_does_not_cost_a_team_its_mark(tmp_path: Path) -> None:
    hand_in(tmp_path, "ada")
    secret = tmp_path / "submitted" / "ada" / LAB / SECRET
    secret.unlink()
    secret.mkdir()
    (secret / "x").touch()
    assert write_autograded(tmp_path, LAB, "ben", {LAB: "{}"}, CopyRules(), "ada") == []
