"""A submission is data: repaired if the repair is clear, refused with a reason if not."""

import copy
import errno
import functools
import json
import os
import tempfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nbformat import NotebookNode

from autograder.authoring.course_folder import read_course, read_labs
from autograder.authoring.new_lab import create_lab
from autograder.authoring.notebooks import build_release_notebook, build_source_notebook
from autograder.demo.students import collect_reference, fill_notebook
from autograder.intake.claims import read_claims
from autograder.intake.notebook_reading import MAX_BYTES, SubmissionRefusedError, read_notebook, read_submission
from autograder.intake.repair import RepairedNotebook, build_blank_notebook, read_notes, repair_lab_notebook
from autograder.model.course import CellKind, Lab
from autograder.model.note_sentences import describe_notes

EXERCISE, CHECK = "exercise-sum_of_squares", "check-sum_of_squares"
Edit = Callable[[NotebookNode], None]


@pytest.fixture
def lab(small_course: Path) -> Lab:
    return next(read_labs(read_course(small_course)))


def repair_edited(lab: Lab, path: Path, edit: Edit = lambda notebook: None) -> RepairedNotebook:
    """Repair the solved notebook after an edit, written to a file and read back."""
    notebook = fill_notebook(lab, collect_reference(lab))
    edit(notebook)
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(notebook))
    return repair_lab_notebook(read_submission(path), build_source_notebook(lab))


def get_cell(notebook: NotebookNode, identity: str) -> NotebookNode:
    (cell,) = [c for c in notebook.cells if c.id == identity]
    return cell


def drop(*identities: str) -> Edit:
    def edit(notebook: NotebookNode) -> None:
        notebook.cells = [c for c in notebook.cells if c.id not in identities]

    return edit


def test_an_honest_submission_gets_the_courses_cells_and_its_own_answer(lab: Lab, tmp_path: Path) -> None:
    repaired = repair_edited(lab, tmp_path / "in" / "n.ipynb")
    assert repaired.notes == []
    assert [c.id for c in repaired.notebook.cells] == [c.id for c in lab.cells]
    assert "large" not in get_cell(repaired.notebook, EXERCISE).source
    assert get_cell(repaired.notebook, EXERCISE).source == collect_reference(lab)["sum_of_squares"]
    assert "BEGIN HIDDEN TESTS" in get_cell(repaired.notebook, CHECK).source
    nbformat.validate(repaired.notebook)


def test_deleted_exercises_are_restored_empty_and_deleted_checks_and_given_cells_unchanged(
    lab: Lab, tmp_path: Path
) -> None:
    imports = next(cell.id for cell in lab.cells if cell.kind is CellKind.GIVEN)
    repaired = repair_edited(lab, tmp_path / "in" / "n.ipynb", drop(EXERCISE, CHECK, imports))
    assert "NotImplementedError" in get_cell(repaired.notebook, EXERCISE).source
    assert "return (x * x)" not in get_cell(repaired.notebook, EXERCISE).source
    assert "BEGIN HIDDEN TESTS" in get_cell(repaired.notebook, CHECK).source
    assert "import torch" in get_cell(repaired.notebook, imports).source
    notes = describe_notes(repaired.notes)
    assert any("put back, empty: sum_of_squares." in note for note in notes)
    assert any("the check of sum_of_squares" in note and "`import torch`" in note for note in notes)


@pytest.mark.parametrize("kind", [CellKind.CHECK, CellKind.GIVEN])
def test_a_changed_check_or_given_cell_is_restored_and_reported(kind: CellKind, lab: Lab, tmp_path: Path) -> None:
    name = next(cell.id for cell in lab.cells if cell.kind is kind)

    def edit(notebook: NotebookNode) -> None:
        get_cell(notebook, name).source = "2.0"

    repaired = repair_edited(lab, tmp_path / "in" / "n.ipynb", edit)
    original = repair_edited(lab, tmp_path / "original" / "n.ipynb")
    assert get_cell(repaired.notebook, name).source == get_cell(original.notebook, name).source != "2.0"
    words = "the check of sum_of_squares" if kind is CellKind.CHECK else "`import torch`"
    assert any(words in note and "were restored" in note for note in describe_notes(repaired.notes))


