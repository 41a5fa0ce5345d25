"""Refuses messages that could show a student an input or an expected value of a hidden check.

Messages of hidden checks must be literal text. Those of visible checks may describe a result, whose texts are masked.
But they can't join texts or quote an exception, in which a submission could reveal what a hidden check passed in.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence

from autograder.authoring.checks import is_check
from autograder.authoring.regions import HIDDEN, find_regions
from autograder.authoring.syntax_trees import parse_source
from autograder.authoring.taint import COMPARISONS
from autograder.base.errors import SourceError
from autograder.model.course import Cell, CellKind, StepKind

FIX = (
    'write the text out, without a value: name="your result for a kernel with gaps". A count of what the student\'s '
    'code did is a result, too: assert_close(len(calls), 2, name="the number of calls")'
)
FIX_QUOTED = "say what kind of value it is: f'your keys are {sorted(map(str, got))}' shows the length of each text"
FIX_KEYS = "compare lists: a message then contains an index instead of an input"


def refuse_revealing_messages(cells: Sequence[Cell], student_names: Collection[str]) -> None:
    """Raise SourceError for the first message that isn't literal text.

    This covers what a hidden check can raise: its own messages, those of functions in check cells, and the comparisons
    of given cells. For anything else that a given function raises, only the type is shown.

    Args:
        student_names: Names of exercises and probes.
    """
    for cell in cells:
        if cell.kind is not CellKind.CHECK and cell.kind.traits.step is not StepKind.GIVEN:
            continue
        _refuse_quoting_messages(cell)
        hidden = [region for region in find_regions(cell) if region.kind == HIDDEN]
        for node in parse_source(cell.source).body:
            if is_check(node) and not any(node.lineno - 1 in region for region in hidden):
                continue
            for inner in ast.walk(node):
                for line, part, fix in _find_revealing_parts(inner, student_names, asserts=cell.kind is CellKind.CHECK):
                    problem = f"a hidden check can show a student an input or an expected value by {part}"
                    raise SourceError(cell.path, cell.get_line(line), problem, fix)


def _refuse_quoting_messages(cell: Cell) -> None:
    """Refuse str.join() and exceptions in messages: they bypass the masks of autograder/rpc/masked_text.py."""
    tree = parse_source(cell.source)
    exceptions = {node.name for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler)}
    for message in (message for node in ast.walk(tree) for message in _list_messages(node)):
        for part in ast.walk(message):
            if isinstance(part, ast.Attribute) and part.attr == "join":
                problem = "a message joins texts, so it could show a student's"
            elif isinstance(part, ast.Name) and part.id in exceptions:
                problem = "a message quotes an exception, which could be a student's"
            else:
                continue
            raise SourceError(cell.path, cell.get_line(part.lineno), problem, FIX_QUOTED)


def _list_messages(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.Assert(msg=ast.expr() as message):
            return [message]
        case ast.Call(func=ast.Name(id="AssertionError" | "Mismatch")):
            return [*node.args, *[keyword.value for keyword in node.keywords]]
        case ast.Call(func=ast.Name(id=name)) if name in COMPARISONS:
            return [*node.args[2:3], *[keyword.value for keyword in node.keywords if keyword.arg in ("name", None)]]
    return []


def _find_revealing_parts(
    node: ast.AST, student_names: Collection[str], asserts: bool
) -> Iterator[tuple[int, str, str]]:
    """Yield the line, description and fix of each part of this node that is shown and isn't literal text.

    Args:
        asserts: Whether the messages of assertions are shown.
    """
    match node:
        case ast.Call(func=ast.Name(id=name)) if name in COMPARISONS:
            for keyword in node.keywords:
                if keyword.arg in ("name", None) and not _is_text(keyword.value):
                    yield keyword.value.lineno, f"a name that isn't written out: {_shorten_source(keyword.value)}", FIX
            for table in node.args[2:3]:
                if not isinstance(table, ast.Dict) or not all(map(_is_text, table.keys)):
                    yield table.lineno, f"a misconception that isn't written out: {_shorten_source(table)}", FIX
        case ast.Call(func=ast.Name(id="AssertionError" | "Mismatch")):
            for part in [*node.args, *[keyword.value for keyword in node.keywords]]:
                if not _is_text(part) and (asserts or ast.unparse(node.func) == "Mismatch"):
                    yield part.lineno, f"a message that isn't written out: {_shorten_source(part)}", FIX
        case ast.Assert(msg=ast.expr() as message) if asserts and not _is_text(message):
            yield message.lineno, f"a message that isn't written out: {_shorten_source(message)}", FIX
        case ast.DictComp(key=key, value=value) if asserts and _has_student_name(value, student_names):
            yield node.lineno, f"a key of a dict of results: {_shorten_source(key)}", FIX_KEYS
        case ast.Dict(keys=keys, values=values) if asserts:
            for item_key, item in zip(keys, values, strict=True):
                if item_key is None or isinstance(item_key, ast.Constant):
                    continue
                if _has_student_name(item, student_names):
                    yield item_key.lineno, f"a key of a dict of results: {_shorten_source(item_key)}", FIX_KEYS


def _is_text(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _has_student_name(node: ast.expr, student_names: Collection[str]) -> bool:
    return any(isinstance(part, ast.Name) and part.id in student_names for part in ast.walk(node))


def _shorten_source(node: ast.AST) -> str:
    return ast.unparse(node)[:80]
