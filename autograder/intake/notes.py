"""What was put right in a submission, for the student and the instructor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import nbformat
from nbformat import NotebookNode

from autograder.model.messages import describe_note
from autograder.model.notes import Note

NOTES_ID = "grader-notes"
MAX_IDS = 30
NOTES_KEY = "gradlab_notes"  # in that cell's metadata, for nbgrader autograde, which passes notebooks on as files


@dataclass
class RepairLog:
    """What had to be put right, by the identities of the course's cells."""

    changed: list[str] = field(default_factory=list)
    outdated: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    copies: list[str] = field(default_factory=list)
    repeated: list[str] = field(default_factory=list)
    adopted: list[str] = field(default_factory=list)
    placed: list[str] = field(default_factory=list)
    split: list[str] = field(default_factory=list)
    merged: list[str] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    settings: list[str] = field(default_factory=list)
    moved: list[str] = field(default_factory=list)
    whole: list[str] = field(default_factory=list)  # about the notebook, in whole sentences

    def notes(self, named: Callable[[str], str] = str, between: str = ", ") -> list[Note]:
        """What was put right. named: what a cell is called there. between: two of these names."""
        listed = [
            (self.changed, "Course cells that were changed were put back as they were"),
            (self.outdated, "The course changed these cells after you fetched the lab, and they count as they are now"),
            (self.deleted, "Course cells that were missing were put back"),
            (self.missing, "Cells of yours that were missing were put back, empty"),
            (self.adopted, "Cells of yours that were missing were found again by the name that they define"),
            (self.placed, "Answers in words whose cells were missing were found again by their place"),
            (self.split, "Cells that were split were joined again"),
            (self.merged, "Cells that were merged into others were taken out of them"),
            (self.repeated, "Cells that stood more than once were all run, so the last version counts"),
            (self.copies, "Copies of cells, and untouched versions beside yours, were left out"),
            (self.kinds, "Cells of another type were made what they are in the course"),
            (self.settings, "Changed settings of cells (points, locks, tags) do not count"),
            (self.moved, "Cells that stood elsewhere were put in the course's order"),
        ]
        put_right = [f"{words}: {_format_ids(ids, named, between)}." for ids, words in listed if ids]
        return [Note(words=words) for words in (*self.whole, *put_right)]


def _format_ids(ids: list[str], named: Callable[[str], str], between: str) -> str:
    different = list(dict.fromkeys(ids))
    listed = between.join(named(each) for each in different[:MAX_IDS])
    return listed + (" and more" if len(different) > MAX_IDS else "")


def add_notes(notebook: NotebookNode, notes: list[Note]) -> NotebookNode:
    """The notebook with the notes in a cell at its top, where the feedback page shows them."""
    if notes:
        text = "**Notes from the grader**\n\n" + "\n".join(f"- {describe_note(note)}" for note in notes)
        metadata = {NOTES_KEY: [note.model_dump(mode="json", exclude_defaults=True) for note in notes]}
        notebook.cells.insert(0, nbformat.v4.new_markdown_cell(text, id=NOTES_ID, metadata=metadata))
    return notebook


def read_notes(notebook: NotebookNode) -> list[Note]:
    """The notes that add_notes wrote into this notebook."""
    cell = next((c for c in notebook.cells if c.get("id") == NOTES_ID), None)
    return [Note.model_validate(note) for note in cell.metadata.get(NOTES_KEY, ())] if cell else []