def test_a_pasted_copy_counts_once_and_of_two_versions_the_last(lab: Lab, tmp_path: Path) -> None:
    def paste(notebook: NotebookNode) -> None:
        notebook.cells += [copy.deepcopy(c) for c in notebook.cells if c.id in (EXERCISE, CHECK)]

    (note,) = describe_notes(repair_edited(lab, tmp_path / "a" / "n.ipynb", paste).notes)
    assert note.startswith("Copies of cells") and note.endswith(": sum_of_squares.")

    def second_version(notebook: NotebookNode) -> None:
        paste(notebook)
        notebook.cells[-2].source = "def sum_of_squares(x):\n    return x"

    repaired = repair_edited(lab, tmp_path / "b" / "n.ipynb", second_version)
    sources = [c.source for c in repaired.notebook.cells]
    first, second = (
        sources.index(collect_reference(lab)["sum_of_squares"]),
        sources.index("def sum_of_squares(x):\n    return x"),
    )
    assert first < second < [c.id for c in repaired.notebook.cells].index(CHECK)
    assert any("last version counts" in note for note in describe_notes(repaired.notes))


def test_of_a_version_that_was_changed_and_changed_back_the_last_copy_counts(lab: Lab, tmp_path: Path) -> None:
    def edit(notebook: NotebookNode) -> None:
        original = next(c for c in notebook.cells if c.id == EXERCISE)
        notebook.cells += [copy.deepcopy(original), copy.deepcopy(original)]
        notebook.cells[-2].source = "def sum_of_squares(x):\n    return x"

    sources = [c.source for c in repair_edited(lab, tmp_path / "in" / "n.ipynb", edit).notebook.cells]
    right = collect_reference(lab)["sum_of_squares"]
    assert sources.count(right) == 1
    assert sources.index(right) > sources.index("def sum_of_squares(x):\n    return x")


def test_an_untouched_copy_does_not_undo_the_answer(lab: Lab, tmp_path: Path) -> None:
    def edit(notebook: NotebookNode) -> None:
        stub = next(c for c in build_release_notebook(lab).cells if c.id == EXERCISE)
        notebook.cells.append(copy.deepcopy(stub))

    repaired = repair_edited(lab, tmp_path / "in" / "n.ipynb", edit)
    assert get_cell(repaired.notebook, EXERCISE).source == collect_reference(lab)["sum_of_squares"]


def test_added_cells_stay_after_the_cell_they_followed_without_their_metadata(lab: Lab, tmp_path: Path) -> None:
    def edit(notebook: NotebookNode) -> None:
        added_cell = nbformat.v4.new_code_cell(
            "helper = 1", metadata={"tags": ["skip-execution"], "nbgrader": {"points": 99}}
        )
        notebook.cells.insert([c.id for c in notebook.cells].index(EXERCISE), added_cell)

    repaired = repair_edited(lab, tmp_path / "in" / "n.ipynb", edit)
    sources = [c.source for c in repaired.notebook.cells]
    assert sources.index("helper = 1") < [c.id for c in repaired.notebook.cells].index(EXERCISE)
    assert repaired.notebook.cells[sources.index("helper = 1")].metadata == {}


def test_the_same_submission_is_repaired_to_the_same_bytes(lab: Lab, tmp_path: Path) -> None:
    def edit(notebook: NotebookNode) -> None:
        notebook.cells[3:3] = [nbformat.v4.new_code_cell("a = 1"), nbformat.v4.new_markdown_cell("note")]

    first, second = (repair_edited(lab, tmp_path / name / "n.ipynb", edit).notebook for name in "ab")
    assert json.dumps(first) == json.dumps(second)


def test_metadata_of_a_submission_counts_for_nothing(lab: Lab, tmp_path: Path) -> None:
    def edit(notebook: NotebookNode) -> None:
        for cell in notebook.cells:
            cell.metadata["tags"] = ["skip-execution"]
            if "nbgrader" in cell.metadata:
                cell.metadata.nbgrader.points = 1000
                cell.metadata.nbgrader.locked = False
        notebook.metadata.kernelspec = {"name": "evil", "display_name": "evil"}

    repaired = repair_edited(lab, tmp_path / "in" / "n.ipynb", edit)
    assert repaired.notebook.metadata.kernelspec.name == "python3"
    course = build_source_notebook(lab)
    assert [c.metadata for c in repaired.notebook.cells[1:]] == [c.metadata for c in course.cells]
    assert any(
        "do not count" in note and "the check of sum_of_squares" in note for note in describe_notes(repaired.notes)
    )


