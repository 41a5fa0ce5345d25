"""Examines one submission: its cells run in the student process, then the checks run here on proxies."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from autograder.cell_analysis.effects import EffectAnalysis
from autograder.cell_analysis.syntax_errors import find_syntax_error
from autograder.examiner.check_connection import CheckConnection
from autograder.examiner.course_cells import can_mention_names, run_checks, run_given
from autograder.examiner.execution import create_namespace
from autograder.examiner.output_filter import MAX_OF_SUBMISSION, build_stopped_output, limit_outputs
from autograder.examiner.protected_names import select_protected_names
from autograder.examiner.stopped_error import StoppedError
from autograder.examiner.submission_runner import ProcessFactory, SubmissionRunner
from autograder.examiner.time_budget import TimeBudget, Timeouts
from autograder.model.course import StepKind
from autograder.rpc.global_state import GlobalState
from autograder.rpc.random_states import seed_all
from labkit.cause import Cause
from labkit.outcome import Blame, Outcome

SYNTAX_ERRORS = ("SyntaxError", "IndentationError", "TabError")


@dataclass(frozen=True)
class Step:
    """A code cell of the notebook to grade."""

    id: str
    kind: StepKind
    source: str
    number: int = 1
    """The execution count."""
    exercise: str = ""
    """The name that a student defines in this cell."""
    checked: str = ""
    """The exercise that this cell checks."""


@dataclass
class StepResult:
    """The outputs of a cell in the student process, or the outcomes of a check cell."""

    outputs: list[dict[str, Any]] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    stop_reason: str = ""
    """The limit that the cell reached, or how it ended its process."""
    changed_names: list[str] = field(default_factory=list)
    """For the last step, the course names that the submission rebound or patched."""


StepListener = Callable[[Step], None]


def do_nothing(step: Step) -> None:
    """Listen to the steps without doing anything."""


def examine_steps(
    steps: Sequence[Step],
    start: ProcessFactory,
    timeouts: Timeouts | None = None,
    on_step: StepListener = do_nothing,
) -> dict[str, StepResult]:
    """Run the steps and return the result of each by its id. In checks, exercise names are proxies.

    Executes only course code in this process: `given` and `check` steps must be the course's. Restores the state of
    this process afterwards (grad mode, default dtype, random states, number of threads).

    Args:
        start: Returns a new student process.
        on_step: Called once for each step, when its cell begins to run or its checks do.
    """
    before, threads = GlobalState().read(), torch.get_num_threads()
    # With several, the checks of small tensors take fifty times as long on a busy machine, since threads wait for each
    # other, and another order of summation could change a mark.
    torch.set_num_threads(1)
    budget = TimeBudget(timeouts or Timeouts())
    runner = SubmissionRunner(start, budget)
    try:
        results = _run_cells(steps, runner, on_step)
        budget.begin_checks()
        _run_checks(steps, runner, budget, results, on_step)
        return results
    finally:
        GlobalState().apply(before)
        torch.set_num_threads(threads)
        torch.set_default_device(None)  # a lab may have called labkit.use_device
        runner.kill()


def _run_cells(steps: Sequence[Step], runner: SubmissionRunner, on_step: StepListener) -> dict[str, StepResult]:
    """Run every cell in the student process, and keep the states of the process that the checks will need."""
    results = {step.id: StepResult() for step in steps}
    left, last = MAX_OF_SUBMISSION, StepResult()
    exercises = [step.exercise for step in steps if step.exercise]
    effects, names_by_cell = EffectAnalysis(exercises), _select_protected_names(steps)
    protected: set[str] = set()
    for step, defined in _iter_steps(steps):
        if step.kind is not StepKind.CHECK:
            on_step(step)
            names = names_by_cell.get(step.id, ())
            has_no_effect = effects.follow_cell(step.source, step.kind is not StepKind.STUDENT)
            if not has_no_effect or protected.intersection(names):
                _fork_or_blame(last, runner.keep_state)
            protected.update(names)
            last = results[step.id]
            try:
                last.outputs, left = limit_outputs(runner.run(step.source, step.number, names), left)
            except StoppedError as stopped:
                last.stop_reason = str(stopped)
                last.outputs = [build_stopped_output(str(stopped))]
        if step.kind is StepKind.CHECK or (step.kind is StepKind.GIVEN and can_mention_names(step.source, defined)):
            runner.add_replay_point(step.id)
    last.changed_names = runner.find_changed_names()
    _fork_or_blame(last, runner.share_last_state)
    return results


def _fork_or_blame(last: StepResult, fork: Callable[[], None]) -> None:
    """Fork the process, and blame the last cell if that fails."""
    try:
        fork()
    except StoppedError as stopped:
        last.stop_reason = last.stop_reason or str(stopped)


def _run_checks(
    steps: Sequence[Step],
    runner: SubmissionRunner,
    budget: TimeBudget,
    results: dict[str, StepResult],
    on_step: StepListener,
) -> None:
    """Run the given and check cells in this process."""
    seed_all()
    namespace = create_namespace()
    sources = {step.exercise: step.source for step in steps if step.exercise}
    syntax_errors = {step.exercise: _explain_refusal(step, results[step.id]) for step in steps if step.exercise}
    for step, defined in _iter_steps(steps):
        if step.kind is StepKind.GIVEN:
            with (
                CheckConnection(runner, step.id, budget.get_check_seconds) as connection,
                contextlib.suppress(Exception),
            ):
                run_given(step.source, f"<{step.id}>", namespace, defined, connection)  # may use a student's object
        elif step.kind is StepKind.CHECK:
            on_step(step)
            outcomes = _examine_check_cell(step, runner, budget, namespace, defined)
            if any(outcome.cause is Cause.BUSY for outcome in outcomes) and runner.restart():
                outcomes = _examine_check_cell(step, runner, budget, namespace, defined)
            results[step.id].outcomes = outcomes
            _explain_unwritten(outcomes, sources.get(step.checked, ""))
            if syntax_error := syntax_errors.get(step.checked):
                _blame_syntax(outcomes, syntax_error)


def _explain_refusal(step: Step, result: StepResult) -> str:
    """Return the syntax error for which the shell refused this cell or its last statements; empty if it didn't.

    The words come from the source, so they hold nothing that a check could have passed to the student process.
    """
    is_refused = any(output.get("ename") in SYNTAX_ERRORS for output in result.outputs)
    return find_syntax_error(step.source) if is_refused else ""


def _explain_unwritten(outcomes: Sequence[Outcome], source: str) -> None:
    """Explain a stub's exception by another exercise, if the answer that was called has no stub any more."""
    for outcome in outcomes:
        if outcome.cause is Cause.UNWRITTEN and source and outcome.error not in source:
            outcome.seen, outcome.cause = "it uses a function that isn't written yet", None


