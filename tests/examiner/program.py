"""A conformance program: student code, and check code that runs on it once in this process and once from outside.

    @program(f=lambda x: x.mul_(2))
    def an_in_place_change_of_a_leaf(f):
        x = torch.ones(3)
        return f(x), x

The keywords are the student's objects. The function's body is the check: its parameters name the objects that it
uses, and its result is compared, with all that can be observed of it. `given` holds the course's own names. A check of
one expression is a lambda: `name = program(f=lambda x: x.mul_(2))(lambda f: (f(x := torch.ones(3)), x))`.
"""

import inspect
import os
import random
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from autograder.examiner.connection import Connection
from autograder.examiner.remote_namespace import RemoteNamespace
from autograder.rpc.frames import ConnectionClosed, receive, send
from autograder.student_process.call_server import CallServer
from tests.examiner.observe import observe


@dataclass(frozen=True)
class Program:
    check: Callable[..., Any]
    student: dict[str, Any]
    given: dict[str, Any]

    def run_locally(self) -> Any:
        with _reset_state():
            return self._run(self.student)

    def run_remotely(self) -> Any:
        with _reset_state(), start_student_process({**self.given, **self.student}, list(self.given)) as channel:
            connection = Connection(channel)
            connection.channel.settimeout(600)
            world = RemoteNamespace(connection, self.given)
            return self._run({name: world.get_proxy(name) for name in self.student})

    def _run(self, objects: dict[str, Any]) -> Any:
        parameters = inspect.signature(self.check).parameters
        try:
            result = self.check(**{name: objects[name] for name in parameters})
        except Exception as error:
            result = error
        return observe((result, _read_ambient()))


def program(given: dict[str, Any] | None = None, **student: Any) -> Callable[[Callable[..., Any]], Program]:
    return lambda check: Program(check, student, given or {})


def list_programs(module: Any) -> dict[str, Program]:
    """Name -> program, in the order in which the module defines them."""
    return {name: value for name, value in vars(module).items() if isinstance(value, Program)}


@contextmanager
def start_student_process(namespace: dict[str, Any], given: list[str]) -> Iterator[socket.socket]:
    """A fork that serves calls of what is in the namespace."""
    examiner_end, student_end = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        try:
            examiner_end.close()
            torch.set_num_threads(1)
            serve(student_end, CallServer(namespace, given, student_end))
        finally:
            os._exit(0)
    student_end.close()
    try:
        yield examiner_end
    finally:
        examiner_end.close()
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def serve(channel: socket.socket, calls: CallServer) -> None:
    while True:
        try:
            send(channel, calls.reply(receive(channel)))
        except ConnectionClosed:
            return


@contextmanager
def _reset_state() -> Iterator[None]:
    """Start a run with a fixed process state, and restore the previous one at its end."""
    states = torch.get_rng_state(), random.getstate(), np.random.get_state()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # as a student process: more threads would add in another order
    for seed in (torch.manual_seed, random.seed, np.random.seed):
        seed(7)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.set_rng_state(states[0])
        random.setstate(states[1])
        np.random.set_state(states[2])
        torch.set_default_dtype(torch.float32)
        torch.set_grad_enabled(True)
        torch.set_autocast_enabled("cpu", False)
        torch.set_autocast_dtype("cpu", torch.bfloat16)
        torch.use_deterministic_algorithms(False)


def _read_ambient() -> Any:
    """The process state after the student's code or the check."""
    return [
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        [torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu"), torch.is_autocast_cache_enabled()],
        torch.get_default_dtype(),
        [torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()],
        [torch.rand(()).item(), random.random(), np.random.rand(), np.random.randn()],
    ]
