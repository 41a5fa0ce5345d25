"""Submitted cells while they're matched with the course's: text, claims, and the names they define."""

from __future__ import annotations

import ast
import functools
import uuid
from dataclasses import dataclass, field
from typing import Any

from nbformat import NotebookNode
from nbgrader.preprocessors import ClearHiddenTests

from autograder.intake.claims import read_claims
from autograder.model.metadata import read_kind, read_stub

MAX_PARSED = 50_000  # characters of a cell; the parser needs about a hundred times that in bytes


@dataclass(eq=False)
class SubmittedCell:
    """A cell of a submission."""

    text: str
    kind: str
    grade_id: str = ""
    id: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    tags: bool = False
    pictures: dict[str, Any] = field(default_factory=dict)
    identity: str = ""
    """The name of the course's cell that it matches; empty if the student added it."""
    is_students: bool = True
    """Whether it's the student's work: an answer, or a cell that the student added."""

    _defines: tuple[str, set[str]] | None = None

    @property
    def defines(self) -> set[str]:
        """The names that its text defines at the top level."""
        if self._defines is None or self._defines[0] is not self.text:
            self._defines = self.text, find_defined_names(self.text)
        return self._defines[1]


def make_submitted_cell(cell: NotebookNode) -> SubmittedCell:
    """Make a SubmittedCell of a cell that read_notebook() returned."""
    claims = read_claims(cell)
    return SubmittedCell(
        cell.source,
        cell.cell_type,
        claims.grade_id,
        claims.id,
        claims.settings,
        claims.has_tags,
        cell.get("attachments", {}),
    )


def parse_statements(text: str) -> list[ast.stmt] | None:
    """Parse the top-level statements; None if the text isn't valid Python."""
    try:
        return ast.parse(text).body if len(text) <= MAX_PARSED else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def find_defined_names(text: str) -> set[str]:
    return {name for statement in parse_statements(text) or [] for name in _get_defined_names(statement)}


def _get_defined_names(statement: ast.stmt) -> set[str]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return {target.id for target in targets if isinstance(target, ast.Name)}


def extract_definition(text: str, name: str, names: set[str]) -> str:
    """Return the part of a text that answers one exercise, for a student who wrote several into one cell.

    It starts after the preceding definition of another exercise and ends with the last definition of `name`.

    Args:
        names: The names of all exercises.
    """
    start, end = 0, 0
    for statement in parse_statements(text) or []:
        if name in _get_defined_names(statement):
            end = statement.end_lineno or 0
        elif _get_defined_names(statement) & names:
            start = start if end else statement.end_lineno or 0
    return "\n".join(text.split("\n")[start:end]).strip("\n")


def is_answer(cell: NotebookNode) -> bool:
    """Return whether students may change this course cell: an exercise, a question, a scratch cell or prose."""
    kind = read_kind(cell)
    return kind is None or not kind.traits.locked


def is_prose(cell: NotebookNode) -> bool:
    """Return whether the cell is text or code that isn't graded and may be missing."""
    kind = read_kind(cell)
    return kind is not None and not (kind.traits.locked or kind.traits.student_writes)


def build_released_cell(cell: NotebookNode) -> NotebookNode:
    """Return the cell as students receive it, with a stub instead of the solution."""
    stub: NotebookNode = copy_json(cell)
    stub.source = get_released_source(cell)
    return stub


def get_released_source(cell: NotebookNode) -> str:
    kind = read_kind(cell)
    return read_stub(cell) if kind and kind.traits.student_writes else str(cell.source)


def create_cell(kind: str, text: str) -> NotebookNode:
    """Create a cell as nbformat does, with a new id, but without validating it."""
    cell = NotebookNode(id=uuid.uuid4().hex[:8], cell_type=kind, source=text, metadata=NotebookNode())
    if kind == "code":
        cell.update(execution_count=None, outputs=[])
    return cell


def create_notebook(cells: list[NotebookNode], metadata: NotebookNode) -> NotebookNode:
    return NotebookNode(nbformat=4, nbformat_minor=5, metadata=metadata, cells=cells)


def copy_json(value: Any) -> Any:
    """Copy a cell, or a part of one, ten times faster than copy.deepcopy(): JSON has no cycles."""
    if isinstance(value, dict):
        node = NotebookNode()
        dict.update(node, {name: copy_json(each) for name, each in value.items()})
        return node
    return [copy_json(each) for each in value] if isinstance(value, list) else value


@functools.lru_cache(maxsize=1024)
def _strip_hidden_tests(source: str) -> str:
    cell = NotebookNode(cell_type="code", source=source, metadata=NotebookNode(nbgrader=NotebookNode(grade=True)))
    return str(ClearHiddenTests().preprocess_cell(cell, {}, 0)[0].source)


def list_texts(cell: NotebookNode) -> list[str]:
    """List the texts of a course cell that count as unchanged: as released, and as the instructor has it."""
    if is_answer(cell):
        return [get_released_source(cell).strip()]
    return list(dict.fromkeys([cell.source.strip(), _strip_hidden_tests(cell.source).strip()]))
