"""The three notebooks of a lab: their contents, and that they're the bytes that nbgrader itself would write."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from nbformat import NotebookNode

from autograder.authoring.course_folder import build_course, find_stale_files, read_course, read_labs, render_files
from autograder.authoring.new_lab import create_lab
from autograder.authoring.notebooks import build_release_notebook, build_solution_notebook, build_source_notebook
from autograder.authoring.regions import HIDDEN, SOLUTION
from autograder.base.errors import GradlabError, SourceError
from autograder.model.course import CellKind, Lab
from autograder.model.metadata import read_kind
from tests.authoring.secret_lines import find_secret_lines
from tests.conftest import ROOT


def join_sources(notebook: object) -> str:
    return "\n".join(cell["source"] for cell in notebook["cells"])  # type: ignore[index]


def is_check(cell: NotebookNode) -> bool:
    return read_kind(cell) is CellKind.CHECK


def test_the_release_has_no_solution_and_no_hidden_test(labs: list[Lab]) -> None:
    for lab in labs:
        released = {line.strip() for line in join_sources(build_release_notebook(lab)).split("\n")}
        for region_name in (SOLUTION, HIDDEN):
            secrets = find_secret_lines(lab, region_name)
            assert len(secrets) > 20, f"{lab.name}: hardly any line of {region_name} to look for"
            assert not secrets & released, f"{lab.name}: {region_name} in the release"


def test_the_worked_solution_has_every_solution_and_visible_check_but_no_hidden_test(labs: list[Lab]) -> None:
    for lab in labs:
        solution_lines = {line.strip() for line in join_sources(build_solution_notebook(lab)).split("\n")}
        assert find_secret_lines(lab, SOLUTION) <= solution_lines
        assert (
            not (find_secret_lines(lab, HIDDEN) - find_secret_lines(lab, SOLUTION)) & solution_lines
        )  # a reference may repeat a line
        visible = [c.label for e in lab.exercises for c in e.checks if not c.hidden]
        assert all(any(label in line for line in solution_lines) for label in visible)


def test_committed_notebooks_match_their_sources(labs: list[Lab]) -> None:
    for lab in labs:
        for path, text in render_files(lab, ROOT).items():
            assert path.read_text() == text, f"{path} is stale: run gradlab build"


def test_a_check_cell_names_the_hidden_checks_by_their_labels(labs: list[Lab]) -> None:
    for lab in labs:
        cells = {cell.metadata.gradlab.exercise: cell for cell in build_release_notebook(lab).cells if is_check(cell)}
        for exercise in lab.exercises:
            last = cells[exercise.name].source.rpartition("check.score(")[2]
            assert last.startswith(f'"{exercise.name}", points={exercise.worth:g}')
            assert all(json.dumps(c.label, ensure_ascii=False) in last for c in exercise.checks if c.hidden)


def test_checks_helpers_and_imports_are_folded(labs: list[Lab]) -> None:
    for lab in labs:
        for cell, node in zip(lab.cells, build_release_notebook(lab).cells, strict=True):
            is_folded = node.metadata.get("jupyter", {}).get("source_hidden", False)
            assert is_folded is cell.folded is (node.metadata.get("cellView") == "form")
            assert is_folded or not is_check(node)


def test_given_and_check_cells_are_locked_and_exercises_are_not(labs: list[Lab]) -> None:
    for lab in labs:
        cells = {c.id: c for c in build_release_notebook(lab).cells}
        for cell in lab.cells:
            is_locked = cell.kind in (CellKind.GIVEN, CellKind.EXAMPLE, CellKind.CHECK)
            assert cells[cell.id].metadata.get("editable", True) is not is_locked


def test_hints_are_folded_text_and_no_code(labs: list[Lab]) -> None:
    for lab in labs:
        cells = build_release_notebook(lab).cells
        assert not any(c.cell_type == "code" and c.source.lstrip().startswith("hint(") for c in cells)
        assert sum("<details><summary>Hint 1</summary>" in c.source for c in cells) >= 4


@pytest.mark.slow
def test_two_builds_in_two_processes_give_the_same_bytes(small_course: Path) -> None:
    """Slow: another process imports all that builds."""
    before = {p: p.read_bytes() for p in sorted(small_course.glob("*/*/*.ipynb"))}
    for path in before:
        path.unlink()
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    command = [sys.executable, "-m", "autograder.cli", "build", "--course", str(small_course)]
    subprocess.run(command, check=True, env=environment, cwd=ROOT)
    assert {p: p.read_bytes() for p in sorted(small_course.glob("*/*/*.ipynb"))} == before
    assert len(before) == 3


@pytest.mark.slow
def test_stock_generate_assignment_gives_the_same_release(small_course: Path) -> None:
    """Slow: a command of nbgrader, which imports all of it."""
    release = small_course / "release" / "01_squares" / "01_squares.ipynb"
    committed = release.read_bytes()
    release.unlink()
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    command = [sys.executable, "-m", "nbgrader", "generate_assignment", "01_squares", "--force"]
    subprocess.run(command, check=True, cwd=small_course, env=environment, capture_output=True)
    assert release.read_bytes() == committed


def test_stale_missing_and_stray_files_are_named(small_course: Path) -> None:
    course = read_course(small_course)
    assert find_stale_files(course) == []
    stale = small_course / "source" / "01_squares" / "01_squares.ipynb"
    stale.write_text(stale.read_text().replace("Squares", "Circles"))
    missing = small_course / "release" / "01_squares" / "01_squares.ipynb"
    missing.unlink()
    stray = small_course / "solutions" / "old_lab" / "old_lab.ipynb"
    stray.parent.mkdir()
    stray.write_bytes((small_course / "solutions" / "01_squares" / "01_squares.ipynb").read_bytes())
    brought = small_course / "source" / "my_own" / "my_own.ipynb"  # made for stock nbgrader: not Gradlab's to remove
    brought.parent.mkdir()
    brought.write_text('{"metadata": {}}')
    assert find_stale_files(course) == sorted([stale, missing, stray])
    assert sorted(build_course(course)) == sorted([stale, missing, stray])
    assert find_stale_files(course) == []
    assert not stray.parent.exists()


def test_every_notebook_is_valid_and_its_json_sorted_as_nbgrader_writes_it(labs: list[Lab]) -> None:
    import nbformat

    for lab in labs:
        for text in render_files(lab, ROOT).values():
            nbformat.validate(nbformat.reads(text, as_version=4))
            assert text == json.dumps(json.loads(text), indent=1, ensure_ascii=False, sort_keys=True) + "\n"
        assert len({c.id for c in build_source_notebook(lab).cells}) == len(lab.cells)


def test_twelve_labs_build_in_one_process_in_seconds(tmp_path: Path) -> None:
    """A wide bound that catches a slowdown by a large factor; benchmarks/ measures the time itself."""
    (tmp_path / "labs").mkdir()
    (tmp_path / "labs" / "course.toml").write_text('title = "Twelve"\n')
    for number in range(12):
        create_lab(tmp_path, f"{number:02}_lab")
    course = read_course(tmp_path)
    start = time.process_time()
    assert len(build_course(course)) == 38  # three of each, the start page and the glossary
    assert time.process_time() - start < 20


ENTRY = '[[labs]]\nname = "a"\ntitle = "A"\n'


@pytest.mark.parametrize(
    ("manifest", "word", "line"),
    [
        ('\ntitle = "t"\nlabs = [', "not a course", 3),
        ('title = "t"\nlabs = }\n[[labs]]\n', "not a course", 2),
        ('title = "t"\nlabs = [] # \udcff\n', "not a course", 2),
        ("title =", "not a course", 1),
        ("labs = 3\n", "not a course", 1),
        (f"{ENTRY}minutes = 1\n", "not a course", 1),
        (f'title = "t"\n{ENTRY}minutes = "many"\n', "not a course", 2),
        (f'title = "t"\n{ENTRY}minutes = 1\n{ENTRY}minutes = "many"\n', "not a course", 6),
        (f'title = "t"\n{ENTRY}minutes = 1\nneeds = ["b"]\n', "needs 'b', which isn't listed before it", 2),
        (f'title = "t"\n\n{ENTRY}minutes = 1\n{ENTRY}minutes = 1\n', "listed twice", 7),
    ],
)
def test_a_bad_manifest_is_refused(tmp_path: Path, manifest: str, word: str, line: int) -> None:
    (tmp_path / "labs").mkdir()
    (tmp_path / "labs" / "course.toml").write_bytes(manifest.encode("utf-8", "surrogateescape"))
    with pytest.raises(SourceError, match=word) as caught:
        read_course(tmp_path)
    assert caught.value.line == line


def test_a_folder_without_a_course_and_an_unknown_lab_are_named(tmp_path: Path, small_course: Path) -> None:
    with pytest.raises(GradlabError, match="--course"):
        read_course(tmp_path / "nowhere")
    with pytest.raises(GradlabError, match="name one of 01_squares"):
        list(read_labs(read_course(small_course), ("02_circles",)))
