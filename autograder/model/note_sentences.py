"""Turns notes about a result into sentences for people. No code parses these sentences."""

from __future__ import annotations

from collections.abc import Iterable

from autograder.model.notes import Note, NoteKind


def describe_note(note: Note, name_notebook: bool = False) -> str:
    """Describe a note in one line.

    Args:
        name_notebook: Whether to say which notebook the note is about.
    """
    prefix = f"{note.notebook}: " if name_notebook and note.notebook else ""
    match note.kind:
        case NoteKind.REFUSED:
            return f"{prefix}Your file could not be graded, so it counts as empty. {note.words}"
        case NoteKind.STOPPED:
            return f"{prefix}{note.shown or note.cell}: {note.words}. The cells after it ran without it."
        case NoteKind.TEST:
            return f"{prefix}{note.shown or note.cell}: {note.words}."
    return f"{prefix}{note.words}"


def describe_notes(notes: Iterable[Note], notebooks: int = 1) -> list[str]:
    """Describe the notes of a submission with this many notebooks, a line each."""
    return [describe_note(note, name_notebook=notebooks > 1) for note in notes]
