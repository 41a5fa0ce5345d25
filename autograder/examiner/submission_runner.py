"""Runs a submission's code: its cells once, for their outputs, and forks of the process for the check cells.

Checks call the forks only after all cells have run. So what a check passes to a student's function can't reach a cell
whose output the student will read, by a file, shared memory or a pipe. If later cells left the state at a check cell
alone, that check uses the state after the last cell, in a fork shared by all such checks until one breaks it. If the
cells were quick, the process itself serves these checks, and the cells run again after a check that broke it.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from autograder.examiner.cell_replay import CellHistory, ExecutedCell, Replay, ReplayPoint
from autograder.examiner.connection import PING_SECONDS, Connection
from autograder.examiner.process import StudentProcess
from autograder.examiner.process_time_limit import ProcessTimeLimit
from autograder.examiner.stopped_error import StoppedError
from autograder.examiner.time_budget import TimeBudget

RESTARTS = 3  # for one check cell; after that its checks fail
SHARED = "the shared fork"
QUICK = 2.0  # seconds for all cells: running them again costs no more than a fork for each submission
ProcessFactory = Callable[[], StudentProcess]


class SubmissionRunner:
    """The processes of a submission. If the first one or a fork of it is lost, the cells run again in another.

    Args:
        start: Returns a new student process.
    """

    def __init__(self, start: ProcessFactory, budget: TimeBudget) -> None:
        self._start, self._budget = start, budget
        self._process = start()
        self._last_process = self._process  # that of the last connection
        self._history = CellHistory()
        self._seconds = 0.0  # that the cells took
        self._current_points: list[str] = []  # whose state is that of the process as it is now
        self._connections: dict[str, Connection] = {}  # to forks that keep a state, by its name
        self._shared: Connection | None = None  # to the state after the last cell
        self._replay: Replay | None = None
        self._restarts: Counter[str] = Counter()  # by check cell

    def run(
        self, source: str, number: int, protected: tuple[str, ...] = (), seconds: float | None = None
    ) -> list[dict[str, Any]]:
        """Run a cell and return its outputs.

        Args:
            protected: Course names that the cell binds, to restore before checks.
            seconds: Its own time limit.

        Raises:
            StoppedError: If it took too long or ended the process. Another process then runs the cells before this one.
        """
        limit = self._budget.get_cell_limit(seconds)
        if self._process.end_reason:
            self._replace()
        begun = time.monotonic()
        try:
            outputs = self._process.run(source, number, limit, protected)
        except StoppedError:
            self._try_to_replace()
            raise
        finally:
            self._seconds += time.monotonic() - begun
        self._history.add(ExecutedCell(source, number, protected, seconds))
        return outputs

    def add_replay_point(self, name: str) -> None:
        """Remember the current state of the process for a check cell, which passes this name to connect()."""
        self._history.add(ReplayPoint(name))
        self._current_points.append(name)

    def keep_state(self) -> None:
        """Keep the current state for the check cells that need it, since the next cell may change it.

        If the process uses CUDA, nothing is kept: the cells run again up to each replay point.

        Raises StoppedError if forking fails. The last cell is then blamed, and left out from then on.
        """
        names, self._current_points = self._current_points, []
        try:
            for name in names if self._process.can_fork else ():
                self._connections[name] = self._process.connect(name, self._budget.get_check_seconds())
        except StoppedError:
            self._drop_last_cell()
            raise

    def find_changed_names(self) -> list[str]:
        """Return the course names that cells rebound or patched, as the process reports."""
        if self._process.end_reason:
            return []
        try:
            return self._process.fetch_changed_names(self._budget.get_check_seconds())
        except StoppedError:
            self._try_to_replace()
            return []

    def share_last_state(self) -> None:
        """Open the connection that the current points share, after all cells. Raises errors as keep_state() does."""
        try:
            if self._current_points:
                if self._seconds <= QUICK:
                    self._process.stop_forking()
                self._shared = self._process.connect(SHARED, self._budget.get_check_seconds())
        except StoppedError:
            self._drop_last_cell()
            raise

    def connect(self, name: str) -> Connection:
        """Return a connection to the state at this replay point, in a new process if one broke. Raises StoppedError."""
        if name in self._current_points:
            with contextlib.suppress(StoppedError):
                return self._connect_shared(name)
        return self._reuse_connection(name) or self._connect_replay(name)

    def restart(self) -> bool:
        """Replace all processes by a new one in a new sandbox before checks run a second time.

        Otherwise values that hidden checks passed the first time could reach visible ones by a file or a child.

        Returns:
            Whether the cells ran as before.
        """
        if self._replay is not None:
            self._replay.process.kill()
            self._replay = None
        try:
            self._replace()
        except StoppedError:
            return False
        return True

    def kill_group(self, name: str) -> None:
        """End the forks of this finished check cell, unless they are shared, and all that they started."""
        if name in self._current_points and self._shared is not None:
            if self._shared.broken:
                self._end_shared()
            return
        if connection := self._connections.pop(name, None):
            connection.close()
        for process in self._list_processes():
            process.kill_group(name)

    def create_time_limit(self, seconds: float) -> ProcessTimeLimit:
        """Begin a time limit for the process of the last connection."""
        return self._last_process.create_time_limit(seconds, self._budget.measure_left())

    def _create_ping_limit(self) -> ProcessTimeLimit:
        return self._process.create_time_limit(PING_SECONDS, math.inf)

    def explain_end(self) -> str:
        """Return the limit that the process of the last connection reached, or how it ended; empty if all is well."""
        return self._last_process.explain_end()

    def kill(self) -> None:
        """End everything that runs."""
        self._hang_up()
        for process in self._list_processes():
            process.kill()

    def _list_processes(self) -> list[StudentProcess]:
        return [self._process, *([self._replay.process] if self._replay else [])]

    def _hang_up(self) -> None:
        for connection in (*self._connections.values(), *([self._shared] if self._shared else [])):
            connection.close()
        self._connections.clear()
        self._shared = None

    def _connect_shared(self, name: str) -> Connection:
        """Connect to the state after the last cell: to the fork that checks share, or to the process itself."""
        if self._shared is None or self._shared.broken or not self._shared.reset(self._create_ping_limit()):
            self._end_shared()
            if not self._process.can_fork and self._process.end_reason:
                self._spend_restart(name)
                self._replace()
            if not self._process.ping():
                raise StoppedError("the Python process is lost")
            self._shared = self._process.connect(SHARED, self._budget.get_check_seconds())
        self._last_process = self._process
        return self._shared

    def _reuse_connection(self, name: str) -> Connection | None:
        """Return the connection to the fork that keeps the state of this name, or None if it's lost."""
        connection = self._connections.get(name)
        if connection is None:
            return None
        if not connection.broken and connection.reset(self._create_ping_limit()):
            self._last_process = self._process
            return connection
        connection.close()
        return None

    def _connect_replay(self, name: str) -> Connection:
        """Connect to a process in which the cells run again up to the replay point of this name."""
        if self._replay is None or not self._replay.can_reach(name):
            self._spend_restart(name)
            if self._replay is not None:
                self._replay.process.kill()
            self._replay = Replay(self._start(), self._history)
        self._last_process = self._replay.process
        self._connections[name] = connection = self._replay.connect(name, self._budget)
        return connection

    def _end_shared(self) -> None:
        """End the shared connection, with all that its checks started."""
        if self._shared is not None:
            self._shared.close()
            self._shared = None
            if self._process.can_fork:
                self._process.kill_group(SHARED)
            else:
                self._process.kill()

    def _drop_last_cell(self) -> None:
        """Leave out the last cell, which is to blame, and run the others again."""
        self._history.drop_last_cell()
        self._try_to_replace()

    def _try_to_replace(self) -> None:
        """Replace the process if there's time. Otherwise replays do so later, in the time for checks."""
        if self._budget.has_time():
            with contextlib.suppress(StoppedError):
                self._replace()

    def _replace(self) -> None:
        """Run the cells again in a new process, and keep the same states again. Raises StoppedError."""
        self._hang_up()
        self._process.kill()
        self._process = self._last_process = self._start()
        for item in self._history:
            if isinstance(item, ExecutedCell):
                item.run_in(self._process, self._budget)
            elif item.name not in self._current_points and self._process.can_fork:
                self._connections[item.name] = self._process.connect(item.name, self._budget.get_check_seconds())

    def _spend_restart(self, name: str) -> None:
        """Raise StoppedError if the cells ran again for this check cell too often."""
        if self._restarts[name] == RESTARTS:
            raise StoppedError(self._last_process.end_reason or "the Python process was lost too often")
        self._restarts[name] += 1
