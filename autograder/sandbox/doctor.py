"""Which layers this machine gives, found by trying what a run would take; and the refusal where they are too few."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from autograder.base.errors import GradlabError
from autograder.sandbox.keeper import KEEPER
from autograder.sandbox.landlock import LANDLOCK
from autograder.sandbox.layers import ALWAYS, LAYERS, NAMESPACES
from autograder.sandbox.limits import LIMITS
from autograder.sandbox.mounts import MOUNTS, PROC
from autograder.sandbox.namespaces import IPC, NETWORK, PID
from autograder.sandbox.plan import Layer, Network, find_runtime_paths
from autograder.sandbox.seccomp import SECCOMP
from autograder.sandbox.system import CAP_SYS_ADMIN, has_capability
from autograder.sandbox.trial import find_hindrance, try_alone, try_together
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
class LayerState:
    given: bool
    note: str


def find_layers() -> dict[Layer, LayerState]:
    """Each layer, with the reason where it is missing. What a run would take is tried together, as a run; what is not
    part of that, or fails together, is tried alone."""
    if sys.platform != "linux":
        raise GradlabError(f"Grading needs Linux, whose sandbox it uses; this is {sys.platform}. Use a container.")
    found = {}
    for layer in LAYERS:
        reason = find_hindrance(layer)
        found[layer] = LayerState(not reason, reason)
    reason, weak = try_together(select_layers(found))
    tried = frozenset() if reason else select_layers(found)
    for layer in LAYERS:
        if found[layer].given and layer not in tried:
            absent = [needed for needed in layer.needs() if not found[needed].given]
            hinders = f"needs the {absent[0]}" if absent else try_alone(layer, POOL[-1])
            found[layer] = LayerState(not hinders, hinders)
    if reason:
        found, weak = _select_compatible(found)
    found |= {layer: LayerState(False, why) for layer, why in weak.items()}
    return {layer: LayerState(True, layer.note()) if state.given else state for layer, state in found.items()}


def _select_compatible(found: Mapping[Layer, LayerState]) -> tuple[dict[Layer, LayerState], dict[Layer, str]]:
    """Of the layers that can be had alone those that a run can have, and which of them do not hold in it."""
    left, why, failed = dict(found), "", set()
    for given_up in (frozenset[Layer](), *GIVEN_UP):
        lost = LayerState(False, f"not together with the others: {why}")
        left = {layer: lost if layer in given_up and state.given else state for layer, state in found.items()}
        layers = select_layers(left)
        if layers in failed:
            continue
        if explain_closed_paths(left):
            return left, {}
        reason, weak = try_together(layers)
        if not reason:
            return left, weak
        why = why or reason
        failed.add(layers)
    return left, {}


def select_layers(found: Mapping[Layer, LayerState]) -> frozenset[Layer]:
    """The layers to put in a plan on this machine: a uid makes the keeper and its pid namespace unnecessary.

    But in a user namespace, only a pid namespace brings a /proc of the run's own.
    """
    layers = ALWAYS | {layer for layer, state in found.items() if state.given}
    if UID in layers and (has_capability(CAP_SYS_ADMIN) or MOUNTS not in layers):
        layers -= {PID, KEEPER}
    return layers


def choose_network(layers: frozenset[Layer]) -> Network:
    """Loopback where it is the run's own; else unix sockets, but where file names lead to those of other programs."""
    if NETWORK in layers:
        return "gloo"
    uid = 0 if UID in layers else None
    return "local" if MOUNTS in layers or not find_reachable_sockets(uid) else "pairs"


def list_missing(level: str, found: Mapping[Layer, LayerState]) -> list[str]:
    """What of that level this machine lacks, with reasons."""
    return [
        " or ".join(f"{layer} ({found[layer].note})" for layer in sorted(group, key=str))
        for group in LEVELS[level]
        if not any(found[layer].given for layer in group)
    ]


def find_strongest_level(found: Mapping[Layer, LayerState]) -> str:
    """The first of LEVELS of which nothing is missing."""
    return next(name for name in LEVELS if not list_missing(name, found))


def require(level: str = "full", found: Mapping[Layer, LayerState] | None = None) -> frozenset[Layer]:
    """The strongest layers here; GradlabError where they are fewer than the level asks for."""
    if level not in LEVELS:
        raise GradlabError(f"--isolation={level} is no level; choose one of {', '.join(LEVELS)}.")
    found = find_layers() if found is None else found
    if lacking := list_missing(level, found):
        best = find_strongest_level(found)
        raise GradlabError(
            "This machine cannot isolate submissions as required. Missing:\n"
            + "".join(f"    {each}\n" for each in lacking)
            + f"To grade with less, say --isolation={best}: {WITHOUT[best]}."
        )
    if reason := explain_closed_paths(found):
        raise GradlabError(f"A student process has {reason}.")
    return select_layers(found)


def report(found: Mapping[Layer, LayerState] | None = None) -> Iterator[tuple[str, bool, str]]:
    """For `gradlab doctor`: a name, whether it is there, and a note, for each layer and each level."""
    found = find_layers() if found is None else found
    for layer, state in found.items():
        yield str(layer), state.given, state.note
    for level in LEVELS:
        lacking = list_missing(level, found)
        note = "missing " + "; ".join(lacking) if lacking else explain_closed_paths(found) or WITHOUT[level]
        yield f"--isolation={level}", not lacking and not explain_closed_paths(found), note


def find_reachable_sockets(uid: int | None = None) -> list[str]:
    """Sockets of other programs that have a name in the file system and that a run of that uid may connect to."""
    lines = Path("/proc/net/unix").read_text(errors="replace").splitlines()[1:]
    names = {fields[7] for line in lines if len(fields := line.split(None, 7)) == 8}
    return sorted(name for name in names if name.startswith("/") and _can_write(name, uid))


def _can_write(name: str, uid: int | None) -> bool:
    if uid is None:
        return os.access(name, os.W_OK)
    try:
        return bool(os.stat(name).st_mode & stat.S_IWOTH)
    except OSError:
        return False


def explain_closed_paths(found: Mapping[Layer, LayerState]) -> str:
    """What no level can do without: a way to Python for the uid that a run would have here."""
    layers = select_layers(found)
    if UID not in layers or MOUNTS in layers or not (paths := find_closed_paths(find_runtime_paths())):
        return ""
    names = ", ".join(map(str, paths))
    return f"a uid of its own here, to which {names} is closed: chmod o+x it, or install Python elsewhere"


def find_closed_paths(paths: Iterable[Path]) -> list[Path]:
    """Directories on the way to these paths that other users may not pass: a uid without mounts of its own must."""
    above = {directory for path in paths for directory in (path.resolve(), *path.resolve().parents)}
    return sorted(path for path in above if path.is_dir() and not path.stat().st_mode & stat.S_IXOTH)
