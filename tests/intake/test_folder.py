"""A submission's folder is made safe to copy, and the targets of its links are untouched."""

import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.intake.folder_normalization import collect_folder_notes, normalize_folder, rename_student_folders
from tests.conftest import need

NAME = st.sampled_from(
    ["n.ipynb", "a.ipynb", "timestamp.txt", "data.txt", "x/n.ipynb", "x/link", "y", b"\xff.ipynb", "a\nb.ipynb"]
)
THING = st.sampled_from(["file", "empty", "link", "dangling", "linked folder", "pipe", "folder"])


def make(folder: Path, name: str | bytes, thing: str, outside: Path) -> None:
    path = Path(os.fsdecode(os.path.join(os.fsencode(folder), os.fsencode(name))))
    if os.path.lexists(path) or (os.path.lexists(path.parent) and not path.parent.is_dir()):
        return
    path.parent.mkdir(exist_ok=True)
    if path.parent.is_symlink():
        return
    match thing:
        case "file":
            path.write_text("2026-01-01 00:00:00 UTC")
        case "empty":
            path.touch()
        case "link":
            path.symlink_to(outside / "secret")
        case "dangling":
            path.symlink_to(outside / "nowhere")
        case "linked folder":
            path.symlink_to(outside)
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()


@given(st.lists(st.tuples(NAME, THING), max_size=6), st.booleans())
def test_only_plain_files_are_left_and_files_outside_are_untouched(
    things: list[tuple[str | bytes, str]], linked: bool
) -> None:
    with tempfile.TemporaryDirectory() as place:
        outside, folder = Path(place, "outside"), Path(place, "student", "n")
        outside.mkdir()
        (outside / "secret").write_text("secret")
        if linked:
            folder.parent.mkdir()
            folder.symlink_to(outside)
        else:
            folder.mkdir(parents=True)
            for name, thing in things:
                make(folder, name, thing, outside)
        normalize_folder(folder, "n")
        assert [p.name for p in outside.iterdir()] == ["secret"]
        assert (outside / "secret").read_text() == "secret"
        assert os.path.lexists(folder / "n.ipynb")
        paths = [Path(at, name) for at, folders, names in os.walk(folder) for name in (*names, *folders)]
        for path in paths:
            str(path).encode()
            assert path == folder / "n.ipynb" or path.is_dir() or (path.is_file() and not path.is_symlink())
        assert all("secret" not in p.read_text() for p in paths if p.is_file() and not p.is_symlink())
        before = sorted(paths)
        normalize_folder(folder, "n")
        assert sorted(Path(at, name) for at, folders, names in os.walk(folder) for name in (*names, *folders)) == before


def test_a_single_notebook_of_another_name_is_graded_and_one_of_two_is_not(tmp_path: Path) -> None:
    (tmp_path / "mine.ipynb").write_text("{}")
    normalize_folder(tmp_path, "n")
    assert (tmp_path / "n.ipynb").read_text() == "{}"
    assert collect_folder_notes(tmp_path / "n.ipynb", b"{}") == [
        "Your notebook was found as mine.ipynb, and graded as n.ipynb."
    ]
    (tmp_path / "n.ipynb").unlink()
    (tmp_path / "other.ipynb").write_text("[]")
    normalize_folder(tmp_path, "n")
    assert (tmp_path / "n.ipynb").read_bytes() == b""


def test_a_readable_time_is_kept_and_an_unreadable_one_moved_away(tmp_path: Path) -> None:
    stamp = tmp_path / "timestamp.txt"
    stamp.write_text("2026-02-03 04:05:06.000000 UTC")
    normalize_folder(tmp_path, "n")
    assert stamp.exists()
    stamp.write_bytes(b"\xff yesterday")
    normalize_folder(tmp_path, "n")
    assert not stamp.exists()
    assert any("time of your submission" in note for note in collect_folder_notes(tmp_path / "n.ipynb", b""))


