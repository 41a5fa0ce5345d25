"""Matching of submitted cells with those of a stock assignment: by name, text, definitions and position.

A student may lose a cell's metadata, copy the cell, or leave it blank and write below it. Text written there is taken
as the answer. If that isn't clear, a person has to read it.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from nbformat import NotebookNode

from autograder.intake.cell_origin import shorten_first_line
from autograder.intake.claims import read_claims
from autograder.intake.repair_notes import RepairLog
from autograder.intake.submitted_cells import find_defined_names
from autograder.stock.content import StockCell, StockNotebook

KEPT = ("grade", "solution", "locked", "task")  # with one of these, nbgrader keeps a cell
UNWRITTEN = "NotImplementedError"  # raised by the stub of a program


@dataclass(eq=False)
class StockSubmittedCell:
    """A submitted cell."""

    cell: NotebookNode
    number: int
    """Its number in the notebook as submitted."""
    identity: str = ""
    """nbgrader's name of the course's cell that it matches."""
    is_given: bool = False
    """Whether it's an unchanged course cell that nbgrader doesn't keep."""
    needs_reader: bool = False
    """Whether a person has to read it."""

    @property
    def text(self) -> str:
        return str(self.cell.source).strip()

    @property
    def is_code(self) -> bool:
        return bool(self.cell.cell_type == "code")

    @functools.cached_property
    def defines(self) -> Set[str]:
        """The names that its text defines. Cached, since a submission may have thousands of cells."""
        return find_defined_names(self.cell.source)

    @property
    def is_students(self) -> bool:
        return not self.identity and not self.is_given

    @property
    def words(self) -> str:
        return f"your cell {self.number}, which begins `{shorten_first_line(self.text)}`"


def match_cells(submitted: NotebookNode, source: StockNotebook, log: RepairLog) -> list[StockSubmittedCell]:
    """Match the submission's cells, in order. Some are moved to where they belong, or taken as an answer.

    Args:
        source: The course's notebook.
        log: Records what was moved and taken.
    """
    pieces = [StockSubmittedCell(cell, number) for number, cell in enumerate(submitted.cells, start=1)]
    course_cells = {cell.id: cell for cell in source.cells}
    _match_names([piece for piece in pieces if not _is_ordinary(piece, source)], course_cells, log)
    _match_texts(pieces, source)
    for piece in pieces:
        piece.is_given = not piece.identity and piece.text in source.unkept_texts
    _match_definitions(pieces, source, log)
    for cell in source.cells:
        if cell.grade and cell.solution:
            _match_answer(pieces, cell, source, log)
    return pieces


def _match_names(pieces: Sequence[StockSubmittedCell], course_cells: dict[str, StockCell], log: RepairLog) -> None:
    """Match by nbgrader's name. Of several copies the last counts; of an answer, the last written one."""
    claims: dict[str, list[StockSubmittedCell]] = {}
    for piece in pieces:
        claims.setdefault(read_claims(piece.cell).grade_id, []).append(piece)
    for name, cell in course_cells.items():
        copies = claims.get(name, [])
        written = [piece for piece in copies if cell.grade and cell.solution and not _is_blank(piece, cell)]
        if copies:
            (written or copies)[-1].identity = name
            log.repeated += [name] * (len(copies) > 1)


def _match_texts(pieces: Sequence[StockSubmittedCell], source: StockNotebook) -> None:
    """Match by text: a cell without its name is the missing course cell with that text, if this is unambiguous."""
    present = {piece.identity for piece in pieces}
    missing: dict[str, list[str]] = {}
    for cell in source.cells:
        if cell.id not in present:
            for text in {cell.source.strip(), cell.released.strip()} - {""}:
                missing.setdefault(text, []).append(cell.id)
    texts = Counter(piece.text for piece in pieces if not piece.identity)
    for piece in pieces:
        names = missing.get(piece.text, [])
        if not piece.identity and names and len(names) == texts[piece.text]:
            piece.identity = names.pop(0)
            texts[piece.text] -= 1


