"""What a run may do: the layers, the limits, and the plan that enter() carries out."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Literal

MIB = 1 << 20


class Layer(StrEnum):
    UID = "uid"
    NETWORK = "network namespace"
    IPC = "ipc namespace"
    MOUNTS = "mount namespace"
    PID = "pid namespace"
    PROC = "own /proc"
    LANDLOCK = "landlock"
    SECCOMP = "seccomp"
    LIMITS = "limits"
    DESCRIPTORS = "closed descriptors"
    PRIVILEGES = "no privileges"
    HOME = "scratch home"
    KEEPER = "keeper"


NAMESPACES = frozenset({Layer.NETWORK, Layer.IPC, Layer.MOUNTS, Layer.PID})
# What every machine with Linux gives.
ALWAYS = frozenset({Layer.LIMITS, Layer.DESCRIPTORS, Layer.PRIVILEGES, Layer.HOME})


@cache
def runtime_paths() -> tuple[Path, ...]:
    """What Python, torch, a compiler and gloo read: the interpreter, system libraries, a few files of /etc, no home."""
    candidates = [
        *dict.fromkeys((sys.prefix, sys.base_prefix, sys.exec_prefix)),
        *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt/cuda"),
        *("/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime", "/etc/mime.types", "/etc/fonts"),
        *("/etc/ssl/openssl.cnf", "/etc/nsswitch.conf", "/etc/hosts", "/etc/protocols", "/etc/services"),
        *("/sys/devices", "/sys/class/net", "/sys/bus/pci"),
    ]
    paths = [Path(path) for path in candidates]
    return tuple(path for path in paths if os.access(path, os.R_OK) and not _inside(path, paths))


def _inside(path: Path, others: list[Path]) -> bool:
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
    """One run's sandbox. `readable` and `writable` name all that exists for it besides its scratch directory."""

    scratch: Path  # an empty directory of the run's own; owned by `uid` where there is one
    layers: frozenset[Layer]
    readable: tuple[Path, ...] = field(default_factory=runtime_paths)
    writable: tuple[Path, ...] = ()
    devices: tuple[Path, ...] = ()  # /dev/nvidia* for CUDA
    uid: int | None = None
    limits: Limits = Limits()
    network: Network = "local"
    keep: tuple[int, ...] = ()  # descriptors that stay open; 0, 1 and 2 become /dev/null where not among them
    environment: Mapping[str, str] = field(default_factory=dict)
