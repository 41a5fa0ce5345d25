"""What lies in submitted/ and will be graded for nobody: folders and files in the wrong place, ids that look alike."""

from __future__ import annotations

import unicodedata
from pathlib import Path

from autograder.words import some

PLACE = "submitted/STUDENT/LAB/LAB.ipynb"


def assignments(course: Path) -> set[str]:
    """Their names: the folders in source/."""
    return {path.name for path in (course / "source").glob("*") if path.is_dir()}


def stray(course: Path) -> list[str]:
    """What in submitted/ nobody will grade, and ids that look alike, a line each. Assignments are those of source/."""
    known = assignments(course)
    found, alike = [], dict[str, list[str]]()
    for folder in sorted((course / "submitted").glob("*")):
        if not folder.is_dir():
            found.append(f"submitted/{folder.name} is no student's folder, and was left alone")
            continue
        alike.setdefault(unicodedata.normalize("NFKC", folder.name).casefold().strip(), []).append(folder.name)
        inside = sorted(path.name for path in folder.iterdir() if path.is_dir())
        unknown = [name for name in inside if name not in known]
        if unknown:
            found.append(
                f"submitted/{folder.name}/ holds {some(unknown)}, which is no assignment: a submission lies in {PLACE}"
            )
        elif not inside:
            files = sorted(path.name for path in folder.iterdir())
            holds = f"{some(files)}, and no submission" if files else "no submission"
            found.append(f"submitted/{folder.name}/ holds {holds}: one lies in {PLACE}")
    for ids in alike.values():
        if len(ids) > 1:
            found.append(f"{' and '.join(ids)} look like one student: each gets a mark of its own")
    return found
