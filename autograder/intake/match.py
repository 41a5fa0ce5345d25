"""Which cell of the course each submitted cell is: by its text, by what it claims to be, by the name it defines.

An answer in words, which has no name, is the first text of the student's at its place.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace

from nbformat import NotebookNode

from autograder.intake.notes import NOTES_ID, RepairLog
from autograder.intake.releases import Releases
from autograder.intake.submitted_cells import (
    SubmittedCell,
    extract_definition,
    find_defined_names,
    is_answer,
    is_prose,
    list_texts,
    make_piece,
    parse_statements,
)
from autograder.model.metadata import collect_exercises, is_named

MAX_SPLITS = 30  # joining is trying: a notebook of nothing but halves would take minutes


def match(
    submitted: NotebookNode, own: dict[str, NotebookNode], found: RepairLog, releases: Releases
) -> list[SubmittedCell]:
    """The submission's cells in their order, each with its identity; of course code only what the student put into it.

    own: identity -> the course's cell. releases: what students may have fetched before.
    """
    pieces = [piece for piece in map(make_piece, submitted.cells) if NOTES_ID not in (piece.id, piece.grade_id)]
    known = {identity: list_texts(cell) for identity, cell in own.items()}
    pieces = _update_outdated(pieces, known, releases, found)
    exercises = collect_exercises(own.values())
    _identify(pieces, own, known)
    pieces = _join_splits(pieces, exercises, found)
    _note_order_and_settings(pieces, own, found)
    pieces = _remove_course_code(pieces, own, known, set(exercises.values()), found)
    _find_exercises(pieces, exercises, known, found)
    _find_text_answers(pieces, own, found)
    return pieces


def _identify(pieces: list[SubmittedCell], own: dict[str, NotebookNode], known: dict[str, list[str]]) -> None:
    """Match by text if that is the course's, else by nbgrader's id, else by the cell's id if no other cell has it."""
    by_text: dict[str, list[str]] = {}
    for identity, versions in known.items():
        for text in filter(None, versions):
            by_text.setdefault(text, []).append(identity)
    ids = Counter(piece.id for piece in pieces)
    for piece in pieces:
        by_id = piece.id if ids[piece.id] == 1 or piece.grade_id == piece.id else ""
        claims = [c for c in (piece.grade_id, by_id) if c in own and _can_be(piece, own[c])]
        same = by_text.get(piece.text.strip(), [])
        fitting = [claim for claim in claims if claim in same] or same or claims
        piece.identity = fitting[0] if fitting else ""
        piece.own = not piece.identity or is_answer(own[piece.identity])


def _update_outdated(
    pieces: list[SubmittedCell], known: dict[str, list[str]], releases: Releases, found: RepairLog
) -> list[SubmittedCell]:
    """Without cells that are the course's of an earlier release; a stub becomes the stub of now, still unwritten."""
    now = {text for versions in known.values() for text in versions}
    followed = []
    for piece in pieces:
        text = piece.text.strip()
        name = releases.named.get(text) if text not in now else None
        if name is None:
            followed.append(piece)
        elif name in known and is_named(name):
            found.outdated.append(name)
            followed.append(replace(piece, text=known[name][-1], grade_id=name))
    return followed


def _can_be(piece: SubmittedCell, cell: NotebookNode) -> bool:
    """Treat code in a cell of prose as the student's own."""
    return piece.kind != "code" or cell.cell_type == "code" or not is_prose(cell)


def _join_splits(pieces: list[SubmittedCell], exercises: Collection[str], found: RepairLog) -> list[SubmittedCell]:
    """Join neighbours that are whole only together, or that share an identity and define different names."""
    joined: list[SubmittedCell] = []
    for piece in pieces:
        before = joined[-1] if joined else None
        if before is not None and len(found.split) < MAX_SPLITS and _can_join(before, piece, exercises):
            before.identity = before.identity or piece.identity
            before.text = f"{before.text}\n{piece.text}"
            found.split.append(before.identity)
        else:
            joined.append(piece)
    return joined


def _can_join(a: SubmittedCell, b: SubmittedCell, exercises: Collection[str]) -> bool:
    identities = {piece.identity for piece in (a, b) if piece.identity}
    if (
        len(identities) != 1
        or identities.pop() not in exercises
        or not (a.own and b.own)
        or "markdown" in (a.kind, b.kind)
    ):
        return False
    if parse_statements(f"{a.text}\n{b.text}") is None:
        return False
    if parse_statements(a.text) is None or parse_statements(b.text) is None:
        return True
    return a.identity == b.identity and not a.defines & b.defines


