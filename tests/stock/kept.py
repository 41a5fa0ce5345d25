"""The stored marks of stock nbgrader for the small course: computing them starts a kernel per notebook, half a minute.

`python -m tests.stock.kept` updates them; by night they are compared with new ones.
"""

import json
import tempfile
from pathlib import Path
from typing import Any

from autograder.base.digest import digest
from tests.stock.small_course import make
from tests.stock.stock_course import STOCK, copy_course, read_rows, release, run

LABS = ("ps1", "ps2")
KEPT = Path(__file__).with_name("stock_marks.json")


def grade_with_stock(submitted: Path, to: Path) -> Path:
    """A copy of the course, released and graded by nbgrader without Gradlab."""
    course = copy_course(submitted, to, STOCK)
    release(course, LABS)
    for lab in LABS:
        output = run(course, "nbgrader", "autograde", lab)
        assert "exit status 0" in output, output
    return course


def read_marks(course: Path) -> Any:
    """The gradebook's rows as JSON values."""
    return json.loads(json.dumps(read_rows(course)))


def load_kept_marks(submitted: Path) -> Any:
    """The marks that stock nbgrader gave for exactly these files."""
    document = json.loads(KEPT.read_text())
    assert document["of"] == _digest_files(submitted), (
        f"{KEPT.name} is of another course\n    fix: python -m tests.stock.kept"
    )
    return document["marks"]


def _digest_files(submitted: Path) -> str:
    files = sorted(path for path in submitted.rglob("*") if path.is_file())
    return digest(STOCK, *[part for path in files for part in (str(path.relative_to(submitted)), path.read_text())])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        source = make(Path(folder, "submitted_work"))
        of, marks = _digest_files(source), read_marks(grade_with_stock(source, Path(folder, "stock")))
    KEPT.write_text(json.dumps({"of": of, "marks": marks}, indent=1) + "\n")
