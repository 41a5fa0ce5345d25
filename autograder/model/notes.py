"""What a result says besides points: what was repaired, refused, stopped or is doubtful, as values."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from autograder.model.strict_model import StrictModel


class NoteKind(StrEnum):
    """What a note is about."""

    REPAIR = "repair"
    """The notebook or its folder: what was repaired or left out."""
    REFUSED = "refused"
    """Why a notebook couldn't be graded."""
    STOPPED = "stopped"
    """The limit that a cell ran into, or how it ended its process."""
    TEST = "test"
    """How the tests of a stock assignment's cell were decided."""


class Note(StrictModel):
    """One note."""

    kind: NoteKind = NoteKind.REPAIR
    words: str
    """What happened: whole sentences for a repair or a refusal, else a clause without a full stop."""
    notebook: str = ""
    """The notebook's name, in a stock assignment."""
    cell: str = ""
    """The id of the cell, if the note is about one."""
    shown: str = ""
    """How a student finds that cell."""


def is_refused(notes: Iterable[Note]) -> bool:
    """Return whether one of these notes says that the notebook couldn't be graded."""
    return any(note.kind is NoteKind.REFUSED for note in notes)
