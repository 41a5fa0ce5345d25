"""Liars that gradlab makes: student processes whose probes and given functions make false claims.

Such a liar has solved nothing: the exercise is empty, and the probes that checks use return something invented. If it
needs an answer to begin with, it has the reference, but ruins the reference's arguments.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from autograder.proving.constant_objects import AlwaysTrue
from autograder.proving.ruined_arguments import RUINS, ruin_arguments
from autograder.proving.shared_log import NOTE, SharedLog
from labkit.probes import PROBES

Function = Callable[..., Any]
Namespace = dict[str, Any]
IN_ITS_PLACE = "a given function in the exercise's place"


def _drop_functions(args: Sequence[Any]) -> list[Any]:
    """Return the arguments that aren't functions."""
    return [value for value in args if not callable(value)]


# What a lying probe returns for its arguments.
CLAIMS: dict[str, Callable[[Sequence[Any]], Any]] = {
    "nothing": lambda args: None,
    "an empty list": lambda args: [],
    "an empty dict": lambda args: {},
    "its arguments": lambda args: _drop_functions(args),
    "its first argument": lambda args: next(iter(_drop_functions(args)), None),
    "NaN": lambda args: math.nan,
    "zero": lambda args: 0,
    "True": lambda args: True,
    "an object that returns True for everything": lambda args: AlwaysTrue(),
}
REPEATS = "its first answer, again and again"


def get_lies() -> dict[str, bool]:
    """Return the lies of probes, each with whether the notebook has the reference instead of the empty exercise."""
    claims = {f"each probe says: {claim}": False for claim in CLAIMS}
    return claims | {f"each probe says: {REPEATS}": True} | {f"each probe finds its {ruin}": True for ruin in RUINS}


class LieEffect:
    """The note of a lie. It's `has_effect` if the checks used anything that lies, so it made a difference."""

    def __init__(self, has_effect: bool = False) -> None:
        self._notes, self._always = SharedLog(), has_effect

    def record(self) -> None:
        self._notes.write("lied")

    @property
    def has_effect(self) -> bool:
        return self._always or bool(self._notes.read_lines())


def install_liar(namespace: Namespace, exercise: str, label: str, *args: Any) -> None:
    """Make the process of this namespace lie, and put the note under NOTE; see lie()."""
    namespace[NOTE] = lie(namespace, exercise, label, *args)


def lie(namespace: Namespace, exercise: str, label: str, *args: Any) -> LieEffect:
    """Make the process of this namespace lie. Returns the lie's note.

    Args:
        label: One of get_lies() with the names of the given probes, or IN_ITS_PLACE with the name of a given function.
    """
    if label == IN_ITS_PLACE:
        namespace[exercise] = namespace[args[0]]
        return LieEffect(has_effect=True)
    note = LieEffect()
    running = [0]  # the number of running probes
    for name in args[0]:
        namespace[name] = _make_liar(namespace[name], label, note, running)
    for name, probe in PROBES.items():
        PROBES[name] = _make_liar(probe, label, note, running)
    namespace[exercise] = _guard_exercise(namespace[exercise], running)  # a result without a probe wouldn't be a lie
    return note


def _make_liar(honest: Function, label: str, note: LieEffect, running: list[int]) -> Function:
    """Return a function that lies as the label says, and records each lie in the note.

    Args:
        honest: The function that it replaces, called unless the label invents a value.
        running: Holds the number of honest functions that are running now.
    """
    claimed = label.removeprefix("each probe says: ")
    if claimed in CLAIMS:

        def claim(*args: Any, **kwargs: Any) -> Any:
            note.record()
            return CLAIMS[claimed]([*args, *kwargs.values()])

        return claim
    answers: list[Any] = []

    @functools.wraps(honest)
    def probe(*args: Any, **kwargs: Any) -> Any:
        if claimed == REPEATS and answers:
            note.record()
            return answers[0]
        if claimed != REPEATS:
            if not ruin_arguments(label.removeprefix("each probe finds its "), args, kwargs):
                return None
            note.record()
        running[0] += 1
        try:
            answers.append(honest(*args, **kwargs))
        finally:
            running[0] -= 1
        return answers[-1]

    return probe


def _guard_exercise(exercise: Any, running: list[int]) -> Any:
    """Make the exercise do nothing unless a probe calls it."""

    def guard(function: Function) -> Function:
        @functools.wraps(function)
        def call_for_probe(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs) if running[0] else None

        return call_for_probe

    if not inspect.isclass(exercise):
        return guard(exercise)
    methods = {name: guard(getattr(exercise, name)) for name in ("__init__", "__call__") if hasattr(exercise, name)}
    if issubclass(exercise, torch.autograd.Function):
        methods = {"apply": staticmethod(guard(exercise.apply))}
    kind: Any = type(exercise)
    return kind(exercise.__name__, (exercise,), {**methods, "__module__": exercise.__module__})
