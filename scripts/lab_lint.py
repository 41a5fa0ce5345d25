"""Checks the labs with mypy, and for unused imports: each as one program, as its notebook is."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from autograder.authoring.course_folder import read_course, read_labs
from autograder.model.course import Lab

ROOT = Path(__file__).parent.parent
TOOLS = (
    ("mypy", "--config-file", str(ROOT / "scripts" / "mypy_labs.ini")),
    ("ruff", "check", "--isolated", "--no-cache", "--output-format", "concise", "--select", "F401,F841"),
)


def main() -> int:
    places: dict[str, list[str]] = {}  # program -> for each line its place in the sources
    with tempfile.TemporaryDirectory() as folder:
        programs = [_write(lab, Path(folder), places) for lab in read_labs(read_course(ROOT))]
        failed = False
        for tool, *options in TOOLS:
            command = [str(Path(sys.executable).parent / tool), *options, *programs]
            ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
            for line in ran.stdout.splitlines():
                print(re.sub(r"^(\S+?):(\d+)", lambda m: _replace_location(m, places), line))
            failed |= ran.returncode != 0
    return int(failed)


def _write(lab: Lab, folder: Path, places: dict[str, list[str]]) -> str:
    """The lab as one program. Returns its file."""
    code = [cell for cell in lab.cells if not cell.kind.traits.markdown]
    program = folder / f"lab_{lab.name}.py"
    program.write_text("\n".join(cell.source for cell in code) + "\n", encoding="utf-8")
    places[str(program)] = [
        f"{cell.path.relative_to(ROOT)}:{cell.get_line(number)}"
        for cell in code
        for number in range(1, cell.source.count("\n") + 2)
    ]
    return str(program)


def _replace_location(found: re.Match[str], places: dict[str, list[str]]) -> str:
    program = next((name for name in places if name.endswith(Path(found[1]).name)), "")
    return places[program][int(found[2]) - 1] if program else found[0]


if __name__ == "__main__":
    sys.exit(main())
