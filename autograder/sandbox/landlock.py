"""Landlock. Stops a run from opening files outside its plan, and from reaching other processes.

That includes mem, environ, maps and fd of another process, ptrace and process_vm_readv; TCP (ABI 4); abstract sockets
and signals to outside (ABI 6). It doesn't stop UDP or stat(). A process with CAP_PERFMON can still read environ and
maps, so capabilities are dropped before this layer.
"""

from __future__ import annotations

import ctypes
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from autograder.sandbox.mounts import DEVICES, MOUNTS
from autograder.sandbox.plan import Layer, Plan, Stage
from autograder.sandbox.system import PR_SET_NO_NEW_PRIVS, prctl, syscall

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
CREATE_RULESET_VERSION, RULE_PATH_BENEATH = 1, 1

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = (1 << bit for bit in range(4))
MAKE_CHAR, MAKE_BLOCK, TRUNCATE, IOCTL_DEV = 1 << 6, 1 << 11, 1 << 14, 1 << 15
READ = EXECUTE | READ_FILE | READ_DIR
OF_A_FILE = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
TCP = 0b11  # bind and connect
SCOPES = 0b11  # abstract unix sockets and signals


class _Ruleset(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("files", "network", "scopes")]


class _PathRule(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = [("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32)]


def read_abi() -> int:
    """Return the kernel's version of Landlock. Raises OSError if it has none."""
    return syscall(CREATE_RULESET, None, 0, CREATE_RULESET_VERSION, about="Landlock")


def compute_file_rights(version: int) -> int:
    last = {1: 12, 2: 13, 3: 14, 4: 14}.get(version, 15)
    return (1 << last + 1) - 1


def restrict_files(plan: Plan) -> None:
    """Restrict this process and its children to the plan's paths, and to themselves."""
    version = read_abi()
    rights = compute_file_rights(version)
    network = TCP if version >= 4 and plan.network != "gloo" else 0
    attributes = _Ruleset(rights, network, SCOPES if version >= 6 else 0)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = syscall(CREATE_RULESET, ctypes.byref(attributes), size, 0, about="create a ruleset")
    try:
        write = rights & ~(MAKE_CHAR | MAKE_BLOCK)
        _allow(ruleset, (*plan.readable, Path("/proc")), READ)
        _allow(ruleset, (plan.scratch,), write)
        _allow(ruleset, (*DEVICES, *plan.devices), write & ~EXECUTE)
        _allow(ruleset, _list_shared(plan), write & ~EXECUTE)
        prctl(PR_SET_NO_NEW_PRIVS, 1)
        syscall(RESTRICT_SELF, ruleset, 0, about="restrict this process")
    finally:
        os.close(ruleset)


def _list_shared(plan: Plan) -> tuple[Path, ...]:
    """Return /dev/shm, which DataLoader needs, and /tmp if a mount namespace gives the run its own."""
    return (Path("/dev/shm"), Path("/tmp")) if MOUNTS in plan.layers else (Path("/dev/shm"),)


def _allow(ruleset: int, paths: Iterable[Path], rights: int) -> None:
    for path in paths:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            directory = stat.S_ISDIR(os.fstat(descriptor).st_mode)
            rule = _PathRule(rights if directory else rights & OF_A_FILE, descriptor)
            syscall(ADD_RULE, ruleset, RULE_PATH_BENEATH, ctypes.byref(rule), 0, about=str(path))
        finally:
            os.close(descriptor)


def _describe_abi() -> str:
    version = read_abi()
    gaps = {3: "no TCP rules, no scopes", 5: "no scopes for signals and abstract sockets"}
    return f"ABI {version}" + next((f": {text}" for last, text in gaps.items() if version <= last), "")


LANDLOCK = Layer("landlock", Stage.FILTER, lambda entry: restrict_files(entry.plan), note=_describe_abi)
