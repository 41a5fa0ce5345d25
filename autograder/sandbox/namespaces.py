"""Namespaces. Stop: every network but a loopback of the run's own, abstract sockets and System V memory of others, and
(pid) seeing or signalling any other process; when the first process of a pid namespace ends, all others die."""

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
    """Leave the machine's namespaces for new ones, and say whether that is inside a user namespace, for lack of rights.

    uid: whom the run will become. In a user namespace that is nobody, unless it is mapped.
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
        # The same numbers inside: the run must not look like root to itself, and needs no other id.
        Path("/proc/self/setgroups").write_text("deny")
        for kind, number in zip(("uid", "gid"), identity, strict=True):
            Path(f"/proc/self/{kind}_map").write_text(f"{number} {number} 1")
    else:
        _unshare_with(uid, flags | CLONE_NEWUSER)
    return True


def _unshare_with(uid: int, flags: int) -> None:
    """Unshare, with this user and that one mapped to themselves: only a process that stays outside may map a second."""
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
        needed = "CAP_SETUID, CAP_SETGID and CAP_SETFCAP are needed for it"
        raise PermissionError(errno.EPERM, f"the run's uid cannot be mapped into a user namespace: {needed}")


def raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = bytearray(struct.pack("16sH14x", b"lo", 0))
        fcntl.ioctl(control, SIOCGIFFLAGS, request)
        (flags,) = struct.unpack_from("H", request, 16)
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | IFF_UP))


def has_only_loopback() -> bool:
    """Whether this process sees no network but loopback, as in a container without a network."""
    return all(name == "lo" for _, name in socket.if_nameindex())


def explain_refusal() -> str:
    if os.geteuid() == 0 and not has_capability(CAP_SYS_ADMIN) and not has_capability(CAP_SETFCAP):
        return "the kernel refuses: root needs CAP_SETFCAP or CAP_SYS_ADMIN for it"
    return (
        "the kernel refuses: this is not root, and user namespaces are switched off; or a container's profile forbids "
        "them"
    )


def _describe_namespace() -> str:
    return "" if has_capability(CAP_SYS_ADMIN) else "in a user namespace"


NETWORK = Layer(
    "network namespace", Stage.SEPARATE, lambda _: raise_loopback(), namespace=CLONE_NEWNET, refused=explain_refusal
)
IPC = Layer("ipc namespace", Stage.SEPARATE, namespace=CLONE_NEWIPC, refused=explain_refusal)
PID = Layer(
    "pid namespace",
    Stage.SEPARATE,
    namespace=CLONE_NEWPID,
    needs=lambda: (KEEPER,),
    refused=explain_refusal,
    note=_describe_namespace,
)
