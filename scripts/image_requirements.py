"""Prints what an image installs with pip: all dependencies of a pyproject.toml or, with `student`, a student's."""

import re
import sys
import tomllib
from pathlib import Path

# What labkit and the released notebooks import, and the tools that a student is told to use.
STUDENT = set("torch numpy matplotlib ipywidgets scikit-learn jupyterlab nbgrader".split())


def select_requirements(pyproject: Path, only: set[str] | None = None) -> list[str]:
    """The project's requirements; those of these names only, each of which must be there."""
    lines: list[str] = tomllib.loads(pyproject.read_text())["project"]["dependencies"]
    named = {re.split(r"[^\w.-]", line, maxsplit=1)[0]: line for line in lines}
    if only and (unknown := only - named.keys()):
        sys.exit(f"{pyproject} does not name {', '.join(sorted(unknown))}")
    return [line for name, line in named.items() if only is None or name in only]


if __name__ == "__main__":
    path, *audience = sys.argv[1:]
    print("\n".join(select_requirements(Path(path), STUDENT if audience == ["student"] else None)))
