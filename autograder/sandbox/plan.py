"""Describes a sandbox: what a layer is, the limits, and the plan that enter() carries out."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache
from pathlib import Path
from typing import Literal

MIB = 1 << 20


class Stage(IntEnum):
    """When a process takes a layer. Each stage removes something that earlier ones need."""

    SEPARATE = 0  # enter new namespaces, all with one call
    FORK = 1  # fork below a keeper
    BUILD = 2  # set up files and limits, still with the parent's rights
    BECOME = 3  # become another user
    GIVE_UP = 4  # give up what it inherited
    FILTER = 5  # restrict system calls and paths


@dataclass
class EntryState:
    """The state of a process while it takes its layers."""

    plan: Plan
    parent: int
    """The pid of the process that forked it."""
    user_namespace: bool = False
    keeper_pipe: int = -1
    """A descriptor that is closed when its keeper ends."""


def do_nothing(*_: object) -> str:
    return ""


@dataclass(frozen=True, eq=False)
class Layer:
    """A layer of the sandbox. Its file says what it stops."""

    name: str
    """Its name in plans, in results and in `gradlab doctor`."""
    stage: Stage
    enter: Callable[[EntryState], object] = do_nothing
    """Take it, in the run."""
    namespace: int = 0
    """Its flag of unshare()."""
    always: bool = False
    """Whether every Linux has it."""
    needs: Callable[[], tuple[Layer, ...]] = tuple
    """Return the layers that it needs."""
    prepare: Callable[[Plan], object] = do_nothing
    """Do the slow parts before the fork. Raises GradlabError if this machine can't have it."""
    explain_ineffective: Callable[[], str] = do_nothing
    """Return why it has no effect, in a run that has all its layers; "" if it has."""
    refusal: Callable[[], str] = do_nothing
    """Return why the kernel may have refused it, so a person can act on it."""
    note: Callable[[], str] = do_nothing
    """Return a remark for `gradlab doctor` if it works."""

    def __str__(self) -> str:
        return self.name


@cache
def find_runtime_paths() -> tuple[Path, ...]:
    """Return the paths that Python, torch, a compiler and gloo read: Python, system libraries and parts of /etc."""
    candidates = [
        *dict.fromkeys((sys.prefix, sys.base_prefix, sys.exec_prefix)),
        *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt/cuda"),
        *("/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime", "/etc/mime.types", "/etc/fonts"),
        *("/etc/ssl/openssl.cnf", "/etc/nsswitch.conf", "/etc/hosts", "/etc/protocols", "/etc/services"),
        *("/sys/devices", "/sys/class/net", "/sys/bus/pci"),
    ]
    paths = [Path(path) for path in candidates]
    return tuple(path for path in paths if os.access(path, os.R_OK) and not _is_inside(path, paths))


def _is_inside(path: Path, others: list[Path]) -> bool:
    return any(other != path and path.is_relative_to(other) and os.access(other, os.R_OK) for other in others)


# "local": unix sockets between the run's own processes. "pairs": only socketpair, if the file system contains other
# programs' sockets and no mount namespace hides them; a DataLoader's workers then hang, since they pass descriptors
# over a named socket. "gloo": TCP over loopback as well.
Network = Literal["local", "pairs", "gloo"]


@dataclass(frozen=True)
class Limits:
    """Limits of one run, in bytes and seconds."""

    memory: int = 4096 * MIB
    """Of all processes together, kept by a watch and the tmpfs."""
    disk: int = 1024 * MIB
    """Of all files in the scratch home, if that's a tmpfs."""
    files: int = 10_000
    """Inodes in the scratch home, if that's a tmpfs."""
    file_size: int = 512 * MIB
    processes: int = 128
    """Threads count as processes."""
    descriptors: int = 512
    cpu_seconds: int = 600
    """Of each process."""
    address_space: int | None = 8192 * MIB
    """Of each process, beyond what it inherits; None for CUDA."""
    gpu_memory: int = 8192 * MIB
    """Of all processes together, on all GPUs."""


@dataclass(frozen=True)
class Plan:
    """The sandbox of one run."""

    scratch: Path
    """An empty directory of its own, owned by `uid` if that's set."""
    layers: frozenset[Layer]
    readable: tuple[Path, ...] = field(default_factory=find_runtime_paths)
    """All paths that exist for it besides its scratch directory."""
    devices: tuple[Path, ...] = ()
    """The paths /dev/nvidia* for CUDA."""
    uid: int | None = None
    limits: Limits = Limits()
    network: Network = "local"
    open_descriptors: tuple[int, ...] = ()
    """Descriptors that stay open. If 0, 1 or 2 isn't among them, it becomes /dev/null."""
    environment: Mapping[str, str] = field(default_factory=dict)
