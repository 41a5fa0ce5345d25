"""Which layers this machine gives, found by trying what a run would take; and the refusal where they are too few."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from autograder.errors import GradlabError
from autograder.sandbox import landlock
from autograder.sandbox.plan import ALWAYS, NAMESPACES, Layer, Network, runtime_paths
from autograder.sandbox.system import CAP_SYS_ADMIN, capable
from autograder.sandbox.trial import alone, hindrance, together

# A level is groups of layers of which one must be there. What each level lacks is said to whoever asks for it.
LEVELS: dict[str, tuple[frozenset[Layer], ...]] = {
    "full": (
        frozenset({Layer.UID, Layer.PID}),
        frozenset({Layer.NETWORK}),
        frozenset({Layer.IPC}),
        frozenset({Layer.MOUNTS}),
        frozenset({Layer.PROC}),
        frozenset({Layer.LANDLOCK}),
        frozenset({Layer.SECCOMP}),
        frozenset({Layer.LIMITS}),
    ),
    "no-namespaces": (
        frozenset({Layer.UID}),
        frozenset({Layer.LANDLOCK}),
        frozenset({Layer.SECCOMP}),
        frozenset({Layer.LIMITS}),
    ),
    "same-user": (frozenset({Layer.LANDLOCK}), frozenset({Layer.SECCOMP})),
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
    frozenset({Layer.PROC}),
    frozenset({Layer.PROC, *NAMESPACES}),
    frozenset({Layer.PROC, *NAMESPACES, Layer.UID}),
    frozenset({Layer.PROC, *NAMESPACES, Layer.UID, Layer.LANDLOCK, Layer.SECCOMP}),
)


@dataclass(frozen=True)
class Found:
    given: bool
    note: str


def available(uid: int = 61_183) -> dict[Layer, Found]:
    """Each layer, with the reason where it is missing. What a run would take is tried together, as a run; what is not
    part of that, or fails together, is tried alone."""
    if sys.platform != "linux":
        raise GradlabError(f"Grading needs Linux, whose sandbox it uses; this is {sys.platform}. Use a container.")
    found = {}
    for layer in Layer:
        reason = hindrance(layer)
        found[layer] = Found(not reason, reason)
    reason, counted = together(strongest(found))
    tried = frozenset() if reason else strongest(found)
    for layer in Layer:
        if found[layer].given and layer not in tried:
            mounts = layer is not Layer.PROC or found[Layer.MOUNTS].given
            hinders = alone(layer, uid) if mounts else f"needs the {Layer.MOUNTS}"
            found[layer] = Found(not hinders, hinders)
    if reason:
        found, counted = _that_work_together(found)
    if not counted:
        found[Layer.LIMITS] = Found(False, "root's processes are not counted: a fork bomb has no bound")
    notes = {Layer.LANDLOCK: _landlock_note, Layer.PID: _identity_note, Layer.UID: lambda: f"as uid {uid}"}
    return {
        layer: Found(True, notes[layer]()) if state.given and layer in notes else state
        for layer, state in found.items()
    }


def _that_work_together(found: Mapping[Layer, Found]) -> tuple[dict[Layer, Found], bool]:
    """Of the layers that can be had alone those that a run can have, and whether a fork bomb in it would be bounded."""
    left, why, failed = dict(found), "", set()
    for given_up in (frozenset[Layer](), *GIVEN_UP):
        lost = Found(False, f"not together with the others: {why}")
        left = {layer: lost if layer in given_up and state.given else state for layer, state in found.items()}
        layers = strongest(left)
        if layers in failed:
            continue
        if closed(left):
            return left, True
        reason, counted = together(layers)
        if not reason:
            return left, counted
        why = why or reason
        failed.add(layers)
    return left, True


def strongest(found: Mapping[Layer, Found]) -> frozenset[Layer]:
    """The layers to put in a plan on this machine: a uid makes the keeper and its pid namespace unnecessary.

    But in a user namespace, only a pid namespace brings a /proc of the run's own.
    """
    layers = ALWAYS | {layer for layer, state in found.items() if state.given}
    if Layer.UID in layers and (capable(CAP_SYS_ADMIN) or Layer.MOUNTS not in layers):
        layers -= {Layer.PID, Layer.KEEPER}
    return layers


def network_for(layers: frozenset[Layer]) -> Network:
    """Loopback where it is the run's own; else unix sockets, but where file names lead to those of other programs."""
    if Layer.NETWORK in layers:
        return "gloo"
    uid = 0 if Layer.UID in layers else None
    return "local" if Layer.MOUNTS in layers or not reachable_sockets(uid) else "pairs"


def missing(level: str, found: Mapping[Layer, Found]) -> list[str]:
    """What of that level this machine lacks, with reasons."""
    return [
        " or ".join(f"{layer} ({found[layer].note})" for layer in sorted(group))
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
    if Layer.UID not in layers or Layer.MOUNTS in layers or not (paths := closed_to_others(runtime_paths())):
        return ""
    names = ", ".join(map(str, paths))
    return f"a uid of its own here, to which {names} is closed: chmod o+x it, or install Python elsewhere"


def closed_to_others(paths: Iterable[Path]) -> list[Path]:
    """Directories on the way to these paths that other users may not pass: a uid without mounts of its own must."""
    above = {directory for path in paths for directory in (path.resolve(), *path.resolve().parents)}
    return sorted(path for path in above if path.is_dir() and not path.stat().st_mode & stat.S_IXOTH)


def _landlock_note() -> str:
    version = landlock.abi()
    lacks = {3: "no TCP rules, no scopes", 5: "no scopes for signals and abstract sockets"}
    return f"ABI {version}" + next((f": {text}" for last, text in lacks.items() if version <= last), "")


def _identity_note() -> str:
    return "" if capable(CAP_SYS_ADMIN) else "in a user namespace"
