"""The warm process: has imported what labs import, holds no secret, and forks a student process for each submission.

Run as `python -m autograder.student.warm DESCRIPTOR`. It runs no parallel operation and no CUDA call before a fork.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys

import torch

import labkit
from autograder.student.kernel import Kernel
from autograder.student.main import serve
from autograder.wire.frames import WireClosed, receive, send


def main(descriptor: int) -> None:
    """Answer each ["start"], with which a socket comes, by the pid of a new student process that serves there."""
    torch.set_num_threads(1)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    orders = socket.socket(fileno=descriptor)
    while True:
        try:
            receive(orders)
        except WireClosed:
            return
        _, (control, *_), _, _ = socket.recv_fds(orders, 1, 1)
        pid = os.fork()
        if pid == 0:
            orders.close()
            _become_student(socket.socket(fileno=control))
        os.close(control)
        send(orders, pid)


def _become_student(control: socket.socket) -> None:
    with contextlib.suppress(BaseException):
        os.setsid()
        torch.set_num_threads(1)  # again after the fork: a thread pool does not survive it
        torch.manual_seed(0)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        serve(control, Kernel())
    os._exit(0)


if __name__ == "__main__":
    assert labkit
    main(int(sys.argv[1]))
