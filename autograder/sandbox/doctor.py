"""Which layers this machine gives, found by trying what a run would take; and the refusal where they are too few."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from autograder.errors import GradlabError
from autograder.sandbox.keeper import KEEPER
from autograder.sandbox.landlock import LANDLOCK
from autograder.sandbox.layers import ALWAYS, LAYERS, NAMESPACES
from autograder.sandbox.limits import LIMITS
from autograder.sandbox.mounts import MOUNTS, PROC
from autograder.sandbox.namespaces import IPC, NETWORK, PID
from autograder.sandbox.plan import Layer, Network, runtime_paths
from autograder.sandbox.seccomp import SECCOMP
from autograder.sandbox.system import CAP_SYS_ADMIN, capable
from autograder.sandbox.trial import alone, hindrance, together
from autograder.sandbox.uid import POOL, UID

# A level is groups of layers of which one must be there. What each level lacks is said to whoever asks for it.
LEVELS: dict[str, tuple[frozenset[Layer], ...]] = {
    "full": (
        frozenset({UID, PID}),
        frozenset({NETWORK}),
        frozenset({IPC}),
        frozenset({MOUNTS}),
        frozenset({PROC}),
        frozenset({LANDLOCK}),
        frozenset({SECCOMP}),
        frozenset({LIMITS}),
    ),
    "no-namespaces": (
        frozenset({UID}),
        frozenset({LANDLOCK}),
        frozenset({SECCOMP}),
        frozenset({LIMITS}),
    ),
    "same-user": (frozenset({LANDLOCK}), frozenset({SECCOMP})),
    "none": (),
}
WITHOUT = {
    "full": "nothing is lacking",
    "no-namespaces": "other processes are seen, and other programs' sockets in the file system can be reached; disk "
    "space has no total bound",
    "same-user": "the same, and runs share one user: a fork bomb counts against that user's other processes, and as "
    "root against nothing",
    "none": "a submission can read and change what the grader can: only for submissions that you trust",
}
# What to do without, one after the other, where layers fail together that can be had alone.
GIVEN_UP = (
    frozenset({PROC}),
    frozenset({PROC, *NAMESPACES}),
    frozenset({PROC, *NAMESPACES, UID}),
    frozenset(LAYERS) - ALWAYS - {KEEPER},
)


@dataclass(frozen=True)
class Found:
    given: bool
    note: str


def available() -> dict[Layer, Found]:
    """Each layer, with the reason where it is missing. What a run would take is tried together, as a run; what is not
    part of that, or fails together, is tried alone."""
    if sys.platform != "linux":
        raise GradlabError(f"Grading needs Linux, whose sandbox it uses; this is {sys.platform}. Use a container.")
    found = {}
    for layer in LAYERS:
        reason = hindrance(layer)
        found[layer] = Found(not reason, reason)
    reason, weak = together(strongest(found))
    tried = frozenset() if reason else strongest(found)
    for layer in LAYERS:
        if found[layer].given and layer not in tried:
            absent = [needed for needed in layer.needs() if not found[needed].given]
            hinders = f"needs the {absent[0]}" if absent else alone(layer, POOL[-1])
            found[layer] = Found(not hinders, hinders)
    if reason:
        found, weak = _that_work_together(found)
    found |= {layer: Found(False, why) for layer, why in weak.items()}
    return {layer: Found(True, layer.note()) if state.given else state for layer, state in found.items()}


def _that_work_together(found: Mapping[Layer, Found]) -> tuple[dict[Layer, Found], dict[Layer, str]]:
    """Of the layers that can be had alone those that a run can have, and which of them do not hold in it."""
    left, why, failed = dict(found), "", set()
    for given_up in (frozenset[Layer](), *GIVEN_UP):
        lost = Found(False, f"not together with the others: {why}")
        left = {layer: lost if layer in given_up and state.given else state for layer, state in found.items()}
        layers = strongest(left)
        if layers in failed:
            continue
        if closed(left):
            return left, {}
        reason, weak = together(layers)
        if not reason:
            return left, weak
        why = why or reason
        failed.add(layers)
    return left, {}


def strongest(found: Mapping[Layer, Found]) -> frozenset[Layer]:
    """The layers to put in a plan on this machine: a uid makes the keeper and its pid namespace unnecessary.

    But in a user namespace, only a pid namespace brings a /proc of the run's own.
    """
    layers = ALWAYS | {layer for layer, state in found.items() if state.given}
    if UID in layers and (capable(CAP_SYS_ADMIN) or MOUNTS not in layers):
        layers -= {PID, KEEPER}
    return layers


def network_for(layers: frozenset[Layer]) -> Network:
    """Loopback where it is the run's own; else unix sockets, but where file names lead to those of other programs."""
    if NETWORK in layers:
        return "gloo"
    uid = 0 if UID in layers else None
    return "local" if MOUNTS in layers or not reachable_sockets(uid) else "pairs"


