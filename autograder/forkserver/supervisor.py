"""The runs of a fork server: each in its sandbox, watched from outside, and gone without a trace when stopped."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from autograder.base.errors import GradlabError
from autograder.sandbox import (
    UID,
    Layer,
    Limits,
    MemoryWatch,
    Plan,
    Run,
    claim_uid,
    create_scratch,
    kill_run,
    launch,
    measure_memory,
    watch,
)
from autograder.sandbox.gpu import measure_gpu_memory
from autograder.sandbox.kill import has_ended, kill, open_pidfd
from autograder.sandbox.memory_watch import measure_private_memory
from autograder.sandbox.plan import Network
from autograder.sandbox.processes import find_run_processes, measure_seconds

GPU_SECONDS = 1.0  # between two looks at the memory of GPUs, each of which starts a program


@dataclass
class SupervisedRun:
    """A run."""

    run: Run
    watch: MemoryWatch
    cleanup: contextlib.ExitStack
    known: set[int] = field(default_factory=set)
    """The processes of all groups."""
    groups: dict[str, set[int]] = field(default_factory=dict)
    """The run's own processes under "", and the forks for each check cell under another name."""
    struck: str = ""
    """The limit that ended the run or a check's fork; a fork's is forgotten once read or when another group begins."""
    status: int | None = None
    """What os.waitpid gives, once the run has ended."""


