"""Liars that gradlab makes itself: student processes whose probes and given functions make false claims.

Such a liar has solved nothing: the exercise is empty, and what the checks look with says something of its own. If it
needs an answer to begin with, it has the reference, and spoils what the reference gets to see.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from autograder.proving.note_file import NOTE, NoteFile
from autograder.proving.objects import AlwaysTrue
from autograder.proving.ruined_arguments import RUINS, ruin
from labkit.probes import PROBES

Function = Callable[..., Any]
Namespace = dict[str, Any]
IN_ITS_PLACE = "a given function in the exercise's place"


def _drop_functions(args: Sequence[Any]) -> list[Any]:
    """The arguments that aren't functions."""
    return [value for value in args if not callable(value)]


# What a probe returns for the arguments that it got.
CLAIMS: dict[str, Callable[[Sequence[Any]], Any]] = {
    "nothing": lambda args: None,
    "an empty list": lambda args: [],
    "an empty dict": lambda args: {},
    "its arguments": lambda args: _drop_functions(args),
    "its first argument": lambda args: next(iter(_drop_functions(args)), None),
    "NaN": lambda args: math.nan,
    "zero": lambda args: 0,
    "True": lambda args: True,
    "an object that says True to everything": lambda args: AlwaysTrue(),
}
REPEATS = "its first answer, again and again"


def get_lies() -> dict[str, bool]:
    """How the probes lie, and whether the notebook then has the reference instead of the empty exercise."""
    claims = {f"each probe says: {claim}": False for claim in CLAIMS}
    return claims | {f"each probe says: {REPEATS}": True} | {f"each probe finds its {ruin}": True for ruin in RUINS}


class LieNote:
    """The note of a lie. It is `applied` if the checks used anything that lies, so it made a difference."""

    def __init__(self, applied: bool = False) -> None:
        self._notes, self._always = NoteFile(), applied

    def note(self) -> None:
        self._notes.write("lied")

    @property
    def applied(self) -> bool:
        return self._always or bool(self._notes.lines())


def install(namespace: Namespace, exercise: str, how: str, *args: Any) -> None:
    """Make the process of this namespace lie, with the note under NOTE; see lie()."""
    namespace[NOTE] = lie(namespace, exercise, how, *args)


def lie(namespace: Namespace, exercise: str, how: str, *args: Any) -> LieNote:
    """Make the process of this namespace lie. Returns the lie's note.

    Args:
        how: One of get_lies(), with the names of the given probes, or IN_ITS_PLACE, with the name of a given function.
    """
    if how == IN_ITS_PLACE:
        namespace[exercise] = namespace[args[0]]
        return LieNote(applied=True)
    lied = LieNote()
    inside = [0]  # probes that are running
    for name in args[0]:
        namespace[name] = _make_liar(namespace[name], how, lied, inside)
    for name, probe in PROBES.items():
        PROBES[name] = _make_liar(probe, how, lied, inside)
    namespace[exercise] = _guard_exercise(namespace[exercise], inside)  # what a check sees without a probe is no lie
    return lied


def _make_liar(honest: Function, how: str, lied: LieNote, inside: list[int]) -> Function:
    what = how.removeprefix("each probe says: ")
    if what in CLAIMS:

        def claim(*args: Any, **kwargs: Any) -> Any:
            lied.note()
            return CLAIMS[what]([*args, *kwargs.values()])

        return claim
    said: list[Any] = []

    @functools.wraps(honest)
    def probe(*args: Any, **kwargs: Any) -> Any:
        if what == REPEATS and said:
            lied.note()
            return said[0]
        if what != REPEATS:
            if not ruin(how.removeprefix("each probe finds its "), args, kwargs):
                return None
            lied.note()
        inside[0] += 1
        try:
            said.append(honest(*args, **kwargs))
        finally:
            inside[0] -= 1
        return said[-1]

    return probe


def _guard_exercise(exercise: Any, inside: list[int]) -> Any:
    """The exercise for the probes only: it does nothing if a check uses it directly."""

    def guard(function: Function) -> Function:
        @functools.wraps(function)
        def call_for_probe(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs) if inside[0] else None

        return call_for_probe

    if not inspect.isclass(exercise):
        return guard(exercise)
    methods = {name: guard(getattr(exercise, name)) for name in ("__init__", "__call__") if hasattr(exercise, name)}
    if issubclass(exercise, torch.autograd.Function):
        methods = {"apply": staticmethod(guard(exercise.apply))}
    kind: Any = type(exercise)
    return kind(exercise.__name__, (exercise,), {**methods, "__module__": exercise.__module__})
