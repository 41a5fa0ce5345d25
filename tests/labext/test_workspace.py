"""The server determines the course once; no notebook and no file next to it can change that."""

import os
from pathlib import Path

import pytest

from labext.class_submission import find_class
from labext.workspace import Workspace, find_workspace

LAB = "01_first"


def make_course(folder: Path, config: str = "") -> Path:
    """Make a folder that looks like a course with one lab."""
    (folder / "source" / LAB).mkdir(parents=True)
    (folder / "source" / LAB / f"{LAB}.ipynb").write_text("{}")
    (folder / "nbgrader_config.py").write_text(config)
    return folder


def make_notebook(folder: Path) -> str:
    """Write a notebook of the lab into this folder, and return its relative path."""
    (folder / LAB).mkdir(parents=True, exist_ok=True)
    (folder / LAB / f"{LAB}.ipynb").write_text("{}")
    return f"{LAB}/{LAB}.ipynb"


def write_trap(folder: Path) -> Path:
    """Write a configuration that leaves a trace when it runs, and return the trace's path."""
    trace = folder / "it_ran"
    (folder / "nbgrader_config.py").write_text(f"open({str(trace)!r}, 'w')\n")
    return trace


def test_the_copies_of_a_course_are_marked_by_that_course(tmp_path: Path) -> None:
    course = make_course(tmp_path)
    path = make_notebook(course / "work")
    workspace = find_workspace(course / "work")
    assert workspace.course == course
    assert workspace.find_own_copy(path) == course / "work" / path
    assert workspace.has_grader(LAB)
    assert find_workspace(course).find_own_copy(f"work/{path}") == course / "work" / path


def test_a_submission_that_brings_a_course_is_marked_by_no_one(tmp_path: Path) -> None:
    course = make_course(tmp_path)
    submission = make_course(course / "submitted" / "mallory" / LAB, "raise SystemExit")
    make_notebook(submission)
    for root in (course, course / "submitted", course / "submitted" / "mallory", submission):
        workspace = find_workspace(root)
        copies = [workspace.find_own_copy(str(p.relative_to(root))) for p in root.rglob("*.ipynb")]
        assert not any(copies), root
        assert workspace.course in (course, None)


def test_a_course_inside_another_does_not_count(tmp_path: Path) -> None:
    make_course(tmp_path)
    inner = make_course(tmp_path / "handed" / "mallory", "raise SystemExit")
    make_notebook(inner)
    assert find_workspace(inner).course is None


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file to another user")
def test_a_configuration_of_another_user_is_not_a_course(tmp_path: Path) -> None:
    course = make_course(tmp_path, "raise SystemExit")
    (course / "work").mkdir()
    os.chown(course / "nbgrader_config.py", 1234, -1)
    assert find_workspace(course / "work").course is None
    os.chown(course / "work", 1234, -1)  # serving a folder means trusting its owner
    assert find_workspace(course / "work").course == course


def test_a_notebook_deeper_in_the_folder_hands_in_nothing_and_runs_no_configuration(tmp_path: Path) -> None:
    path = make_notebook(tmp_path / "mallory")
    trace = write_trap(tmp_path / "mallory")
    workspace = Workspace(tmp_path)
    assert workspace.find_own_copy(f"mallory/{path}") is None
    assert find_class(tmp_path / "mallory" / path, workspace) is None
    assert not trace.exists()


def test_a_folder_of_submissions_runs_no_configuration(tmp_path: Path) -> None:
    folder = tmp_path / "inbound" / "mallory"
    path = make_notebook(folder)
    trace = write_trap(folder)
    workspace = find_workspace(folder)
    assert workspace.find_own_copy(path) is None
    assert "course_id" not in workspace.config.CourseDirectory
    assert not trace.exists()


def test_a_course_in_the_path_is_where_fetched_labs_are(tmp_path: Path) -> None:
    (tmp_path / "nbgrader_config.py").write_text(
        'c = get_config()\nc.CourseDirectory.course_id = "dl"\nc.Exchange.path_includes_course = True\n'
    )
    path = make_notebook(tmp_path / "dl")
    assert Workspace(tmp_path).find_own_copy(f"dl/{path}") == tmp_path / "dl" / path


@pytest.mark.parametrize(
    "path", ["", "..", "../other", "/etc/passwd", "a\0b", "x" * 5000, "lonely.ipynb", f"{LAB}/notes.txt"]
)
def test_other_paths_are_no_copies(path: str, tmp_path: Path) -> None:
    (tmp_path / "lonely.ipynb").write_text("{}")
    assert Workspace(tmp_path).find_own_copy(path) is None


def test_a_link_to_a_notebook_elsewhere_is_no_copy(tmp_path: Path) -> None:
    other = tmp_path / "other"
    make_notebook(other)
    root = tmp_path / "root"
    root.mkdir()
    (root / LAB).symlink_to(other / LAB)
    assert Workspace(root).find_own_copy(f"{LAB}/{LAB}.ipynb") is None


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file to another user")
@pytest.mark.parametrize("part", ["nbgrader_config.py", "source", f"source/{LAB}", f"source/{LAB}/{LAB}.ipynb", ""])
def test_a_course_of_which_another_user_has_a_part_does_not_count(part: str, tmp_path: Path) -> None:
    course = make_course(tmp_path / "shared")
    (course / "work").mkdir()
    assert find_workspace(course / "work").course == course
    os.chown(course / part, 1234, -1)
    assert find_workspace(course / "work").course is None


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file to another user")
def test_a_link_belongs_to_its_owner_wherever_it_leads(tmp_path: Path) -> None:
    course = make_course(tmp_path / "shared")
    (tmp_path / "roots.py").write_text("raise SystemExit")
    (course / "nbgrader_config.py").unlink()
    (course / "nbgrader_config.py").symlink_to(tmp_path / "roots.py")
    os.lchown(course / "nbgrader_config.py", 1234, -1)
    assert find_workspace(course).course is None


def test_a_course_that_everyone_can_write_does_not_count(tmp_path: Path) -> None:
    course = make_course(tmp_path / "shared")
    (course / "source").chmod(0o777)
    assert find_workspace(course).course is None
