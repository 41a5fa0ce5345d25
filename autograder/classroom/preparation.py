"""Prepares a lab for grading: refuses one that was edited but not built, and puts its cells into the gradebook."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

from autograder.base.digest import digest
from autograder.base.errors import GradlabError
from autograder.base.text import join_names
from autograder.classroom.assignment import Assignment
from autograder.classroom.grading_outcome import find_last_error
from autograder.gradebook.changed_cells import LOST_MARKS, update_notebooks, write_lost_marks
from autograder.gradebook.labels import CellLabels
from autograder.gradebook.nbgrader_course import NbgraderCourse
from autograder.model.assignments import list_source_notebooks
from autograder.model.metadata import make_stock_name
from autograder.model.term import TERM_FILE, Term, read_term
from autograder.stock.content import read_kept_names

if TYPE_CHECKING:
    from nbgrader.api import Gradebook


def refuse_stale_lab(course: Path, lab: str) -> None:
    """Raise GradlabError if the lab was edited but not built: its old checks would run."""
    folder, built = course / "labs" / lab, course / "source" / lab / f"{lab}.ipynb"
    if not folder.is_dir():  # a stock assignment
        return
    paths = [*folder.rglob("*.py"), course / TERM_FILE]
    edited = [path for path in paths if path.exists() and path.stat().st_mtime > built.stat().st_mtime]
    if not edited:
        return
    from autograder.authoring.course_folder import is_stale  # takes half a second, only after an edit

    if is_stale(course, lab, read_term(course).further):  # a checkout gives files any dates
        raise GradlabError(
            f"{edited[0]} was edited after source/{lab} was built", fix="gradlab build, then the same command"
        )


def prepare_gradebook(nbgrader: NbgraderCourse, assignment: Assignment, gradebook: Gradebook, term: Term) -> list[str]:
    """Put the lab's cells and points into the gradebook, as `nbgrader generate_assignment` does, if they changed.

    Returns:
        A line for each change to a lab that students have already submitted.
    """
    course, lab = assignment.course, assignment.name
    marker = course / "results" / lab / ".prepared"
    labels, extra = assignment.labels, term.lab(lab).extra_credit
    source = _digest_source(course, lab, nbgrader.db_url, *extra)
    is_known = any(assignment.name == lab and assignment.notebooks for assignment in gradebook.assignments)
    gradebook.db.commit()  # no transaction is open while nbgrader writes
    if is_known and marker.exists() and marker.read_text() == source:
        _apply_extra_credit(gradebook, lab, labels, extra)  # nbgrader's own command may have restored their points
        return []
    is_generated = False  # by the instructor's own nbgrader, which may also have released it
    assignment.refuse_unfit_source(nbgrader.config)
    if assignment.may_be_generated:
        is_generated = is_known and not marker.exists() and _has_source_cells(gradebook, course, lab)
    marker.parent.mkdir(parents=True, exist_ok=True)
    lines = []
    if not is_generated:
        marker.write_text("")  # so it starts again if this is interrupted
        before = _list_graded_cells(gradebook, lab)
        if before:
            changes = update_notebooks(gradebook, gradebook.find_assignment(lab), _read_cell_names(course, lab))
            write_lost_marks(changes, course, lab)
            gradebook.db.commit()
        _generate(nbgrader, course, lab)
        gradebook.db.expire_all()
        lines = _describe_changes(course, lab, before, _list_graded_cells(gradebook, lab))
        _apply_extra_credit(gradebook, lab, labels, extra)
    marker.write_text(source)
    return lines


def _digest_source(course: Path, name: str, *settings: str) -> str:
    """Digest everything that the gradebook takes from source/NAME: notebooks, and what tests are made from."""
    autotests = (course / "source" / name / "autotests.yml", course / "autotests.yml")
    paths = [*list_source_notebooks(course, name), *(path for path in autotests if path.exists())]
    parts: list[str | bytes] = [part for path in paths for part in (path.name, path.read_bytes())]
    return digest(*parts, *settings)


def _has_source_cells(gradebook: Gradebook, course: Path, lab: str) -> bool:
    """Return whether the gradebook has exactly the cells that are in the source now."""
    names = {
        notebook.name: {cell.name for cell in notebook.source_cells}
        for notebook in gradebook.find_assignment(lab).notebooks
    }
    return names == _read_cell_names(course, lab)


def _read_cell_names(course: Path, lab: str) -> dict[str, set[str]]:
    """Read nbgrader's names of the cells that it keeps, by notebook."""
    return {path.stem: read_kept_names(path) for path in list_source_notebooks(course, lab)}


def _generate(nbgrader: NbgraderCourse, course: Path, lab: str) -> None:
    with tempfile.TemporaryFile() as file:
        with _capture_stderr(file):  # generated tests start a kernel, which warns about its own sockets
            result = nbgrader.generate_assignment(lab)
        if result.success:
            return
        file.seek(0)
        stderr = file.read().decode(errors="replace")
    text = f"{stderr}\n{result.log}"
    log = course / "results" / lab / "generate.log"
    log.write_text(text, encoding="utf-8", errors="replace")
    raise GradlabError(
        f"nbgrader can't put {lab} into its gradebook: {find_last_error(text)}",
        fix=f"correct source/{lab}; nbgrader's whole log is {log}",
    )


@contextlib.contextmanager
def _capture_stderr(file: IO[bytes]) -> Iterator[None]:
    """Redirect to this file what this process, and programs that it starts meanwhile, write to stderr."""
    sys.stderr.flush()
    before = os.dup(2)
    os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(before, 2)
        os.close(before)


def _list_graded_cells(gradebook: Gradebook, lab: str) -> set[str]:
    """List the graded cells of a lab as NOTEBOOK/CELL; none if no one has submitted it."""
    assignment = next((assignment for assignment in gradebook.assignments if assignment.name == lab), None)
    if assignment is None or not assignment.submissions:
        return set()
    return {
        make_stock_name(notebook.name, cell.name)
        for notebook in assignment.notebooks
        for cell in (*notebook.grade_cells, *notebook.task_cells)
    }


def _describe_changes(course: Path, lab: str, before: set[str], after: set[str]) -> list[str]:
    if not before or before == after:
        return []
    parts = [("new", after - before), ("removed", before - after)]
    changes = "; ".join(f"{change}: {join_names(sorted(names))}" for change, names in parts if names)
    lost = course / "results" / lab / LOST_MARKS
    hint = f". Marks by hand for removed cells are kept in {lost}" if lost.exists() else ""
    return [f"{lab} changed after it was submitted, and is graded again ({changes}){hint}"]


def _apply_extra_credit(gradebook: Gradebook, lab: str, labels: CellLabels, exercises: Sequence[str]) -> None:
    """Make these exercises extra credit: they add nothing to what the lab is worth, so their points are a bonus."""
    if not exercises:
        return
    for notebook in gradebook.find_assignment(lab).notebooks:
        for cell in notebook.grade_cells:
            if any(labels.has_name(exercise, notebook.name, cell.name) for exercise in exercises):
                cell.max_score = 0.0
    gradebook.db.commit()
