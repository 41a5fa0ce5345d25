"""The call of the student's function in a check that failed, as text: what was called, and with which values."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator, Mapping
from types import FrameType, TracebackType
from typing import Any

import torch
from torch import Tensor

MAX_CALL, MAX_VALUE = 200, 160  # characters
MAIN = "__main__"  # the module of what a notebook defines


def describe_call(trace: TracebackType | None, cell: str) -> str:
    """Return the call that the failing line of a check made, or the last one that its values came from.

    Args:
        trace: Of the exception that ended the check.
        cell: The file name of the check cell.

    Returns:
        "f(t, 2.0), with t = tensor([1, 2])"; empty if the line has no such call, or the source isn't known.
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
        for call in _iter_calls(statement, frame):
            return _format_call(call, source, frame.f_locals)
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


def _iter_calls(statement: ast.stmt, frame: FrameType) -> Iterator[ast.Call]:
    """Yield the calls of functions and classes that the notebook defines."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if getattr(frame.f_globals.get(node.func.id), "__module__", "") == MAIN:
                yield node


def _list_names(nodes: list[Any]) -> set[str]:
    return {inner.id for node in nodes for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def _format_call(call: ast.Call, source: str, values: Mapping[str, Any]) -> str:
    text = " ".join((ast.get_source_segment(source, call) or "").split())
    if not 0 < len(text) <= MAX_CALL:
        return ""
    names = sorted(_list_names([*call.args, *(keyword.value for keyword in call.keywords)]))
    shown = [f"{name} = {value}" for name in names if name in values and (value := _format_value(values[name]))]
    return text + (f", with {', '.join(shown)}" if shown else "")


def _format_value(value: Any) -> str:
    """Format a value on one line; empty if it's long, of another kind, or a tensor that was changed in place since."""
    if isinstance(value, Tensor):
        if value._version or value.numel() > 64:
            return ""
        with torch.no_grad():
            text = repr(value.detach())
    elif isinstance(value, bool | int | float | str | list | tuple | torch.dtype):
        text = repr(value)
    else:
        return ""
    text = " ".join(text.split())
    return text if len(text) <= MAX_VALUE else ""
