"""The rubric of a question: items to click, each worth points. rubrics/LAB.json holds them and students' chosen items.

A changed item changes the marks of all students who have it. The marks themselves are in the gradebook.
"""

from __future__ import annotations

import contextlib
import fcntl
import secrets
from collections.abc import Iterator
from pathlib import Path

from pydantic import Field, ValidationError

from autograder.base.atomic_files import write_atomically
from autograder.base.digest import digest
from autograder.base.errors import GradlabError
from autograder.model.strict_model import StrictModel

MAX_ITEMS = 50
MAX_TEXT = 2_000  # characters of an item


class Item(StrictModel):
    """An item of a rubric."""

    id: str = Field(pattern="[0-9a-f]{8}", max_length=8)
    text: str = Field(min_length=1, max_length=MAX_TEXT)
    points: float = Field(ge=-1_000, le=1_000, allow_inf_nan=False)
    """What it adds to the mark; negative if it takes points off."""


class Rubric(StrictModel):
    """The rubric of one question."""

    items: tuple[Item, ...] = ()
    chosen: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """The ids of the chosen items, by student."""

    @property
    def version(self) -> str:
        """A digest of the items, which shows a writer that they changed."""
        return digest(*(item.model_dump_json() for item in self.items))[:16]

    def points(self, student: str, worth: float) -> float | None:
        """Return what a student's chosen items give, between 0 and the worth; None if no item is chosen."""
        chosen = self.chosen.get(student, ())
        if not chosen:
            return None
        return round(min(max(sum(item.points for item in self.items if item.id in chosen), 0.0), worth), 4)


class Rubrics(StrictModel):
    """The rubrics of a lab."""

    questions: dict[str, Rubric] = Field(default_factory=dict)
    """By question, see CellAddress.key."""


def get_rubrics_path(course: Path, lab: str) -> Path:
    return course / "rubrics" / f"{lab}.json"


def read_rubrics(course: Path, lab: str) -> Rubrics:
    """Read the rubrics of a lab. Raises GradlabError if the file is damaged."""
    path = get_rubrics_path(course, lab)
    if not path.exists():
        return Rubrics()
    try:
        return Rubrics.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise GradlabError(f"{path} can't be read: {error}", fix="correct it, or restore it from a backup") from None


@contextlib.contextmanager
def lock_rubrics(course: Path, lab: str) -> Iterator[None]:
    """Keep others from changing this lab's rubrics in the meantime, on a file system that has locks."""
    path = get_rubrics_path(course, lab).with_name(f".{lab}.lock")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def write_rubric(course: Path, lab: str, question: str, rubric: Rubric) -> None:
    """Write the rubric completely or not at all. Call this only within lock_rubrics()."""
    questions = read_rubrics(course, lab).questions | {question: rubric}
    write_atomically(get_rubrics_path(course, lab), Rubrics(questions=questions).model_dump_json(indent=1))


def make_id() -> str:
    return secrets.token_hex(4)


def replace_items(rubric: Rubric, items: tuple[Item, ...]) -> Rubric:
    """Replace the items; removed ones are no longer chosen. Raises GradlabError for a repeated id or too many items."""
    ids = [item.id for item in items]
    if len(ids) > MAX_ITEMS:
        raise GradlabError(f"a rubric has at most {MAX_ITEMS} items, and this one {len(ids)}: remove or join some")
    if len(set(ids)) != len(ids):
        raise GradlabError("two items of this rubric have the same id: load the page again")
    chosen = {student: tuple(i for i in before if i in ids) for student, before in rubric.chosen.items()}
    return rubric.model_copy(update={"items": items, "chosen": {s: c for s, c in chosen.items() if c}})


def replace_choice(rubric: Rubric, student: str, chosen: tuple[str, ...]) -> Rubric:
    """Replace the items chosen for this student, and put them in the rubric's order.

    Args:
        chosen: The ids of the items. Ids that the rubric doesn't have are dropped.
    """
    ordered = tuple(item.id for item in rubric.items if item.id in chosen)
    others = {name: ids for name, ids in rubric.chosen.items() if name != student}
    return rubric.model_copy(update={"chosen": others | ({student: ordered} if ordered else {})})
