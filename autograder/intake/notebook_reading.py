"""Reading of a submitted file as untrusted data: nothing in it is run, and nothing it claims is trusted."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbformat.v4.convert import upgrade_cell

from autograder.base.atomic_files import is_path_error
from autograder.base.text import join_first, make_readable
from autograder.intake.claims import Claims, read_claims, write_claims
from autograder.intake.file_decoding import AGAIN, SubmissionRefusedError, decode_json
from autograder.intake.folder_normalization import collect_folder_notes
from autograder.intake.submitted_cells import create_cell, create_notebook

__all__ = ["MAX_BYTES", "MAX_CELLS", "MAX_SOURCE", "SubmissionRefusedError", "read_submission"]

MAX_BYTES = 100_000_000
MAX_CELLS = 2_000
MAX_SOURCE = 200_000  # characters of one cell
MAX_SOURCES = 2_000_000  # of all cells together
MAX_NUMBERS = 20  # listed in a note
MAX_PICTURES = 8_000_000  # characters of one cell's attachments, in base64
KINDS = ("code", "markdown", "raw")
SETTINGS = ("grade", "locked", "points", "solution", "task")  # nbgrader's, which a student must not change


def read_submission(path: Path) -> NotebookNode:
    """Read the notebook in this file: cells of code, markdown or raw text, without outputs and metadata of their own.

    Each cell's metadata says what it claims to be (grade_id, id) and which settings it had. The notebook's metadata has
    `notes`. Raises SubmissionRefusedError if the file is a link, too large, not JSON, or not a notebook.
    """
    return read_notebook(*read_file(path))


def read_file(path: Path, graded: Sequence[Path] = ()) -> tuple[bytes, list[str]]:
    """Read the bytes of this file, and notes for the student on the files next to it.

    Args:
        graded: The other notebooks that are graded.

    Raises:
        SubmissionRefusedError: If the file can't be graded.
    """
    content = _read_content(path)
    return content, collect_folder_notes(path, content, graded)


def read_notebook(content: bytes, notes_on_folder: Sequence[str] = ()) -> NotebookNode:
    """Read the notebook in these bytes, as read_submission() returns it. Raises SubmissionRefusedError."""
    data, notes = decode_json(content)
    cells, left_out = [], []
    for number, cell in enumerate(_get_cells(data), start=1):
        try:
            cells.append(_clean(cell if data["nbformat"] == 4 else _upgrade(cell)))
        except (ValueError, TypeError, AttributeError, LookupError):
            left_out.append(str(number))
    if left_out and not cells:
        raise SubmissionRefusedError(f"The file is a damaged notebook: none of its cells can be read. {AGAIN}")
    if sum(len(cell.source) for cell in cells) > MAX_SOURCES:
        raise SubmissionRefusedError(
            f"The cells hold more than {MAX_SOURCES:,} characters. Remove what isn't yours, and save again."
        )
    if left_out:
        numbers = join_first(left_out, MAX_NUMBERS)
        notes.append(f"Cells that are damaged or too long were left out. Their numbers: {numbers}.")
    if any(read_claims(cell).was_mended for cell in cells):
        notes.append("Characters that aren't text were replaced with question marks.")
    language = _read_language(data)
    if language not in ("", "python"):
        notes.append(f"The notebook was saved with a kernel for {language}. It was graded with Python.")
    return create_notebook(cells, NotebookNode(notes=[*notes, *notes_on_folder]))


def _read_content(path: Path) -> bytes:
    """Read a regular file that isn't too large, without following links or waiting for pipes.

    Raises OSError if the machine can't read it, for which the student isn't to blame.
    """
    refusal = SubmissionRefusedError("This is a link, a folder, a pipe or a device. Submit the notebook itself.")
    if path.parent.is_symlink():
        raise refusal
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        if not is_path_error(error):  # the grader's own trouble must not cost a mark
            raise
        raise refusal from None
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise refusal
    with os.fdopen(descriptor, "rb") as file:
        if status.st_size == 0:
            notes = "".join(f" {note}" for note in collect_folder_notes(path, b""))
            raise SubmissionRefusedError(
                f"No notebook named {path.name} was submitted, or it is empty. Submit it again under this name.{notes}"
            )
        if status.st_size > MAX_BYTES:
            raise SubmissionRefusedError(
                f"The file is over {MAX_BYTES // 1_000_000} MB. Clear the outputs (Edit, Clear Outputs of All Cells), "
                "save, and submit it again."
            )
        return file.read(MAX_BYTES)


def _get_cells(data: Any) -> list[Any]:
    """Return the notebook's cells, as they are in its format."""
    version = data.get("nbformat") if isinstance(data, dict) else None
    if type(version) is not int or version not in (2, 3, 4):
        raise SubmissionRefusedError(f"The file is JSON, but not a notebook of format 2, 3 or 4. {AGAIN}")
    if version == 4:
        cells = data.get("cells")
    else:
        sheets = data.get("worksheets")
        lists = [_ensure_dict(sheet).get("cells") for sheet in sheets] if isinstance(sheets, list) else []
        valid = [each for each in lists if isinstance(each, list)]
        cells = [cell for each in valid for cell in each] if valid and len(valid) == len(lists) else None
    if not isinstance(cells, list):
        raise SubmissionRefusedError(f"The file is a damaged notebook: it has no list of cells. {AGAIN}")
    if len(cells) > MAX_CELLS:
        raise SubmissionRefusedError(
            f"The notebook has more than {MAX_CELLS:,} cells. Remove those that aren't yours, and save again."
        )
    return cells


