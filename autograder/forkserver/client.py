"""The grader's end of a fork server, which starts before anything secret is read and never receives any of it."""

from __future__ import annotations

import contextlib
import copy
import os
import signal
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import labkit
from autograder.base.device import Device
from autograder.base.errors import GradlabError
from autograder.examiner.process import StudentProcess
from autograder.examiner.process_time_limit import CpuTime
from autograder.forkserver import orders
from autograder.forkserver.orders import Order, OrderKind, ReachedLimit, ServerSettings
from autograder.forkserver.server_process import ForkServerProcess, start_fork_server_process
from autograder.rpc.fields import check_float, check_length, check_list, check_number
from autograder.rpc.frames import ProtocolError, WireValue, receive, send
from autograder.sandbox import Isolation, Limits, find_runtime_paths

T = TypeVar("T")

START_SECONDS = 600.0  # a cold import of torch on a busy machine takes two minutes
CLOSED_SECONDS = 60.0  # to wait for the reason after a process closed its socket


@dataclass(frozen=True)
class ProcessSettings:
    """The settings of student processes."""

    isolation: Isolation = Isolation.FULL
    limits: Limits = field(default_factory=Limits)
    device: Device = Device.CPU
    compile_cache: Path | None = None
    """A cache of torch.compile, see prepare_compile_cache()."""


class ForkServerClient:
    """Starts and supervises student processes.

    Once it's `lost`, it no longer answers, and later submissions need another one.

    Args:
        secret_folders: Folders that must not exist for a student process.
        server_process: A server process that is already running.

    Raises:
        GradlabError: If this machine isolates less than required, or a secret folder is in one that Python needs.
    """

    def __init__(
        self,
        process_settings: ProcessSettings | None = None,
        secret_folders: Iterable[Path] = (),
        server_process: ForkServerProcess | None = None,
    ) -> None:
        process_settings = process_settings or ProcessSettings()
        self.limits, self.device, cache = (
            process_settings.limits,
            process_settings.device,
            process_settings.compile_cache,
        )
        readable = [Path(labkit.__file__).parent, *([cache] if cache else [])]
        refuse_readable_secrets(secret_folders, (*find_runtime_paths(), *readable))
        self.lost = False
        self.server_process = server_process or start_fork_server_process()
        self.order_socket, *self.spare_sockets = self.server_process.order_sockets
        try:
            paths = tuple(str(path) for path in readable)
            settings = ServerSettings(process_settings.isolation, self.limits, paths, self.device, str(cache or ""))
            refusal, self.layers = self._ask(settings.to_message(), orders.read_layers)
            if refusal:
                raise GradlabError(refusal)
        except BaseException:
            self.close()
            raise

    def start_process(self, restores_names: bool = True) -> StudentProcess:
        """Start a student process in its sandbox.

        Args:
            restores_names: Whether the names of the course and of labkit are restored before calls.
        """
        ours, theirs = socket.socketpair()
        try:
            with self._hold_exchange():
                self._send([*Order(OrderKind.START)])
                socket.send_fds(self.order_socket, [b"s"], [theirs.fileno()])
                pid, error = self._receive(orders.read_start)
        finally:
            theirs.close()
        if not pid:
            raise GradlabError(f"no student process could be started: {error}", fix="run gradlab doctor")
        try:
            receive(ours, START_SECONDS)
        except ProtocolError:
            deadline = time.monotonic() + CLOSED_SECONDS  # its socket closes a moment before it ends
            while not (reason := self.explain_end(pid)) and time.monotonic() < deadline:
                time.sleep(0.01)
            reason = reason or "it ended without a message"
            self.stop(pid)
            raise GradlabError(
                f"a student process couldn't enter its sandbox ({reason})", fix="run gradlab doctor"
            ) from None
        self.adopt(pid, "")
        return StudentProcess(ours, pid, self, self.device == "cpu", restores_names)

    def adopt(self, pid: int, group: str) -> None:
        """Add the run's processes without a group to this group."""
        self._ask([*Order(OrderKind.ADOPT, pid, group)], _read_nothing)

    def kill_group(self, pid: int, group: str) -> None:
        """Kill the processes of the group and all processes without a group."""
        self._ask([*Order(OrderKind.KILL_GROUP, pid, group)], _read_nothing)

    def explain_end(self, pid: int) -> str:
        """Return the limit that a run or its fork reached since the last call, or how it ended; "" if it's running."""
        limit, status = self._ask([*Order(OrderKind.CHECK_STATUS, pid)], orders.read_status)
        if limit:
            limit_bytes = self.limits.memory if limit is ReachedLimit.MEMORY else self.limits.gpu_memory
            return f"the {limit} limit of {limit_bytes / 2**30:.3g} GiB was reached"
        if status is None:
            return ""
        if not os.WIFSIGNALED(status):
            return f"the Python process ended on its own, with exit status {os.waitstatus_to_exitcode(status)}"
        if os.WTERMSIG(status) == signal.SIGXCPU:
            return f"the limit of {self.limits.cpu_seconds} s of processor time was reached"
        number = os.WTERMSIG(status)
        name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
        return f"the Python process was ended by {name}"

    def measure_times(self, pid: int) -> list[CpuTime]:
        """Return the processor time of each process of a run."""
        return self._ask([*Order(OrderKind.MEASURE_TIMES, pid)], _read_times)

    def stop(self, pid: int) -> None:
        """End a run and all that it started, and delete its files."""
        self._ask([*Order(OrderKind.STOP, pid)], _read_nothing)

    def connect_fork(self, order_socket: socket.socket) -> ForkServerClient:
        """Return a client of the fork of this server that serves this socket."""
        client = copy.copy(self)
        client.order_socket, client.spare_sockets = order_socket, []
        return client

    def mark_lost(self) -> None:
        """Give no more orders, since it's unknown what the server would send next."""
        self.lost = True

    def close_socket_copy(self) -> None:
        """Close this process's copy of the socket, which a forked worker uses from now on."""
        self.order_socket.close()

    def hang_up(self) -> None:
        """End the process that serves this client, and all its student processes."""
        self.lost = True
        self.order_socket.close()

    def close(self) -> None:
        """Hang up and wait for the fork server to end, which it does once every client has hung up."""
        self.lost = True
        self.server_process.close()

    def _ask(self, order: WireValue, read: Callable[[WireValue], T]) -> T:
        """Return the reply to an order, which `read` checks."""
        with self._hold_exchange():
            self._send(order)
            return self._receive(read)

    @contextlib.contextmanager
    def _hold_exchange(self) -> Iterator[None]:
        """Keep an order and its reply together: a late reply would be taken for that to the next order.

        Raises GradlabError if an earlier exchange was interrupted.
        """
        if self.lost:
            raise GradlabError("the fork server is lost", fix="run the same command again")
        alarms = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGPROF})  # delays the examiner's watchdog
        try:
            yield
        except BaseException:
            self.lost = True
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, alarms)

    def _send(self, order: WireValue) -> None:
        try:
            send(self.order_socket, order)
        except ProtocolError as error:
            raise self._make_lost_error(error) from None

    def _receive(self, read: Callable[[WireValue], T]) -> T:
        try:
            return read(receive(self.order_socket, START_SECONDS))
        except ProtocolError as error:
            raise self._make_lost_error(error) from None

    def _make_lost_error(self, error: ProtocolError) -> GradlabError:
        self.lost = True
        return GradlabError(f"the fork server is lost ({error}; exit status {self.server_process.process.poll()})")


