"""The ways in which a submission arrives damaged, a function for each, of one expression a lambda.

Its decorator says what is broken and why; `note`, a text that must be in the notes (where it is left out: no notes);
and `kept`, the exercises that keep their full marks (where it is left out: all). cells.py has what is done to cells in
an editor, fields.py what else a notebook says, files.py what a file holds, folders.py what lies in its place.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from tests.hostile.edits import EXERCISES, Notebook, write

Damage = Callable[[Path, Notebook], None]
Edit = Callable[[Notebook], None]


@dataclass(frozen=True)
class Case:
    sentence: str
    note: str
    intact: frozenset[str]
    damage: Damage


def written(sentence: str, *, note: str = "", intact: Collection[str] = EXERCISES) -> Callable[[Damage], Case]:
    """The function writes what stands in submitted/STUDENT/LAB."""
    return lambda damage: Case(sentence, note, frozenset(intact), damage)


def edited(sentence: str, *, note: str = "", intact: Collection[str] = EXERCISES) -> Callable[[Edit], Case]:
    """The function edits the sound notebook, which is then written."""

    def of(edit: Edit) -> Case:
        def damage(folder: Path, notebook: Notebook) -> None:
            edit(notebook)
            write(folder, notebook)

        return Case(sentence, note, frozenset(intact), damage)

    return of
