"""Finds the layers that this machine supports, by trying them as a run would, and refuses to grade with too few."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from autograder.base.errors import GradlabError
from autograder.sandbox.isolation import Isolation
from autograder.sandbox.keeper import KEEPER
from autograder.sandbox.landlock import LANDLOCK
from autograder.sandbox.layers import ALWAYS, LAYERS, NAMESPACES
from autograder.sandbox.mounts import MOUNTS, PROC
from autograder.sandbox.namespaces import IPC, NETWORK, PID
from autograder.sandbox.plan import Layer, Network, find_runtime_paths
from autograder.sandbox.rlimits import LIMITS
from autograder.sandbox.seccomp import SECCOMP
from autograder.sandbox.system import CAP_SYS_ADMIN, has_capability
from autograder.sandbox.trial import explain_unavailable_layer, try_alone, try_together
from autograder.sandbox.uid import POOL, UID

# Each level is a list of groups, and needs one layer of each group.
LEVELS: dict[Isolation, tuple[frozenset[Layer], ...]] = {
    Isolation.FULL: (
        frozenset({UID, PID}),
        frozenset({NETWORK}),
        frozenset({IPC}),
        frozenset({MOUNTS}),
        frozenset({PROC}),
        frozenset({LANDLOCK}),
        frozenset({SECCOMP}),
        frozenset({LIMITS}),
    ),
    Isolation.NO_NAMESPACES: (
        frozenset({UID}),
        frozenset({LANDLOCK}),
        frozenset({SECCOMP}),
        frozenset({LIMITS}),
    ),
    Isolation.SAME_USER: (frozenset({LANDLOCK}), frozenset({SECCOMP})),
    Isolation.NONE: (),
}
# What a level means for the person who chooses it.
SHORTCOMINGS = {
    Isolation.FULL: "nothing is missing",
    Isolation.NO_NAMESPACES: "submissions see other processes and can reach other programs' sockets in the file "
    "system; disk space has no total limit",
    Isolation.SAME_USER: "submissions see other processes and can reach other programs' sockets in the file "
    "system; disk space has no total limit; all runs have one user, so a fork bomb counts against that user's other "
    "processes, and as root against nothing",
    Isolation.NONE: "a submission can read and change what the grader can: only for submissions that you trust",
}
# Layers to try without, one set after the other, if layers work alone but not together.
EXPENDABLE = (
    frozenset({PROC}),
    frozenset({PROC, *NAMESPACES}),
    frozenset({PROC, *NAMESPACES, UID}),
    frozenset(LAYERS) - ALWAYS - {KEEPER},
)


@dataclass(frozen=True)
class LayerState:
    available: bool
    note: str


def find_layers() -> dict[Layer, LayerState]:
    """Return the state of each layer, with the reason if it's missing.

    The layers that a run would use are tried together. Others, or all if they fail together, are tried one by one.
    """
    if sys.platform != "linux":
        raise GradlabError(f"grading needs Linux for its sandbox, but this is {sys.platform}", fix="use a container")
    states = {}
    for layer in LAYERS:
        reason = explain_unavailable_layer(layer)
        states[layer] = LayerState(not reason, reason)
    reason, ineffective = try_together(select_layers(states))
    tried = frozenset() if reason else select_layers(states)
    for layer in LAYERS:
        if states[layer].available and layer not in tried:
            missing = [required for required in layer.needs() if not states[required].available]
            hindrance = f"needs the {missing[0]}" if missing else try_alone(layer, POOL[-1])
            states[layer] = LayerState(not hindrance, hindrance)
    if reason:
        states, ineffective = _select_compatible(states)
    states |= {layer: LayerState(False, explanation) for layer, explanation in ineffective.items()}
    return {layer: LayerState(True, layer.note()) if state.available else state for layer, state in states.items()}


def _select_compatible(states: Mapping[Layer, LayerState]) -> tuple[dict[Layer, LayerState], dict[Layer, str]]:
    """Find layers that work together among those that work alone.

    Returns:
        The states, and the layers that have no effect in a run, with the reason.
    """
    remaining, first_reason, failed = dict(states), "", set()
    for expendable in (frozenset[Layer](), *EXPENDABLE):
        dropped = LayerState(False, f"not together with the others: {first_reason}")
        remaining = {
            layer: dropped if layer in expendable and state.available else state for layer, state in states.items()
        }
        layers = select_layers(remaining)
        if layers in failed:
            continue
        if explain_closed_paths(remaining):
            return remaining, {}
        reason, ineffective = try_together(layers)
        if not reason:
            return remaining, ineffective
        first_reason = first_reason or reason
        failed.add(layers)
    return remaining, {}


def select_layers(states: Mapping[Layer, LayerState]) -> frozenset[Layer]:
    """Return the layers for a plan on this machine. A uid makes the keeper and its pid namespace unnecessary.

    But in a user namespace, a run gets its own /proc only with a pid namespace.
    """
    layers = ALWAYS | {layer for layer, state in states.items() if state.available}
    if UID in layers and (has_capability(CAP_SYS_ADMIN) or MOUNTS not in layers):
        layers -= {PID, KEEPER}
    return layers


def choose_network(layers: frozenset[Layer]) -> Network:
    """Return TCP on loopback if the run has its own; else unix sockets, without names if other programs' have some."""
    if NETWORK in layers:
        return "gloo"
    uid = 0 if UID in layers else None
    return "local" if MOUNTS in layers or not find_reachable_sockets(uid) else "pairs"