def missing(level: str, found: Mapping[Layer, Found]) -> list[str]:
    """What of that level this machine lacks, with reasons."""
    return [
        " or ".join(f"{layer} ({found[layer].note})" for layer in sorted(group, key=str))
        for group in LEVELS[level]
        if not any(found[layer].given for layer in group)
    ]


def strongest_level(found: Mapping[Layer, Found]) -> str:
    """The first of LEVELS of which nothing is missing."""
    return next(name for name in LEVELS if not missing(name, found))


def require(level: str = "full", found: Mapping[Layer, Found] | None = None) -> frozenset[Layer]:
    """The strongest layers here; GradlabError where they are fewer than the level asks for."""
    if level not in LEVELS:
        raise GradlabError(f"--isolation={level} is no level; choose one of {', '.join(LEVELS)}.")
    found = available() if found is None else found
    if lacking := missing(level, found):
        best = strongest_level(found)
        raise GradlabError(
            "This machine cannot isolate submissions as required. Missing:\n"
            + "".join(f"    {each}\n" for each in lacking)
            + f"To grade with less, say --isolation={best}: {WITHOUT[best]}."
        )
    if reason := closed(found):
        raise GradlabError(f"A student process has {reason}.")
    return strongest(found)


def report(found: Mapping[Layer, Found] | None = None) -> Iterator[tuple[str, bool, str]]:
    """For `gradlab doctor`: a name, whether it is there, and a note, for each layer and each level."""
    found = available() if found is None else found
    for layer, state in found.items():
        yield str(layer), state.given, state.note
    for level in LEVELS:
        lacking = missing(level, found)
        note = "missing " + "; ".join(lacking) if lacking else closed(found) or WITHOUT[level]
        yield f"--isolation={level}", not lacking and not closed(found), note


def reachable_sockets(uid: int | None = None) -> list[str]:
    """Sockets of other programs that have a name in the file system and that a run of that uid may connect to."""
    lines = Path("/proc/net/unix").read_text(errors="replace").splitlines()[1:]
    names = {fields[7] for line in lines if len(fields := line.split(None, 7)) == 8}
    return sorted(name for name in names if name.startswith("/") and _may_write(name, uid))


def _may_write(name: str, uid: int | None) -> bool:
    if uid is None:
        return os.access(name, os.W_OK)
    try:
        return bool(os.stat(name).st_mode & stat.S_IWOTH)
    except OSError:
        return False


def closed(found: Mapping[Layer, Found]) -> str:
    """What no level can do without: a way to Python for the uid that a run would have here."""
    layers = strongest(found)
    if UID not in layers or MOUNTS in layers or not (paths := closed_to_others(runtime_paths())):
        return ""
    names = ", ".join(map(str, paths))
    return f"a uid of its own here, to which {names} is closed: chmod o+x it, or install Python elsewhere"


def closed_to_others(paths: Iterable[Path]) -> list[Path]:
    """Directories on the way to these paths that other users may not pass: a uid without mounts of its own must."""
    above = {directory for path in paths for directory in (path.resolve(), *path.resolve().parents)}
    return sorted(path for path in above if path.is_dir() and not path.stat().st_mode & stat.S_IXOTH)
