"""Namespaces. Stop every network but the run's own loopback, and abstract sockets and System V memory of others.

A pid namespace also stops a run from seeing or signalling any other process. When its first process ends, all others
die.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import struct
from collections.abc import Collection
from pathlib import Path

from autograder.sandbox.keeper import KEEPER
from autograder.sandbox.plan import Layer, Stage
from autograder.sandbox.system import (
    CAP_SETFCAP,
    CAP_SYS_ADMIN,
    CLONE_NEWIPC,
    CLONE_NEWNET,
    CLONE_NEWPID,
    CLONE_NEWUSER,
    has_capability,
    unshare,
    wait,
)

SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1


def separate(layers: Collection[Layer], uid: int | None = None) -> bool:
    """Enter new namespaces, and return whether they are in a user namespace, which they are without the rights.

    Args:
        uid: The uid that the run will get. It must be mapped in a user namespace, or it would be "nobody".
    """
    flags = sum(layer.namespace for layer in layers)
    if not flags:
        return False
    if has_capability(CAP_SYS_ADMIN):
        unshare(flags)
        return False
    if uid is None:
        identity = os.geteuid(), os.getegid()
        unshare(flags | CLONE_NEWUSER)
        # The same numbers inside: the run must not appear as root to itself, and needs no other id.
        Path("/proc/self/setgroups").write_text("deny")
        for kind, number in zip(("uid", "gid"), identity, strict=True):
            Path(f"/proc/self/{kind}_map").write_text(f"{number} {number} 1")
    else:
        _unshare_with(uid, flags | CLONE_NEWUSER)
    return True


def _unshare_with(uid: int, flags: int) -> None:
    """Unshare, and map this user and that one to themselves. Only a process outside may map a second one."""
    pid, identity = os.getpid(), (os.geteuid(), os.getegid())
    reading, writing = os.pipe()
    mapper = os.fork()
    if mapper == 0:
        status = 1
        try:
            os.close(writing)
            if os.read(reading, 1):
                for kind, number in zip(("uid", "gid"), identity, strict=True):
                    Path(f"/proc/{pid}/{kind}_map").write_text(f"{number} {number} 1\n{uid} {uid} 1\n")
                status = 0
        finally:
            os._exit(status)
    os.close(reading)
    try:
        unshare(flags)
        os.write(writing, b"x")
    finally:
        os.close(writing)
        failed = wait(mapper)
    if failed:
        reason = "that needs CAP_SETUID, CAP_SETGID and CAP_SETFCAP"
        raise PermissionError(errno.EPERM, f"the run's uid can't be mapped into a user namespace: {reason}")


def raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = bytearray(struct.pack("16sH14x", b"lo", 0))
        fcntl.ioctl(control, SIOCGIFFLAGS, request)
        (flags,) = struct.unpack_from("H", request, 16)
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | IFF_UP))


def has_only_loopback() -> bool:
    """Return whether this process has only loopback, as in a container without a network."""
    return all(name == "lo" for _, name in socket.if_nameindex())


def explain_refusal() -> str:
    if os.geteuid() == 0 and not has_capability(CAP_SYS_ADMIN) and not has_capability(CAP_SETFCAP):
        return "the kernel refuses: root needs CAP_SETFCAP or CAP_SYS_ADMIN for it"
    return "the kernel refuses: this isn't root and user namespaces are disabled, or a container's profile forbids them"


def _describe_namespace() -> str:
    return "" if has_capability(CAP_SYS_ADMIN) else "in a user namespace"


NETWORK = Layer(
    "network namespace", Stage.SEPARATE, lambda _: raise_loopback(), namespace=CLONE_NEWNET, refusal=explain_refusal
)
IPC = Layer("ipc namespace", Stage.SEPARATE, namespace=CLONE_NEWIPC, refusal=explain_refusal)
PID = Layer(
    "pid namespace",
    Stage.SEPARATE,
    namespace=CLONE_NEWPID,
    needs=lambda: (KEEPER,),
    refusal=explain_refusal,
    note=_describe_namespace,
)
