"""Functions of a student's notebook that record their calls during a check.

For the time of a check, a function's code begins with one more call, `record_call()`. The function stays the same
object with the same signature, and nothing else runs slower.
"""

from __future__ import annotations
import __future__

import ast
import contextlib
import functools
import inspect
import linecache
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

import torch

from labkit.call_snapshots import Call, add_call, collect_calls

HOOK = "_gradlab_record_call"  # a global name of the notebook while a check runs


def record_call(name: str, *arguments: tuple[str, Any]) -> None:
    """Record one call. The student's function begins with a call of this while a check runs."""
    if not torch.compiler.is_compiling():  # torch.compile sees nothing of it
        add_call(name, dict(arguments))


@contextlib.contextmanager
def record_calls(cell: str, namespace: dict[str, Any]) -> Iterator[list[Call]]:
    """Collect the calls that a check makes of its exercise's function, or of its class's methods.

    Args:
        cell: The file name of the check cell, whose last line names the exercise.
        namespace: The notebook's.
    """
    defined = namespace.get(find_exercise("".join(linecache.getlines(cell))))
    functions = [each for each in _list_functions(defined) if each.__globals__ is namespace]
    before = [(function, function.__code__) for function in functions]
    changed = [
        (function, code)
        for function in functions
        if (code := _add_hook(function.__code__, function.__code__.co_filename))
    ]
    is_nested = HOOK in namespace
    if changed:
        namespace[HOOK] = record_call
    for function, code in changed:
        function.__code__ = code
    try:
        with collect_calls(cell, frozenset(code for _, code in changed)) as calls:
            yield calls
    finally:
        for function, code in before:
            function.__code__ = code
        if not is_nested:
            namespace.pop(HOOK, None)


@functools.lru_cache(maxsize=64)
def find_exercise(source: str) -> str:
    """Return the exercise that a check cell is about, from its check.score(); empty if it has none."""
    with contextlib.suppress(SyntaxError):
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "score":
                return str(node.args[0].value) if node.args and isinstance(node.args[0], ast.Constant) else ""
    return ""


def _list_functions(defined: Any) -> list[FunctionType]:
    """List the function itself, or a class's methods, without what decorators wrapped around them."""
    values = list(vars(defined).values()) if isinstance(defined, type) else [defined]
    values = [value.__func__ if isinstance(value, staticmethod | classmethod) else value for value in values]
    values = [inspect.unwrap(value) for value in values if isinstance(value, FunctionType)]
    return [value for value in values if isinstance(value, FunctionType)]


@functools.lru_cache(maxsize=256)
def _add_hook(code: CodeType, file: str) -> CodeType | None:
    """Return the code with a call of record_call() before its first statement; None if that can't be compiled.

    Args:
        file: The code's. Code of two files can be equal.
    """
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
        _insert_hook(tree, code)
        flags = code.co_flags & __future__.annotations.compiler_flag
        found = list(_iter_codes(compile(tree, file, "exec", flags, dont_inherit=True)))
    except SyntaxError:  # such as a cell with await
        return None
    same = [each for each in found if HOOK in each.co_names and each.co_qualname == code.co_qualname]
    return same[0] if len(same) == 1 and same[0].co_freevars == code.co_freevars else None


def _insert_hook(tree: ast.Module, code: CodeType) -> None:
    """Insert the hook into the definition that this code came from."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            if min([node.lineno, *(each.lineno for each in node.decorator_list)]) == code.co_firstlineno:
                start = 1 if ast.get_docstring(node, clean=False) is not None else 0
                node.body.insert(start, _build_hook(node, code.co_qualname))


def _build_hook(node: ast.FunctionDef, name: str) -> ast.stmt:
    """Build the statement `HOOK("f", ("x", x), ...)`, at the place of the function's first line."""
    is_method = "." in name
    name = name.removesuffix(".__init__")
    plain = [each.arg for each in (*node.args.posonlyargs, *node.args.args)]
    is_bound = is_method and not any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in node.decorator_list)
    shown = [(each, each) for each in (plain[1:] if is_bound else plain)]
    shown += [(f"*{each.arg}", each.arg) for each in [node.args.vararg] if each]
    shown += [(each.arg, each.arg) for each in node.args.kwonlyargs]
    shown += [(f"**{each.arg}", each.arg) for each in [node.args.kwarg] if each]
    pairs = [f"({label!r}, {each})" for label, each in shown]
    statement = ast.parse(f"{HOOK}({', '.join([repr(name), *pairs])})").body[0]
    for each in ast.walk(statement):
        ast.copy_location(each, node)
        if isinstance(each, ast.expr | ast.stmt):
            each.end_lineno, each.end_col_offset = each.lineno, each.col_offset
    return statement


def _iter_codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _iter_codes(constant)