def test_an_answer_in_a_new_cell_is_found_if_the_exercise_was_deleted(lab: Lab, tmp_path: Path) -> None:
    def edit(notebook: NotebookNode) -> None:
        answer = get_cell(notebook, EXERCISE).source
        drop(EXERCISE)(notebook)
        notebook.cells.insert(2, nbformat.v4.new_code_cell(answer))

    repaired = repair_edited(lab, tmp_path / "in" / "n.ipynb", edit)
    assert get_cell(repaired.notebook, EXERCISE).source == collect_reference(lab)["sum_of_squares"]
    assert any("found again" in note for note in describe_notes(repaired.notes))


@pytest.fixture
def lab_with_questions(small_course: Path) -> Lab:
    """The small lab with two questions in words at its end."""
    question = "\n# %% question: {} [markdown] points=3\n# {}\n#\n# ### BEGIN SOLUTION\n# So.\n# ### END SOLUTION\n"
    source = small_course / "labs" / "01_squares" / "lab.py"
    questions = question.format("why", "Why?") + "\n# %% [markdown]\n# One more.\n" + question.format("how", "How?")
    source.write_text(source.read_text() + questions)
    return next(read_labs(read_course(small_course)))


def test_a_picture_that_was_pasted_into_an_answer_in_words_stays(lab_with_questions: Lab, tmp_path: Path) -> None:
    pictures = {"a.png": {"image/png": "iVBORw0K"}, "b.svg": {"image/svg+xml": "<svg onload=x>"}, "c": 3}

    def edit(notebook: NotebookNode) -> None:
        get_cell(notebook, "question-why").update(source="![this](attachment:a.png)", attachments=pictures)

    answer = get_cell(repair_edited(lab_with_questions, tmp_path / "in" / "n.ipynb", edit).notebook, "question-why")
    assert answer.attachments == {"a.png": {"image/png": "iVBORw0K"}}
    assert answer.source == "![this](attachment:a.png)"


def test_a_notebook_of_another_lab_is_refused_even_if_both_have_a_question_of_one_name(
    lab_with_questions: Lab, tmp_path: Path
) -> None:
    def edit(notebook: NotebookNode) -> None:
        drop("question-how")(notebook)
        for cell in notebook.cells:
            if cell.id.endswith("sum_of_squares"):
                name = cell.id.replace("sum_of_squares", "cubes")
                cell.metadata.nbgrader.grade_id, cell.source = name, "def cubes(x):\n    return x**3"
                cell.id = name

    with pytest.raises(SubmissionRefusedError, match="another lab: it contains exercise-cubes, check-cubes"):
        repair_edited(lab_with_questions, tmp_path / "in" / "n.ipynb", edit)


@pytest.mark.parametrize("answered", [("why", "how"), ("how",), ("why",)])
def test_an_answer_in_words_is_found_by_its_position_if_nothing_names_it(
    lab_with_questions: Lab, tmp_path: Path, answered: tuple[str, ...]
) -> None:
    def edit(notebook: NotebookNode) -> None:
        for name in answered:
            get_cell(notebook, f"question-{name}").source = f"My answer to {name}."
        notebook.cells.append(nbformat.v4.new_code_cell("a = 1"))
        for number, cell in enumerate(notebook.cells):
            cell.update(metadata={}, id=f"other-{number}")

    repaired = repair_edited(lab_with_questions, tmp_path / "in" / "n.ipynb", edit)
    texts = {name: get_cell(repaired.notebook, f"question-{name}").source for name in ("why", "how")}
    assert {name for name, text in texts.items() if text == f"My answer to {name}."} == set(answered)
    titles = [name.capitalize() for name in answered]
    assert [note for note in describe_notes(repaired.notes) if "by their position" in note] == [
        f"Written answers whose cells were missing were found again by their position: {', '.join(titles)}."
    ]


