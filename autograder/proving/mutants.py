"""Makes mutants of a reference solution: copies with one edit of the syntax tree."""

from __future__ import annotations

import ast
import copy
import functools
from collections.abc import Callable, Iterator

OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.MatMult: ast.Mult,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
LOOP_EXITS: dict[type[ast.stmt], tuple[type[ast.stmt], ...]] = {
    ast.Continue: (ast.Break, ast.Return),
    ast.Break: (ast.Continue,),
    ast.Return: (ast.Continue, ast.Break),
}
Edit = tuple[str, Callable[[], object]]


def make_mutants(source: str) -> dict[str, str]:
    """Return the source of each mutant by its description. Docstrings, annotations and imports stay unchanged."""
    mutants: dict[str, str] = {}
    count = sum(1 for _ in _iter_edits(ast.parse(source)))
    for number in range(count):
        tree = ast.parse(source)
        description, edit = next(e for n, e in enumerate(_iter_edits(tree)) if n == number)
        before = ast.unparse(tree)
        edit()
        after = ast.unparse(ast.fix_missing_locations(tree))
        if after != before:
            mutants.setdefault(_describe_edit(description, before, after), after)
    return mutants


def _describe_edit(edit: str, before: str, after: str) -> str:
    """Describe an edit with the changed line. There are no double quotes, since it may go into a header."""
    old, new = before.splitlines(), after.splitlines()
    number = next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)) - 1)
    line = new[number].strip() if len(new) == len(old) else old[number].strip()
    return f"{edit}: {line}".replace('"', "'")


def _iter_edits(tree: ast.Module) -> Iterator[Edit]:
    for node in _iter_code(tree):
        yield from _iter_operator_edits(node)
        yield from _iter_loop_edits(node)
        if isinstance(node, ast.Constant):
            yield from _iter_constant_edits(node)
        elif isinstance(node, ast.UnaryOp):
            yield "sign or not taken away", functools.partial(_replace_node, node, node.operand)
        elif isinstance(node, ast.If | ast.IfExp | ast.While):
            yield "condition negated", functools.partial(setattr, node, "test", ast.UnaryOp(ast.Not(), node.test))
        elif isinstance(node, ast.Call):
            yield from _iter_call_edits(node)
        for body in (getattr(node, "body", None), getattr(node, "orelse", None)):
            if isinstance(body, list):
                yield from _iter_statement_edits(body)


def _iter_operator_edits(node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, ast.BinOp | ast.AugAssign | ast.BoolOp) and type(node.op) in OPERATORS:
        new = OPERATORS[type(node.op)]
        yield f"{type(node.op).__name__} to {new.__name__}", lambda: setattr(node, "op", new())
    if isinstance(node, ast.Compare):
        for i, op in enumerate(node.ops):
            if type(op) in OPERATORS:
                new = OPERATORS[type(op)]
                yield f"{type(op).__name__} to {new.__name__}", functools.partial(node.ops.__setitem__, i, new())


def _iter_constant_edits(node: ast.Constant) -> Iterator[Edit]:
    value = node.value
    if isinstance(value, bool):
        yield f"{value} to {not value}", lambda: setattr(node, "value", not value)
    elif isinstance(value, int | float):
        yield f"{value} to {value + 1}", lambda: setattr(node, "value", value + 1)
    elif isinstance(value, str) and value:
        yield f"text {value!r} changed", lambda: setattr(node, "value", value + "x")


def _iter_loop_edits(node: ast.AST) -> Iterator[Edit]:
    """Replace each exit of a loop by another one."""
    if not isinstance(node, ast.For | ast.While):
        return
    for parent in ast.walk(node):
        for body in (
            b for b in (getattr(parent, "body", None), getattr(parent, "orelse", None)) if isinstance(b, list)
        ):
            for i, statement in enumerate(body):
                for kind, others in LOOP_EXITS.items():
                    if isinstance(statement, kind):
                        for other in others:
                            description = f"{kind.__name__.lower()} for {other.__name__.lower()} changed"
                            yield description, functools.partial(_replace, body, i, [other()])


def _iter_call_edits(call: ast.Call) -> Iterator[Edit]:
    for i, keyword in enumerate(call.keywords):
        yield f"argument {keyword.arg} dropped", functools.partial(call.keywords.pop, i)
    if len(call.args) >= 2:
        yield "first two arguments swapped", lambda: call.args.insert(0, call.args.pop(1))
    if isinstance(call.func, ast.Attribute):
        inner = call.func.value
        yield f"call of {call.func.attr} left out", lambda: _replace_node(call, inner)


def _iter_statement_edits(body: list[ast.stmt]) -> Iterator[Edit]:
    for i, statement in enumerate(body):
        if isinstance(statement, ast.Expr | ast.Assign | ast.AugAssign | ast.If | ast.For | ast.With | ast.Return):
            if not _is_docstring(statement):
                yield "statement left out", functools.partial(_replace, body, i, [ast.Pass()])
        if isinstance(statement, ast.With):
            yield "with taken away", functools.partial(_replace, body, i, statement.body)
        if isinstance(statement, ast.Try) and statement.finalbody:
            without = [*statement.body, *statement.finalbody]
            yield "finally taken away", functools.partial(_replace, body, i, without)
        if isinstance(statement, ast.For | ast.While):
            yield "only the first turn of a loop", functools.partial(statement.body.append, ast.Break())


def _replace(body: list[ast.stmt], i: int, new: list[ast.stmt]) -> None:
    body[i : i + 1] = new


def _iter_code(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of code to edit: no annotations, docstrings or imports."""
    waiting = [tree]
    while waiting:
        node = waiting.pop(0)
        yield node
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list"):
                continue
            children = value if isinstance(value, list) else [value]
            for child in children:
                skip = isinstance(child, ast.Import | ast.ImportFrom) or _is_docstring(child)
                if isinstance(child, ast.AST) and not skip:
                    waiting.append(child)


def _is_docstring(node: object) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _replace_node(node: ast.AST, other: ast.AST) -> None:
    """Turn a node into another one in place, so all references to it now mean the other."""
    other = copy.deepcopy(other)
    node.__class__ = other.__class__
    node.__dict__ = other.__dict__
