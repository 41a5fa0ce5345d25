"""What Gradlab knows about a learning management system: one object in its own file, found by its entry point."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from autograder.base.entry_points import list_names, load_entry_point
from autograder.lms.grades import Exporter
from autograder.lms.zip_entries import SubmissionFiles, ZipEntry

GROUP = "gradlab.lms"
EXPORTERS = "gradlab.exporters"  # forms of grades that belong to no LMS


def put_in_folder(origin: str, pages: Sequence[Path]) -> list[str]:
    """Name each page in a folder that has the submission's name."""
    return [f"{origin}/{page.name}" for page in pages]


@dataclass(frozen=True, eq=False)
class LearningSystem:
    """Everything that the commands know about an LMS. Only the title and the grades are required."""

    title: str
    """Its name as people write it."""
    grades: Exporter
    """Writes grades in the form that it imports."""
    roster: Mapping[str, str] = field(default_factory=dict)
    """The heading of each field of Person in its export, in lower case; used if a file has all of these headings."""
    other_rows: tuple[str, ...] = ()
    """The first cells of rows in its export that aren't about a student."""
    can_have_named: Callable[[ZipEntry], bool] | None = None
    """Returns whether it may have named this file of a zip; None if it makes no zip of submissions."""
    find_foreign_files: Callable[[Sequence[ZipEntry]], Sequence[ZipEntry]] = lambda entries: ()
    """Returns the files of a zip that it can't have made. The zip is refused if there are any."""
    group_files: Callable[[Sequence[ZipEntry], list[str]], Iterable[SubmissionFiles]] = lambda entries, problems: ()
    """Groups the files of a zip by submission, and appends a line to the list for what is left out."""
    is_origin: Callable[[str], object] | None = None
    """Returns whether it may have given a submission this name.

    None: students' ids name the pages of a feedback zip.
    """
    name_pages: Callable[[str, Sequence[Path]], Sequence[str]] | None = put_in_folder
    """Returns the names in a feedback zip of a submission's pages, by its name; None if it accepts no such zip."""


def load_system(name: str) -> LearningSystem:
    """Load the LMS of this name. Raises GradlabError if no installed package provides it."""
    return load_entry_point(GROUP, name, LearningSystem)


def load_systems() -> list[LearningSystem]:
    """Load every LMS that an installed package provides."""
    return [load_system(name) for name in list_names(GROUP)]


def load_exporter(name: str) -> Exporter:
    """Load the exporter of this name, or that of the LMS. Raises GradlabError if there is neither."""
    if name in list_names(EXPORTERS):
        return load_entry_point(EXPORTERS, name, Exporter)
    return load_entry_point(GROUP, name, LearningSystem, list_names(GROUP, EXPORTERS)).grades
