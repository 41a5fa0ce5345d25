"""Tries one answer to an exercise in forks, from the state of the lab at that exercise.

Answers are tried as submissions are graded: the answer in a student process, the checks with proxies for its objects.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict

from autograder.examiner.check_connection import CheckConnection
from autograder.examiner.connection import Connection
from autograder.examiner.course_cells import run_checks
from autograder.examiner.process import StudentProcess
from autograder.examiner.process_time_limit import ProcessTimeLimit
from autograder.examiner.remote_namespace import RemoteNamespace
from autograder.examiner.stopped_error import StoppedError
from autograder.proving import liars, replacements
from autograder.proving.edge_trials import DomainEdge, use_switch_at_edge
from autograder.proving.forks import ForkError, run_in_fork
from autograder.proving.shared_log import NOTE
from autograder.proving.unsandboxed_process import FORK_SECONDS, fork_process, run_cell_in
from labkit.outcome import Blame

CHECK_SECONDS = 30.0
WHOLE_SECONDS = 3600.0  # for a run, whose cells and checks have their own limits
# The first step of a student who knows the grader: otherwise the course's names would be restored before a check runs.
DISABLE_RESTORE = (
    "__import__('autograder.student_process.course_names', fromlist=['']).CourseNames.restore = lambda self: None"
)


@dataclass(frozen=True)
class AnswerRun:
    """What to run to try one answer."""

    name: str
    source: str
    """The source of the exercise's cell."""
    checks: str
    """The source of the check cell."""
    replacement_args: tuple[Any, ...] = ()
    """How to replace the object that the source defines, see make_replacement()."""
    note: str = ""
    """The attribute of that object's note to read."""
    edge: DomainEdge | None = None
    """Where that object is wrong. Its note is then an EdgeSwitch."""
    final_cell: str = ""
    """A cell to run after all others."""
    lie_args: tuple[Any, ...] = ()
    """How to replace the probes then, see get_lies()."""


class AnswerReport(TypedDict):
    """What a fork of the prover reports of a run, as JSON."""

    outcomes: list[dict[str, Any]]
    note: Any
    """The value read from the note."""


def run_through_examiner(
    run: AnswerRun, process: StudentProcess, namespace: dict[str, Any], defined: Sequence[str]
) -> AnswerReport:
    """Run an answer in a fork of the student process, and its checks in a fork of this one.

    Args:
        namespace: The examiner's.
        defined: The names that are proxies.

    Raises:
        ForkError: If a cell raises, or the student process dies, is too slow or sends an invalid reply.
    """
    forked = fork_process(process)
    try:
        report: AnswerReport = run_in_fork(lambda: _examine_run(run, forked, namespace, defined), WHOLE_SECONDS)
        return report
    finally:
        forked.hang_up()
        process.kill_group("")


def _examine_run(
    run: AnswerRun, process: StudentProcess, namespace: dict[str, Any], defined: Sequence[str]
) -> AnswerReport:
    """Run the attempt's cells and then its checks. Raises ForkError if the student process fails."""
    run_cell_in(process, run.source)
    if run.replacement_args:
        run_cell_in(process, _render_install_cell(replacements.install_replacement, run.name, *run.replacement_args))
    if run.final_cell or run.lie_args:
        run_cell_in(process, DISABLE_RESTORE)
    if run.final_cell:
        run_cell_in(process, run.final_cell)
    if run.lie_args:
        run_cell_in(process, _render_install_cell(liars.install_liar, run.name, *run.lie_args))
    if run.edge:
        use_switch_at_edge(run.edge, lambda: namespace[NOTE])
        defined = [*defined, NOTE]
    with open_check_connection(process, run.name) as connection:
        outcomes = run_checks(run.checks, make_check_file(run.name), namespace, defined, connection)
        for outcome in outcomes:
            if outcome.blame is Blame.PROCESS:
                raise ForkError(outcome.seen)
        note = getattr(RemoteNamespace(connection, namespace).get_proxy(NOTE), run.note) if run.note else None
    return {"outcomes": [o.as_dict() for o in outcomes], "note": note}


def make_check_file(name: str) -> str:
    """Return the name of an exercise's check cell in tracebacks."""
    return f"<check of {name}>"


def _render_install_cell(install: Callable[..., None], *args: Any) -> str:
    """Return the source of a cell that calls install(its namespace, *args)."""
    arguments = ", ".join(map(repr, args))
    return f"__import__({install.__module__!r}, fromlist=['']).{install.__name__}(globals(), {arguments})"


def open_check_connection(process: StudentProcess, name: str) -> CheckConnection:
    """Connect to forks of the process for the checks or given cell of this name, so it's left as it is."""
    return CheckConnection(_ForkConnections(weakref.ref(process)), name, lambda: CHECK_SECONDS)


@dataclass
class _ForkConnections:
    """A ConnectionSource of connections to forks of a process, without a common clock.

    A proxy in the namespace may outlive its check, and must not keep the process alive.
    """

    reference: weakref.ref[StudentProcess]
    connections: list[Connection] = field(default_factory=list)

    @property
    def process(self) -> StudentProcess:
        if (process := self.reference()) is None:
            raise StoppedError("the Python process has ended")
        return process

    def connect(self, name: str) -> Connection:
        self.connections.append(self.process.connect(name, FORK_SECONDS))
        return self.connections[-1]

    def create_time_limit(self, seconds: float) -> ProcessTimeLimit:
        return self.process.create_time_limit(seconds, math.inf)

    def explain_end(self) -> str:
        return self.process.explain_end()

    def kill_group(self, name: str) -> None:
        self.process.kill_group(name)
        for connection in self.connections:
            connection.close()
