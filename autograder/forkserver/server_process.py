"""Starts the process of a fork server, which imports what labs import before its settings are known.

This file doesn't import torch: `gradlab grade` starts a fork server first, and imports its own libraries meanwhile.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from autograder.sandbox.home import build_process_environment
from autograder.student_process.imports import EVERYTHING

# A process can't be forked after a library started threads.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
END_SECONDS = 120.0  # after that it's killed because it hangs, which leaves its student processes


@dataclass(frozen=True)
class ForkServerProcess:
    """The process of a fork server."""

    process: subprocess.Popen[bytes]
    order_sockets: tuple[socket.socket, ...]
    """A socket for each client."""
    home: Path
    """Its folder, which close() removes."""

    def close(self) -> None:
        """Hang up for all clients, and wait for the process to end. A second call does nothing."""
        for order_socket in self.order_sockets:
            order_socket.close()
        try:
            self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.home, ignore_errors=True)


def start_fork_server_process(clients: int = 1, groups: Collection[str] = EVERYTHING) -> ForkServerProcess:
    """Start a fork server, before anything secret is read.

    Args:
        groups: The modules to import in advance, see student_process/imports.py.
    """
    home = Path(tempfile.mkdtemp(prefix="gradlab-warm-"))
    pairs = [socket.socketpair() for _ in range(clients)]
    descriptors = [theirs.fileno() for _, theirs in pairs]
    command = [sys.executable, "-P", "-m", "autograder.forkserver.server", ",".join(sorted(groups))]
    process = subprocess.Popen(
        [*command, *map(str, descriptors)],
        pass_fds=descriptors,
        env=build_process_environment(home, ONE_THREAD),
        cwd=home,
        stdin=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C goes to the grader, which ends this process when it's ready
    )
    for _, theirs in pairs:
        theirs.close()
    return ForkServerProcess(process, tuple(ours for ours, _ in pairs), home)
