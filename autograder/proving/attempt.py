"""One attempt at an exercise: defined and checked, from the state of the lab at that exercise, in forks.

`through_the_examiner` is how answers are graded: the answer in a student process, the checks beside proxies.
`in_one_process` runs both together, as a notebook does: what the two say of an answer must be the same.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from autograder.examiner.cells import run_cell, run_check_cell
from autograder.examiner.connection import Connection, Serves, Stopped
from autograder.examiner.effort import Effort
from autograder.examiner.remote import RemoteNamespace
from autograder.examiner.section import run_checks
from autograder.proving.forks import ForkFailed, in_fork
from autograder.proving.replaced import replacement
from autograder.proving.student import NOTE, Student
from autograder.rpc.frames import Plain

CHECK_SECONDS = 30.0


@dataclass(frozen=True)
class Attempt:
    """source: of the exercise's cell. checks: source of the check cell.

    replace: how the object that the source defines is replaced, see replacement(). note: what to read of its note.
    last: a cell to run behind all others. lie: how the probes are replaced then, see lies().
    """

    name: str
    source: str
    checks: str
    replace: tuple[Any, ...] = ()
    note: str = ""
    last: str = ""
    lie: tuple[Any, ...] = ()


Result = dict[str, Any]  # "outcomes": of the checks, as dictionaries. "note": what was read.


def through_the_examiner(
    attempt: Attempt, student: Student, namespace: dict[str, Any], defined: Sequence[str]
) -> Result:
    """What came of an attempt in a branch of the student process, checked in a fork of this one.

    namespace: the examiner's. defined: the names that are proxies. Raises ForkFailed where a cell raises, where the
    student process dies or is too slow, and where what it says is no answer.
    """
    branch = student.branch()
    try:
        result: Result = in_fork(lambda: _examined(attempt, branch, namespace, defined))
        return result
    finally:
        branch.close()
        student.end_branch()


def in_one_process(attempt: Attempt, namespace: dict[str, Any]) -> Result:
    """What came of an attempt in a fork of this process, whose namespace is the notebook's. Raises ForkFailed."""

    def work() -> Result:
        run_cell(attempt.source, namespace, f"<answer to {attempt.name}>")
        if attempt.replace:
            namespace[attempt.name], namespace[NOTE] = replacement(
                namespace[attempt.name], attempt.replace[0], attempt.replace[1:]
            )
        outcomes = run_check_cell(attempt.checks, namespace, f"<check of {attempt.name}>")
        note = getattr(namespace[NOTE], attempt.note) if attempt.note else None
        return {"outcomes": [o.as_dict() for o in outcomes], "note": note}

    result: Result = in_fork(work)
    return result


def _examined(attempt: Attempt, student: Student, namespace: dict[str, Any], defined: Sequence[str]) -> Result:
    student.run(attempt.source)
    if attempt.replace:
        student.replace(attempt.name, *attempt.replace)
    if attempt.last:
        student.run(attempt.last)
    if attempt.lie:
        student.lie(attempt.name, *attempt.lie)
    with _only(student.calls) as connection:
        outcomes = run_checks(attempt.checks, f"<check of {attempt.name}>", namespace, defined, connection)
        note = getattr(RemoteNamespace(connection, namespace).proxy(NOTE), attempt.note) if attempt.note else None
    for outcome in outcomes:
        if outcome.blame == "process":
            raise ForkFailed(outcome.seen)
    return {"outcomes": [o.as_dict() for o in outcomes], "note": note}


class CheckConnection:
    """A connection that connects as the first check begins. `broken`: what to do where one before has broken it."""

    def __init__(self, connect: Callable[[], Connection], broken: Callable[[Connection], None]) -> None:
        self._connect, self._broken = connect, broken
        self.connection: Connection | None = None

    def renew(self) -> None:
        """Called as each check begins."""
        if self.connection is not None and self.connection.broken:
            self._broken(self.connection)
            self._hang_up()
        if self.connection is None:
            self.connection = self._connect()
        self.connection.effort = Effort(CHECK_SECONDS)

    def ask(self, request: Plain, callbacks: Serves) -> Plain:
        if self.connection is None:
            raise Stopped("a call where there is no check")
        return self.connection.ask(request, callbacks)

    def close(self) -> None:
        """Hang up for good. A proxy may outlive its connection, and must not keep the student process alive."""
        self._hang_up()
        self._connect = _closed

    def _hang_up(self) -> None:
        if self.connection is not None:
            self.connection.close()
            self.connection = None


@contextlib.contextmanager
def fresh_lines(student: Student) -> Iterator[CheckConnection]:
    """A connection to a branch of the student process, and to a new one after a check that broke it.

    What calls do in a branch does not stay.
    """
    connection = CheckConnection(lambda: student.branch().calls(), lambda _: None)
    try:
        yield connection
    finally:
        connection.close()
        student.end_branch()


@contextlib.contextmanager
def _only(connect: Callable[[], Connection]) -> Iterator[CheckConnection]:
    """A connection whose break ends the attempt. Raises ForkFailed."""
    connection = CheckConnection(connect, _refuse)
    try:
        yield connection
        if connection.connection is not None and connection.connection.broken:
            _refuse(connection.connection)
    finally:
        connection.close()


def _closed() -> Connection:
    raise Stopped("a call where there is no check")


def _refuse(connection: Connection) -> None:
    raise ForkFailed("the process died" if _hung_up(connection.channel) else connection.broken)


def _hung_up(channel: socket.socket) -> bool:
    channel.setblocking(False)
    try:
        return channel.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True