def test_a_students_folder_whose_name_is_no_utf_8_gets_one_that_is(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"ann\xe9e") / "lab").mkdir(parents=True)
    (tmp_path / "ann?e").mkdir()
    (tmp_path / "bob").mkdir()
    rename_student_folders(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["_ann?e", "ann?e", "bob"]
    assert (tmp_path / "_ann?e" / "lab").is_dir()
    rename_student_folders(tmp_path / "nowhere")


def test_a_configuration_is_renamed_once_and_reported(tmp_path: Path) -> None:
    (tmp_path / "n.ipynb").write_text("{}")
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "nbgrader_config.py").write_text("print()")
    normalize_folder(tmp_path, "n")
    normalize_folder(tmp_path, "n")
    assert [p.name for p in (tmp_path / "x").iterdir()] == ["nbgrader_config.py.not-run"]
    (note,) = collect_folder_notes(tmp_path / "n.ipynb", b"{}")
    assert note == "Files that a tool could run were renamed on your instructor's computer: x/nbgrader_config.py."


def test_files_that_a_tool_runs_from_its_working_folder_are_renamed(tmp_path: Path) -> None:
    files = (
        "n.ipynb",
        "conftest.py",
        "test_mine.py",
        "mine_test.py",
        "setup.py",
        "CMakeLists.txt",
        "pom.xml",
        "build.gradle",
        "settings.gradle.kts",
        "mine.csproj",
        "mine.sln",
        "flake.nix",
        "x/pyproject.toml",
        "mypy.ini",
        ".pdbrc",
        "matplotlibrc",
        "jupytext.toml",
        "HEAD",
        "pyvenv.cfg",
        "eslint.config.mjs",
        "pytest.toml",
        "lab/index.html.j2",
        "lab/conf.json",
        "x.dist-info/entry_points.txt",
        "Makefile",
        "data.csv",
        "words",
        "numbers.json",
        "model.pth",
    )
    for name in (*files, ".git/config", ".vscode/tasks.json", ".DS_Store", "a.code-workspace", "..n..ipynb"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("{}")
    normalize_folder(tmp_path, "n")
    names = sorted(p.relative_to(tmp_path).as_posix() for p in tmp_path.iterdir() if not p.name.endswith(".not-run"))
    assert names == ["..n..ipynb", ".DS_Store", "data.csv", "lab", "model.pth", "n.ipynb", "numbers.json", "words", "x"]
    assert sorted(p.name for p in (tmp_path / "lab").iterdir()) == ["conf.json.not-run", "index.html.j2.not-run"]
    assert [p.name for p in (tmp_path / "x").iterdir()] == ["pyproject.toml.not-run"]


def test_no_folder_of_a_submission_is_a_git_repository(tmp_path: Path) -> None:
    """git runs the fsmonitor of a bare repository's configuration, whatever the names of its folders."""
    need("git")
    folder = tmp_path / "n" / "data"
    git = ("git", "-c", "safe.directory=*", "-C", str(folder))
    subprocess.run(["git", "init", "--quiet", "--bare", str(folder)], check=True)
    for name, value in (("bare", "false"), ("worktree", "."), ("fsmonitor", f"touch {tmp_path}/ran; false")):
        subprocess.run([*git, "config", f"core.{name}", value], check=True)
    (tmp_path / "n" / "n.ipynb").write_text("{}")
    subprocess.run([*git, "status"], capture_output=True)
    (tmp_path / "ran").unlink()  # git does so while the names are unchanged
    normalize_folder(tmp_path / "n", "n")
    assert subprocess.run([*git, "rev-parse", "--git-dir"], capture_output=True, cwd=folder).returncode
    subprocess.run([*git, "status"], capture_output=True)
    assert not (tmp_path / "ran").exists()


def test_checkpoints_are_removed_with_the_links_in_them(tmp_path: Path) -> None:
    """JupyterLab writes into them when a person opens the notebook."""
    outside, folder = tmp_path / "outside", tmp_path / "n"
    (folder / "x" / ".ipynb_checkpoints").mkdir(parents=True)
    outside.mkdir()
    (outside / "kept").touch()
    (folder / "n.ipynb").write_text("{}")
    (folder / ".ipynb_checkpoints").symlink_to(outside)
    (folder / "x" / ".ipynb_checkpoints" / "n-checkpoint.ipynb").symlink_to(outside / "new")
    normalize_folder(folder, "n")
    assert sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*")) == ["n.ipynb", "x"]
    assert [p.name for p in outside.iterdir()] == ["kept"]


def test_a_module_that_shadows_an_installed_one_is_renamed_where_a_kernel_starts(tmp_path: Path) -> None:
    for name in (
        "n.ipynb",
        "ipykernel_launcher.py",
        "helper.py",
        "json/__init__.py",
        "x/torch.py",
        "y/n.ipynb",
        "y/zmq.so",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("{}")
    normalize_folder(tmp_path, "n")
    names = sorted(p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*.not-run"))
    assert names == ["ipykernel_launcher.py.not-run", "json/__init__.py.not-run", "y/zmq.so.not-run"]


@pytest.fixture
def folder_of_long_names(tmp_path: Path) -> Path:
    """Two modules that a tool would run, two folders named like them, a link, and nine texts; all have long names."""
    long = [f"jupyter_config{'x' * (238 + extra)}.py" for extra in (0, -1)]
    assert len(long[0]) == 255
    (tmp_path / "n.ipynb").write_text("{}")
    (tmp_path / "d").mkdir()
    for name in long:
        (tmp_path / name).touch()
        (tmp_path / "d" / name).mkdir()
        (tmp_path / "d" / name / "file").touch()
    (tmp_path / ("l" * 255)).symlink_to("nowhere")
    for number in range(1, 9):
        (tmp_path / f"{chr(number) * 250}.txt").touch()
    (tmp_path / ("?" * 250 + ".txt")).touch()
    return tmp_path


def list_files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_names_of_maximal_length_are_cut_when_they_get_a_suffix(folder_of_long_names: Path) -> None:
    normalize_folder(folder_of_long_names, "n")
    names = list_files(folder_of_long_names)
    assert sum(name.endswith(".not-run") for name in names) == 2
    assert sum(name.endswith(".not-run/file") for name in names) == 2
    assert sum(name.endswith(".not-followed") for name in names) == 1


def test_names_of_maximal_length_stay_different_when_characters_are_replaced(folder_of_long_names: Path) -> None:
    normalize_folder(folder_of_long_names, "n")
    names = list_files(folder_of_long_names)
    assert sum(name.endswith(".txt") for name in names) == 9
    assert all(name.isprintable() for name in names)


def test_normalizing_again_changes_no_name(folder_of_long_names: Path) -> None:
    normalize_folder(folder_of_long_names, "n")
    names = list_files(folder_of_long_names)
    normalize_folder(folder_of_long_names, "n")
    assert list_files(folder_of_long_names) == names


def test_paths_too_long_to_copy_everywhere_are_shortened_and_reported(tmp_path: Path) -> None:
    folder = tmp_path / "n"
    deep = folder.joinpath(*[letter * 230 for letter in "abcdefghijklmno"])
    deep.mkdir(parents=True)
    (folder / "n.ipynb").write_text("{}")
    (deep / ("x" * 250)).write_text("data")
    normalize_folder(folder, "n")
    every = [path.relative_to(folder) for path in folder.rglob("*")]
    assert max(len(str(path)) for path in every) < 1000
    assert [(folder / path).read_text() for path in every if path.name == "x" * 250] == ["data"]
    assert any("left out" in note for note in collect_folder_notes(folder / "n.ipynb", b"{}"))
    normalize_folder(folder, "n")
    assert [path.relative_to(folder) for path in folder.rglob("*")] == every
