"""The ways in which a submission arrives damaged: a function for each, or a lambda for a single expression.

Its decorator says what is broken and why. `note` is a text that must be in the notes (default: no notes), and `intact`
lists the exercises that keep their full marks (default: all). cells.py has edits of cells, fields.py the other parts of
a notebook, files.py the contents of the file, folders.py the contents of the folder.
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


def write_case(sentence: str, *, note: str = "", intact: Collection[str] = EXERCISES) -> Callable[[Damage], Case]:
    """The function writes the contents of submitted/STUDENT/LAB."""
    return lambda damage: Case(sentence, note, frozenset(intact), damage)


def edit_case(sentence: str, *, note: str = "", intact: Collection[str] = EXERCISES) -> Callable[[Edit], Case]:
    """The function edits the sound notebook before it is written."""

    def of(edit: Edit) -> Case:
        def damage(folder: Path, notebook: Notebook) -> None:
            edit(notebook)
            write(folder, notebook)

        return Case(sentence, note, frozenset(intact), damage)

    return of
