"""Memory in a run's sockets. Stops a run from filling the machine with data that is sent and never read.

The kernel charges it to no process. Only for runs with their own network: the machine's tables don't show whose a
socket is.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable
from pathlib import Path

from autograder.sandbox.processes import read_real_uid
from autograder.sandbox.uid import read_as_user

DEFAULT_BUFFER = 212_992  # bytes: the kernel's default, with its overhead for each message
DATAGRAM = b"0002"  # the type of a unix socket
DATAGRAMS = 11  # queued in one, each as large as its sender's buffer: the default of a new network, and one more
TCP_SEND, TCP_RECEIVE = 4 << 20, 6 << 20  # bytes: the kernel's defaults for the largest buffers


def measure_socket_memory(pids: Iterable[int]) -> int:
    """Return the bytes that sockets may use.

    - a unix socket: its buffer, for datagrams as many as can be queued
    - netlink: the queued bytes
    - TCP: the largest buffer for each direction with queued data, since the kernel may use a thousand bytes for one

    Because of seccomp.py, a run can't change the size of a buffer or create a socket of another family.
    """
    pid = next((pid for pid in pids if _has_own_network(pid)), None)
    if pid is None:
        return 0
    tables = [_read_table(pid, name) for name in ("tcp", "tcp6") if _has_tcp_socket(pid, name)]
    queued = [_parse_queued(line) for table in tables for line in table]
    tcp = sum((sent > 0) * _read_largest("tcp_wmem", TCP_SEND) for sent, _ in queued)
    tcp += sum((received > 0) * _read_largest("tcp_rmem", TCP_RECEIVE) for _, received in queued)
    netlink = sum(_parse_netlink_queued(line) for line in _read_table(pid, "netlink"))
    kinds = [line.split(None, 5)[4] for line in _read_table(pid, "unix")]
    buffers = sum(DATAGRAMS if kind == DATAGRAM else 1 for kind in kinds)
    return buffers * _read_default_buffer() + tcp + netlink


def _has_own_network(pid: int) -> bool:
    try:
        return _read_network(pid) != os.stat("/proc/self/ns/net").st_ino
    except OSError:
        return False


def _read_network(pid: int) -> int:
    path = f"/proc/{pid}/ns/net"
    try:
        return os.stat(path).st_ino
    except PermissionError:
        owner = read_real_uid(pid)
        if os.geteuid() or not owner:
            raise
        with read_as_user(owner):
            return os.stat(path).st_ino


def _has_tcp_socket(pid: int, table: str) -> bool:
    """Whether this table has lines. To read an empty one takes the kernel 4 ms: it looks at all networks' sockets."""
    counts = [line.split() for line in _read_lines(pid, "sockstat6" if table == "tcp6" else "sockstat")]
    return next((count != b"0" for name, _, count, *_ in counts if name == table.upper().encode() + b":"), True)


def _read_table(pid: int, name: str) -> list[bytes]:
    """Return the lines of a table without its header."""
    return _read_lines(pid, name)[1:]


def _read_lines(pid: int, name: str) -> list[bytes]:
    """Return the lines of a file in /proc/PID/net; [] if the process has ended."""
    try:
        with open(f"/proc/{pid}/net/{name}", "rb") as file:
            return file.read().splitlines()
    except OSError:
        return []


def _parse_queued(line: bytes) -> tuple[int, int]:
    """Parse the fifth field, tx_queue:rx_queue in hexadecimal."""
    sent, _, received = line.split()[4].partition(b":")
    return int(sent, 16), int(received, 16)


def _parse_netlink_queued(line: bytes) -> int:
    """Parse the fifth and sixth field, Rmem and Wmem."""
    received, sent = line.split()[4:6]
    return int(received) + int(sent)


@functools.cache
def _read_default_buffer() -> int:
    try:
        return int(Path("/proc/sys/net/core/wmem_default").read_text())
    except (OSError, ValueError):
        return DEFAULT_BUFFER


@functools.cache
def _read_largest(name: str, default: int) -> int:
    """Read the last of the three numbers of a TCP setting."""
    try:
        return int(Path(f"/proc/sys/net/ipv4/{name}").read_text().split()[2])
    except (OSError, ValueError, IndexError):
        return default
