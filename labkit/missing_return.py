"""Finds whether an exception arose because a function returned None, from the lines that used the result."""

from __future__ import annotations

import ast
import builtins
import linecache
from collections.abc import Iterator
from itertools import islice
from types import TracebackType


def is_missing_return(error: BaseException, trace: TracebackType | None, file: str) -> bool:
    """Return whether the code used the result of a call that returned None.

    `f(x).sum()` and `got = f(x)` followed by `got.sum()` do if f returned None. `f(x)[0].sum()` doesn't: there, only a
    part of the result can be None.

    Args:
        file: The cell with the line that failed: the check cell, or one with a helper of the check.
    """
    if not isinstance(error, AttributeError | TypeError) or "NoneType" not in str(error):
        return False
    found = None
    while trace is not None:
        found, trace = (trace if trace.tb_frame.f_code.co_filename == file else found), trace.tb_next
    if found is None:
        return False
    frame = found.tb_frame
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return False
    place = next(islice(frame.f_code.co_positions(), found.tb_lasti // 2, None))
    values = {**frame.f_globals, **frame.f_locals}
    return any(
        _is_call(value)
        or (isinstance(value, ast.Name) and values.get(value.id, 0) is None and _is_from_call(tree, value))
        for value in _iter_used(tree, place)
    )


def _iter_used(tree: ast.Module, place: tuple[int | None, ...]) -> Iterator[ast.expr]:
    """Yield what the failing expression used, from the place of the failing instruction."""
    for node in ast.walk(tree):
        if place != (getattr(node, "lineno", 0), getattr(node, "end_lineno", 0), *_get_columns(node)):
            continue
        if isinstance(node, ast.expr):
            yield node
        yield from (child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr))
    for node in ast.walk(tree):  # to unpack a tuple is the instruction of its target
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if place == (target.lineno, target.end_lineno, *_get_columns(target)):
                    yield node.value


def _get_columns(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "col_offset", -1), getattr(node, "end_col_offset", -1)


def _is_call(node: ast.expr) -> bool:
    """Return whether this calls a function that a cell defined."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not hasattr(builtins, node.func.id)


def _is_from_call(tree: ast.Module, name: ast.Name) -> bool:
    return any(
        isinstance(node, ast.Assign)
        and _is_call(node.value)
        and node.lineno <= name.lineno
        and any(isinstance(target, ast.Name) and target.id == name.id for target in node.targets)
        for node in ast.walk(tree)
    )
