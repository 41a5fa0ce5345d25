"""Matching of submitted cells with the course's: by text, by what a cell claims to be, and by the names it defines.

A written answer, which defines no name, is matched with the student's first text at its position.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace

from nbformat import NotebookNode

from autograder.intake.releases import Releases
from autograder.intake.repair_notes import NOTES_ID, RepairLog
from autograder.intake.submitted_cells import (
    SubmittedCell,
    extract_definition,
    find_defined_names,
    is_answer,
    is_prose,
    list_texts,
    make_submitted_cell,
    parse_statements,
)
from autograder.model.metadata import collect_exercises, is_named
from autograder.model.nbgrader_cells import read_nbgrader_metadata

MAX_SPLITS = 30  # joining is trial and error: a notebook of nothing but halves would take minutes


def match_cells(
    submitted: NotebookNode, course_cells: dict[str, NotebookNode], log: RepairLog, releases: Releases
) -> list[SubmittedCell]:
    """Return the submission's cells in order, each with its identity. Of course code only students' additions remain.

    Args:
        course_cells: Identity -> the course's cell.
        releases: What students may have fetched earlier.
    """
    pieces = [
        piece for piece in map(make_submitted_cell, submitted.cells) if NOTES_ID not in (piece.id, piece.grade_id)
    ]
    course_texts = {identity: list_texts(cell) for identity, cell in course_cells.items()}
    pieces = _update_outdated(pieces, course_texts, releases, log)
    exercises = collect_exercises(course_cells.values())
    _identify(pieces, course_cells, course_texts)
    pieces = _join_splits(pieces, exercises, log)
    _note_order_and_settings(pieces, course_cells, log)
    pieces = _remove_course_code(pieces, course_cells, course_texts, set(exercises.values()), log)
    _match_exercises(pieces, exercises, course_texts, log)
    _match_text_answers(pieces, course_cells, log)
    return pieces


def _identify(
    pieces: list[SubmittedCell], course_cells: dict[str, NotebookNode], course_texts: dict[str, list[str]]
) -> None:
    """Match by text if it's the course's, else by nbgrader's id, else by the cell's id if it's unique."""
    by_text: dict[str, list[str]] = {}
    for identity, versions in course_texts.items():
        for text in filter(None, versions):
            by_text.setdefault(text, []).append(identity)
    ids = Counter(piece.id for piece in pieces)
    for piece in pieces:
        by_id = piece.id if ids[piece.id] == 1 or piece.grade_id == piece.id else ""
        claims = [c for c in (piece.grade_id, by_id) if c in course_cells and _can_be(piece, course_cells[c])]
        matches = by_text.get(piece.text.strip(), [])
        candidates = [claim for claim in claims if claim in matches] or matches or claims
        piece.identity = candidates[0] if candidates else ""
        piece.is_students = not piece.identity or is_answer(course_cells[piece.identity])


def _update_outdated(
    pieces: list[SubmittedCell], course_texts: dict[str, list[str]], releases: Releases, log: RepairLog
) -> list[SubmittedCell]:
    """Drop cells of the course's earlier releases. An earlier stub becomes the current stub, still unwritten."""
    current_texts = {text for versions in course_texts.values() for text in versions}
    updated = []
    for piece in pieces:
        text = piece.text.strip()
        name = releases.names_by_text.get(text) if text not in current_texts else None
        if name is None:
            updated.append(piece)
        elif name in course_texts and is_named(name):
            log.outdated.append(name)
            updated.append(replace(piece, text=course_texts[name][-1], grade_id=name))
    return updated


def _can_be(piece: SubmittedCell, cell: NotebookNode) -> bool:
    """Return whether the piece may be this cell. Code in a prose cell is the student's own."""
    return piece.kind != "code" or cell.cell_type == "code" or not is_prose(cell)


def _join_splits(pieces: list[SubmittedCell], exercises: Collection[str], log: RepairLog) -> list[SubmittedCell]:
    """Join neighbors that are only together valid code, or share an identity and define different names."""
    joined: list[SubmittedCell] = []
    for piece in pieces:
        before = joined[-1] if joined else None
        if before is not None and len(log.split) < MAX_SPLITS and _can_join(before, piece, exercises):
            before.identity = before.identity or piece.identity
            before.text = f"{before.text}\n{piece.text}"
            log.split.append(before.identity)
        else:
            joined.append(piece)
    return joined


def _can_join(a: SubmittedCell, b: SubmittedCell, exercises: Collection[str]) -> bool:
    identities = {piece.identity for piece in (a, b) if piece.identity}
    if (
        len(identities) != 1
        or identities.pop() not in exercises
        or not (a.is_students and b.is_students)
        or "markdown" in (a.kind, b.kind)
    ):
        return False
    if parse_statements(f"{a.text}\n{b.text}") is None:
        return False
    if parse_statements(a.text) is None or parse_statements(b.text) is None:
        return True
    return a.identity == b.identity and not a.defines & b.defines


