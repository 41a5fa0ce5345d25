"""A student who fetched an earlier release sees no notes about the course's own changes."""

import json
from pathlib import Path

import nbformat
import pytest

from autograder.intake.notebook_reading import read_submission
from autograder.intake.releases import get_releases_path, read_release_bytes, read_releases, save_release
from autograder.intake.repair import repair_lab_notebook
from autograder.model.note_sentences import describe_notes
from tests.hostile.edits import LAB, LAB_SOURCE
from tests.hostile.small_class import make_course

LATER = (
    LAB_SOURCE.replace("STEP = 3.0", "STEP = 3.5")
    .replace('check("example", "1 gives 4"', 'check("example", "1 gives 4.5"')
    .replace("# Three small functions", "# Three very small functions")
    .replace('"""2 * x, elementwise."""', '"""2 * x, for each element."""')
    .replace("# ## A constant added", "# ## Something added\n\n# %% given\nNEW = 1")
)


@pytest.fixture
def earlier_course(tmp_path: Path) -> Path:
    """A course that released LATER after LAB_SOURCE, with a submission of the first release."""
    (tmp_path / "first").mkdir()
    make_course(tmp_path / "first", LAB, LAB_SOURCE)
    make_course(tmp_path, LAB, LATER)
    for course in (tmp_path / "first", tmp_path):
        release = nbformat.read(course / "release" / LAB / f"{LAB}.ipynb", as_version=4)
        save_release(tmp_path, LAB, release)
    return tmp_path


def collect_notes(course: Path, change: dict[str, str]) -> tuple[list[str], dict[str, str]]:
    """The notes on the first release with these texts changed, and the graded cells, by name."""
    submission = nbformat.read(course / "first" / "release" / LAB / f"{LAB}.ipynb", as_version=4)
    for cell in submission.cells:
        for before, after in change.items():
            cell.source = cell.source.replace(before, after)
    path = course / "handed_in.ipynb"
    path.write_text(json.dumps(submission))
    source = nbformat.read(course / "source" / LAB / f"{LAB}.ipynb", as_version=4)
    repaired = repair_lab_notebook(read_submission(path), source, read_releases(read_release_bytes(course, LAB)))
    return describe_notes(repaired.notes), {cell.id: cell.source for cell in repaired.notebook.cells}


WRITTEN = {"raise NotImplementedError()": "return x"}


def test_the_courses_own_changes_are_reported_as_the_courses(earlier_course: Path) -> None:
    messages, _ = collect_notes(earlier_course, WRITTEN)
    (course_note,) = [note for note in messages if "The course changed these cells after you fetched the lab" in note]
    assert "the check of shift" in course_note
    assert "the check of double" not in course_note
    assert not any("Changed course cells were restored" in note or "missing" in note for note in messages)


def test_the_courses_current_cells_and_the_students_answer_are_graded(earlier_course: Path) -> None:
    _, cells = collect_notes(earlier_course, WRITTEN)
    assert "STEP = 3.5" in cells.values()
    assert "STEP = 3.0" not in cells.values()
    assert "NEW = 1" in cells.values()
    assert "return x" in cells["exercise-double"]


def test_an_unedited_old_stub_counts_as_unwritten(earlier_course: Path) -> None:
    messages, cells = collect_notes(earlier_course, {})
    assert "2 * x, for each" in cells["exercise-double"]
    assert any("No exercise has been changed" in note for note in messages)


def test_a_students_change_to_an_old_cell_is_still_reported(earlier_course: Path) -> None:
    messages, _ = collect_notes(
        earlier_course, {"STEP = 3.0": "STEP = 4.0", "torch.tensor([4.0])": "torch.tensor([5.0])"}
    )
    (change_note,) = [note for note in messages if "Changed course cells were restored" in note]
    assert "the check of shift" in change_note


def test_the_same_release_is_remembered_once(earlier_course: Path) -> None:
    before = get_releases_path(earlier_course, LAB).read_bytes()
    save_release(earlier_course, LAB, nbformat.read(earlier_course / "release" / LAB / f"{LAB}.ipynb", as_version=4))
    assert get_releases_path(earlier_course, LAB).read_bytes() == before and len(json.loads(before)) == 2
