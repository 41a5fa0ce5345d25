"""Builds all labs of a course, and finds generated files that are stale."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import ValidationError

from autograder.authoring import glossary, start_page
from autograder.authoring.lab import read_lab
from autograder.authoring.notebooks import (
    SOLUTION_KEY,
    build_release_notebook,
    build_solution_notebook,
    build_source_notebook,
    to_text,
)
from autograder.base.errors import GradlabError, SourceError
from autograder.base.toml_lines import find_entry_line, find_error_line
from autograder.model.course import Course, Lab, LabEntry
from autograder.model.metadata import KEY

GENERATED = {"source": build_source_notebook, "release": build_release_notebook, "solutions": build_solution_notebook}


def read_course(root: Path, further: Mapping[str, tuple[str, ...]] | None = None) -> Course:
    """Read the manifest `labs/course.toml` in `root`.

    Args:
        further: The further exercises of each lab that earn points this term. Proofs don't depend on them.
    """
    path = root / "labs" / "course.toml"
    text, labs = "", list[LabEntry]()
    try:
        text = path.read_text(encoding="utf-8")
        data = tomllib.loads(text)
        for entry in data.get("labs", []):
            labs.append(LabEntry(**{"seed": data.get("seed", 1), **entry}))
        about = data.get("about", "")
        course = Course(title=data["title"], about=about, root=root, labs=tuple(labs), further=dict(further or {}))
    except FileNotFoundError:
        raise GradlabError(
            f"{path} is missing", fix="run gradlab in a course's folder, or pass it with --course"
        ) from None
    except (tomllib.TOMLDecodeError, ValidationError, KeyError, TypeError, UnicodeDecodeError) as error:
        line = find_error_line(text, error) or find_entry_line(text, "labs", len(labs))
        raise SourceError(path, line, f"not a course: {error}", "see docs/settings.md#labscoursetoml") from None
    names = [entry.name for entry in course.labs]
    for number, entry in enumerate(course.labs):
        line = find_entry_line(text, "labs", number)
        if entry.name in names[:number]:
            raise SourceError(path, line, f"lab {entry.name!r} is listed twice", "remove one of the entries")
        for need in entry.needs:
            if need not in names[:number]:
                problem = f"lab {entry.name!r} needs {need!r}, which isn't listed before it"
                raise SourceError(path, line, problem, f"list {need!r} first, or remove it")
    return course


def read_labs(course: Course, names: tuple[str, ...] = ()) -> Iterator[Lab]:
    """Yield the labs with these names, or all of them, in the course's order."""
    known = [entry.name for entry in course.labs]
    for name in names:
        if name not in known:
            raise GradlabError(
                f"no lab {name!r} in {course.root}/labs/course.toml", fix=f"name one of {', '.join(known)}"
            )
    for entry in course.labs:
        if not names or entry.name in names:
            yield read_lab(course.root / "labs" / entry.name, entry, course.further.get(entry.name, ()))


def render_files(lab: Lab, root: Path) -> dict[Path, str]:
    """Return the text of every file that is generated from this lab, by path."""
    return {root / kind / lab.name / f"{lab.name}.ipynb": to_text(make(lab)) for kind, make in GENERATED.items()}


def build_course(course: Course, names: tuple[str, ...] = ()) -> list[Path]:
    """Write files that differ, and remove notebooks of deleted labs. Returns the files that changed.

    Args:
        names: Build only the notebooks of these labs; empty for everything.
    """
    files = _render_course(course, names)
    changed = _find_differing(files)
    for path in changed:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(files[path], encoding="utf-8")
    strays = [] if names else _find_strays(course, files)
    for path in strays:
        path.unlink()
        if not any(path.parent.iterdir()):
            path.parent.rmdir()
    return changed + strays


def find_stale_files(course: Course, names: tuple[str, ...] = ()) -> list[Path]:
    """Return generated files that differ from the sources, are missing, or have no lab. `names`: see build_course()."""
    files = _render_course(course, names)
    return sorted(_find_differing(files) + ([] if names else _find_strays(course, files)))


def is_stale(root: Path, lab: str, further: Mapping[str, tuple[str, ...]]) -> bool:
    """Return whether this lab's source notebook differs from what its sources give. False for a lab without sources.

    Args:
        further: See read_course().
    """
    if not (root / "labs" / "course.toml").exists():
        return False
    course = read_course(root, further)
    if lab not in (entry.name for entry in course.labs):
        return False
    built = root / "source" / lab / f"{lab}.ipynb"
    files = render_files(next(read_labs(course, (lab,))), root)
    return built.read_text(encoding="utf-8") != files[built]


def _render_course(course: Course, names: tuple[str, ...]) -> dict[Path, str]:
    labs = list(read_labs(course, names))
    files: dict[Path, str] = {}
    if not names:
        release = course.root / "release"
        files[release / start_page.START_PAGE_NAME] = to_text(start_page.build_start_page(course))
        files[release / glossary.NAME] = to_text(glossary.build_glossary(labs))
    for lab in labs:
        files |= render_files(lab, course.root)
    return files


def _find_differing(files: dict[Path, str]) -> list[Path]:
    return [path for path, text in files.items() if not path.exists() or path.read_text(encoding="utf-8") != text]


def _find_strays(course: Course, files: dict[Path, str]) -> list[Path]:
    notebooks = [p for kind in GENERATED for p in sorted((course.root / kind).glob("*/*.ipynb"))]
    return [p for p in notebooks if p not in files and _is_generated(p)]


def _is_generated(path: Path) -> bool:
    """Return whether this notebook was generated from a lab. One that an instructor added must not be removed."""
    try:
        metadata = json.loads(path.read_text(encoding="utf-8"))["metadata"]
        return KEY in metadata or SOLUTION_KEY in metadata
    except (ValueError, KeyError, TypeError, OSError):
        return False
