"""The student process: runs a submission's cells for the examiner, and forks to serve the calls of each check cell.

Started with one socket. It never receives a check cell or an expected value.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket

import torch

from autograder.student.calls import Calls
from autograder.student.kernel import Kernel
from autograder.wire.frames import WireClosed, WireError, receive, send


def serve(control: socket.socket, kernel: Kernel) -> None:
    """Answer ["run", source] with the outputs as JSON, and ["fork"] (a socket comes with it) with the fork's pid.

    Returns when the examiner hangs up.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # forks end when their client does; nobody waits for them
    while True:
        try:
            kind, *rest = receive(control)
            if kind == "run":
                send(control, json.dumps(kernel.run(rest[0]), default=str))
            elif kind == "fork":
                send(control, _fork(control, kernel))
        except WireClosed:
            return
        except WireError:
            continue


def _fork(control: socket.socket, kernel: Kernel) -> int:
    _, (descriptor, *_), _, _ = socket.recv_fds(control, 1, 1)
    pid = os.fork()
    if pid == 0:
        control.close()
        with contextlib.suppress(BaseException):
            torch.set_num_threads(1)  # a thread pool does not survive a fork
            serve_calls(socket.socket(fileno=descriptor), Calls(kernel.namespace))
        os._exit(0)
    os.close(descriptor)
    return pid


def serve_calls(channel: socket.socket, calls: Calls) -> None:
    """Answer calls until the client hangs up."""
    while True:
        try:
            send(channel, calls.answer(receive(channel)))
        except WireClosed:
            return
