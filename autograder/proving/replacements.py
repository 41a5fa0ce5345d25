"""Replaces the reference in a notebook by a generated answer or a recorder, with a note about its use."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from autograder.proving.call_recorder import CallRecorder
from autograder.proving.constant_objects import replace_methods
from autograder.proving.edge_spoilers import WRONG_AT, EdgeSwitch
from autograder.proving.near_misses import get_near_misses
from autograder.proving.shared_log import NOTE
from autograder.proving.side_effects import get_side_effects
from autograder.proving.spoiled_results import HARD_CODED, METHODS, HardCodedFunction, SpoiledFunction, get_spoilers

RECORDED = "its calls noted"


@dataclass
class ReplacementEffect:
    """The note of a replaced class."""

    has_effect: bool
    """Whether it differs from the reference."""


def install_replacement(namespace: dict[str, Any], name: str, label: str, *args: Any) -> None:
    """Replace the object of this name by its make_replacement(), and put the note under NOTE."""
    namespace[name], namespace[NOTE] = make_replacement(namespace[name], label, args)


def make_replacement(reference: Callable[..., Any], label: str, args: Sequence[Any]) -> tuple[Any, Any]:
    """Return the replacement of the reference, and its note.

    Args:
        label: The label of a generated wrong answer; HARD_CODED with the number of visible calls; WRONG_AT; or RECORDED
            with the parameters to watch. The note of a generated answer has `has_effect`, that of WRONG_AT is an
            EdgeSwitch, that of RECORDED is a CallRecorder.
    """
    if label == RECORDED:
        recorder = CallRecorder(reference, *args)
        return (reference if inspect.isclass(reference) else recorder), recorder
    if label == WRONG_AT:
        switch = EdgeSwitch()
        return (switch.wrap_class(reference) if inspect.isclass(reference) else switch.wrap(reference)), switch
    if inspect.isclass(reference):
        change = METHODS.get(label)
        return (replace_methods(change, reference) if change else reference), ReplacementEffect(change is not None)
    if label == HARD_CODED:
        hard_coded = HardCodedFunction(reference, *args)
        return hard_coded, hard_coded
    spoiled = SpoiledFunction(reference, (get_spoilers() | get_near_misses() | get_side_effects())[label])
    return spoiled, spoiled
