"""A lab's files as one text: a line `# ---- exercises/NAME.py` begins that file, `# ---- lab.py` continues the lesson."""

from pathlib import Path

from autograder.authoring.lab import read_lab, read_lab_sources
from autograder.model.course import Lab, LabEntry

BREAK = "# ---- "
ENTRY = LabEntry(name="x", title="X", minutes=1)


def split_files(text: str) -> dict[str, str]:
    """Split the text into file name -> file text."""
    files: dict[str, list[str]] = {"lab.py": []}
    now = files["lab.py"]
    for line in text.splitlines():
        if line.startswith(BREAK):
            now = files.setdefault(line.removeprefix(BREAK), [])
        else:
            now.append(line)
    return {name: "\n".join(lines) + "\n" for name, lines in files.items()}


def read_lab_text(
    text: str, folder: Path = Path("labs/x"), entry: LabEntry = ENTRY, further: tuple[str, ...] = ()
) -> Lab:
    """Read the lab in this text; nothing is written."""
    return read_lab_sources(split_files(text), folder, entry, further)


def write_files(folder: Path, text: str) -> None:
    for name, content in split_files(text).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")


def write_lab(folder: Path, text: str, entry: LabEntry = ENTRY) -> Lab:
    """Write the files in this text into the folder, and read the lab."""
    write_files(folder, text)
    return read_lab(folder, entry)
