"""Reads an exception that a check caught: what the student should see of it, and whose error it was."""

from __future__ import annotations

import linecache
import sysconfig
from pathlib import Path
from types import TracebackType

_HERE = str(Path(__file__).parent)
_LIBRARIES = tuple({sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), sysconfig.get_path("stdlib")})
NOT_WRITTEN = "This exercise is not written yet."


def describe_exception(error: BaseException, trace: TracebackType | None, cell: str) -> tuple[str, str, str]:
    """(what was seen, the exception's type name, whose error it was).

    cell: the file name of the check cell. An exception that passed through code that is neither that cell's nor a
    library's is the student's. One that was raised by the check's own lines is the check's, unless it is a plain
    `assert`: that is a verdict, not an error, and has no type name.
    """
    kind = type(error).__name__
    if reason := getattr(error, "reason", ""):  # why a student process could not answer
        return reason, kind, "process"
    if getattr(error, "from_student", False):  # raised in a student process
        unwritten = isinstance(error, NotImplementedError) and not error.args
        return NOT_WRITTEN if unwritten else f"raised {kind}: {_shorten(str(error))}", kind, "student"
    frames = _frames(trace)
    students = [(name, line) for name, line in frames if name != cell and not _is_library(name)]
    if students:
        if isinstance(error, NotImplementedError) and not error.args:
            return NOT_WRITTEN, kind, "student"
        file, line = students[-1]
        source = linecache.getline(file, line).strip()
        where = f", at your line: {source}" if source else ""
        return f"raised {kind}: {_shorten(str(error))}{where}", kind, "student"
    if isinstance(error, AssertionError):
        return str(error), "", ""
    if isinstance(error, NameError):
        return f"{error}. Run the cell that defines it first.", kind, "check"
    return f"your result could not be used: {kind}: {_shorten(str(error))}", kind, "check"


def _frames(trace: TracebackType | None) -> list[tuple[str, int]]:
    frames = []
    while trace is not None:
        frames.append((trace.tb_frame.f_code.co_filename, trace.tb_lineno))
        trace = trace.tb_next
    return frames


def _is_library(file: str) -> bool:
    return file.startswith((_HERE, *_LIBRARIES)) or file.startswith("<frozen")


def _shorten(text: str, limit: int = 300) -> str:
    text = text.strip()
    return text if len(text) <= limit else text[: limit - 4] + " ..."
