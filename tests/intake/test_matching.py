"""Whatever JupyterLab can do to a notebook's cells, no answer that is still in it is lost."""

import copy
import functools
import json
import tempfile
import time
from pathlib import Path

import nbformat
from hypothesis import example, given
from hypothesis import strategies as st

from autograder.intake.notebook_reading import read_submission
from autograder.intake.repair import RepairedNotebook, repair_lab_notebook
from autograder.model.note_sentences import describe_notes
from tests.hostile.edits import EXERCISES, LAB, LAB_SOURCE, Notebook, split, write
from tests.hostile.small_class import make_course

ANSWERS = {"double": "return 2 * x", "shift": "return x + STEP", "total": "return x.sum()"}
PLACE = st.integers(0, 50)
EDIT = st.tuples(st.sampled_from(["move", "paste", "merge", "type", "strip", "tag", "add"]), PLACE, PLACE)


@functools.cache
def build_notebooks() -> tuple[str, str]:
    """(the sound submission, the source notebook), as JSON."""
    with tempfile.TemporaryDirectory() as folder:
        sound = make_course(Path(folder), LAB, LAB_SOURCE)
        return json.dumps(sound), (Path(folder) / "source" / LAB / f"{LAB}.ipynb").read_text()


def apply_edits(edits: list[tuple[str, int, int]]) -> Notebook:
    notebook: Notebook = json.loads(build_notebooks()[0])
    for number, (kind, a, b) in enumerate(edits):
        cells = notebook["cells"]
        cell = cells[a % len(cells)]
        if kind == "move":
            cells.remove(cell)
            cells.insert(b % (len(cells) + 1), cell)
        elif kind == "paste":
            cells.insert(b % (len(cells) + 1), copy.deepcopy(cell) | {"id": f"pasted-{number}"})
        elif kind == "merge" and a % len(cells) + 1 < len(cells):
            following = cells[a % len(cells) + 1]
            if cell["cell_type"] == following["cell_type"] == "code":
                cell["source"] = f"{cell['source']}\n\n{following['source']}"
                cells.remove(following)
        elif kind == "type" and "def " in cell["source"]:
            cell["cell_type"] = ("markdown", "raw", "code")[b % 3]
        elif kind == "strip":
            cell.update(metadata={}, id=f"stripped-{number}")
        elif kind == "tag":
            cell["metadata"]["tags"] = ["skip-execution"]
        elif kind == "add":
            cells.insert(a % len(cells), {"cell_type": "code", "id": f"a-{number}", "metadata": {}, "source": "a = 1"})
    return notebook


def repair_notebook(notebook: Notebook) -> RepairedNotebook:
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), notebook)
        return repair_lab_notebook(
            read_submission(Path(folder) / f"{LAB}.ipynb"), nbformat.reads(build_notebooks()[1], 4)
        )


def assert_sound(result: RepairedNotebook) -> None:
    """Every course cell is there, once and in order; each exercise's last version is its answer."""
    course = nbformat.reads(build_notebooks()[1], 4)
    nbformat.validate(result.notebook)
    expected_ids = [c.id for c in course.cells if "nbgrader" in c.metadata]
    assert [c.id for c in result.notebook.cells if c.id in expected_ids] == expected_ids
    for cell in course.cells:
        if cell.metadata.get("nbgrader", {}).get("locked"):
            assert next(c for c in result.notebook.cells if c.id == cell.id).source == cell.source
    for name in EXERCISES:
        exercise_cell = next(c for c in result.notebook.cells if c.id == f"exercise-{name}")
        assert exercise_cell.cell_type == "code"
        assert ANSWERS[name] in exercise_cell.source


@given(st.lists(EDIT, max_size=6))
def test_no_answer_is_lost_by_moving_pasting_merging_and_stripping_cells(edits: list[tuple[str, int, int]]) -> None:
    assert_sound(repair_notebook(apply_edits(edits)))


@given(st.sampled_from(sorted(EXERCISES)), st.integers(1, 2), st.booleans())
def test_a_split_anywhere_is_undone(name: str, line: int, stripped: bool) -> None:
    notebook = apply_edits([])
    split(notebook, f"exercise-{name}", line)
    if stripped:
        next(c for c in notebook["cells"] if c["id"] == f"exercise-{name}").update(metadata={}, id="half")
    result = repair_notebook(notebook)
    assert_sound(result)
    assert any("split" in note and name in note for note in describe_notes(result.notes))


@given(st.lists(EDIT, min_size=1, max_size=6))
@example([("add", 9, 0), ("paste", 0, 0), ("paste", 35, 10), ("paste", 0, 0), ("merge", 12, 0)])  # a copy stays
@example([("move", 27, 28), ("paste", 0, 0), ("paste", 9, 44)])  # a copy is where the cell was
def test_changes_are_reported_unless_there_are_none(edits: list[tuple[str, int, int]]) -> None:
    notebook = apply_edits(edits)
    result = repair_notebook(notebook)
    before = [(c.id, c.source) for c in nbformat.reads(build_notebooks()[0], 4).cells]
    ids = {c["id"] for c in notebook["cells"]}
    places = [find_copies(notebook, *pair) for pair in before]
    lost_cells = [pair for pair, found in zip(before, places, strict=True) if not found and pair[0].startswith("check")]
    lost_cells += [pair for pair in before if pair[0] not in ids and pair[0].startswith("exercise")]
    is_moved = not is_ascending([found for found in places if found])
    is_stripped = any(kind == "strip" for kind, _, _ in edits)  # found by its text: no repair is needed
    assert result.notes or not (lost_cells or is_moved) or is_stripped


def find_copies(notebook: Notebook, name: str, source: str) -> list[int]:
    """The places of this cell and of its copies, which have nbgrader's name or none."""
    names = [(c["metadata"].get("nbgrader", {}).get("grade_id", name), c["source"]) for c in notebook["cells"]]
    return [place for place, pair in enumerate(names) if pair == (name, source)]


def is_ascending(choices: list[list[int]]) -> bool:
    """Whether one of each list can be chosen so that they ascend."""
    last = -1
    for places in choices:
        following = [place for place in places if place > last]
        if not following:
            return False
        last = following[0]
    return True


def test_a_notebook_of_nothing_but_halves_does_not_take_minutes() -> None:
    notebook = apply_edits([])
    half = {"cell_type": "code", "metadata": {"nbgrader": {"grade_id": "exercise-double"}}}
    sources = ["def f" + str(number) + "():\n    pass\n" * 20 for number in range(1500)]
    notebook["cells"] += [half | {"source": source} for source in sources]
    start = time.process_time()
    assert_sound(repair_notebook(notebook))
    assert time.process_time() - start < 20
