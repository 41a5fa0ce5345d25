"""The notebooks' metadata about course cells; the student's has nothing about hidden checks."""

import re
from pathlib import Path

import nbformat
import pytest

import autograder
from autograder.authoring.notebooks import build_release_notebook, build_solution_notebook, build_source_notebook
from autograder.base.errors import GradlabError
from autograder.intake.repair import repair_lab_notebook
from autograder.model.course import CellKind, Check, Lab
from autograder.model.metadata import (
    CellMetadata,
    collect_exercises,
    get_cell_name,
    make_cell_name,
    read_cell_metadata,
    read_kind,
    split_cell_name,
)


def strip_check(check: Check) -> Check:
    """A check as it is in the metadata."""
    return check.model_copy(update={"hint": "", "misconceptions": ()})


def test_the_source_notebook_records_the_purpose_of_each_cell(labs: list[Lab]) -> None:
    for lab in labs:
        for cell, node in zip(lab.cells, build_source_notebook(lab).cells, strict=True):
            checks = tuple(map(strip_check, lab.exercise(cell.name).checks)) if cell.kind is CellKind.CHECK else ()
            metadata = read_cell_metadata(node)
            assert metadata is not None
            assert metadata.model_copy(
                update={"title": "", "stub": "", "questions": 0, "quiz": (), "another": None}
            ) == CellMetadata(
                kind=cell.kind,
                exercise=cell.name,
                points=cell.worth,
                level=cell.level,
                checks=checks,
                answer=cell.answer,
            )


def test_a_cell_that_a_student_edits_records_its_released_text(labs: list[Lab]) -> None:
    for lab in labs:
        for cell in build_release_notebook(lab).cells:
            metadata = read_cell_metadata(cell)
            assert metadata is not None
            assert metadata.stub == (cell.source if metadata.kind in (CellKind.EXERCISE, CellKind.QUESTION) else "")


def test_the_release_says_nothing_of_hidden_checks_and_no_hint(labs: list[Lab]) -> None:
    for lab in labs:
        for cell in build_release_notebook(lab).cells:
            metadata = read_cell_metadata(cell)
            assert metadata is not None
            assert not any(check.hidden or check.hint or check.misconceptions for check in metadata.checks)
        hidden = [check.label for exercise in lab.exercises for check in exercise.checks if check.hidden]
        labels = {check.label for exercise in lab.exercises for check in exercise.checks if not check.hidden}
        text = str([cell.metadata.gradlab.get("checks") for cell in build_release_notebook(lab).cells])
        assert hidden and not any(repr(label) in text for label in set(hidden) - labels)


def test_the_worked_solution_has_no_metadata(labs: list[Lab]) -> None:
    for lab in labs:
        assert all(read_kind(cell) is None for cell in build_solution_notebook(lab).cells)


def test_exercises_are_found_by_the_names_of_their_cells(labs: list[Lab]) -> None:
    for lab in labs:
        assert collect_exercises(build_release_notebook(lab).cells) == {e.cell_id: e.name for e in lab.exercises}


def test_a_cell_that_a_student_added_has_no_kind_and_no_metadata() -> None:
    cell = nbformat.v4.new_code_cell("a = 1", id="mine")
    assert (read_kind(cell), read_cell_metadata(cell), get_cell_name(cell)) == (None, None, "mine")


@pytest.mark.parametrize("kind", [CellKind.EXERCISE, CellKind.CHECK, CellKind.QUESTION])
def test_a_name_holds_the_kind_and_the_exercise(kind: CellKind) -> None:
    assert split_cell_name(make_cell_name(kind, "value_and_slope")) == (kind, "value_and_slope")


def test_a_source_notebook_that_was_not_built_is_an_error_with_its_fix() -> None:
    old = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("a = 1")])
    with pytest.raises(GradlabError, match="gradlab build"):
        repair_lab_notebook(nbformat.v4.new_notebook(), old)


def test_a_lab_has_a_core_of_exercises_choices_and_a_question_in_words(labs: list[Lab]) -> None:
    for lab in labs:
        has_further = any(cell.practice for cell in lab.cells)
        core = [exercise for exercise in lab.exercises if exercise.worth]
        assert 4 <= len(core) <= (7 if has_further else 11)
        assert len(lab.questions) >= 1
        assert 60 <= lab.minutes <= 160  # one or two sittings


def test_only_a_few_modules_read_the_metadata_of_cells() -> None:
    reading = re.compile(r"""metadata(\.nbgrader|\[KEY|\.get\(KEY|\[?\(?\.?(get\()?"(nbgrader|gradlab|claims)")""")
    packages = Path(autograder.__file__).parent
    found = {
        path.relative_to(packages).as_posix()
        for path in packages.rglob("*.py")
        if any(reading.search(line) for line in path.read_text(encoding="utf-8").splitlines())
    }
    course, submission = {"metadata", "nbgrader_cells"}, {"claims", "cell_origin", "notebook_reading"}
    assert found == {f"model/{name}.py" for name in course} | {f"intake/{name}.py" for name in submission}
