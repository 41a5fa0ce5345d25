"""Added cells run a shell, install a package, time a line and change a folder."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import Notebook, code, write

SOURCES = [
    "%%bash\necho hello",
    "!pip install nothing-of-this-name",
    "%timeit -n 1 -r 1 1 + 1",
    "%cd ..",
    "%run ../other.py",
]

NOTE = ""


def damage(folder: Path, notebook: Notebook) -> None:
    for number, source in enumerate(SOURCES):
        notebook["cells"].insert(1, code(source, id=f"magic-{number}"))
    write(folder, notebook)