def _match_definitions(pieces: list[StockSubmittedCell], source: StockNotebook, log: RepairLog) -> None:
    """Match by definitions: a program is the student's last cell that defines the same names as the solution.

    If the course's cell is present but unwritten, a cell after its tests replaces it.
    """
    for cell in source.cells:
        if cell.grade or not cell.solution or cell.cell_type != "code" or not cell.defines:
            continue
        names = set(cell.defines)
        others = [p for p in pieces if p.is_students and p.is_code and names <= p.defines]
        place = _find_place(pieces, cell.id)
        if not others:
            continue
        if place is None:
            others[-1].identity = cell.id
            continue
        if UNWRITTEN not in cell.released or not _is_blank(pieces[place], cell):
            continue
        tests = next((n for n in range(place + 1, len(pieces)) if _is_test(pieces[n], source)), len(pieces))
        if all(pieces.index(other) > tests for other in others):
            _replace_piece(pieces, place, others[-1], cell, log)


def _match_answer(pieces: list[StockSubmittedCell], cell: StockCell, source: StockNotebook, log: RepairLog) -> None:
    """Match by position: an answer read by a person is the first text below its cell, if the cell is still blank."""
    place = _find_place(pieces, cell.id)
    if place is not None and not _is_blank(pieces[place], cell):
        return
    below = list(_iter_below(pieces, _find_anchor(pieces, cell.id, source) if place is None else place))
    candidates = [piece for piece in below if piece.is_code == (cell.cell_type == "code")]
    if candidates and place is not None:
        _replace_piece(pieces, place, candidates[0], cell, log)
    elif candidates:
        candidates[0].identity = cell.id
        log.whole.append(f"{_format_sentence(candidates[0])}, was used as your answer to {cell.id}.")
    elif place is not None:
        pieces[place].needs_reader = bool(below or _list_above(pieces, place, source))


def _replace_piece(
    pieces: list[StockSubmittedCell], place: int, other: StockSubmittedCell, cell: StockCell, log: RepairLog
) -> None:
    other.identity = cell.id
    log.whole.append(f"{_format_sentence(other)}, was used as your answer to {cell.id}.")
    pieces.remove(other)
    pieces[place] = other


def _format_sentence(piece: StockSubmittedCell) -> str:
    return piece.words[0].upper() + piece.words[1:]


def _is_blank(piece: StockSubmittedCell, cell: StockCell) -> bool:
    """Return whether the piece is unwritten: as handed out, or empty."""
    return piece.text in ("", cell.released.strip(), cell.source.strip())


def _is_ordinary(piece: StockSubmittedCell, source: StockNotebook) -> bool:
    """Return whether it's a course cell that nbgrader doesn't keep, whatever its name."""
    return piece.text in source.unkept_texts and not any(read_claims(piece.cell).settings.get(flag) for flag in KEPT)


def _is_test(piece: StockSubmittedCell, source: StockNotebook) -> bool:
    return any(cell.id == piece.identity and cell.grade and not cell.solution for cell in source.cells)


def _find_place(pieces: Sequence[StockSubmittedCell], name: str) -> int | None:
    return next((place for place, piece in enumerate(pieces) if piece.identity == name), None)


def _find_anchor(pieces: Sequence[StockSubmittedCell], name: str, source: StockNotebook) -> int:
    """Return the index of the nearest course cell before this one; -1 if there is none."""
    preceding = source.order[: source.order.index(f"id {name}")] if f"id {name}" in source.order else ()
    for key in reversed(preceding):
        kind, _, text = key.partition(" ")
        for place, piece in enumerate(pieces):
            if piece.identity == text if kind == "id" else piece.is_given and piece.text == text:
                return place
    return -1


def _iter_below(pieces: Sequence[StockSubmittedCell], place: int) -> Iterator[StockSubmittedCell]:
    """Yield what the student wrote between this cell and the next course cell."""
    for piece in pieces[place + 1 :]:
        if not piece.is_students:
            return
        if piece.text:
            yield piece


def _list_above(pieces: Sequence[StockSubmittedCell], place: int, source: StockNotebook) -> list[StockSubmittedCell]:
    """List what the student wrote between the preceding course cell and this one, unless that cell is an answer."""
    manual = {cell.id for cell in source.cells if cell.task or (cell.grade and cell.solution)}
    texts: list[StockSubmittedCell] = []
    for piece in reversed(pieces[:place]):
        if not piece.is_students:
            return [] if piece.identity in manual else texts
        if piece.text:
            texts.append(piece)
    return texts
