"""What a notebook says about the course's cells, in `metadata.gradlab`. The builder writes it; only this file reads it.

A cell without it was added by a student. In the release, a check cell lists only the checks that aren't hidden.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

from nbformat import NotebookNode

from autograder.base.errors import GradlabError
from autograder.model.course import AnotherWay, Cell, CellKind, Check, Lab, Level
from autograder.model.nbgrader_cells import read_nbgrader_metadata
from autograder.model.quiz_statement import QuizStatement
from autograder.model.strict_model import StrictModel

KEY = "gradlab"
NAMED = tuple(kind for kind in CellKind if kind.traits.named)
# For answers in words.
WRITE_HERE = "*Double-click here, or press Enter on this cell, and replace this line with your answer.*"
SECRET = {"hint", "misconceptions"}  # parts of a check's code that students may not have


class CellMetadata(StrictModel):
    """What a notebook says about one cell."""

    kind: CellKind
    exercise: str = ""
    """The exercise, question or prediction that it belongs to."""
    title: str = ""
    """What students call it, if that isn't its name."""
    points: float = 0.0
    """What students can earn for it."""
    level: Level | None = None
    checks: tuple[Check, ...] = ()
    """The checks of a check cell, in order, without hints and misconceptions."""
    answer: tuple[str, ...] = ()
    """The right choices of a prediction, or its number."""
    stub: str = ""
    """The text of an exercise or a question as it's handed out."""
    questions: int = 0
    """How many a quiz asks."""
    quiz: tuple[QuizStatement, ...] = ()
    another: AnotherWay | None = None
    """Another right answer, for students who have earned all points."""


def make_lab_metadata(lab: Lab) -> dict[str, Any]:
    """Make the notebook's own metadata: what a student's front end shows about the lab, without its sources."""
    return {
        "lab": lab.name,
        "title": lab.title,
        "minutes": lab.minutes,
        "needs": list(lab.needs),
        "milestone": lab.milestone,
        "accuracy": lab.accuracy,
    }


def make_cell_metadata(cell: Cell, lab: Lab, stub: str = "", title: str = "") -> dict[str, Any]:
    """Make the metadata of a cell of the source notebook.

    Args:
        stub: The text that's handed out, for a cell that students write.
        title: What students call it, if that isn't its name.
    """
    checks = lab.exercise(cell.name).checks if cell.kind is CellKind.CHECK else ()
    metadata = CellMetadata(
        kind=cell.kind,
        exercise=cell.name,
        title=title,
        points=cell.worth,
        level=cell.level,
        checks=checks,
        answer=cell.answer,
        stub=stub,
        questions=len({statement.question for statement in cell.quiz}),
        quiz=cell.quiz,
        another=_find_another_answer(cell, lab),
    )
    return metadata.model_dump(mode="json", exclude_defaults=True, exclude={"checks": {"__all__": SECRET}})


def _find_another_answer(cell: Cell, lab: Lab) -> AnotherWay | None:
    """Return the first right answer of an exercise; None for a quiz, which has only one."""
    if cell.kind is not CellKind.EXERCISE or cell.quiz:
        return None
    right = next((answer for answer in lab.exercise(cell.name).answers if answer.right), None)
    return AnotherWay(label=right.label, source=right.source) if right else None


def clear_hidden(metadata: dict[str, Any]) -> None:
    """Remove what the student's notebook must not hold."""
    if "checks" in metadata.get(KEY, {}):
        metadata[KEY]["checks"] = [check for check in metadata[KEY]["checks"] if not check.get("hidden")]
    for secret in ("quiz", "another"):
        metadata.get(KEY, {}).pop(secret, None)


def read_cell_metadata(cell: NotebookNode) -> CellMetadata | None:
    """Read what the notebook says about this cell; None if the course didn't write it."""
    metadata = cell.metadata.get(KEY)
    return None if metadata is None else CellMetadata.model_validate(metadata)


def read_kind(cell: NotebookNode) -> CellKind | None:
    """Read the cell's kind; None if the course didn't write it."""
    metadata = cell.metadata.get(KEY)
    return None if metadata is None else CellKind(metadata["kind"])


