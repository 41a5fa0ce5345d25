"""Checks of the ports of a hub and its parts."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

from autograder.base.text import join_names
from autograder.hub.finding import Finding
from autograder.hub.hub_lock import is_locked
from autograder.hub.programs import PROXY
from autograder.hub.services import PROXY_PID, list_ports
from autograder.hub.settings import DEFAULT_INTERNAL_PORT, HUB_FILE, MAX_INTERNAL_PORT, MIN_PORT, Hub


def check_ports(hub: Hub) -> Iterator[Finding]:
    """Check that the hub's parts have ports of their own, and that they're free, unless it's this hub that listens."""
    own, *internal = list_ports(hub)
    if own in internal:
        free = own + 1 if MIN_PORT <= own + 1 <= MAX_INTERNAL_PORT else DEFAULT_INTERNAL_PORT
        yield Finding(
            f"address has the port {own}, which the hub's parts use as well: internal_port is {hub.internal_port}, and "
            f"they use the ports up to {max(internal)}",
            f"write internal_port = {free} in {HUB_FILE}, or another port as address",
        )
    if _is_running(hub):
        return
    used = [port for port in (own, *internal) if not _is_free(port)]
    if used:
        yield Finding(
            f"another program uses port {join_names([str(port) for port in used])} of this machine",
            f"end it, or write other ports as address and internal_port in {HUB_FILE}",
        )


def _is_running(hub: Hub) -> bool:
    """Return whether the hub runs: started by gradlab hub, or by another JupyterHub that has this configuration."""
    if is_locked(hub.folder):
        return True
    try:
        return PROXY in Path("/proc", (hub.folder / PROXY_PID).read_text().strip(), "cmdline").read_text()
    except OSError:
        return False


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