def _note_order_and_settings(pieces: list[SubmittedCell], own: dict[str, NotebookNode], found: RepairLog) -> None:
    places = {identity: place for place, identity in enumerate(own)}
    furthest = -1
    for identity in dict.fromkeys(piece.identity for piece in pieces if piece.identity):
        if places[identity] < furthest:
            found.moved.append(identity)
        furthest = max(furthest, places[identity])
    for piece in pieces:
        if piece.identity:
            flags = own[piece.identity].metadata.get("nbgrader", {})
            changed = any(flags.get(name, False) != value for name, value in piece.settings.items())
            if piece.tags or changed:
                found.settings.append(piece.identity)


def _remove_course_code(
    pieces: list[SubmittedCell],
    own: dict[str, NotebookNode],
    known: dict[str, list[str]],
    exercises: set[str],
    found: RepairLog,
) -> list[SubmittedCell]:
    """Take the course's own code out, alone or merged into other cells; what a student wrote into it stays.

    exercises: the names that they define. A piece without text stands for each cell of the course, so that it counts
    as there and has its place.
    """
    present = {piece.identity for piece in pieces}
    gone = {i: versions[-1] for i, versions in known.items() if i not in present and _is_removable(own[i])}
    kept: list[SubmittedCell] = []
    for piece in pieces:
        versions = known.get(piece.identity, [])
        if piece.text.strip() in versions:
            kept.append(piece if piece.own else replace(piece, text=""))
            continue
        rest, inside = _remove_parts(piece.text, gone)
        found.merged += inside
        if piece.own:
            kept.append(replace(piece, text=rest))
            continue
        found.changed.append(piece.identity)
        kept.append(replace(piece, text=""))
        rest, _ = _remove_parts(rest, {piece.identity: versions[-1]})
        if find_defined_names(rest) & exercises:
            kept.append(replace(piece, text=rest, identity="", own=True))
    return kept


def _is_removable(cell: NotebookNode) -> bool:
    """Whether the text of this cell, if it is missing, can be taken out of others: course code, and prose."""
    return not is_answer(cell) or (is_prose(cell) and cell.cell_type != "code")


def _remove_parts(text: str, parts: dict[str, str]) -> tuple[str, list[str]]:
    """(the text without the parts that are in it, in whole lines; which these are)."""
    inside = []
    for identity, part in parts.items():
        around = f"\n{text}\n"
        if part and f"\n{part}\n" in around:
            text = around.replace(f"\n{part}\n", "\n\n", 1).strip("\n")
            inside.append(identity)
    return text, inside


def _find_exercises(
    pieces: list[SubmittedCell], exercises: Mapping[str, str], known: dict[str, list[str]], found: RepairLog
) -> None:
    """Give each exercise without a cell that defines its name the last cell that does, or its part of one."""
    for identity, name in exercises.items():
        mine = [piece for piece in pieces if piece.identity == identity]
        written = [piece for piece in mine if piece.text.strip() not in known[identity]]
        if any(name in piece.defines or parse_statements(piece.text) is None for piece in written):
            continue
        others = [
            p
            for p in pieces
            if p.own and p not in mine and name in p.defines and p.text.strip() not in known.get(p.identity, [])
        ]
        whole = [p for p in others if exercises.get(p.identity) not in p.defines]
        if whole:
            whole[-1].identity = identity
            found.adopted.append(identity)
        elif others:
            text = extract_definition(others[-1].text, name, set(exercises.values()))
            pieces.append(SubmittedCell(text, "code", identity=identity))
            found.merged.append(identity)
        else:
            continue
        for piece in mine:
            if piece not in written:
                pieces.remove(piece)


def _find_text_answers(pieces: list[SubmittedCell], own: dict[str, NotebookNode], found: RepairLog) -> None:
    """Give each question without a cell the first text after what precedes it in the course."""
    places = {piece.identity: number for number, piece in enumerate(pieces) if piece.identity}
    last = -1
    for identity, cell in own.items():
        if identity not in places and cell.cell_type != "code" and is_answer(cell) and not is_prose(cell):
            following = itertools.takewhile(lambda number: not pieces[number].identity, range(last + 1, len(pieces)))
            texts_there = (n for n in following if pieces[n].kind != "code" and pieces[n].text.strip())
            if (number := next(texts_there, None)) is not None:
                pieces[number].identity, places[identity] = identity, number
                found.placed.append(identity)
        last = places.get(identity, last)
