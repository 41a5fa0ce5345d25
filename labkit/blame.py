"""Reads an exception that a check caught: what the student should see of it, and whose error it was."""

from __future__ import annotations

import linecache
import sysconfig
from pathlib import Path
from types import TracebackType

from torch.autograd import graph

_HERE = str(Path(__file__).parent)
_ENGINE = str(graph.__file__)  # where backward runs: through the graph of the student's result
_PROBES = str(Path(__file__).parent / "probes")
_LIBRARIES = tuple({sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), sysconfig.get_path("stdlib")})
NOT_WRITTEN = "This exercise is not written yet."


def describe_exception(error: BaseException, trace: TracebackType | None, cell: str) -> tuple[str, str, str]:
    """(what was seen, the exception's type name, whose error it was).

    cell: the file name of the check cell. An exception that passed through code that is neither that cell's nor a
    library's is the student's. So is one that ended a probe, which does nothing but use the student's object, or a
    backward pass. One that was raised by the check's own lines is the check's, unless it is a plain `assert`: that is a
    verdict, not an error, and has no type name.
    """
    kind = type(error).__name__
    if getattr(error, "from_course", False):
        return f"this check does not work: {shorten(str(error))}", kind, "check"
    if reason := _find_trouble(error):
        return reason, kind, "process"
    if getattr(error, "from_student", False):  # raised in a student process
        unwritten = isinstance(error, NotImplementedError) and not error.args
        return NOT_WRITTEN if unwritten else f"raised {kind}: {shorten(str(error))}", kind, "student"
    frames = _list_frames(trace)
    students = [(name, line) for name, line in frames if name != cell and not _is_library(name)]
    if students:
        if isinstance(error, NotImplementedError) and not error.args:
            return NOT_WRITTEN, kind, "student"
        file, line = students[-1]
        source = linecache.getline(file, line).strip()
        where = f", at your line: {source}" if source else ""
        return f"raised {kind}: {shorten(str(error))}{where}", kind, "student"
    if isinstance(error, AssertionError):
        return shorten(str(error)), "", ""
    if isinstance(error, NameError):
        return f"{error}. Run the cell that defines it first.", kind, "check"
    in_probe = any(name.startswith(_PROBES) for name, _ in frames)
    in_backward = [name for name, _ in frames[-1:]] == [_ENGINE]
    whose = "student" if in_probe or in_backward else "check"
    if "'NoneType' object" in str(error):
        return f"it gave nothing back, or a part of it did: {kind}: {shorten(str(error))}", kind, whose
    return f"your result could not be used: {kind}: {shorten(str(error))}", kind, whose


def _find_trouble(error: BaseException) -> str:
    """Why a student process could not answer, as the examiner says it; empty where that is not what happened.

    Python's own UnicodeError has a `reason` too, which is no such thing.
    """
    told = getattr(error, "from_student", False) or isinstance(getattr(type(error), "reason", None), property)
    return str(getattr(error, "reason", "")) if told else ""


def _list_frames(trace: TracebackType | None) -> list[tuple[str, int]]:
    frames = []
    while trace is not None:
        frames.append((trace.tb_frame.f_code.co_filename, trace.tb_lineno))
        trace = trace.tb_next
    return frames


def _is_library(file: str) -> bool:
    return file.startswith((_HERE, *_LIBRARIES)) or file.startswith("<frozen")


def shorten(text: str, limit: int = 300) -> str:
    text = text.strip()
    return text if len(text) <= limit else text[: limit - 4] + " ..."
