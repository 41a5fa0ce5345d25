"""Small, unusual courses as files, and helpers to grade them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbgrader.preprocessors import ClearSolutions
from nbgrader.utils import compute_checksum, is_grade, is_locked, is_solution, is_task

from autograder.classroom.grading_outcome import GradingOutcome
from autograder.classroom.open_class import grade_lab
from autograder.gradebook.nbgrader_course import open_course
from autograder.gradebook.result_documents import load_document
from autograder.gradebook.result_reader import read_result
from autograder.gradebook.submission_result import SubmissionResult
from autograder.intake.notebook_reading import read_notebook
from autograder.model.note_sentences import describe_notes
from autograder.model.result import ResultDocument
from autograder.stock.content import StockNotebook, read_content, upgrade_metadata
from autograder.stock.notebook_repair import repair_stock_notebook
from autograder.workers.executors import LocalExecutor
from tests.stock.stock_course import OURS, write


def make_course(root: Path, files: Mapping[str, str], settings: str = "") -> Path:
    """A course with these files, by their paths, and these lines in its configuration."""
    write(root / "nbgrader_config.py", OURS + settings)
    for path, text in files.items():
        write(root / path, text)
    return root


def grade(course: Path, executor: LocalExecutor, lab: str = "a1") -> list[GradingOutcome]:
    return list(grade_lab(open_course(course), lab, executor))


def load_student_document(course: Path, student: str, lab: str = "a1") -> ResultDocument:
    result = load_document(course, lab, student)
    assert result is not None
    return result


def read_gradebook_result(course: Path, student: str, lab: str = "a1") -> SubmissionResult:
    return read_result(f"sqlite:///{course}/gradebook.db", course, lab, student)


def read_course_notebook(root: Path, source: str, config: Mapping[str, Any] | None = None) -> StockNotebook:
    """The data about this source that grading uses, without nbgrader's gradebook."""
    write(root / "source/a1/p.ipynb", source)
    released, _ = ClearSolutions().preprocess(upgrade_metadata(nbformat.reads(source, as_version=4)), {})
    cells = [
        SimpleNamespace(
            name=cell.metadata.nbgrader.grade_id,
            cell_type=cell.cell_type,
            source=cell.source,
            checksum=compute_checksum(cell),
            locked=is_locked(cell),
            max_score=cell.metadata.nbgrader.get("points", 0.0),
            of=cell,
        )
        for cell in released.cells
        if is_grade(cell) or is_solution(cell) or is_locked(cell) or is_task(cell)
    ]
    row = SimpleNamespace(
        name="p",
        source_cells=cells,
        grade_cells=[cell for cell in cells if is_grade(cell.of)],
        solution_cells=[cell for cell in cells if is_solution(cell.of)],
        task_cells=[cell for cell in cells if is_task(cell.of)],
    )
    gradebook = SimpleNamespace(find_assignment=lambda _: SimpleNamespace(notebooks=[row]))
    return read_content(root, "a1", gradebook, config).notebooks[0]


def repair_source(source: str, course: StockNotebook) -> tuple[NotebookNode, list[str]]:
    """The notebook to grade, without the notes in it, and these notes."""
    notebook, notes = repair_stock_notebook(read_notebook(source.encode()), course)
    notebook.cells = notebook.cells[1:] if notes else notebook.cells
    return notebook, describe_notes(notes)
