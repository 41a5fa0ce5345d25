"""What replaces the reference in a notebook, and the note that it keeps."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from autograder.proving.call_recorder import CallRecorder
from autograder.proving.near_misses import get_near_misses
from autograder.proving.note_file import NOTE
from autograder.proving.objects import replace_methods
from autograder.proving.spoilers import HARD_CODED, METHODS, HardCodedFunction, SpoiledFunction, get_spoilers

WATCHED = "its calls noted"


@dataclass
class ReplacementNote:
    """The note of a class that is replaced."""

    applied: bool
    """False if it is the reference after all."""


def install(namespace: dict[str, Any], name: str, how: str, *args: Any) -> None:
    """Replace the object of this name with its make_replacement(), with the note under NOTE."""
    namespace[name], namespace[NOTE] = make_replacement(namespace[name], how, args)


def make_replacement(reference: Callable[..., Any], how: str, args: Sequence[Any]) -> tuple[Any, Any]:
    """What replaces the reference, and its note.

    Args:
        how: The label of a generated wrong answer, HARD_CODED with the number of visible calls, or WATCHED with the
            parameters to watch. The note of a generated answer has `applied`, that of WATCHED is a CallRecorder.
    """
    if how == WATCHED:
        watched = CallRecorder(reference, *args)
        return (reference if inspect.isclass(reference) else watched), watched
    if inspect.isclass(reference):
        change = METHODS.get(how)
        return (replace_methods(change, reference) if change else reference), ReplacementNote(change is not None)
    if how == HARD_CODED:
        hard_coded = HardCodedFunction(reference, *args)
        return hard_coded, hard_coded
    spoiled = SpoiledFunction(reference, (get_spoilers() | get_near_misses())[how])
    return spoiled, spoiled
