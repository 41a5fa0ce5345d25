"""`with check("id", "label"):` runs one test and never stops the tests that follow.

Whatever a check raises becomes its outcome. The cell continues, and its last line, `check.score(...)`, shows all
outcomes at once. Warnings and stderr of the code under test become notes, so a right answer that warns stays right.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import NamedTuple

from labkit.blame import blame_exception, shorten_text
from labkit.call_hooks import record_calls
from labkit.call_snapshots import Call, collect_calls
from labkit.cause import Cause
from labkit.comparison import Mismatch
from labkit.failed_call import describe_call
from labkit.failed_cells import digest_definition, has_failed_since
from labkit.interrupt import build_interrupt
from labkit.outcome import Outcome, compute_earned
from labkit.tensor_difference import compute_difference
from labkit.verdict import Verdict
from labkit.verdict_summary import summarize_verdict


class OutcomeRecorder(NamedTuple):
    """The outcomes that a grader collects from a check cell, and what it does before and after each check."""

    outcomes: list[Outcome]
    before_check: Callable[[], None]
    after_check: Callable[[], None]


MAX_NOTES = 20
INTERNAL_PLACE = re.compile(r" *\(Triggered internally at [^)]*\)")
# Outcomes by cell and check id. Running a cell again replaces its outcomes.
_outcomes: dict[str, dict[str, Outcome]] = {}
_recorders: list[OutcomeRecorder] = []
_verdicts: dict[str, Verdict] = {}  # the latest of each exercise


class check:  # noqa: N801 - reads as a statement in a lab: with check("...", "..."):
    """One labelled test.

    Args:
        id: A short name.
        label: What holds if the test passes, as the student reads it; defaults to the id.
        hint: A leading question, shown if the test fails. Several in a tuple open one by one.
        weight: Its share of the cell's points, relative to the cell's other checks.
        guard: Whether it earns points only if a check that is neither a guard nor observed passes.
        required: Whether nothing else in the cell earns points if it fails.
        observed: Whether it relies on what only the student's process can report, such as a count or a number of
            bytes. It earns points only if a check of a value passes.
    """

    def __init__(
        self,
        id: str,
        label: str = "",
        *,
        hint: str | tuple[str, ...] = "",
        weight: float = 1.0,
        guard: bool = False,
        required: bool = False,
        observed: bool = False,
    ) -> None:
        if weight <= 0:
            raise ValueError(f"check {id!r}: weight must be above 0, got {weight}")
        if observed and (guard or required):
            raise ValueError(f"check {id!r}: an observed check can be neither a guard nor required")
        first, *further = (hint,) if isinstance(hint, str) else hint
        self.outcome = Outcome(
            id, label, float(weight), guard, required, first, observed=observed, further_hints=tuple(further)
        )
        self._cell = sys._getframe(1).f_code.co_filename
        self._stack = contextlib.ExitStack()
        self._calls: list[Call] = []

    def __enter__(self) -> check:
        if _recorders:
            _recorders[-1].before_check()
            self._calls = self._stack.enter_context(collect_calls(self._cell))
        elif "NBGRADER_EXECUTION" not in os.environ:
            self._calls = self._stack.enter_context(record_calls(self._cell, sys._getframe(1).f_globals))
        self._warned = self._stack.enter_context(warnings.catch_warnings(record=True))
        warnings.simplefilter("always")
        self._stderr = self._stack.enter_context(contextlib.redirect_stderr(io.StringIO()))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        """Record the outcome, and suppress whatever the test raised, except an interrupt."""
        if _recorders:
            _recorders[-1].after_check()
        self._stack.close()
        if isinstance(error, KeyboardInterrupt) and not _recorders and _is_in_shell():
            raise build_interrupt(self.outcome.label, trace, self._cell) from None
        if isinstance(error, KeyboardInterrupt | GeneratorExit):
            return False
        outcome = self.outcome
        outcome.passed = error is None
        if isinstance(error, Mismatch):
            outcome.seen, outcome.expected = shorten_text(error.seen), shorten_text(error.expected)
            outcome.misconception, outcome.difference = error.misconception, compute_difference(error.pair)
            outcome.cause = error.cause
        elif error is not None:
            found = blame_exception(error, trace, self._cell)
            outcome.seen, outcome.error, outcome.blame, outcome.cause, outcome.limit = found
        if error is not None and outcome.cause is not Cause.UNWRITTEN:
            outcome.call = describe_call(trace, self._cell, self._calls)
        outcome.notes = [_describe_warning(warned) for warned in self._warned[:MAX_NOTES]]
        if text := self._stderr.getvalue().strip():
            outcome.notes.append(shorten_text(text, 2_000))
        _record(outcome, self._cell)
        return True

    @staticmethod
    def score(exercise: str, *, points: float, hidden: Sequence[str] = (), required: Sequence[str] = ()) -> Verdict:
        """Return the verdict on the calling cell's checks: a card, whose plain text is the points.

        The builder writes this call.

        Args:
            points: What the exercise is worth.
            hidden: Labels of the checks that a student's notebook doesn't have.
            required: Those of them without which no point is earned.
        """
        outcomes = list(_outcomes.pop(sys._getframe(1).f_code.co_filename, {}).values())
        labels = {outcome.label for outcome in outcomes}
        verdict = Verdict(
            exercise=exercise,
            outcomes=outcomes,
            worth=points,
            earned=compute_earned(outcomes, points),
            later=tuple(label for label in hidden if label not in labels),
            required=tuple(required),
            hidden_present=labels >= set(hidden),
            source_digest=digest_definition(exercise),
            failed_since=has_failed_since(exercise),
        )
        _verdicts[exercise] = verdict
        if os.environ.get("NBGRADER_EXECUTION") == "validate" and verdict.earned < points:
            print(verdict, file=sys.stderr)  # nbgrader's Validate button shows stderr, not the table
        return verdict


def summarize_verdicts() -> tuple[str, ...]:
    """Return a line for each exercise whose checks ran in this process."""
    return tuple(f"{exercise}: {summarize_verdict(verdict)}" for exercise, verdict in _verdicts.items())


@contextlib.contextmanager
def record_outcomes(
    before_check: Callable[[], None] = lambda: None, after_check: Callable[[], None] = lambda: None
) -> Iterator[list[Outcome]]:
    """Collect the outcomes of checks that run inside the block in the returned list, and nowhere else."""
    _recorders.append(OutcomeRecorder([], before_check, after_check))
    try:
        yield _recorders[-1].outcomes
    finally:
        _recorders.pop()


def _describe_warning(warned: warnings.WarningMessage) -> str:
    """Describe a warning without the place in PyTorch's own sources, which no student can open."""
    return shorten_text(f"{warned.category.__name__}: {INTERNAL_PLACE.sub('', str(warned.message))}")


def _record(outcome: Outcome, cell: str) -> None:
    if _recorders:
        _recorders[-1].outcomes.append(outcome)
        return
    _outcomes.setdefault(cell, {})[outcome.id] = outcome
    if not _is_in_shell():
        print(f"{'pass' if outcome.passed else 'FAIL'}  {outcome.label}", *filter(None, [outcome.seen]), sep="\n      ")


def _is_in_shell() -> bool:
    ipython = sys.modules.get("IPython")
    return ipython is not None and ipython.get_ipython() is not None