def read_title(notebook: NotebookNode) -> str:
    """Read the lab's title; empty in a notebook that Gradlab's builder didn't make."""
    return str(notebook.metadata.get(KEY, {}).get("title", ""))


def is_built(notebook: NotebookNode) -> bool:
    """Return whether Gradlab's builder made this notebook, and so recorded what its cells are for."""
    return KEY in notebook.metadata


def refuse_unbuilt(course: NotebookNode) -> None:
    """Raise GradlabError if this source notebook doesn't say what its cells are for."""
    student_metadata = [
        metadata
        for cell in course.cells
        if (metadata := cell.metadata.get(KEY)) and CellKind(metadata["kind"]).traits.student_writes
    ]
    if KEY not in course.metadata or not all("stub" in metadata for metadata in student_metadata):
        raise GradlabError("this source notebook was not made by this version of Gradlab", fix="run gradlab build")


def is_student_written(cell: NotebookNode) -> bool:
    """Return whether a student writes this cell: an exercise, or an answer in words."""
    return bool(read_nbgrader_metadata(cell).get("solution"))


def get_answer_name(name: str) -> str:
    """Return the name of the cell with the answer that this graded cell is about; for a question, its own name."""
    exercise = name.removeprefix(make_cell_name(CellKind.CHECK, ""))
    return name if exercise == name else make_cell_name(CellKind.EXERCISE, exercise)


def read_stub(cell: NotebookNode) -> str:
    """Read the text of this exercise or question as it's handed out."""
    return str(cell.metadata[KEY]["stub"])


def read_exercise_name(cell: NotebookNode) -> str:
    """Read the name of the exercise that students write in this cell; empty for any other cell."""
    return str(cell.metadata[KEY]["exercise"]) if read_kind(cell) is CellKind.EXERCISE else ""


def read_written_name(cell: NotebookNode) -> str:
    """Read the name of the exercise or question that students write in this cell; empty for any other cell."""
    kind = read_kind(cell)
    return str(cell.metadata[KEY]["exercise"]) if kind and kind.traits.student_writes else ""


def collect_exercises(cells: Iterable[NotebookNode]) -> dict[str, str]:
    """Collect the exercises that students write, by the name of their cell."""
    return {get_cell_name(cell): exercise for cell in cells if (exercise := read_exercise_name(cell))}


def get_cell_name(cell: NotebookNode) -> str:
    """Return nbgrader's name for a cell of the course, or the cell's own id."""
    return str(read_nbgrader_metadata(cell).get("grade_id", cell.get("id", "")))


def make_cell_name(kind: CellKind, exercise: str) -> str:
    """Make the name, in notebooks and the gradebook, of a cell that belongs to an exercise, question or prediction."""
    return f"{kind}-{exercise}"


def make_stock_name(notebook: str, grade_id: str) -> str:
    """Make the name of a cell of a stock assignment, in which two notebooks may use the same grade_id."""
    return f"{notebook}/{grade_id}"


def split_stock_name(name: str) -> tuple[str, str]:
    """Split a name from make_stock_name() into the notebook and the grade_id."""
    notebook, _, grade_id = name.partition("/")
    return notebook, grade_id


def choose_name(names: Container[str], notebook: str, grade_id: str) -> str:
    """Return the name that the gradebook's cell has among these: a stock assignment's, or nbgrader's own.

    Args:
        names: The names of cells in a result or a mark sheet.
        grade_id: nbgrader's name of the cell.
    """
    name = make_stock_name(notebook, grade_id)
    return name if name in names else grade_id


def is_named(name: str) -> bool:
    """Return whether this is the name of a cell that belongs to an exercise, question or prediction."""
    return name.startswith(tuple(make_cell_name(kind, "") for kind in NAMED))


def split_cell_name(name: str) -> tuple[CellKind, str]:
    """Split a name from make_cell_name() into the kind and the exercise or question."""
    kind, _, exercise = name.partition("-")
    return CellKind(kind), exercise
