"""The sentences that people read about a result. Nothing reads them back."""

from __future__ import annotations

from collections.abc import Iterable

from autograder.model.notes import Note, NoteKind


def describe_note(note: Note, name_notebook: bool = False) -> str:
    """A note as one line.

    Args:
        note: What to say.
        name_notebook: Whether to say which notebook it is about.
    """
    about = f"{note.notebook}: " if name_notebook and note.notebook else ""
    match note.kind:
        case NoteKind.REFUSED:
            return f"{about}Your file could not be graded, so it counts as empty. {note.words}"
        case NoteKind.STOPPED:
            return f"{about}{note.shown or note.cell}: {note.words}. The cells after it ran without it."
        case NoteKind.TEST:
            return f"{about}{note.shown or note.cell}: {note.words}."
    return f"{about}{note.words}"


def describe_notes(notes: Iterable[Note], notebooks: int = 1) -> list[str]:
    """The notes of a submission with this many notebooks, a line each."""
    return [describe_note(note, name_notebook=notebooks > 1) for note in notes]
