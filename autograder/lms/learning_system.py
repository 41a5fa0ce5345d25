"""What a learning management system is to Gradlab: one object in its own file, found by its entry point."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from autograder.base.entry_points import list_names, load
from autograder.lms.grades import Exporter
from autograder.lms.zip_entries import Pile, ZipEntry

GROUP = "gradlab.lms"
EXPORTERS = "gradlab.exporters"  # forms of grades that belong to no LMS


def put_in_folder(origin: str, pages: Sequence[Path]) -> list[str]:
    """Name each page in a folder that has the submission's name."""
    return [f"{origin}/{page.name}" for page in pages]


@dataclass(frozen=True, eq=False)
class LearningSystem:
    """Everything that the commands know of an LMS. Only the title and the grades are required."""

    title: str
    """Its name as people write it."""
    grades: Exporter
    """Writes grades as it imports them."""
    roster: Mapping[str, str] = field(default_factory=dict)
    """The heading of each field of Person in its export, in lower case; used if a file has all of these headings."""
    nobody: tuple[str, ...] = ()
    """How rows of its export begin that aren't about a student."""
    is_own: Callable[[ZipEntry], bool] | None = None
    """Whether it may have named this file of a zip; None if it makes no zip of submissions."""
    find_strangers: Callable[[Sequence[ZipEntry]], Sequence[ZipEntry]] = lambda entries: ()
    """The files of a zip that it can't have made. The zip is refused if there are any."""
    read_zip: Callable[[Sequence[ZipEntry], list[str]], Iterable[Pile]] = lambda entries, trouble: ()
    """Sort the files of a zip by submission, and append a line to the list for what is left out."""
    is_origin: Callable[[str], object] | None = None
    """Whether it may have given a submission this name. Without it, students' ids name the pages of a feedback zip."""
    name_pages: Callable[[str, Sequence[Path]], Sequence[str]] | None = put_in_folder
    """The names, in a feedback zip, of the pages of the submission of this name; None if it takes no such zip."""


def load_system(name: str) -> LearningSystem:
    """The LMS of this name. Raises GradlabError if no installed package brings it."""
    return load(GROUP, name, LearningSystem)


def load_systems() -> list[LearningSystem]:
    """Every LMS that an installed package brings."""
    return [load_system(name) for name in list_names(GROUP)]


def load_exporter(name: str) -> Exporter:
    """The exporter of this name, or that of the LMS. Raises GradlabError if there is neither."""
    if name in list_names(EXPORTERS):
        return load(EXPORTERS, name, Exporter)
    return load(GROUP, name, LearningSystem, list_names(GROUP, EXPORTERS)).grades
