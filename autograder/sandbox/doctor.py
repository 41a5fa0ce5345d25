"""Which layers this machine gives, found by taking each in a forked child; and the refusal where they are too few."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from autograder.errors import GradlabError
from autograder.sandbox import landlock
from autograder.sandbox.entry import enter
from autograder.sandbox.plan import NAMESPACES, Layer, Network, Plan, runtime_paths
from autograder.sandbox.system import CAP_SETUID, CAP_SYS_ADMIN, capable

# A level is groups of layers of which one must be there. What each level lacks is said to whoever asks for it.
LEVELS: dict[str, tuple[frozenset[Layer], ...]] = {
    "full": (
        frozenset({Layer.UID, Layer.PID}),
        frozenset({Layer.NETWORK}),
        frozenset({Layer.IPC}),
        frozenset({Layer.MOUNTS}),
        frozenset({Layer.LANDLOCK}),
        frozenset({Layer.SECCOMP}),
    ),
    "no-namespaces": (frozenset({Layer.UID}), frozenset({Layer.LANDLOCK}), frozenset({Layer.SECCOMP})),
    "same-user": (frozenset({Layer.LANDLOCK}), frozenset({Layer.SECCOMP})),
    "none": (),
}
WITHOUT = {
    "full": "nothing is lacking",
    "no-namespaces": "other programs' sockets in the file system can be reached; disk space has no total bound",
    "same-user": "the same, and runs share one user: a fork bomb counts against that user's other processes",
    "none": "a submission can read and change what the grader can: only for submissions that you trust",
}

NO_NAMESPACES = (
    "the kernel refuses: this is not root, and user namespaces are switched off; or a container's profile forbids them"
)


@dataclass(frozen=True)
class Found:
    given: bool
    note: str


def available(uid: int = 61_183) -> dict[Layer, Found]:
    """Each layer, taken alone in a fork of this process, with the reason where that failed."""
    if sys.platform != "linux":
        raise GradlabError(f"Grading needs Linux, whose sandbox it uses; this is {sys.platform}. Use a container.")
    notes = {Layer.LANDLOCK: _landlock_note, Layer.PID: _identity_note, Layer.UID: lambda: f"as uid {uid}"}
    found = {}
    for layer in Layer:
        reason = hindrance(layer) or try_alone(layer, uid)
        note = reason or (notes[layer]() if layer in notes else "")
        found[layer] = Found(not reason, note)
    return found


def strongest(found: Mapping[Layer, Found]) -> frozenset[Layer]:
    """The layers to put in a plan on this machine: a uid makes the keeper and its pid namespace unnecessary."""
    layers = {layer for layer, state in found.items() if state.given}
    return frozenset(layers - {Layer.PID, Layer.KEEPER} if Layer.UID in layers else layers)


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
    layers = strongest(found)
    if Layer.UID in layers and Layer.MOUNTS not in layers and (closed := closed_to_others(runtime_paths())):
        names = ", ".join(map(str, closed))
        raise GradlabError(
            f"A student process has a uid of its own here, to which {names} is closed: chmod o+x it, or install Python "
            "elsewhere."
        )
    return layers


def report(found: Mapping[Layer, Found] | None = None) -> Iterator[tuple[str, bool, str]]:
    """For `gradlab doctor`: a name, whether it is there, and a note, for each layer and each level."""
    found = available() if found is None else found
    for layer, state in found.items():
        yield str(layer), state.given, state.note
    for level in LEVELS:
        lacking = missing(level, found)
        yield f"--isolation={level}", not lacking, "missing " + "; ".join(lacking) if lacking else WITHOUT[level]


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


def hindrance(layer: Layer) -> str:
    """What is known without trying, said so that a person can act on it."""
    if layer is Layer.UID and not capable(CAP_SETUID):
        return "needs root"
    if layer is Layer.SECCOMP:
        from autograder.sandbox.seccomp import program

        try:
            program()
        except GradlabError as error:
            return str(error)
    return ""


def try_alone(layer: Layer, uid: int) -> str:
    """Why taking that layer fails; empty where it does not."""
    layers = frozenset({layer, Layer.KEEPER} if layer is Layer.PID else {layer})
    scratch = Path(tempfile.mkdtemp(prefix="gradlab-doctor-"))
    reading, writing = os.pipe()
    try:
        child = os.fork()
        if child == 0:
            answer = ""
            try:
                enter(Plan(scratch, layers, uid=uid if layer is Layer.UID else None, keep=(writing,)))
            except PermissionError as error:
                answer = NO_NAMESPACES if layer in NAMESPACES else str(error)
            except BaseException as error:
                answer = str(error) or type(error).__name__
            finally:
                os.write(writing, answer.encode()[:4096])
                os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            answer = pipe.read().decode()
        status = os.waitpid(child, 0)[1]
        return answer or ("" if status == 0 else f"the process that tried it ended with status {status}")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
