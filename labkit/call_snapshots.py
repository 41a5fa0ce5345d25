"""Snapshots of what a check calls a student's function with, taken before the function can change it.

In a student's own notebook, the function itself records its calls, see labkit/call_hooks.py. When grading, the function
is in another process, so its proxy does. Of drawn inputs, which are all tried with one message, the domain does.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

import torch

from labkit.value_snapshot import ValueSnapshot

MAX_CALLS = 1_000  # in one check: of more, none is shown
MAX_DEPTH = 60  # frames between the check and the function
MAX_TEXT, MAX_CHANGES = 400, 2  # characters of a call, arguments that it changed


@dataclass(frozen=True)
class CallSnapshot:
    """One call of the student's function."""

    name: str
    line: int
    """The check cell's line that led to the call."""
    arguments: Mapping[str, ValueSnapshot]
    unnamed: int = 0
    """How many of them, from the first on, are written without a name."""

    def __str__(self) -> str:
        """Write the call out: "f(x=tensor([1., 2.])); after the call, x is tensor([2., 4.])"."""
        text = self._format(ValueSnapshot.format)
        text = text if len(text) <= MAX_TEXT else self._format(ValueSnapshot.describe)
        changes = [change for name, value in self.arguments.items() for change in value.iter_changes(name.lstrip("*"))]
        return text + "".join(f"; after the call, {change}" for change in changes[:MAX_CHANGES])

    def _format(self, show: Callable[[ValueSnapshot], str]) -> str:
        texts = [
            show(value) if place < self.unnamed else f"{name}={show(value)}"
            for place, (name, value) in enumerate(self.arguments.items())
        ]
        return f"{self.name}({', '.join(texts)})"


@dataclass(frozen=True)
class TrialCall:
    """One of several calls with drawn inputs, which were all made before the first result was compared."""

    name: str
    line: int
    """The check cell's line that compares its result."""
    edge: str
    """What's special about the input; empty if nothing is."""
    parameters: Sequence[str]
    make_arguments: Callable[[], Sequence[Any]]
    """Draws the arguments again. It's called only if the check fails."""
    is_direct: bool
    """Whether the function takes these arguments itself, and not a function of the course that uses it."""

    @property
    def arguments(self) -> Mapping[str, ValueSnapshot]:
        return {name: ValueSnapshot(value) for name, value in zip(self.parameters, self.make_arguments(), strict=False)}

    def __str__(self) -> str:
        """Write the call out: "f(x=tensor([[1., 2.]])), with this kind of input: transposed"."""
        text = str(CallSnapshot(self.name if self.is_direct else "", self.line, self.arguments))
        text = text if self.is_direct else f"{self.name}, tried with {text[1:-1]}"
        return f"{text}, with this kind of input: {self.edge}" if self.edge else text


Call = CallSnapshot | TrialCall


class _Recording:
    """The calls of one check."""

    def __init__(self, cell: str, codes: frozenset[CodeType]) -> None:
        self.cell, self.codes = cell, codes
        self.calls: list[Call] = []
        self.count = 0

    def find_line(self, frame: FrameType | None) -> int:
        """Return the line of the check that led to this frame of the student's function; 0 if it called itself."""
        for _ in range(MAX_DEPTH):
            frame = frame.f_back if frame is not None else None
            if frame is None or frame.f_code in self.codes:
                return 0
            if frame.f_code.co_filename == self.cell:
                return frame.f_lineno
        return 0


_recordings: list[_Recording] = []


def record_proxy_call(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Record one call of a function in another process. Its proxy calls this, so nothing is asked of that process."""
    arguments = {f"argument {place}": value for place, value in enumerate(args, 1)}
    add_call(name, arguments | dict(kwargs), unnamed=len(args))


def add_call(name: str, arguments: Mapping[str, Any], unnamed: int = 0) -> None:
    """Record one call of the function whose frame called this function's caller.

    Args:
        name: Of the function.
        arguments: By name.
        unnamed: How many of them, from the first on, have no name.
    """
    if not _recordings:
        return
    recording = _recordings[-1]
    recording.count += 1
    if recording.count > MAX_CALLS:
        recording.calls.clear()
    elif line := recording.find_line(sys._getframe(2)):
        with torch._C.DisableTorchFunction():  # a mode that counts calls must not see these
            values = {each: ValueSnapshot(value) for each, value in arguments.items()}
        recording.calls.append(CallSnapshot(name, line, values, unnamed))


def record_trial(
    name: str, edge: str, parameters: Sequence[str], make_arguments: Callable[[], Sequence[Any]], is_direct: bool
) -> None:
    """Record that the result of a call with a drawn input is compared next. For the arguments, see TrialCall."""
    if _recordings and (line := _recordings[-1].find_line(sys._getframe(1))):
        _recordings[-1].calls.append(TrialCall(name, line, edge, parameters, make_arguments, is_direct))


@contextlib.contextmanager
def collect_calls(cell: str, codes: frozenset[CodeType] = frozenset()) -> Iterator[list[Call]]:
    """Collect the calls that are recorded during a check.

    Args:
        cell: The file name of the check cell.
        codes: Those of the student's functions, which may call themselves.
    """
    recording = _Recording(cell, codes)
    _recordings.append(recording)
    try:
        yield recording.calls
    finally:
        _recordings.remove(recording)
