"""Matches submitted cells with those of a stock assignment: by name, by text, by what they define, by place.

A student may lose the metadata of a cell, copy it, leave it blank and write below it. What is written there is taken as
the answer. If that isn't clear, a person has to read it.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from nbformat import NotebookNode

from autograder.intake.cell_origin import shorten_first_line
from autograder.intake.notes import RepairLog
from autograder.intake.submitted_cells import find_defined_names
from autograder.stock.assignment import StockCell, StockNotebook

KEPT = ("grade", "solution", "locked", "task")  # with one of these, nbgrader keeps a cell
UNWRITTEN = "NotImplementedError"  # what the stub of a program raises


@dataclass(eq=False)
class Piece:
    """A submitted cell."""

    cell: NotebookNode
    number: int
    """Its place in the notebook as it was handed in."""
    identity: str = ""
    """nbgrader's name of the course's cell that it is."""
    given: bool = False
    """Whether it is an unchanged cell of the course that nbgrader doesn't keep."""
    waits: bool = False
    """Whether a person has to read it."""

    @property
    def text(self) -> str:
        return str(self.cell.source).strip()

    @property
    def is_code(self) -> bool:
        return bool(self.cell.cell_type == "code")

    @functools.cached_property
    def defines(self) -> Set[str]:
        """The names that its text defines, cached since a submission may have thousands of cells."""
        return find_defined_names(self.cell.source)

    @property
    def is_own(self) -> bool:
        return not self.identity and not self.given

    @property
    def words(self) -> str:
        return f"your cell {self.number}, which begins `{shorten_first_line(self.text)}`"


def match(submitted: NotebookNode, course: StockNotebook, found: RepairLog) -> list[Piece]:
    """The submission's cells in order, some of them moved to where they belong, or taken as an answer."""
    pieces = [Piece(cell, number) for number, cell in enumerate(submitted.cells, start=1)]
    kept = {cell.id: cell for cell in course.cells}
    _find_names([piece for piece in pieces if not _is_ordinary(piece, course)], kept, found)
    _find_texts(pieces, course)
    for piece in pieces:
        piece.given = not piece.identity and piece.text in course.texts
    _find_definitions(pieces, course, found)
    for own in course.cells:
        if own.grade and own.solution:
            _find_answer(pieces, own, course, found)
    return pieces


def _find_names(pieces: Sequence[Piece], kept: dict[str, StockCell], found: RepairLog) -> None:
    """Match by nbgrader's name. If a cell occurs more than once, the last counts; of an answer, the last written."""
    claims: dict[str, list[Piece]] = {}
    for piece in pieces:
        claims.setdefault(str(piece.cell.metadata["claims"]["grade_id"]), []).append(piece)
    for name, own in kept.items():
        copies = claims.get(name, [])
        written = [piece for piece in copies if own.grade and own.solution and not _is_blank(piece, own)]
        if copies:
            (written or copies)[-1].identity = name
            found.repeated += [name] * (len(copies) > 1)


def _find_texts(pieces: Sequence[Piece], course: StockNotebook) -> None:
    """Match by text: a cell that lost its name is the course's only cell with this text."""
    there = {piece.identity for piece in pieces}
    missing: dict[str, list[str]] = {}
    for own in course.cells:
        if own.id not in there:
            for text in {own.source.strip(), own.released.strip()} - {""}:
                missing.setdefault(text, []).append(own.id)
    texts = Counter(piece.text for piece in pieces if not piece.identity)
    for piece in pieces:
        names = missing.get(piece.text, [])
        if not piece.identity and names and len(names) == texts[piece.text]:
            piece.identity = names.pop(0)
            texts[piece.text] -= 1


