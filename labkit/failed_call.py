"""The call of the student's function in a check that failed, as text: what was called, and with which values."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator, Sequence
from types import FrameType, TracebackType
from typing import Any

from labkit.call_hooks import find_exercise
from labkit.call_snapshots import Call, TrialCall

MAX_CALL = 200  # characters


def describe_call(trace: TracebackType | None, cell: str, calls: Sequence[Call]) -> str:
    """Return the call that the failing line of a check made, or the last one that its values came from.

    Args:
        trace: Of the exception that ended the check.
        cell: The file name of the check cell.
        calls: Those that the check made of the student's function, directly or through a helper.

    Returns:
        "f(x=tensor([1, 2]), n=2)"; empty if the line has no such call, or one without arguments. A call that wasn't
        recorded is quoted from the check.
    """
    frame, line = _find_frame(trace, cell)
    source = "".join(linecache.getlines(cell))
    if frame is None or not source:
        return ""
    try:
        statements = _list_statements(ast.parse(source), line)
    except SyntaxError:
        return ""
    names: set[str] = set()
    for statement in reversed(statements):
        is_failing = statement is statements[-1]
        if not is_failing and not (isinstance(statement, ast.Assign) and names & _list_names(statement.targets)):
            continue
        lines = range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
        if recorded := [call for call in calls if call.line in lines]:
            last = next((call for call in reversed(recorded) if isinstance(call, TrialCall)), recorded[-1])
            return str(last) if last.arguments else ""  # f() says nothing
        for call in _iter_calls(statement, find_exercise(source)):
            text = " ".join((ast.get_source_segment(source, call) or "").split())
            return text if len(text) <= MAX_CALL else ""
        names |= _list_names([statement])
    return ""


def _find_frame(trace: TracebackType | None, cell: str) -> tuple[FrameType | None, int]:
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == cell:
            return trace.tb_frame, trace.tb_lineno
        trace = trace.tb_next
    return None, 0


def _list_statements(module: ast.Module, line: int) -> list[ast.stmt]:
    """List the statements without a body that the block at this line has run: the last one is at this line."""
    found: list[ast.stmt] = []
    for node in ast.walk(module):
        if isinstance(node, ast.With) and node.lineno <= line <= (node.end_lineno or node.lineno):
            found = [
                inner
                for inner in ast.walk(node)
                if isinstance(inner, ast.stmt) and not hasattr(inner, "body") and inner.lineno <= line
            ]
            break
    return sorted(found, key=lambda statement: statement.lineno)


def _iter_calls(statement: ast.stmt, exercise: str) -> Iterator[ast.Call]:
    """Yield the calls of the exercise's function or class. A student doesn't know the check's own helpers."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == exercise:
            yield node


def _list_names(nodes: list[Any]) -> set[str]:
    return {inner.id for node in nodes for inner in ast.walk(node) if isinstance(inner, ast.Name)}