def list_missing(level: Isolation, states: Mapping[Layer, LayerState]) -> list[str]:
    """Return the layers of a level that this machine doesn't have, with reasons."""
    return [
        " or ".join(f"{layer} ({states[layer].note})" for layer in sorted(group, key=str))
        for group in LEVELS[level]
        if not any(states[layer].available for layer in group)
    ]


def find_strongest_level(states: Mapping[Layer, LayerState]) -> Isolation:
    """Return the first level that this machine has all layers of."""
    return next(level for level in LEVELS if not list_missing(level, states))


def select_required_layers(
    level: Isolation = Isolation.FULL, states: Mapping[Layer, LayerState] | None = None
) -> frozenset[Layer]:
    """Return the strongest layers of this machine. Raises GradlabError if they are fewer than the level needs."""
    states = find_layers() if states is None else states
    if missing := list_missing(level, states):
        best = find_strongest_level(states)
        raise GradlabError(
            "this machine can't isolate submissions as required. Missing:"
            + "".join(f"\n    {layer}" for layer in missing),
            fix=f"provide what is missing, or accept less with --isolation={best}: {SHORTCOMINGS[best]}",
        )
    if reason := explain_closed_paths(states):
        raise GradlabError(f"a student process can't start here: {reason}")
    return select_layers(states)


def report_layers(states: Mapping[Layer, LayerState] | None = None) -> Iterator[tuple[str, bool, str]]:
    """Yield the name, the availability and a note for each layer and each level, for `gradlab doctor`."""
    states = find_layers() if states is None else states
    for layer, state in states.items():
        yield str(layer), state.available, state.note
    for level in LEVELS:
        missing = list_missing(level, states)
        note = "missing " + "; ".join(missing) if missing else explain_closed_paths(states) or SHORTCOMINGS[level]
        yield f"--isolation={level}", not missing and not explain_closed_paths(states), note


def find_reachable_sockets(uid: int | None = None) -> list[str]:
    """Return named sockets of other programs in the file system that a run with this uid may connect to."""
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


def explain_closed_paths(states: Mapping[Layer, LayerState]) -> str:
    """Return why a run's uid can't reach Python on this machine, which every level needs; "" if it can."""
    layers = select_layers(states)
    if UID not in layers or MOUNTS in layers or not (paths := find_closed_paths(find_runtime_paths())):
        return ""
    names = [str(path) for path in paths]
    return f"its uid can't enter {', '.join(names)}; run chmod o+x {' '.join(names)}, or install Python elsewhere"


def find_closed_paths(paths: Iterable[Path]) -> list[Path]:
    """Return the directories above these paths that other users can't enter, as a uid without its own mounts must."""
    directories = {directory for path in paths for directory in (path.resolve(), *path.resolve().parents)}
    return sorted(path for path in directories if path.is_dir() and not path.stat().st_mode & stat.S_IXOTH)