def _find_definitions(pieces: list[Piece], course: StockNotebook, found: RepairLog) -> None:
    """Match by definitions: a program is the student's last cell that defines what the course's solution defines.

    If the course's cell is there, as it was handed out, a cell after its tests takes its place.
    """
    for own in course.cells:
        if own.grade or not own.solution or own.cell_type != "code" or not own.defines:
            continue
        names = set(own.defines)
        others = [p for p in pieces if p.is_own and p.is_code and names <= p.defines]
        place = _find_place(pieces, own.id)
        if not others:
            continue
        if place is None:
            others[-1].identity = own.id
            continue
        if UNWRITTEN not in own.released or not _is_blank(pieces[place], own):
            continue
        tests = next((n for n in range(place + 1, len(pieces)) if _is_test(pieces[n], course)), len(pieces))
        if all(pieces.index(other) > tests for other in others):
            _take(pieces, place, others[-1], own, found)


def _find_answer(pieces: list[Piece], own: StockCell, course: StockNotebook, found: RepairLog) -> None:
    """Match by place: an answer for a person is the first thing written below its cell, if that is still blank."""
    place = _find_place(pieces, own.id)
    if place is not None and not _is_blank(pieces[place], own):
        return
    below = list(_iter_below(pieces, _find_anchor(pieces, own.id, course) if place is None else place))
    same = [piece for piece in below if piece.is_code == (own.cell_type == "code")]
    if same and place is not None:
        _take(pieces, place, same[0], own, found)
    elif same:
        same[0].identity = own.id
        found.whole.append(f"{_format_sentence(same[0])}, was taken for your answer to {own.id}.")
    elif place is not None:
        pieces[place].waits = bool(below or _list_above(pieces, place, course))


def _take(pieces: list[Piece], place: int, other: Piece, own: StockCell, found: RepairLog) -> None:
    other.identity = own.id
    found.whole.append(f"{_format_sentence(other)}, was taken for your answer to {own.id}.")
    pieces.remove(other)
    pieces[place] = other


def _format_sentence(piece: Piece) -> str:
    return piece.words[0].upper() + piece.words[1:]


def _is_blank(piece: Piece, own: StockCell) -> bool:
    """Whether it is as it was handed out, or empty."""
    return piece.text in ("", own.released.strip(), own.source.strip())


def _is_ordinary(piece: Piece, course: StockNotebook) -> bool:
    """Whether it is a cell of the course that nbgrader doesn't keep, whatever its name."""
    return piece.text in course.texts and not any(piece.cell.metadata["claims"]["settings"].get(flag) for flag in KEPT)


def _is_test(piece: Piece, course: StockNotebook) -> bool:
    return any(own.id == piece.identity and own.grade and not own.solution for own in course.cells)


def _find_place(pieces: Sequence[Piece], name: str) -> int | None:
    return next((place for place, piece in enumerate(pieces) if piece.identity == name), None)


def _find_anchor(pieces: Sequence[Piece], name: str, course: StockNotebook) -> int:
    """The place of the course's nearest cell before this one; -1 if there is none."""
    before = course.order[: course.order.index(f"id {name}")] if f"id {name}" in course.order else ()
    for key in reversed(before):
        kind, _, text = key.partition(" ")
        for place, piece in enumerate(pieces):
            if piece.identity == text if kind == "id" else piece.given and piece.text == text:
                return place
    return -1


def _iter_below(pieces: Sequence[Piece], place: int) -> Iterator[Piece]:
    """What the student wrote between this cell and the course's next."""
    for piece in pieces[place + 1 :]:
        if not piece.is_own:
            return
        if piece.text:
            yield piece


def _list_above(pieces: Sequence[Piece], place: int, course: StockNotebook) -> list[Piece]:
    """What the student wrote between the course's cell before and this one, unless that belongs to an answer there."""
    by_hand = {own.id for own in course.cells if own.task or (own.grade and own.solution)}
    found: list[Piece] = []
    for piece in reversed(pieces[:place]):
        if not piece.is_own:
            return [] if piece.identity in by_hand else found
        if piece.text:
            found.append(piece)
    return found
