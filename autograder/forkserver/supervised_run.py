"""One run of a fork server: its sandboxed processes, in groups, and how it ended."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field

from autograder.forkserver.orders import ReachedLimit
from autograder.sandbox import MemoryWatch, Run, kill_run
from autograder.sandbox.processes import find_run_processes


@dataclass
class SupervisedRun:
    """A run and what its supervisor knows about it."""

    run: Run
    watch: MemoryWatch
    cleanup: contextlib.ExitStack
    grouped: set[int] = field(default_factory=set)
    """The processes of all groups."""
    groups: dict[str, set[int]] = field(default_factory=dict)
    """The run's own processes under "", and the forks for each check cell under another name."""
    reached_limit: ReachedLimit = ReachedLimit.NONE
    """The limit that ended the run or a check's fork. A fork's is cleared once read, or when another group begins."""
    status: int | None = None
    """The wait status, once the run has ended."""

    def add_to_group(self, group: str) -> None:
        """Add the processes without a group to this group."""
        if not self.grouped:
            self.watch.ignored.clear()  # below a keeper, a process may have been seen before it took its uid
        self.groups[group] = self.groups.get(group, set()) | self.find_ungrouped()
        self.grouped |= self.groups[group]

    def dissolve_group(self, group: str) -> None:
        """Leave the processes of this group without one."""
        self.grouped -= self.groups.pop(group, set())

    def is_fork_for_check(self, pid: int) -> bool:
        """Return whether the process belongs to the group of a check cell."""
        return any(pid in pids for group, pids in self.groups.items() if group)

    def find_ungrouped(self) -> set[int]:
        """Return the run's living processes without a group; none once the run has ended."""
        if self.status is not None:
            return set()
        ignored = self.watch.ignored | self.grouped
        pids = set(find_run_processes(self.run, ignored))
        self.watch.ignored |= ignored - self.grouped
        return pids - self.grouped

    def list_own_processes(self) -> list[int]:
        """Return the run's living processes without the keeper; the run's first process if there is no other."""
        pids = find_run_processes(self.run)
        return [pid for pid in pids if self.run.uid is not None or pid != self.run.pid] or [self.run.pid]

    def kill_rest(self) -> None:
        """Kill processes that outlive the run's first one. Without a uid, the keeper or the namespace ended them."""
        if self.run.uid is not None:
            kill_run(self.run)

    def clear_limit(self) -> None:
        """Forget the limit that was reached, unless the run has ended: a fork that ends later has another reason."""
        if self.status is None:
            self.reached_limit = ReachedLimit.NONE
