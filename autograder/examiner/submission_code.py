"""A submission's code, wherever it runs: its cells once, for their outputs, and forks for the check cells.

The forks are asked when all cells have run. So what a check passes to the student's functions reaches no cell whose
output the student will read, by whatever way: a file, shared memory, a pipe. A check cell whose place the later cells
left alone looks at the state after the last one, in a fork that all of these share, until a check breaks it. Where the
cells took no time, the process itself serves these, and the cells run again after a check that broke it.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

from autograder.examiner.clock import Clock
from autograder.examiner.connection import PING_SECONDS, Connection, Stopped
from autograder.examiner.effort import Effort
from autograder.examiner.process import StudentProcess

RESTARTS = 3  # for one check cell; its other checks then go without
SHARED = "the shared fork"
QUICK = 2.0  # seconds of all cells: running them again is no worse than a fork for each submission
Start = Callable[[], StudentProcess]


class Place(NamedTuple):
    """A place between two cells, where a check cell will look at what they defined."""

    name: str


class ExecutedCell(NamedTuple):
    """A cell that ran. number: its execution count. keep: names that it bound and that stay the course's. seconds: its
    own time limit, if it has one.
    """

    source: str
    number: int
    keep: tuple[str, ...] = ()
    seconds: float | None = None


Done = list[ExecutedCell | Place]  # the cells that ran, and the places between them, in their order


class Student:
    """start: gives a new student process. The cells run in a second one where the first, or a fork of it, is lost."""

    def __init__(self, start: Start, clock: Clock) -> None:
        self._start, self._clock = start, clock
        self._process = self._last = start()
        self._done: Done = []
        self._seconds = 0.0  # that the cells took
        self._here: list[str] = []  # places whose state is that of the process as it is now
        self._links: dict[str, Connection] = {}
        self._shared: Connection | None = None
        self._replay: Replay | None = None
        self._restarts: Counter[str] = Counter()

    def run(
        self, source: str, number: int, keep: tuple[str, ...] = (), seconds: float | None = None
    ) -> list[dict[str, Any]]:
        """The outputs of a cell. keep: names that it binds and that stay the course's. seconds: its own time limit.

        Raises Stopped where it took too long or ended the process.

        The process is then replaced: the cells before that one run again, it does not.
        """
        limit = self._clock.cell(seconds)
        if self._process.ended:
            self._replace()
        begun = time.monotonic()
        try:
            outputs = self._process.run(source, number, limit, keep)
        except Stopped:
            self._try_to_replace()
            raise
        finally:
            self._seconds += time.monotonic() - begun
        self._done.append(ExecutedCell(source, number, keep, seconds))
        return outputs

    def mark(self, name: str) -> None:
        """A check cell will look at the state of the process as it is now: connect() takes this name."""
        self._done.append(Place(name))
        self._here.append(name)

    def keep(self) -> None:
        """Keep the state of the process for the places that were marked here: the next cell may change it.

        Of a process that cannot be forked nothing is kept: the cells run again, up to each of these places.

        Raises Stopped where it cannot be forked. The last cell is then taken for the cause, and left out from now on.
        """
        names, self._here = self._here, []
        try:
            for name in names if self._process.forks else ():
                self._links[name] = self._process.connect(name, self._clock.check())
        except Stopped:
            self._drop_last_cell()
            raise

    def changed(self) -> list[str]:
        """Names of the course's that the cells bound anew or patched, as the process says."""
        if self._process.ended:
            return []
        try:
            return self._process.changed(self._clock.check())
        except Stopped:
            self._try_to_replace()
            return []

    def share(self) -> None:
        """All cells have run: take the connection that the places marked here share. Raises Stopped as keep() does."""
        try:
            if self._here:
                self._process.forks &= self._seconds > QUICK
                self._shared = self._process.connect(SHARED, self._clock.check())
        except Stopped:
            self._drop_last_cell()
            raise

    def connect(self, name: str) -> Connection:
        """A connection to the state marked with this name, to a new process where one broke. Raises Stopped."""
        if name in self._here:
            with contextlib.suppress(Stopped):
                return self._connect_shared(name)
        connection = self._links.get(name)
        if connection is not None and not connection.broken and connection.begin(self._start_ping_effort()):
            self._last = self._process
            return connection
        if connection is not None:
            connection.close()
        if self._replay is None or not self._replay.can_reach(name):
            self._start_replay(name)
        assert self._replay is not None
        self._last = self._replay.process
        self._links[name] = self._replay.connect(name, self._clock)
        return self._links[name]

    def restart(self) -> bool:
        """Put a new process, in a new sandbox, in place of all that ran: checks are about to run a second time.

        What hidden ones passed in the first time would reach the visible ones otherwise, by a file or a child.

        Returns:
            Whether the cells ran as before.
        """
        if self._replay is not None:
            self._replay.process.kill()
            self._replay = None
        try:
            self._replace()
        except Stopped:
            return False
        return True

    def kill_group(self, name: str) -> None:
        """The check cell of this name is done: end the forks that nobody shares, with whatever they started."""
        if name in self._here and self._shared is not None:
            if self._shared.broken:
                self._end_shared()
            return
        if connection := self._links.pop(name, None):
            connection.close()
        for process in self._list_processes():
            process.kill_group(name)

    def effort(self, seconds: float) -> Effort:
        """A bound from now on for what the process of the last connection is asked to do."""
        return self._last.effort(seconds, self._clock.left())

    def _start_ping_effort(self) -> Effort:
        """What the process may take to say that it is there."""
        return self._process.effort(PING_SECONDS, math.inf)

    def why(self) -> str:
        """The limit that the process of the last connection hit, or how it ended; empty where all is well."""
        return self._last.why()

    def kill(self) -> None:
        """End everything that runs."""
        self._hang_up()
        for process in self._list_processes():
            process.kill()

    def _list_processes(self) -> list[StudentProcess]:
        return [self._process, *([self._replay.process] if self._replay else [])]

    def _hang_up(self) -> None:
        for connection in (*self._links.values(), *([self._shared] if self._shared else [])):
            connection.close()
        self._links.clear()
        self._shared = None

    def _connect_shared(self, name: str) -> Connection:
        if self._shared is None or self._shared.broken or not self._shared.begin(self._start_ping_effort()):
            self._end_shared()
            if not self._process.forks and self._process.ended:
                self._count_restart(name)
                self._replace()
            if not self._process.alive():
                raise Stopped("the Python process is lost")
            self._shared = self._process.connect(SHARED, self._clock.check())
        self._last = self._process
        return self._shared

    def _end_shared(self) -> None:
        if self._shared is not None:
            self._shared.close()
            self._shared = None
            if self._process.forks:
                self._process.kill_group(SHARED)
            else:
                self._process.kill()

    def _drop_last_cell(self) -> None:
        cells = [number for number, done in enumerate(self._done) if isinstance(done, ExecutedCell)]
        if cells:
            del self._done[cells[-1]]
        self._try_to_replace()

    def _try_to_replace(self) -> None:
        """Where there is no time for it, replays will do in its place, in the time for checks."""
        if self._clock.has_time():
            with contextlib.suppress(Stopped):
                self._replace()

    def _replace(self) -> None:
        self._hang_up()
        self._process.kill()
        self._process = self._last = self._start()
        for done in self._done:
            if isinstance(done, ExecutedCell):
                self._process.run(done.source, done.number, self._clock.cell(done.seconds), done.keep)
            elif done.name not in self._here and self._process.forks:
                self._links[done.name] = self._process.connect(done.name, self._clock.check())

    def _count_restart(self, name: str) -> None:
        if self._restarts[name] == RESTARTS:
            raise Stopped(self._last.ended or "the Python process was lost too often")
        self._restarts[name] += 1

    def _start_replay(self, name: str) -> None:
        self._count_restart(name)
        if self._replay is not None:
            self._replay.process.kill()
        self._replay = Replay(self._start(), self._done)


class Replay:
    """A process in which the cells run once more, as far as a check needs them."""

    def __init__(self, process: StudentProcess, done: Done) -> None:
        self.process, self._done, self._position = process, done, 0

    def can_reach(self, name: str) -> bool:
        """Whether the place of this name still lies ahead, or right here."""
        return self.process.alive() and not self.process.serves and self._done.index(Place(name)) >= self._position

    def connect(self, name: str, clock: Clock) -> Connection:
        """A connection to a fork of the process at this place. Raises Stopped."""
        place = self._done.index(Place(name))
        while self._position < place:
            done = self._done[self._position]
            self._position += 1
            if isinstance(done, ExecutedCell):
                self.process.run(done.source, done.number, clock.cell(done.seconds), done.keep)
        return self.process.connect(name, clock.check())
