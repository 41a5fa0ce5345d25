"""What stands in a notebook in place of the reference, and the note that it keeps."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from autograder.proving.generated import HARD_CODED, METHODS, HardCoded, Spoiled, spoilers
from autograder.proving.near import near_misses
from autograder.proving.noted import NOTE
from autograder.proving.objects import with_methods
from autograder.proving.watched import Watched

WATCHED = "its calls noted"


@dataclass
class Applied:
    """The note of a class that is replaced. `applied` is False where it is the reference after all."""

    applied: bool


def install(namespace: dict[str, Any], name: str, how: str, *args: Any) -> None:
    """Put in place of the object of this name its replacement(), with the note under NOTE."""
    namespace[name], namespace[NOTE] = replacement(namespace[name], how, args)


def replacement(reference: Callable[..., Any], how: str, args: Sequence[Any]) -> tuple[Any, Any]:
    """(what stands in place of the reference, its note).

    how: the label of a generated wrong answer, HARD_CODED with the number of visible calls, or WATCHED with the
    parameters to watch. The note of a generated answer has `applied`, that of WATCHED is a Watched.
    """
    if how == WATCHED:
        watched = Watched(reference, *args)
        return (reference if inspect.isclass(reference) else watched), watched
    if inspect.isclass(reference):
        change = METHODS.get(how)
        return (with_methods(change, reference) if change else reference), Applied(change is not None)
    if how == HARD_CODED:
        hard_coded = HardCoded(reference, *args)
        return hard_coded, hard_coded
    spoiled = Spoiled(reference, (spoilers() | near_misses())[how])
    return spoiled, spoiled
