"""Runs a test cell of the course outside the student process, with proxies for the functions that it calls.

Results must be plain values, of types that the course's own values could have. Anything else can't be distinguished
from an object that says yes to every question, and is left to the submission's own process.
"""

from __future__ import annotations

import ast
import contextlib
import io
import math
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from nbformat import NotebookNode

from autograder.examiner.check_connection import CheckConnection
from autograder.examiner.execution import create_namespace
from autograder.examiner.remote_namespace import RemoteNamespace
from autograder.examiner.stopped_error import StoppedError
from autograder.examiner.submission_runner import SubmissionRunner
from autograder.examiner.time_budget import TimeBudget
from autograder.examiner.watchdog import TOO_LONG, limit_work
from autograder.rpc.frames import ProtocolError
from autograder.rpc.masked_text import MaskedBytes, MaskedText, unmask_bytes, unmask_text
from autograder.sandbox.grader_limits import call_in_child, limit_process
from autograder.stock.proxy_eligibility import ProxyFacts
from autograder.stock.score import score_cell
from labkit.cause import Cause

ATOMS = (type(None), bool, int, float, complex, str, bytes, range, slice, np.generic, np.ndarray)


class NoValueError(Exception):
    """A result or an argument that isn't a plain value."""


@dataclass(frozen=True)
class ProxyDecision:
    """The outcome of a cell's tests outside the student process."""

    points: float | None
    """None if they can't be decided here."""
    reason: str = ""
    """Why points are missing, or why they can't be decided here."""
    cause: Cause | None = None
    """Why the process, or the grader's work on results, didn't finish."""
    is_planned: bool = False
    """Whether they aren't tried here, since the course's own solution passes only in the student process."""


@dataclass(frozen=True)
class RunningSubmission:
    """A submission whose functions are tested while its cells run."""

    source: ProxyFacts
    """Facts from the course's notebook."""
    runner: SubmissionRunner
    budget: TimeBudget
    """The time that calls have."""
    isolates_tests: bool = False
    """Whether tests run in a child of this process, which then survives whatever they do with results.

    Otherwise the kernel ends this process if they take too long.
    """


def run_tests_on_proxies(cell: NotebookNode, name: str, submission: RunningSubmission, seconds: float) -> ProxyDecision:
    """Run the tests of this cell, which has the course's source.

    Args:
        cell: The test cell.
        name: The name of the replay point whose state they use.
        seconds: Processor time that the tests may take here; a C function that doesn't end gets twice as long.
    """
    namespace = create_namespace() | {"print": lambda *_args, **_kwargs: None}
    try:
        for statement in submission.source.imports:
            exec(statement, namespace)
    except Exception as error:
        return ProxyDecision(None, f"the grader can't run the course's imports: {type(error).__name__}")
    with CheckConnection(submission.runner, name, submission.budget.get_check_seconds) as connection:
        remote = RemoteNamespace(connection, namespace, lambda: connection.checks)
        namespace |= {function: guard_proxy(remote.get_proxy(function)) for function in submission.source.functions}
        connection.begin_check()

        def run() -> ProxyDecision:
            with limit_process(math.ceil(2 * seconds)), limit_work(seconds):
                return _run_tests(cell, name, namespace)

        if submission.isolates_tests:
            return call_in_child(run, lost=ProxyDecision(0.0, TOO_LONG, Cause.GRADER))
        return run()


def _run_tests(cell: NotebookNode, name: str, namespace: dict[str, Any]) -> ProxyDecision:
    """Run the tests and return their score, or None with the reason why it can't be decided here."""
    tree = ast.parse(cell.source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert):
            node.msg = None  # it could quote a result, and it's never read
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    errors = io.StringIO()
    value: Any = None
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
            exec(compile(tree, f"<{name}>", "exec"), namespace)
            if isinstance(last, ast.Expr):
                value = eval(compile(ast.Expression(last.value), f"<{name}>", "eval"), namespace)
            return ProxyDecision(_score_value(cell, value))  # formatting the value is work on it too
    except NoValueError as error:
        return ProxyDecision(None, str(error))
    except StoppedError as stopped:
        cause = stopped.reason.cause
        return ProxyDecision(None if cause is Cause.BUSY else 0.0, str(stopped), cause)
    except Exception:
        return ProxyDecision(0.0, "the tests didn't pass outside the submission's own process")


def _score_value(cell: NotebookNode, value: Any) -> float:
    """Score the value of the last expression by nbgrader's rule."""
    shown = NotebookNode(cell_type="code", source=cell.source, metadata=cell.metadata, outputs=[])
    if value is not None:
        data = NotebookNode({"text/plain": repr(value)})
        shown.outputs = [NotebookNode(output_type="execute_result", data=data)]
    return score_cell(shown).points


def guard_proxy(proxy: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            result = convert_value(proxy(*args, **kwargs))
        except (TypeError, ProtocolError) as error:
            if getattr(error, "from_student", False):
                raise
            raise NoValueError("the tests pass something that isn't a plain value") from None
        finally:
            _convert_arguments([*args, *kwargs.values()])
        return result

    return call


def _convert_arguments(arguments: list[Any]) -> None:
    """Convert what a call left in its arguments to plain values, in place, since the tests may read it.

    Raises NoValueError if they contain anything else.
    """
    stack, seen = list(arguments), set[int]()

    def convert_part(value: Any) -> Any:
        if not _is_container(value):
            return convert_value(value)
        stack.append(value)
        return value

    while stack:
        value = stack.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, list):
            value[:] = [convert_part(each) for each in value]
        elif isinstance(value, dict):
            pairs = {convert_value(key): convert_part(each) for key, each in value.items()}
            value.clear()
            value.update(pairs)
        elif isinstance(value, set):
            members = {convert_value(each) for each in value}
            value.clear()
            value.update(members)
        elif isinstance(value, tuple):
            for each in value:
                convert_part(each)


def _is_container(value: Any) -> bool:
    return isinstance(value, list | dict | set | tuple)


def convert_value(value: Any) -> Any:
    """Convert the value to types that the course could use. Raises NoValueError if it contains anything else."""
    kind = type(value)
    if kind is MaskedText:
        return unmask_text(value)
    if kind is MaskedBytes:
        return unmask_bytes(value)
    if kind is int and not -(2**63) <= value < 2**63:
        raise NoValueError("a very large integer was returned")  # a set of them with equal hashes takes hours
    if isinstance(value, ATOMS):
        return value  # arrays of objects are never transferred
    if kind in (list, set, frozenset):
        return kind([convert_value(each) for each in value])
    if isinstance(value, tuple):
        parts = [convert_value(each) for each in value]
        return kind(*parts) if hasattr(kind, "_fields") else tuple(parts)
    if kind in (dict, OrderedDict):
        return kind((convert_value(key), convert_value(each)) for key, each in value.items())
    raise NoValueError("an object was returned that isn't a plain value")
