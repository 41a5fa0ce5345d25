"""What a lab imports: checks, comparisons, hints, pictures, probes, and the device to work on.

labkit imports nothing from `autograder`: a student needs only this package.
"""

from typing import Any

from labkit import memory, pictures, probes
from labkit.argument_changes import unchanged
from labkit.check import check
from labkit.choices import assert_answered, assert_letters, assert_some_right
from labkit.compare import assert_close, explain
from labkit.device import device, use_device
from labkit.hint import hint
from labkit.progress import progress
from labkit.recorded_calls import Seen

__all__ = [
    "Seen",
    "assert_answered",
    "assert_close",
    "assert_letters",
    "assert_some_right",
    "check",
    "device",
    "explain",
    "hint",
    "memory",
    "probes",
    "progress",
    "unchanged",
    "use_device",
    *pictures.MODULES,
]


def __getattr__(name: str) -> Any:
    """A picture, which is imported now."""
    if name not in pictures.MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found = getattr(pictures, name)
    return found
