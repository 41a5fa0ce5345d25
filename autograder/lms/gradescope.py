"""Gradescope: a list in its export says whose each folder is; it accepts no feedback files."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import yaml

from autograder.base.errors import GradlabError
from autograder.gradebook.class_results import ClassResults, Member
from autograder.lms.grades import Exporter, GradeTableFormat, format_lateness, format_points, format_worth
from autograder.lms.learning_system import LearningSystem
from autograder.lms.people import Submitter
from autograder.lms.zip_entries import SubmissionFiles, ZipEntry, report_ignored

LIST = "submission_metadata.yml"
MAX_LIST = 10_000_000  # bytes
FIX = "export the submissions from Gradescope again"


class PlainLoader(yaml.SafeLoader):  # type: ignore[misc]  # yaml has no types
    """Reads YAML without aliases: with these, a short text can expand until it fills the memory."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()
            raise yaml.composer.ComposerError(None, None, "an alias, which is not followed", event.start_mark)
        return super().compose_node(parent, index)


def read_list(content: bytes) -> dict[str, SubmissionFiles]:
    """Read what the list says about each folder, without files. Raises GradlabError if it can't be read."""
    if len(content) > MAX_LIST:
        raise GradlabError(f"{LIST} can't be read: it's over {MAX_LIST // 1_000_000} MB", fix=FIX)
    try:
        document = yaml.load(content, PlainLoader)
        if not isinstance(document, dict):
            raise ValueError("it lists no submissions")
        return {
            str(name): _parse_entry(str(name), entry) for name, entry in document.items() if isinstance(entry, dict)
        }
    except (
        yaml.YAMLError,
        ValueError,
        TypeError,
        ArithmeticError,
        LookupError,
        AttributeError,
        RecursionError,
    ) as error:
        raise GradlabError(f"{LIST} can't be read: {str(error)[:1000]}", fix=FIX) from None


def _parse_entry(folder: str, entry: dict[object, object]) -> SubmissionFiles:
    submitters, when = entry.get(":submitters"), entry.get(":created_at")
    return SubmissionFiles(
        folder,
        tuple(
            Submitter(_to_text(row.get(":name")), _to_text(row.get(":email")), _to_text(row.get(":sid")))
            for row in (submitters if isinstance(submitters, list) else [])
            if isinstance(row, dict)
        ),
        when if isinstance(when, datetime) else None,
    )


def _to_text(value: object) -> str:
    return str(value) if isinstance(value, str) or (isinstance(value, int) and value) else ""


def _is_metadata_file(entry: ZipEntry) -> bool:
    """Return whether this is the list, at the top of the zip or of a folder; a deeper one may be a student's."""
    return entry.parts[-1:] == (LIST,) and len(entry.parts) <= 2


def _find_list(entries: Sequence[ZipEntry]) -> ZipEntry:
    return min(filter(_is_metadata_file, entries), key=lambda entry: len(entry.parts))


def _find_foreign_files(entries: Sequence[ZipEntry]) -> list[ZipEntry]:
    """Return files outside of the list's folder, which is the zip itself or its only folder."""
    top = _find_list(entries).parts[:-1]
    return [entry for entry in entries if entry.parts[: len(top)] != top]


def _group_files(entries: Sequence[ZipEntry], problems: list[str]) -> list[SubmissionFiles]:
    """Group files only by the list and the folders next to it, since students name what is inside them."""
    listing = _find_list(entries)
    submissions = read_list(listing.read(MAX_LIST))
    ignored: dict[str, list[str]] = {}
    for entry in entries:
        path = entry.parts[len(listing.parts) - 1 :]
        if len(path) > 1 and path[0] in submissions:
            submissions[path[0]].add(path[-1], entry)
        elif entry is not listing:
            ignored.setdefault("".join(path[:1]), []).append(entry.name)
    report_ignored(ignored, problems)
    return list(submissions.values())


def _format_time(lab: ClassResults, member: Member | None) -> str:
    return f"{member.submitted:%Y-%m-%d %H:%M:%S +0000}" if member and member.submitted else ""


GRADES = GradeTableFormat(
    {"First Name": "first_name", "Last Name": "last_name", "SID": "id", "Email": "email"},
    {
        "": format_points,
        " - Max Points": format_worth,
        " - Submission Time": _format_time,
        " - Lateness (H:M:S)": format_lateness,
    },
)
GRADESCOPE = LearningSystem(
    "Gradescope",
    Exporter("gradescope.csv", GRADES.write),
    can_have_named=_is_metadata_file,
    find_foreign_files=_find_foreign_files,
    group_files=_group_files,
    name_pages=None,
)