def _note_order_and_settings(
    pieces: list[SubmittedCell], course_cells: dict[str, NotebookNode], log: RepairLog
) -> None:
    places = {identity: place for place, identity in enumerate(course_cells)}
    furthest = -1
    for identity in dict.fromkeys(piece.identity for piece in pieces if piece.identity):
        if places[identity] < furthest:
            log.moved.append(identity)
        furthest = max(furthest, places[identity])
    for piece in pieces:
        if piece.identity:
            flags = read_nbgrader_metadata(course_cells[piece.identity])
            changed = any(flags.get(name, False) != value for name, value in piece.settings.items())
            if piece.tags or changed:
                log.settings.append(piece.identity)


def _remove_course_code(
    pieces: list[SubmittedCell],
    course_cells: dict[str, NotebookNode],
    course_texts: dict[str, list[str]],
    exercises: set[str],
    log: RepairLog,
) -> list[SubmittedCell]:
    """Remove the course's own code, also where it's merged into other cells. What students wrote into it stays.

    A piece without text represents each cell of the course, so it counts as present and keeps its position.

    Args:
        exercises: The names that exercises define.
    """
    present = {piece.identity for piece in pieces}
    missing = {
        i: versions[-1] for i, versions in course_texts.items() if i not in present and _is_removable(course_cells[i])
    }
    remaining: list[SubmittedCell] = []
    for piece in pieces:
        versions = course_texts.get(piece.identity, [])
        if piece.text.strip() in versions:
            remaining.append(piece if piece.is_students else replace(piece, text=""))
            continue
        rest, merged = _remove_parts(piece.text, missing)
        log.merged += merged
        if piece.is_students:
            remaining.append(replace(piece, text=rest))
            continue
        log.changed.append(piece.identity)
        remaining.append(replace(piece, text=""))
        rest, _ = _remove_parts(rest, {piece.identity: versions[-1]})
        if find_defined_names(rest) & exercises:
            remaining.append(replace(piece, text=rest, identity="", is_students=True))
    return remaining


def _is_removable(cell: NotebookNode) -> bool:
    """Return whether this cell's text, if the cell is missing, may be removed from others: course code, and prose."""
    return not is_answer(cell) or (is_prose(cell) and cell.cell_type != "code")


def _remove_parts(text: str, parts: dict[str, str]) -> tuple[str, list[str]]:
    """Remove the parts that the text contains as whole lines. Return the rest, and the names of these parts."""
    removed = []
    for identity, part in parts.items():
        padded = f"\n{text}\n"
        if part and f"\n{part}\n" in padded:
            text = padded.replace(f"\n{part}\n", "\n\n", 1).strip("\n")
            removed.append(identity)
    return text, removed


def _match_exercises(
    pieces: list[SubmittedCell], exercises: Mapping[str, str], course_texts: dict[str, list[str]], log: RepairLog
) -> None:
    """Match each exercise whose cell doesn't define its name with the last cell that does, or with a part of one."""
    for identity, name in exercises.items():
        claimed = [piece for piece in pieces if piece.identity == identity]
        written = [piece for piece in claimed if piece.text.strip() not in course_texts[identity]]
        if any(name in piece.defines or parse_statements(piece.text) is None for piece in written):
            continue
        others = [
            p
            for p in pieces
            if p.is_students
            and p not in claimed
            and name in p.defines
            and p.text.strip() not in course_texts.get(p.identity, [])
        ]
        unclaimed = [p for p in others if exercises.get(p.identity) not in p.defines]
        if unclaimed:
            unclaimed[-1].identity = identity
            log.adopted.append(identity)
        elif others:
            text = extract_definition(others[-1].text, name, set(exercises.values()))
            pieces.append(SubmittedCell(text, "code", identity=identity))
            log.merged.append(identity)
        else:
            continue
        for piece in claimed:
            if piece not in written:
                pieces.remove(piece)


def _match_text_answers(pieces: list[SubmittedCell], course_cells: dict[str, NotebookNode], log: RepairLog) -> None:
    """Match each question without a cell with the first text after the course cell that precedes it."""
    places = {piece.identity: number for number, piece in enumerate(pieces) if piece.identity}
    last = -1
    for identity, cell in course_cells.items():
        if identity not in places and cell.cell_type != "code" and is_answer(cell) and not is_prose(cell):
            following = itertools.takewhile(lambda number: not pieces[number].identity, range(last + 1, len(pieces)))
            texts_there = (n for n in following if pieces[n].kind != "code" and pieces[n].text.strip())
            if (number := next(texts_there, None)) is not None:
                pieces[number].identity, places[identity] = identity, number
                log.placed.append(identity)
        last = places.get(identity, last)