def _blame_syntax(outcomes: Sequence[Outcome], syntax_error: str) -> None:
    """Explain failed checks by their exercise's syntax error, which is what the notebook shows."""
    for outcome in outcomes:
        if not outcome.passed and outcome.blame is not Blame.PROCESS and outcome.cause is not Cause.UNWRITTEN:
            outcome.seen, outcome.cause = syntax_error, Cause.SYNTAX
            outcome.expected = outcome.misconception = outcome.error = outcome.call = ""
            outcome.difference, outcome.blame = None, Blame.STUDENT


def _examine_check_cell(
    step: Step, runner: SubmissionRunner, budget: TimeBudget, namespace: dict[str, Any], defined: list[str]
) -> list[Outcome]:
    with CheckConnection(runner, step.id, budget.get_check_seconds) as connection:
        return run_checks(step.source, f"<{step.id}>", namespace, defined, connection)


def _select_protected_names(steps: Sequence[Step]) -> dict[str, tuple[str, ...]]:
    """Return, by the id of a given cell, the names it binds that are restored before checks run."""
    cells = [step for step in steps if step.kind in (StepKind.GIVEN, StepKind.CHECK)]
    names = select_protected_names(tuple((step.kind is StepKind.CHECK, step.source) for step in cells))
    return {step.id: kept for step, kept in zip(cells, names, strict=True) if step.kind is StepKind.GIVEN}


def _iter_steps(steps: Sequence[Step]) -> Iterator[tuple[Step, list[str]]]:
    """Yield each step with the exercises that are defined when it runs."""
    defined: list[str] = []
    for step in steps:
        if step.exercise:
            defined.append(step.exercise)
        yield step, defined
