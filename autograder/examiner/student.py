"""A submission's code, wherever it runs: its cells once, for their outputs, and a fork for each check cell.

The forks are taken while the cells run, and asked when all of them have run. So what a check passes to the student's
functions reaches no cell whose output the student will read, by whatever way: a file, shared memory, a pipe.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

from autograder.examiner.clock import Clock
from autograder.examiner.link import Link, Stopped
from autograder.examiner.process import StudentProcess

RESTARTS = 3  # for one check cell; its other checks then go without
Start = Callable[[], StudentProcess]


class Fork(NamedTuple):
    """A place between two cells, where a check cell will look at what they defined."""

    name: str


Done = list[str | Fork]  # the cells that ran, and the places between them, in their order


class Student:
    """start: gives a new student process. The cells run in a second one where the first, or a fork of it, is lost."""

    def __init__(self, start: Start, clock: Clock) -> None:
        self._start, self._clock = start, clock
        self._process = self._last = start()
        self._done: Done = []
        self._links: dict[str, Link] = {}
        self._replay: Replay | None = None
        self._restarts: Counter[str] = Counter()

    def run(self, source: str) -> list[dict[str, Any]]:
        """The outputs of a cell. Raises Stopped where it took too long or ended the process.

        The process is then replaced: the cells before that one run again, it does not.
        """
        limit = self._clock.cell()
        if self._process.ended:
            self._replace()
        try:
            outputs = self._process.run(source, limit)
        except Stopped:
            self._try_to_replace()
            raise
        self._done.append(source)
        return outputs

    def fork(self, name: str) -> None:
        """Keep the state of the process as it is now, under this name, for connect().

        Raises Stopped where it cannot be forked. The last cell is then taken for the cause, and left out from now on.
        """
        self._done.append(Fork(name))
        try:
            self._links[name] = self._process.fork(name, self._clock.check())
        except Stopped:
            cells = [number for number, done in enumerate(self._done) if isinstance(done, str)]
            if cells:
                del self._done[cells[-1]]
            self._try_to_replace()
            raise

    def connect(self, name: str) -> Link:
        """A line to the fork of this name; the second time to a new one in the same state. Raises Stopped."""
        link = self._links.pop(name, None)
        if link is not None:
            if link.answers():
                self._last = self._process
                return link
            link.channel.close()
        if self._replay is None or not self._replay.can_reach(name):
            self._new_replay(name)
        assert self._replay is not None
        self._last = self._replay.process
        return self._replay.connect(name, self._clock)

    def tidy(self, name: str) -> None:
        """End the forks of this name, with whatever they started."""
        if link := self._links.pop(name, None):
            link.channel.close()
        for process in self._processes():
            process.tidy(name)

    def why(self) -> str:
        """The limit that the process of the last line hit, or how it ended; empty where all is well."""
        return self._last.why()

    def kill(self) -> None:
        """End everything that runs."""
        self._hang_up()
        for process in self._processes():
            process.kill()

    def _processes(self) -> list[StudentProcess]:
        return [self._process, *([self._replay.process] if self._replay else [])]

    def _hang_up(self) -> None:
        for link in self._links.values():
            link.channel.close()
        self._links.clear()

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
            if isinstance(done, Fork):
                self._links[done.name] = self._process.fork(done.name, self._clock.check())
            else:
                self._process.run(done, self._clock.cell())

    def _new_replay(self, name: str) -> None:
        if self._restarts[name] == RESTARTS:
            raise Stopped(self._last.ended or "the Python process was lost too often")
        self._restarts[name] += 1
        if self._replay is not None:
            self._replay.process.kill()
        self._replay = Replay(self._start(), self._done)


class Replay:
    """A process in which the cells run once more, as far as a check needs them."""

    def __init__(self, process: StudentProcess, done: Done) -> None:
        self.process, self._done, self._position = process, done, 0

    def can_reach(self, name: str) -> bool:
        """Whether the place of this name still lies ahead, or right here."""
        return self.process.alive() and self._done.index(Fork(name)) >= self._position

    def connect(self, name: str, clock: Clock) -> Link:
        """A line to a fork of the process at this place. Raises Stopped."""
        place = self._done.index(Fork(name))
        while self._position < place:
            source = self._done[self._position]
            self._position += 1
            if isinstance(source, str):
                self.process.run(source, clock.cell())
        return self.process.fork(name, clock.check())
