"""Gradescope's list of submissions, which says whose each folder of its export is."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import yaml

from autograder.base.errors import GradlabError
from autograder.lms.zip_forms import GRADESCOPE

MAX_LIST = 10_000_000  # bytes


@dataclass(frozen=True)
class Submitter:
    """What Gradescope knows a student by."""

    id_: str
    email: str
    name: str


@dataclass(frozen=True)
class ListedSubmission:
    """One folder: who handed it in, and when."""

    submitters: tuple[Submitter, ...]
    when: datetime | None


class PlainLoader(yaml.SafeLoader):  # type: ignore[misc]  # yaml has no types
    """YAML in which each value is written out: by aliases a short text means one that fills the memory."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()
            raise yaml.composer.ComposerError(None, None, "an alias, which is not followed", event.start_mark)
        return super().compose_node(parent, index)


def read_list(content: bytes) -> dict[str, ListedSubmission]:
    """Folder -> what the list says of it. Raises GradlabError where it cannot be read."""
    if len(content) > MAX_LIST:
        raise GradlabError(f"{GRADESCOPE} cannot be read: it is over {MAX_LIST // 1_000_000} MB")
    try:
        said = yaml.load(content, PlainLoader)
        if not isinstance(said, dict):
            raise ValueError("it lists no submissions")
        return {str(folder): _parse_entry(entry) for folder, entry in said.items() if isinstance(entry, dict)}
    except (
        yaml.YAMLError,
        ValueError,
        TypeError,
        ArithmeticError,
        LookupError,
        AttributeError,
        RecursionError,
    ) as error:
        raise GradlabError(f"{GRADESCOPE} cannot be read: {str(error)[:1000]}") from None


def _parse_entry(entry: dict[object, object]) -> ListedSubmission:
    submitters, when = entry.get(":submitters"), entry.get(":created_at")
    return ListedSubmission(
        tuple(
            Submitter(*(_to_text(each.get(name)) for name in (":sid", ":email", ":name")))
            for each in (submitters if isinstance(submitters, list) else [])
            if isinstance(each, dict)
        ),
        when if isinstance(when, datetime) else None,
    )


def _to_text(value: object) -> str:
    return str(value) if isinstance(value, str) or (isinstance(value, int) and value) else ""
