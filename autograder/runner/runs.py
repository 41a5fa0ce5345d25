"""The runs of a warm process: each in its sandbox, watched from outside, and gone without a trace when stopped."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from autograder.errors import GradlabError
from autograder.sandbox import Layer, Limits, Plan, Run, Watch, claimed, held, kill_run, launch, scratch, watch
from autograder.sandbox.kill import kill
from autograder.sandbox.plan import Network
from autograder.sandbox.processes import of_run


@dataclass
class Running:
    """A run. known: its processes before the check cell that is running. strikes: limits that it hit, not told yet."""

    run: Run
    watch: Watch
    cleanup: contextlib.ExitStack
    known: set[int] = field(default_factory=set)
    strikes: list[str] = field(default_factory=list)
    status: int | None = None  # as os.waitpid gives it, where the run has ended


class Runs:
    """Starts runs of one kind, and answers for them by the pid that start() gave."""

    def __init__(
        self,
        layers: frozenset[Layer],
        limits: Limits,
        readable: tuple[Path, ...],
        network: Network,
        act: Callable[[int], None],
    ) -> None:
        self.layers, self.limits, self.readable, self.network, self.act = layers, limits, readable, network, act
        self.running: dict[int, Running] = {}

    def start(self, control: int) -> list[int | str]:
        """[pid, ""] of a new run that does act(control), or [0, why there is none]. `control` is closed here."""
        cleanup = contextlib.ExitStack()
        try:
            uid = cleanup.enter_context(claimed()) if Layer.UID in self.layers else None
            path = cleanup.enter_context(scratch(uid))
            plan = Plan(
                path,
                self.layers,
                readable=self.readable,
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
        self.running[run.pid] = Running(run, watch(run, self.limits.memory), cleanup)
        return [run.pid, ""]

    def poll(self) -> None:
        """Look at every run: whether it ended, and whether it holds more memory than it may."""
        for running in self.running.values():
            self._look_at(running)

    def mark(self, pid: int) -> None:
        """Remember the processes that the run has now."""
        running = self.running[pid]
        running.known = set(of_run(running.run, running.watch.ignored))

    def tidy(self, pid: int) -> None:
        """Kill the processes that came after mark(): a check's fork, and whatever it left."""
        running = self.running[pid]
        if running.status is None:
            self._kill_new(running)

    def news(self, pid: int) -> list[str | int | None]:
        """[limit that was hit since the last call or "", wait status or None while the run lives]."""
        running = self.running[pid]
        self._look_at(running)
        strike = running.strikes[0] if running.strikes else ""
        running.strikes.clear()
        return [strike, running.status]

    def stop(self, pid: int) -> int:
        """End the run with all its processes and files, and give the most memory in bytes that a look at it found."""
        running = self.running[pid]
        if running.run.uid is not None:
            kill(pid)  # most runs leave nobody else: killing as their user needs a fork
        else:
            kill_run(running.run)
        self._wait_for(running)
        if running.run.uid is not None:
            kill_run(running.run)
        running.cleanup.close()
        del self.running[pid]
        return running.watch.peak

    def stop_all(self) -> None:
        for pid in list(self.running):
            self.stop(pid)

    def _look_at(self, running: Running) -> None:
        if running.status is not None:
            return
        self._reap()
        if running.status is not None:
            kill_run(running.run)
        elif held(running.watch) > self.limits.memory:
            running.strikes.append("memory")
            self._end_what_is_new(running)

    def _end_what_is_new(self, running: Running) -> None:
        """Kill what came after mark() of a run that holds too much; where that is not enough, the run."""
        if running.known:
            self._kill_new(running)
        if held(running.watch) > self.limits.memory:
            kill_run(running.run)
            self._wait_for(running)

    def _kill_new(self, running: Running) -> None:
        while new := set(of_run(running.run, running.watch.ignored)) - running.known:
            for pid in new:
                kill(pid)
            time.sleep(0.001)
            self._reap()

    def _reap(self) -> None:
        """Wait for every child that has ended: runs, and what they orphaned, which counts against their limit."""
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                self._note(*ended)

    def _wait_for(self, running: Running) -> None:
        while running.status is None:
            self._note(*os.waitpid(-1, 0))

    def _note(self, pid: int, status: int) -> None:
        if pid in self.running:
            self.running[pid].status = status
