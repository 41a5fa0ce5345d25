"""Namespaces. Stop: every network but a loopback of the run's own, abstract sockets and System V memory of others, and
(pid) seeing or signalling any other process; when the first process of a pid namespace ends, all others die."""

from __future__ import annotations

import fcntl
import os
import socket
import struct
from collections.abc import Collection
from pathlib import Path

from autograder.sandbox.plan import Layer
from autograder.sandbox.system import (
    CAP_SYS_ADMIN,
    CLONE_NEWIPC,
    CLONE_NEWNET,
    CLONE_NEWNS,
    CLONE_NEWPID,
    CLONE_NEWUSER,
    capable,
    unshare,
)

FLAGS = {
    Layer.NETWORK: CLONE_NEWNET,
    Layer.IPC: CLONE_NEWIPC,
    Layer.MOUNTS: CLONE_NEWNS,
    Layer.PID: CLONE_NEWPID,
}
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1


def separate(layers: Collection[Layer]) -> None:
    """Leave the machine's namespaces for new ones; with an ordinary user's rights, inside a user namespace."""
    flags = sum(flag for layer, flag in FLAGS.items() if layer in layers)
    if not flags:
        return
    if capable(CAP_SYS_ADMIN):
        unshare(flags)
    else:
        uid, gid = os.geteuid(), os.getegid()
        unshare(flags | CLONE_NEWUSER)
        # The same numbers inside: the run must not look like root to itself, and needs no other id.
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    if Layer.NETWORK in layers:
        raise_loopback()


def raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = bytearray(struct.pack("16sH14x", b"lo", 0))
        fcntl.ioctl(control, SIOCGIFFLAGS, request)
        (flags,) = struct.unpack_from("H", request, 16)
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | IFF_UP))


def only_loopback() -> bool:
    """Whether this process sees no network but loopback, as in a container without a network."""
    return all(name == "lo" for _, name in socket.if_nameindex())