def test_an_added_cell_never_gets_the_id_of_a_course_cell(lab: Lab, tmp_path: Path) -> None:
    def edit(notebook: NotebookNode) -> None:
        notebook.cells += [nbformat.v4.new_code_cell(f"a = {n}", id=f"added-{n}") for n in range(3)]

    course = build_source_notebook(lab)
    course.cells[1].id = "added-1"  # the first cell below a heading "Added"
    path = tmp_path / "in" / "n.ipynb"
    repair_edited(lab, path, edit)
    ids = [c.id for c in repair_lab_notebook(read_submission(path), course).notebook.cells]
    assert len(set(ids)) == len(ids)


def test_a_notebook_that_lost_all_ids_and_metadata_is_matched_by_its_text(lab: Lab, tmp_path: Path) -> None:
    def edit(notebook: NotebookNode) -> None:
        for number, cell in enumerate(notebook.cells):
            cell.metadata, cell.id = NotebookNode(), f"c{number}"

    repaired = repair_edited(lab, tmp_path / "in" / "n.ipynb", edit)
    assert [c.id for c in repaired.notebook.cells if c.id in {x.id for x in lab.cells}] == [c.id for c in lab.cells]
    assert get_cell(repaired.notebook, EXERCISE).source == collect_reference(lab)["sum_of_squares"]


def test_reordered_cells_are_put_back_into_the_courses_order(lab: Lab, tmp_path: Path) -> None:
    def edit(notebook: NotebookNode) -> None:
        notebook.cells.reverse()

    repaired = repair_edited(lab, tmp_path / "in" / "n.ipynb", edit)
    assert [c.id for c in repaired.notebook.cells[1:]] == [c.id for c in lab.cells]
    assert any("course's order" in note for note in describe_notes(repaired.notes))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "No notebook named n.ipynb"),
        (b"{", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "not a notebook"),
        (b'{"nbformat": "4"}', "not a notebook"),
        (b'{"nbformat": 9, "cells": []}', "not a notebook"),
        (b'{"nbformat": 4, "nbformat_minor": 5, "metadata": {}}', "damaged"),
        (b'{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [1]}', "damaged"),
        (b'{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [{"cell_type": "magic", "source": ""}]}', "damaged"),
        (b'{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [{"cell_type": "code", "source": 3}]}', "damaged"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_notebook_is_refused_with_a_reason(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "n.ipynb").write_bytes(content)
    with pytest.raises(SubmissionRefusedError, match=reason):
        read_submission(tmp_path / "n.ipynb")


@pytest.mark.parametrize("number", [2, 3])
def test_an_old_notebook_takes_no_more_memory_than_its_json(number: int) -> None:
    cell = {"cell_type": "code", "input": ["x = 1"], "language": "python", "outputs": [[0]] * 100_000}
    heading = {"cell_type": "heading", "level": 2, "source": ["a", " b"], "metadata": {"nbgrader": {"grade_id": "g"}}}
    damaged_cell = {"cell_type": "code", "input": [1], "outputs": []}
    sheets = [{"cells": [cell, heading]}, {"cells": [damaged_cell]}]
    text = json.dumps({"nbformat": number, "nbformat_minor": 0, "metadata": {}, "worksheets": sheets})
    peaks = []
    for read in (json.loads, read_notebook):
        tracemalloc.start()
        notebook: Any = read(text.encode())
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]
    assert [each.source for each in notebook.cells] == ["x = 1", "## a b"]
    assert read_claims(notebook.cells[1]).grade_id == "g"
    assert any("left out. Their numbers: 3" in note for note in notebook.metadata.notes)


@pytest.mark.parametrize("level", [1.0, True, -1, 7, 10**400, "1", [1], None])
def test_a_strange_heading_costs_no_more_than_itself(level: Any) -> None:
    cells = [
        {"cell_type": "heading", "level": level, "source": ["a"]},
        {"cell_type": "code", "input": "x = 1", "outputs": []},
    ]
    read = read_notebook(json.dumps({"nbformat": 3, "metadata": {}, "worksheets": [{"cells": cells}]}).encode())
    assert read.cells[-1].source == "x = 1"


