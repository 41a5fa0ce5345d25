"""Supervises the runs of a fork server: each in its sandbox, watched from outside, and removed when it's stopped."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path

from autograder.base.device import Device
from autograder.base.errors import GradlabError
from autograder.forkserver.orders import ReachedLimit
from autograder.forkserver.supervised_run import SupervisedRun
from autograder.sandbox import (
    UID,
    Layer,
    Limits,
    Plan,
    claim_uid,
    create_scratch,
    kill_run,
    launch,
    measure_memory,
    watch_memory,
)
from autograder.sandbox.gpu import measure_gpu_memory
from autograder.sandbox.kill import has_ended, kill, open_pidfd
from autograder.sandbox.memory_watch import measure_private_memory
from autograder.sandbox.plan import Network
from autograder.sandbox.processes import find_run_processes, measure_seconds

GPU_SECONDS = 1.0  # between two measurements of GPU memory, each of which starts a program


class Supervisor:
    """Starts runs of one kind, and answers questions about them by the pid that start() returned."""

    def __init__(
        self,
        layers: frozenset[Layer],
        limits: Limits,
        readable: tuple[Path, ...],
        network: Network,
        device: Device,
        act: Callable[[int], None],
    ) -> None:
        """Prepare to start runs.

        Args:
            layers: The layers of each run's sandbox.
            readable: Paths that a run can read.
            device: With CUDA, runs get its device nodes, and their GPU memory is watched.
            act: What a run does in its sandbox. It gets the descriptor that start() was called with.
        """
        self.layers, self.limits, self.readable, self.network, self.act = layers, limits, readable, network, act
        self.devices = list_device_nodes(device)
        self.environment = {
            "GRADLAB_DEVICE": device.value,
            "GRADLAB_GPU_MEMORY": str(limits.gpu_memory),
            "NBGRADER_EXECUTION": "autograde",  # as nbgrader sets it
        }
        self.measure_gpu_memory = measure_gpu_memory if self.devices else dict
        self.last_gpu_check = 0.0
        self.running: dict[int, SupervisedRun] = {}

    def start(self, control: int) -> list[int | str]:
        """Start a run that calls act(control), and close `control` here. Returns [pid, ""], or [0, an error]."""
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
                open_descriptors=(control,),
            )
            run = launch(plan, lambda: self.act(control))
        except (OSError, GradlabError) as error:
            cleanup.close()
            return [0, str(error)]
        finally:
            os.close(control)
        self.running[run.pid] = SupervisedRun(run, watch_memory(run, self.limits.memory), cleanup)
        return [run.pid, ""]

    def poll(self) -> None:
        """Check every run: whether it has ended, and whether it exceeds its memory limit."""
        for running in self.running.values():
            self._check(running)
        if self.running and time.monotonic() - self.last_gpu_check > GPU_SECONDS:
            self._check_gpu_memory()

    def adopt(self, pid: int, group: str) -> None:
        """Add the processes without a group to this group."""
        running = self.running[pid]
        running.clear_limit()
        running.add_to_group(group)

    def kill_group(self, pid: int, group: str) -> None:
        """Kill the processes of the group, and all processes without a group, which it started."""
        running = self.running[pid]
        running.clear_limit()
        running.dissolve_group(group)
        self._kill_ungrouped(running)

    def check_status(self, pid: int) -> list[str | int | None]:
        """Return the ReachedLimit of the run, or of its fork since the last call, and the run's wait status."""
        running = self.running[pid]
        self._check(running)
        status: list[str | int | None] = [running.reached_limit, running.status]
        running.clear_limit()
        return status

    def measure_times(self, pid: int) -> list[list[float]]:
        """Return [pid, seconds on a processor, seconds waiting for one] of each process of the run."""
        return [[process, *measure_seconds(process)] for process in find_run_processes(self.running[pid].run)]

    def stop(self, pid: int) -> None:
        """End the run and delete its files."""
        running = self.running[pid]
        try:
            if running.status is None:
                if running.run.uid is not None:
                    kill(pid)  # most runs leave no other process, and killing as their user needs a fork
                else:
                    kill_run(running.run)
                self._wait_for(running)
            running.kill_rest()
        finally:
            del self.running[pid]
            running.cleanup.close()

    def stop_all(self) -> None:
        for pid in list(self.running):
            self.stop(pid)

    def _check(self, running: SupervisedRun) -> None:
        if running.status is not None:
            return
        self._reap()
        if running.status is not None:
            running.kill_rest()
        elif measure_memory(running.watch) > self.limits.memory:
            self._reduce_memory(running)

    def _check_gpu_memory(self) -> None:
        """End every run that uses too much GPU memory. Not only a check's fork, since forks use none."""
        used = self.measure_gpu_memory()
        for running in self.running.values():
            if running.status is None and used:
                total = sum(used.get(pid, 0) for pid in find_run_processes(running.run))
                if total > self.limits.gpu_memory:
                    self._end(running, ReachedLimit.GPU_MEMORY)
        self.last_gpu_check = time.monotonic()

    def _reduce_memory(self, running: SupervisedRun) -> None:
        """Kill the ungrouped processes of a run that uses too much memory, then a check's largest fork, or the run.

        Killing an ungrouped process, which a cell started, isn't recorded as a reason, since nothing else ends by it.
        """
        if not running.grouped:
            return self._end(running, ReachedLimit.MEMORY)  # it is still starting, and has no other processes
        self._kill_ungrouped(running)
        while measure_memory(running.watch) > self.limits.memory:
            largest = max(
                running.list_own_processes(), key=lambda pid: measure_private_memory(pid, running.watch.inherited)
            )
            if not running.is_fork_for_check(largest):
                return self._end(running, ReachedLimit.MEMORY)
            self._kill({largest}, lambda: set(find_run_processes(running.run)))
            running.reached_limit = ReachedLimit.MEMORY

    def _end(self, running: SupervisedRun, limit: ReachedLimit) -> None:
        """End a run because it reached this limit."""
        kill_run(running.run)
        self._wait_for(running)
        running.reached_limit = limit

    def _kill_ungrouped(self, running: SupervisedRun) -> None:
        while ungrouped := running.find_ungrouped():
            self._kill(ungrouped, running.find_ungrouped)

    def _kill(self, pids: set[int], list_living: Callable[[], set[int]]) -> None:
        """Kill these processes, and wait until they have ended."""
        pidfds = {pid: open_pidfd(pid) for pid in pids}
        for pid in pids:
            kill(pid)
        pending = {pid for pid, pidfd in pidfds.items() if pidfd is None or not has_ended(pidfd)}
        self._reap()
        while pending and pending & list_living():
            time.sleep(0.001)
            self._reap()

    def _reap(self) -> None:
        """Wait for every child that has ended: runs, and their orphans, which count against the limit of processes."""
        with contextlib.suppress(ChildProcessError):
            while (child := os.waitpid(-1, os.WNOHANG))[0]:
                self._record_status(*child)

    def _wait_for(self, running: SupervisedRun) -> None:
        while running.status is None:
            self._record_status(*os.waitpid(-1, 0))

    def _record_status(self, pid: int, status: int) -> None:
        if pid in self.running:
            self.running[pid].status = status


def list_device_nodes(device: Device) -> tuple[Path, ...]:
    """Return the files in /dev through which a process reaches this device."""
    return tuple(sorted(Path("/dev").glob("nvidia*"))) if device is Device.CUDA else ()
