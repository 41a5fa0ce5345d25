"""Notes on what was repaired in a submission, for the student and the instructor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import nbformat
from nbformat import NotebookNode

from autograder.base.text import join_first
from autograder.model.note_sentences import describe_note
from autograder.model.notes import Note

NOTES_ID = "grader-notes"
MAX_IDS = 30
NOTES_KEY = "gradlab_notes"  # metadata key of that cell, for nbgrader autograde, which passes notebooks on as files


@dataclass
class RepairLog:
    """What was repaired, by the identities of the course's cells."""

    changed: list[str] = field(default_factory=list)
    """Course cells whose text was restored."""
    outdated: list[str] = field(default_factory=list)
    """Cells that the course changed after the student fetched the lab."""
    deleted: list[str] = field(default_factory=list)
    """Course cells that were put back."""
    missing: list[str] = field(default_factory=list)
    """Answers that were put back empty."""
    copies: list[str] = field(default_factory=list)
    """Answers of which copies or untouched versions were left out."""
    repeated: list[str] = field(default_factory=list)
    """Answers of which several versions were run."""
    adopted: list[str] = field(default_factory=list)
    """Answers that were found by the names they define."""
    placed: list[str] = field(default_factory=list)
    """Written answers that were found by their position."""
    split: list[str] = field(default_factory=list)
    """Answers whose parts were joined."""
    merged: list[str] = field(default_factory=list)
    """Cells that were taken out of another cell."""
    kinds: list[str] = field(default_factory=list)
    """Cells whose type was changed back."""
    settings: list[str] = field(default_factory=list)
    """Cells whose points, locks or tags don't count."""
    moved: list[str] = field(default_factory=list)
    """Cells that were put back in order."""
    whole: list[str] = field(default_factory=list)
    """Sentences about the whole notebook."""

    def build_notes(self, get_name: Callable[[str], str] = str, separator: str = ", ") -> list[Note]:
        """Build the notes.

        Args:
            get_name: Returns the name of a cell in the notes, by identity.
            separator: Separates two names.
        """
        sentences = [
            (self.changed, "Changed course cells were restored"),
            (self.outdated, "The course changed these cells after you fetched the lab, and the current version counts"),
            (self.deleted, "Course cells that were missing were put back"),
            (self.missing, "Your cells that were missing were put back, empty"),
            (self.adopted, "Your cells that were missing were found again by the names they define"),
            (self.placed, "Written answers whose cells were missing were found again by their position"),
            (self.split, "Cells that were split were joined again"),
            (self.merged, "Cells that were merged into others were separated again"),
            (self.repeated, "Cells that appeared more than once were all run, so the last version counts"),
            (self.copies, "Copies of cells, and untouched versions next to yours, were left out"),
            (self.kinds, "Cells of another type were changed back to their type in the course"),
            (self.settings, "Changed settings of cells (points, locks, tags) do not count"),
            (self.moved, "Cells that were moved were put back in the course's order"),
        ]
        repairs = [f"{words}: {_format_ids(ids, get_name, separator)}." for ids, words in sentences if ids]
        return [Note(words=message) for message in (*self.whole, *repairs)]


def _format_ids(ids: list[str], get_name: Callable[[str], str], separator: str) -> str:
    return join_first([get_name(each) for each in dict.fromkeys(ids)], MAX_IDS, separator)


def add_notes(notebook: NotebookNode, notes: list[Note]) -> NotebookNode:
    """Insert the notes in a cell at the top of the notebook, where the feedback page shows them."""
    if notes:
        text = "**Notes from the grader**\n\n" + "\n".join(f"- {describe_note(note)}" for note in notes)
        metadata = {NOTES_KEY: [note.model_dump(mode="json", exclude_defaults=True) for note in notes]}
        notebook.cells.insert(0, nbformat.v4.new_markdown_cell(text, id=NOTES_ID, metadata=metadata))
    return notebook


def read_notes(notebook: NotebookNode) -> list[Note]:
    """Read the notes that add_notes wrote into this notebook."""
    cell = next((c for c in notebook.cells if c.get("id") == NOTES_ID), None)
    return [Note.model_validate(note) for note in cell.metadata.get(NOTES_KEY, ())] if cell else []
