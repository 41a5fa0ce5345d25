"""What a run may do: what a layer is, the limits, and the plan that enter() carries out."""

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
    """When a process takes a layer. Each stage takes away what an earlier one needs."""

    SEPARATE = 0  # into its new namespaces, which one call makes
    FORK = 1  # below its keeper, which does not go on
    BUILD = 2  # still with the rights of its parent: files, limits
    BECOME = 3  # another user
    GIVE_UP = 4  # what it inherited
    FILTER = 5  # what it may ask the kernel for


@dataclass
class Entry:
    """What a process knows while it takes its layers."""

    plan: Plan
    parent: int  # the pid of whoever forked it
    user_namespace: bool = False
    alive: int = -1  # a descriptor that reads as ended when its keeper has


def do_nothing(*_: object) -> str:
    return ""


@dataclass(frozen=True, eq=False)
class Layer:
    """All that entry, trial and doctor know of a layer. Its file says what it stops."""

    name: str  # in plans, in results and in `gradlab doctor`
    stage: Stage
    enter: Callable[[Entry], object] = do_nothing  # how a process takes it
    namespace: int = 0  # its flag of unshare()
    always: bool = False  # whether every Linux gives it
    needs: Callable[[], tuple[Layer, ...]] = tuple  # the layers that it cannot do without
    prepare: Callable[[Plan], object] = (
        do_nothing  # before the fork: what takes time; GradlabError where it cannot be had
    )
    probe: Callable[[], str] = do_nothing  # asked in a run that has all its layers: why this one does not hold there
    refused: Callable[[], str] = do_nothing  # why the kernel may have forbidden it, so that a person can act on it
    note: Callable[[], str] = do_nothing  # what the doctor says of it where it is there

    def __str__(self) -> str:
        return self.name


@cache
def find_runtime_paths() -> tuple[Path, ...]:
    """What Python, torch, a compiler and gloo read: the interpreter, system libraries, a few files of /etc, no home."""
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


# "local": sockets between the run's own processes. "pairs": socketpair only, for a machine where the file system
# holds sockets of others and no mount namespace hides them: a DataLoader's workers then hang, as they pass descriptors
# by a socket with a name. "gloo": TCP over loopback as well.
Network = Literal["local", "pairs", "gloo"]


@dataclass(frozen=True)
class Limits:
    """Bounds of one run; bytes and seconds."""

    memory: int = 4096 * MIB  # of all processes together: a watch's job, and tmpfs's
    disk: int = 1024 * MIB  # everything in the scratch home, where that is a tmpfs
    files: int = 10_000  # inodes in the scratch home, where that is a tmpfs
    file_size: int = 512 * MIB
    processes: int = 128  # threads count
    descriptors: int = 512
    cpu_seconds: int = 600  # of each process
    address_space: int | None = 8192 * MIB  # what each process may map beyond what it inherits; None for CUDA
    gpu_memory: int = 8192 * MIB  # of all processes together on all GPUs


@dataclass(frozen=True)
class Plan:
    """One run's sandbox. `readable` names all that exists for it besides its scratch directory."""

    scratch: Path  # an empty directory of the run's own; owned by `uid` where there is one
    layers: frozenset[Layer]
    readable: tuple[Path, ...] = field(default_factory=find_runtime_paths)
    devices: tuple[Path, ...] = ()  # /dev/nvidia* for CUDA
    uid: int | None = None
    limits: Limits = Limits()
    network: Network = "local"
    keep: tuple[int, ...] = ()  # descriptors that stay open; 0, 1 and 2 become /dev/null where not among them
    environment: Mapping[str, str] = field(default_factory=dict)