def _read_nothing(reply: WireValue) -> None:
    """Read the reply to an order that has nothing to say."""


def _read_times(reply: WireValue) -> list[CpuTime]:
    rows = [check_length(row, 3) for row in check_list(reply)]
    return [CpuTime(check_number(pid), check_float(ran), check_float(waited)) for pid, ran, waited in rows]


def start_fork_servers(
    jobs: int,
    process_settings: ProcessSettings | None = None,
    secret_folders: Iterable[Path] = (),
    server_process: ForkServerProcess | None = None,
) -> list[ForkServerClient]:
    """Start a fork server for each job. Closing the first one ends all.

    The others are forks of the first, so all take only as long as one.

    Args:
        server_process: A server process that was started for at least as many jobs.

    Raises:
        GradlabError: If the first one can't start; see ForkServerClient.
    """
    first = ForkServerClient(process_settings, secret_folders, server_process or start_fork_server_process(jobs))
    for spare_socket in first.spare_sockets[jobs - 1 :]:
        spare_socket.close()  # the process was started for more jobs
    return [first, *[first.connect_fork(order_socket) for order_socket in first.spare_sockets[: jobs - 1]]]


def refuse_readable_secrets(secret_folders: Iterable[Path], readable: Iterable[Path]) -> None:
    """Raise GradlabError if a secret folder is inside one that every student process can read."""
    for path in readable:
        for folder in secret_folders:
            if folder.resolve().is_relative_to(path.resolve()):
                raise GradlabError(
                    f"{folder} is in {path}, which submissions can read because Python or labkit is there.",
                    fix="keep the course in a folder of its own",
                )