@pytest.mark.parametrize("sheets", [None, [], [3], [{"cells": 3}], [{"cells": []}, {}], {"cells": []}])
def test_an_old_notebook_without_cells_is_refused(sheets: Any) -> None:
    with pytest.raises(SubmissionRefusedError, match="no list of cells"):
        read_notebook(json.dumps({"nbformat": 3, "metadata": {}, "worksheets": sheets}).encode())


def test_a_link_and_a_huge_file_are_refused_unread(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("{}")
    (tmp_path / "link.ipynb").symlink_to(tmp_path / "secret")
    with pytest.raises(SubmissionRefusedError, match="link"):
        read_submission(tmp_path / "link.ipynb")
    with (tmp_path / "huge.ipynb").open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(SubmissionRefusedError, match="100 MB"):
        read_submission(tmp_path / "huge.ipynb")


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO, errno.ESTALE, errno.EMFILE])
def test_a_fault_of_the_machine_is_no_refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    path, open_file = tmp_path / "n.ipynb", os.open
    path.write_text("{}")

    def fail(opened: Any, *arguments: Any, **keywords: Any) -> int:
        if opened == path:
            raise OSError(number, os.strerror(number))
        return open_file(opened, *arguments, **keywords)

    monkeypatch.setattr(os, "open", fail)
    with pytest.raises(OSError) as error:
        read_submission(path)
    assert error.value.errno == number


def test_a_refused_submission_counts_as_empty_and_says_why(lab: Lab) -> None:
    repaired = build_blank_notebook(build_source_notebook(lab), "It was cut off.")
    assert "NotImplementedError" in get_cell(repaired.notebook, EXERCISE).source
    assert read_notes(repaired.notebook) == repaired.notes
    assert "It was cut off." in describe_notes(repaired.notes)[0]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
CELL = st.fixed_dictionaries(
    {"cell_type": st.sampled_from(["code", "markdown", "raw", "x"]) | JSON, "source": st.text(max_size=30) | JSON},
    optional={
        "id": st.sampled_from([EXERCISE, CHECK, "", "start-1"]) | JSON,
        "metadata": JSON | st.fixed_dictionaries({"nbgrader": JSON | st.fixed_dictionaries({"grade_id": JSON})}),
        "outputs": JSON,
        "attachments": JSON,
    },
)


@given(
    st.fixed_dictionaries({"nbformat": st.just(4) | JSON, "cells": st.lists(CELL, max_size=6) | JSON, "metadata": JSON})
)
def test_any_json_is_refused_or_becomes_a_valid_notebook_with_every_check(data: object) -> None:
    lab = _build_small_lab()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "n.ipynb"
        path.write_text(json.dumps(data))
        try:
            repaired = repair_lab_notebook(read_submission(path), build_source_notebook(lab))
        except SubmissionRefusedError as refused:
            assert str(refused)
            return
    nbformat.validate(repaired.notebook)
    expected_ids = [
        c.id for c in lab.cells if c.kind in (CellKind.GIVEN, CellKind.EXAMPLE, CellKind.EXERCISE, CellKind.CHECK)
    ]
    assert [c.id for c in repaired.notebook.cells if c.id in expected_ids] == expected_ids
    assert "BEGIN HIDDEN TESTS" in get_cell(repaired.notebook, CHECK).source


@functools.cache
def _build_small_lab() -> Lab:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "labs").mkdir()
        (root / "labs" / "course.toml").write_text('title = "t"\n')
        create_lab(root, "01_squares")
        return next(read_labs(read_course(root)))


def test_no_name_in_a_notebook_reaches_a_terminal_or_a_page_with_controls(tmp_path: Path) -> None:
    control = "\x1b]0;x\x07\x1b[2J\u202e"
    cell = {"cell_type": "code", "source": "x = 1", "id": control, "metadata": {"nbgrader": {"grade_id": control}}}
    kernel = {"kernelspec": {"language": f"r{control}"}}
    path = tmp_path / "n.ipynb"
    path.write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": kernel, "cells": [cell]}))
    read = read_submission(path)
    claims = read_claims(read.cells[0])
    assert all(text.isprintable() for text in (*read.metadata["notes"], claims.grade_id, claims.id))
    assert any("kernel for r" in note for note in read.metadata["notes"])
