"""Decoding of a submitted file to JSON, or the reason why that fails, in words for the student."""

from __future__ import annotations

import json
from typing import Any

MAX_VALUES = 10_000_000  # in the JSON; each takes up to about 70 bytes of memory
AGAIN = "Save it in JupyterLab, and submit it again while the lab is open."

# What students submit instead of a notebook, by the first bytes.
KINDS_OF_FILE = {
    b"PK": f"It is a zip archive. {AGAIN}",
    b"\x1f\x8b": f"It is a compressed archive. {AGAIN}",
    b"%PDF": f"It is a PDF. {AGAIN}",
    b"<": f"It is a web page, perhaps one that asked you to log in. {AGAIN}",
}
CODECS = {b"\xff\xfe\x00\x00": "utf-32", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig"}


class SubmissionRefusedError(Exception):
    """A file that can't be graded. The message says why, and what the student can do."""


def decode_json(data: bytes) -> tuple[Any, list[str]]:
    """Return the JSON value, and notes on what was repaired to read it. Raises SubmissionRefusedError."""
    text, notes = _decode_text(data)
    if sum(text.count(mark) for mark in ",[{") > MAX_VALUES:
        raise SubmissionRefusedError(
            "The notebook is too large. Clear the outputs (Edit, Clear Outputs of All Cells) and save again."
        )
    try:
        return json.loads(text), notes
    except (ValueError, RecursionError):
        raise SubmissionRefusedError(
            f"The file is not a notebook: it is not JSON. {_describe_content(data, text)}"
        ) from None


def _decode_text(data: bytes) -> tuple[str, list[str]]:
    codec = next((name for mark, name in CODECS.items() if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(codec)
    except UnicodeDecodeError:
        if data[:1] != b"{" or b"\0" in data:
            raise SubmissionRefusedError(
                f"The file is not a notebook: it is not JSON. {_describe_content(data, '')}"
            ) from None
        warning = "Your file was not stored as UTF-8. Letters with accents may have changed."
        return data.decode("cp1252", "replace"), [warning]
    return text, [f"Your file was stored as {codec.upper()}, and was read that way."] if codec != "utf-8" else []


def _describe_content(data: bytes, text: str) -> str:
    start = data.lstrip()
    if message := next((message for mark, message in KINDS_OF_FILE.items() if start.startswith(mark)), ""):
        return message
    if "\n<<<<<<< " in text or text.startswith("<<<<<<< "):
        return "It contains merge conflict markers (<<<<<<<). Choose one of the versions, and save it as a notebook."
    if not text:
        return f"It is a binary file. {AGAIN}"
    if not text.lstrip().startswith(("{", "[")):
        return f"It is a text file, perhaps a Python file. {AGAIN}"
    return f"Was it cut off, or saved by another program? {AGAIN}"
