"""Attribution of an exception that a check caught: what the student sees of it, and whose error it was."""

from __future__ import annotations

import difflib
import linecache
import sys
import sysconfig
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from torch.autograd import graph

from labkit.call_hooks import find_exercise
from labkit.cause import NOT_WRITTEN, Cause, StopReason
from labkit.cell_digests import compile_definition
from labkit.missing_return import is_missing_return
from labkit.outcome import Blame

_HERE = str(Path(__file__).parent)
_ENGINE = str(graph.__file__)  # backward runs there, through the graph of the student's result
_PROBES = str(Path(__file__).parent / "probes")
_LIBRARIES = tuple({sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), sysconfig.get_path("stdlib")})


class Attribution(NamedTuple):
    """What a student should see of an exception, and whose it was."""

    seen: str
    error: str = ""
    """The exception's type, if it was more than a failed `assert`."""
    blame: Blame = Blame.NO_ONE
    cause: Cause | None = None
    limit: float = 0.0
    """Seconds of a time limit that was reached."""


def blame_exception(error: BaseException, trace: TracebackType | None, cell: str) -> Attribution:
    """Describe an exception that ended a check, and decide whose it was.

    An exception that passed through code outside the check cell and the libraries is the student's. So is one from a
    probe, which only uses the student's object, or from a backward pass. One raised by the check's own lines is the
    check's, unless it's a plain `assert`: that's a verdict, not an error, and has no type name.

    Args:
        cell: The file name of the check cell.
    """
    kind = type(error).__name__
    if getattr(error, "from_course", False):
        return Attribution(f"this check doesn't work: {shorten_text(str(error))}", kind, Blame.CHECK)
    if isinstance(reason := getattr(error, "reason", None), StopReason):
        return Attribution(
            reason.message, getattr(error, "stored_name", kind), Blame.PROCESS, reason.cause, reason.seconds
        )
    unwritten = Attribution(NOT_WRITTEN, kind, Blame.STUDENT, Cause.UNWRITTEN)
    is_unwritten = isinstance(error, NotImplementedError) and not error.args
    text = shorten_text(str(error))
    if getattr(error, "from_student", False):  # raised in a student process
        return unwritten if is_unwritten else Attribution(f"raised {kind}: {text}", kind, Blame.STUDENT)
    frames = _list_frames(trace)
    student_frames = [(name, line) for name, line in frames if name != cell and not _is_library(name)]
    in_exercise = _find_exercise_frames(student_frames, cell)
    if not in_exercise and is_missing_return(error, trace, student_frames[-1][0] if student_frames else cell):
        return Attribution("your result is None", kind, Blame.STUDENT, Cause.NOTHING)
    if student_frames:
        if is_unwritten and (not in_exercise or student_frames[-1] == in_exercise[-1]):
            return unwritten
        if is_unwritten:  # in another of the student's functions
            return Attribution(f"it uses {_find_function_name(trace)}, which isn't written yet", kind, Blame.STUDENT)
        if not in_exercise:  # a helper of the check failed on what the student's function returned
            return Attribution(f"your result could not be used: {kind}: {text}", kind, Blame.STUDENT)
        file, line = in_exercise[-1]  # deeper ones may be in a function that the course gave
        source = linecache.getline(file, line).strip()
        place = f", at your line: {source}" if source else ""
        return Attribution(f"raised {kind}: {text}{place}{_suggest_name(error, trace)}", kind, Blame.STUDENT)
    if isinstance(error, AssertionError):
        return Attribution(text)
    if isinstance(error, NameError):
        return Attribution(f"{error}. Run the cell that defines it first.", kind, Blame.CHECK)
    in_probe = any(name.startswith(_PROBES) for name, _ in frames)
    in_backward = [name for name, _ in frames[-1:]] == [_ENGINE]
    blame = Blame.STUDENT if in_probe or in_backward else Blame.CHECK
    if "'NoneType' object" in str(error):
        return Attribution(f"the result, or a part of it, is None: {kind}: {text}", kind, blame)
    return Attribution(f"your result could not be used: {kind}: {text}", kind, blame)


def _find_exercise_frames(frames: list[tuple[str, int]], cell: str) -> list[tuple[str, int]]:
    """Return the frames in the cell that defines the exercise; all frames if the check cell doesn't name it."""
    exercise = find_exercise("".join(linecache.getlines(cell)))
    definition = compile_definition(exercise)
    return [frame for frame in frames if not exercise or definition.search("".join(linecache.getlines(frame[0])))]


def _find_function_name(trace: TracebackType | None) -> str:
    """Return the name of the function that raised an exception."""
    name = ""
    while trace is not None:
        name, trace = trace.tb_frame.f_code.co_name, trace.tb_next
    return name


def _suggest_name(error: BaseException, trace: TracebackType | None) -> str:
    """Return a line with the name that was probably meant, or how to define it; empty unless a name isn't defined."""
    if not isinstance(error, NameError) or trace is None:
        return ""
    while trace.tb_next is not None:
        trace = trace.tb_next
    names = {*trace.tb_frame.f_locals, *trace.tb_frame.f_globals}
    close = difflib.get_close_matches(error.name or "", sorted(names), n=1, cutoff=0.75)
    if close:
        return f"\nDid you mean {close[0]}?"
    if error.name in sys.stdlib_module_names:
        return f"\nImport it first: import {error.name}"
    return "" if isinstance(error, UnboundLocalError) else "\nIf a cell above defines it, run that cell first."


def _list_frames(trace: TracebackType | None) -> list[tuple[str, int]]:
    frames = []
    while trace is not None:
        frames.append((trace.tb_frame.f_code.co_filename, trace.tb_lineno))
        trace = trace.tb_next
    return frames


def _is_library(file: str) -> bool:
    is_installed = "site-packages" in Path(file).parts or "dist-packages" in Path(file).parts
    return is_installed or file.startswith((_HERE, *_LIBRARIES, "<frozen"))


def shorten_text(text: str, limit: int = 300) -> str:
    text = str(text).strip()  # a masked text shows its length only
    return text if len(text) <= limit else text[: limit - 4] + " ..."
