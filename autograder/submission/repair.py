"""Rebuilds a submission on the course's own notebook: the student's answers, and everything else from the course.

Cells are matched by their identity (nbgrader's grade_id, or the cell's id). Course code comes back as the course wrote
it, whatever a submission did to it; deleted cells come back; of pasted copies one is kept; cells that the student added
stay after the cell they followed. Every repair is put into words for the student and the instructor.
"""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass, field

import nbformat
from nbformat import NotebookNode
from nbgrader.preprocessors import ClearHiddenTests, ClearSolutions

NOTES_ID = "grader-notes"


@dataclass
class Repaired:
    """The notebook to grade, and what was put right in it."""

    notebook: NotebookNode
    notes: list[str] = field(default_factory=list)


def repair(submitted: NotebookNode, course: NotebookNode) -> Repaired:
    """submitted: as read_submission gives it. course: the lab's source notebook, with its hidden tests."""
    own = {_identity(cell): cell for cell in course.cells}
    found = _Found()
    answers, added = _sort(submitted, own, found)
    _adopt_definitions(own, answers, added, found)
    cells = list(added.get("", []))
    for identity, cell in own.items():
        if not _is_answer(cell):
            cells.append(copy.deepcopy(cell))
            if identity not in found.seen:
                found.deleted.append(identity)
        elif identity in answers:
            cells.append(_with_source(cell, answers[identity]))
        elif not _is_prose(cell):
            cells.append(as_released(cell))
            found.missing.append(identity)
        cells += added.get(identity, [])
    for number, cell in enumerate(c for c in cells if c.id not in own):
        cell.id = f"added-{number}"  # the same in every run
    notebook: NotebookNode = nbformat.v4.new_notebook(cells=cells, metadata=copy.deepcopy(course.metadata))
    notes = found.notes()
    return Repaired(with_notes(notebook, notes), notes)


def blank(course: NotebookNode, reason: str) -> Repaired:
    """The empty notebook, in place of a submission that could not be read."""
    notes = [f"Your file could not be graded, so it counts as empty. {reason}"]
    notebook: NotebookNode = nbformat.v4.new_notebook(
        cells=[as_released(c) if _is_answer(c) else copy.deepcopy(c) for c in course.cells],
        metadata=copy.deepcopy(course.metadata),
    )
    return Repaired(with_notes(notebook, notes), notes)


def with_notes(notebook: NotebookNode, notes: list[str]) -> NotebookNode:
    """The notebook with the notes in a cell at its top, where the feedback page shows them."""
    if notes:
        text = "**Notes from the grader**\n\n" + "\n".join(f"- {note}" for note in notes)
        notebook.cells.insert(0, nbformat.v4.new_markdown_cell(text, id=NOTES_ID))
    return notebook


def notes_of(notebook: NotebookNode) -> list[str]:
    """The notes that with_notes wrote into this notebook."""
    cell = next((c for c in notebook.cells if c.get("id") == NOTES_ID), None)
    return [line[2:] for line in cell.source.splitlines() if line.startswith("- ")] if cell else []


def as_released(cell: NotebookNode) -> NotebookNode:
    """The cell as a student receives it: a stub in place of the solution."""
    if _is_prose(cell):
        return copy.deepcopy(cell)
    stub: NotebookNode
    stub, _ = ClearSolutions().preprocess_cell(copy.deepcopy(cell), {"language": "python"}, 0)
    return stub


@dataclass
class _Found:
    """What had to be put right, by the cells' identities."""

    seen: set[str] = field(default_factory=set)
    deleted: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    repeated: list[str] = field(default_factory=list)
    adopted: list[str] = field(default_factory=list)

    def notes(self) -> list[str]:
        kinds = [
            (self.changed, "Course cells that were changed were put back as they were"),
            (self.deleted, "Course cells that were missing were put back"),
            (self.missing, "Cells of yours that were missing were put back, empty"),
            (self.repeated, "Cells that stood more than once were all run, so the last version counts"),
            (self.adopted, "Cells that were missing were found again by the name that they define"),
        ]
        return [f"{words}: {', '.join(dict.fromkeys(cells))}." for cells, words in kinds if cells]