class Supervisor:
    """Starts runs of one kind, and answers questions about them by the pid that start() returned."""

    def __init__(
        self,
        layers: frozenset[Layer],
        limits: Limits,
        readable: tuple[Path, ...],
        network: Network,
        device: str,
        act: Callable[[int], None],
    ) -> None:
        self.layers, self.limits, self.readable, self.network, self.act = layers, limits, readable, network, act
        self.devices = list_device_nodes(device)
        self.environment = {
            "GRADLAB_DEVICE": device,
            "GRADLAB_GPU_MEMORY": str(limits.gpu_memory),
            "NBGRADER_EXECUTION": "autograde",  # as nbgrader shows cells where they run
        }
        self.on_gpu = measure_gpu_memory if self.devices else dict
        self.looked_on_gpu = 0.0
        self.running: dict[int, SupervisedRun] = {}

    def start(self, control: int) -> list[int | str]:
        """Start a run that does act(control), and close `control` here. Returns [pid, ""], or [0, why not]."""
        cleanup = contextlib.ExitStack()
        try:
            uid = cleanup.enter_context(claim_uid()) if UID in self.layers else None
            path = cleanup.enter_context(create_scratch(uid))
            plan = Plan(
                path,
                self.layers,
                readable=self.readable,
                devices=self.devices,
                environment=self.environment,
                uid=uid,
                limits=self.limits,
                network=self.network,
                keep=(control,),
            )
            run = launch(plan, lambda: self.act(control))
        except (OSError, GradlabError) as error:
            cleanup.close()
            return [0, str(error)]
        finally:
            os.close(control)
        self.running[run.pid] = SupervisedRun(run, watch(run, self.limits.memory), cleanup)
        return [run.pid, ""]

    def poll(self) -> None:
        """Look at every run: whether it ended, and whether it holds more memory than it may."""
        for running in self.running.values():
            self._look_at(running)
        if self.running and time.monotonic() - self.looked_on_gpu > GPU_SECONDS:
            self._check_gpu_memory()

    def adopt(self, pid: int, group: str) -> None:
        """Make the processes that belong to no group yet this group."""
        running = self.running[pid]
        _forget_strike(running)
        if not running.known:
            running.watch.ignored.clear()  # below a keeper, a process may have been seen before it took its uid
        running.groups[group] = running.groups.get(group, set()) | _find_unknown(running)
        running.known |= running.groups[group]

    def kill_group(self, pid: int, group: str) -> None:
        """Kill the group, and all processes that belong to no group: what it started."""
        running = self.running[pid]
        _forget_strike(running)
        running.known -= running.groups.pop(group, set())
        if running.status is None:
            self._kill_unknown(running)

    def status(self, pid: int) -> list[str | int | None]:
        """The limit that ended it, or a fork of it since the last call, or ""; and its wait status, None if it runs."""
        running = self.running[pid]
        self._look_at(running)
        told: list[str | int | None] = [running.struck, running.status]
        _forget_strike(running)
        return told

    def used(self, pid: int) -> list[list[float]]:
        """The pid, seconds on a processor and seconds waiting for one of each process of the run."""
        return [[found, *measure_seconds(found)] for found in find_run_processes(self.running[pid].run)]

    def stop(self, pid: int) -> int:
        """End the run with all its processes and files. Returns the most memory in bytes that it was seen to use."""
        running = self.running[pid]
        try:
            if running.status is None:
                if running.run.uid is not None:
                    kill(pid)  # most runs leave no other process, and killing as their user needs a fork
                else:
                    kill_run(running.run)
                self._wait_for(running)
            _kill_rest(running.run)
        finally:
            del self.running[pid]
            running.cleanup.close()
        return running.watch.peak

    def stop_all(self) -> None:
        for pid in list(self.running):
            self.stop(pid)

    def _look_at(self, running: SupervisedRun) -> None:
        if running.status is not None:
            return
        self._reap()
        if running.status is not None:
            _kill_rest(running.run)
        elif measure_memory(running.watch) > self.limits.memory:
            self._reduce_memory(running)

    def _check_gpu_memory(self) -> None:
        """End every run whose processes use too much GPU memory. Forks for checks use none, so no fork can go alone."""
        held = self.on_gpu()
        for running in self.running.values():
            if running.status is None and held:
                total = sum(held.get(pid, 0) for pid in find_run_processes(running.run))
                if total > self.limits.gpu_memory:
                    self._end(running, "GPU memory")
        self.looked_on_gpu = time.monotonic()

    def _reduce_memory(self, running: SupervisedRun) -> None:
        """Kill the unknown processes of a run that uses too much, then the check's largest fork, or the run.

        The end of an unknown process, which a cell started, ends nothing else: what ends later has another reason.
        """
        if not running.known:
            return self._end(running, "memory")  # it is still starting, and has no other processes
        self._kill_unknown(running)
        while measure_memory(running.watch) > self.limits.memory:
            largest = max(
                _list_own_processes(running), key=lambda pid: measure_private_memory(pid, running.watch.started)
            )
            if not any(largest in pids for group, pids in running.groups.items() if group):
                return self._end(running, "memory")
            self._kill({largest}, lambda: set(find_run_processes(running.run)))
            running.struck = "memory"

    def _end(self, running: SupervisedRun, limit: str) -> None:
        """End a run for this limit."""
        kill_run(running.run)
        self._wait_for(running)
        running.struck = limit

    def _kill_unknown(self, running: SupervisedRun) -> None:
        while unknown := _find_unknown(running):
            self._kill(unknown, lambda: _find_unknown(running))

    def _kill(self, victims: set[int], living: Callable[[], set[int]]) -> None:
        """Kill these processes, and wait until they are gone."""
        ends = {pid: open_pidfd(pid) for pid in victims}
        for pid in victims:
            kill(pid)
        untold = {pid for pid, end in ends.items() if end is None or not has_ended(end)}
        self._reap()
        while untold and untold & living():
            time.sleep(0.001)
            self._reap()

    def _reap(self) -> None:
        """Wait for every child that has ended: runs, and what they orphaned, which counts against their limit."""
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                self._note(*ended)

    def _wait_for(self, running: SupervisedRun) -> None:
        while running.status is None:
            self._note(*os.waitpid(-1, 0))

    def _note(self, pid: int, status: int) -> None:
        if pid in self.running:
            self.running[pid].status = status


def _forget_strike(running: SupervisedRun) -> None:
    """Forget the limit, unless the run itself has ended: what ends from now on has another reason."""
    if running.status is None:
        running.struck = ""


def list_device_nodes(device: str) -> tuple[Path, ...]:
    """The files in /dev through which a process reaches this device."""
    return tuple(sorted(Path("/dev").glob("nvidia*"))) if device.startswith("cuda") else ()


def _list_own_processes(running: SupervisedRun) -> list[int]:
    """The run's living processes, without a keeper, which is ours; its first process if there is no other."""
    found = find_run_processes(running.run)
    return [pid for pid in found if running.run.uid is not None or pid != running.run.pid] or [running.run.pid]


def _kill_rest(run: Run) -> None:
    """Kill what is left after a run's first process. Without a uid, its keeper or its namespace ended the rest."""
    if run.uid is not None:
        kill_run(run)


def _find_unknown(running: SupervisedRun) -> set[int]:
    """The run's living processes that belong to no group."""
    if running.status is not None:
        return set()
    ignored = running.watch.ignored | running.known
    found = set(find_run_processes(running.run, ignored))
    running.watch.ignored |= ignored - running.known
    return found - running.known
