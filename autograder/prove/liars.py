"""Liars that gradlab makes itself: student processes whose probes and given functions claim what is not so.

A liar of this kind has solved nothing: the exercise is empty, and what the checks look with says something of its own.
Where it needs an answer to begin with, it has the reference, and spoils what the reference gets to see.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from autograder.prove.objects import SaysTrue, repeats
from autograder.prove.ruined import RUINS, ruined
from labkit.probes import PROBES

Function = Callable[..., Any]
Namespace = dict[str, Any]
IN_ITS_PLACE = "a given function in the exercise's place"


def _values(args: Sequence[Any]) -> list[Any]:
    """The arguments that are no functions."""
    return [value for value in args if not callable(value)]


# What a probe says, from what it was asked.
CLAIMS: dict[str, Callable[[Sequence[Any]], Any]] = {
    "nothing": lambda args: None,
    "an empty list": lambda args: [],
    "an empty dict": lambda args: {},
    "its arguments": lambda args: _values(args),
    "its first argument": lambda args: next(iter(_values(args)), None),
    "NaN": lambda args: math.nan,
    "zero": lambda args: 0,
    "True": lambda args: True,
    "an object that says True to everything": lambda args: SaysTrue(),
}
REPEATS = "its first answer, again and again"


def lies() -> dict[str, bool]:
    """How the probes lie -> whether the reference stands in the notebook, instead of the empty exercise."""
    claims = {f"each probe says: {claim}": False for claim in CLAIMS}
    return claims | {f"each probe says: {REPEATS}": True} | {f"each probe finds its {ruin}": True for ruin in RUINS}


def lie(namespace: Namespace, how: str, *args: Any) -> None:
    """Let the process of this namespace lie.

    how: one of lies(), with the names of the given probes, or IN_ITS_PLACE, with the exercise's name and another one.
    """
    if how == IN_ITS_PLACE:
        exercise, name = args
        namespace[exercise] = namespace[name]
        return
    (given,) = args
    for name in given:
        namespace[name] = _lying(namespace[name], how)
    for name, probe in PROBES.items():
        PROBES[name] = _lying(probe, how)


def _lying(honest: Function, how: str) -> Function:
    _, _, what = how.partition("each probe ")
    if (claim := what.removeprefix("says: ")) in CLAIMS:
        return lambda *args, **kwargs: CLAIMS[claim]([*args, *kwargs.values()])
    if claim == REPEATS:
        return repeats(honest)
    return ruined(honest, what.removeprefix("finds its "))
