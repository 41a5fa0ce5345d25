"""Closed descriptors. Stops a run from using what its parent had open.

That's the gradebook, the course, another run's channel or a terminal. Neither a uid nor Landlock takes these away.
"""

from __future__ import annotations

import os
from collections.abc import Collection

from autograder.sandbox.plan import EntryState, Layer, Stage

STANDARD = (0, 1, 2)


def close_all_but(descriptors: Collection[int]) -> None:
    """Close all other descriptors. A standard one that isn't among them becomes /dev/null."""
    start = 3
    for descriptor in sorted({*descriptors} - {*STANDARD}):
        os.closerange(start, descriptor)
        start = descriptor + 1
    os.closerange(start, 1 << 30)
    missing = [descriptor for descriptor in STANDARD if descriptor not in descriptors]
    if missing:
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in missing:
            if descriptor != null:
                os.dup2(null, descriptor)
        if null not in STANDARD:
            os.close(null)


def _enter(entry: EntryState) -> None:
    close_all_but({*entry.plan.open_descriptors} | ({entry.keeper_pipe} if entry.keeper_pipe >= 0 else set()))


DESCRIPTORS = Layer("closed descriptors", Stage.GIVE_UP, _enter, always=True)