def _sort(
    submitted: NotebookNode, own: dict[str, NotebookNode], found: _Found
) -> tuple[dict[str, str], dict[str, list[NotebookNode]]]:
    """(identity -> the student's text, identity -> the cells that the student added after it)."""
    by_text = {text: identity for identity, cell in own.items() for text in _versions(cell)}
    versions: dict[str, list[str]] = {}
    added: dict[str, list[NotebookNode]] = {}
    place = ""
    for cell in submitted.cells:
        text = cell.source.strip()
        identity = cell.metadata["identity"]
        if identity not in own:
            identity = by_text.get(text, identity)
        if identity == NOTES_ID:
            continue
        if identity not in own:
            added.setdefault(place, []).append(_plain(cell.cell_type, cell.source))
            continue
        place = identity
        found.seen.add(identity)
        if _is_answer(own[identity]):
            versions.setdefault(identity, []).append(cell.source)
        elif text not in _versions(own[identity]):
            found.changed.append(identity)
    answers = {}
    for identity, texts in versions.items():
        answers[identity], later = _distinct(texts, own[identity])
        added.setdefault(identity, [])[:0] = [_plain(own[identity].cell_type, text) for text in later]
        if later and not _is_prose(own[identity]):
            found.repeated.append(identity)
    return answers, added


def _distinct(texts: list[str], cell: NotebookNode) -> tuple[str, list[str]]:
    """(the first version, the later ones) of a cell, leaving out copies and untouched stubs."""
    stub = as_released(cell).source.strip()
    written = list(dict.fromkeys(text for text in texts if text.strip() != stub))
    return (written[0], written[1:]) if written else (texts[0], [])


def _adopt_definitions(
    own: dict[str, NotebookNode], answers: dict[str, str], added: dict[str, list[NotebookNode]], found: _Found
) -> None:
    """Where an exercise's cell is gone and exactly one added cell defines its name, that cell is the answer."""
    for identity, cell in own.items():
        name = identity.removeprefix("exercise-")
        if identity in answers or not _is_answer(cell) or name == identity:
            continue
        definitions = [(place, c) for place, cells in added.items() for c in cells if name in _defined(c)]
        if len(definitions) == 1:
            place, answer = definitions[0]
            added[place] = [c for c in added[place] if c is not answer]
            answers[identity] = answer.source
            found.adopted.append(identity)


def _defined(cell: NotebookNode) -> set[str]:
    try:
        body = ast.parse(cell.source).body if cell.cell_type == "code" else []
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    return {node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}


def _versions(cell: NotebookNode) -> set[str]:
    """The texts of a course cell that are not a change: as the student received it, and as the instructor has it."""
    if _is_answer(cell):
        return {as_released(cell).source.strip()}
    released, _ = ClearHiddenTests().preprocess_cell(copy.deepcopy(cell), {}, 0)
    return {cell.source.strip(), released.source.strip()}


def _identity(cell: NotebookNode) -> str:
    return str(cell.metadata.get("nbgrader", {}).get("grade_id", cell.get("id", "")))


def _is_answer(cell: NotebookNode) -> bool:
    """Whether the student may change this cell: exercises, questions, scratch cells and prose."""
    return not cell.metadata.get("nbgrader", {}).get("locked", False)


def _is_prose(cell: NotebookNode) -> bool:
    return "nbgrader" not in cell.metadata


def _with_source(cell: NotebookNode, source: str) -> NotebookNode:
    answered = copy.deepcopy(cell)
    answered.source = source
    return answered


def _plain(cell_type: str, source: str) -> NotebookNode:
    make = {
        "code": nbformat.v4.new_code_cell,
        "markdown": nbformat.v4.new_markdown_cell,
        "raw": nbformat.v4.new_raw_cell,
    }
    cell: NotebookNode = make[cell_type](source)
    return cell