def _upgrade(cell: Any) -> Any:
    """Convert a cell of format 2 or 3 to format 4, without its outputs; unchanged if it can't be read.

    Nothing else in the file is converted: nbformat makes an object of every value, at 460 bytes each.
    """
    old = _ensure_dict(cell)
    text = old.get("input" if old.get("cell_type") == "code" else "source")
    source = "".join(text) if isinstance(text, list) and all(isinstance(line, str) for line in text) else text
    level = old.get("level")
    if not isinstance(source, str) or len(source) > MAX_SOURCE or (level is not None and type(level) is not int):
        return cell
    fields: dict[str, Any] = {
        "cell_type": old.get("cell_type"),
        "source": source,
        "input": source,
        "level": min(max(level or 1, 1), 6),
        "outputs": [],
    }
    upgraded = upgrade_cell(NotebookNode(fields))
    upgraded.metadata = {"nbgrader": _ensure_dict(_ensure_dict(old.get("metadata")).get("nbgrader"))}
    return upgraded


def _clean(cell: Any) -> NotebookNode:
    """Return a cell with only its type, its text, and what it claims to be. Raises if it has no type or text."""
    kind, source = cell["cell_type"], cell["source"]
    raw = "".join(source) if isinstance(source, list) else source
    if kind not in KINDS or not isinstance(raw, str) or len(raw) > MAX_SOURCE:
        raise ValueError(kind)
    text = raw.encode("utf-8", "replace").decode().replace("\0", "?")
    metadata = _ensure_dict(cell.get("metadata"))
    flags = _ensure_dict(metadata.get("nbgrader"))
    clean = create_cell(kind, text.replace("\r\n", "\n").replace("\r", "\n"))
    claims = Claims(
        grade_id=_clean_name(flags.get("grade_id")),
        id=_clean_name(cell.get("id")),
        settings={name: flags[name] for name in SETTINGS if isinstance(flags.get(name), bool | int | float)},
        has_tags=bool(metadata.get("tags")),
        was_mended=text != raw,
    )
    write_claims(clean, claims)
    if kind == "markdown" and (pictures := _read_pictures(cell.get("attachments"))):
        clean.attachments = pictures
    return clean


def _ensure_dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _clean_name(value: Any) -> str:
    return make_readable(value[:200]) if isinstance(value, str) else ""


def _read_pictures(attachments: Any) -> dict[str, dict[str, str]]:
    """Read the pictures that were pasted into a written answer."""
    pictures: dict[str, dict[str, str]] = {}
    remaining = MAX_PICTURES
    for name, versions in _ensure_dict(attachments).items():
        for mime, data in _ensure_dict(versions).items():
            if mime in ("image/png", "image/jpeg", "image/gif") and isinstance(data, str) and data.isascii():
                remaining -= len(data)
                if remaining >= 0 and _clean_name(name) == name:
                    pictures.setdefault(name, {})[mime] = data
    return pictures


def _read_language(data: Any) -> str:
    metadata = _ensure_dict(data.get("metadata"))
    for key, field in (("kernelspec", "language"), ("language_info", "name")):
        language = _ensure_dict(metadata.get(key)).get(field)
        if isinstance(language, str) and language:
            return _clean_name(language)[:40].lower()
    return ""
