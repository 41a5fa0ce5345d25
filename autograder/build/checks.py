"""The checks of a check cell, read from its syntax tree: labels, weights and hints are known without a run."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from autograder.build.regions import HIDDEN, Region
from autograder.course import Check, Exercise
from autograder.errors import SourceError

OPTIONS: dict[str, tuple[type, ...]] = {
    "hint": (str,),
    "weight": (int, float),
    "guard": (bool,),
    "required": (bool,),
    "observed": (bool,),
}
OBSERVED_SHARE = 0.2  # of a lab's points may rest on observed checks
EXAMPLE = 'with check("the result is finite", hint="What is exp(1000)?"):'


def is_check(node: ast.AST) -> bool:
    """Whether this is a statement `with check(...):`."""
    return isinstance(node, ast.With) and any(_calls(item.context_expr, "check") for item in node.items)


def read_checks(tree: ast.Module, regions: list[Region], path: Path, first_line: int) -> tuple[Check, ...]:
    """Every `with check(...)` of the cell in its order. Only the top level may hold them, each label once."""
    checks: list[Check] = []
    top_level = [node for node in tree.body if isinstance(node, ast.With) and is_check(node)]
    allowed = {id(item.context_expr) for node in top_level for item in node.items}
    for node in ast.walk(tree):
        if _calls(node, "check") and id(node) not in allowed:
            raise SourceError(
                path,
                first_line + _line(node) - 1,
                "a check that is not a statement of its own at the top level",
                f"write {EXAMPLE!r}, and put loops inside it",
            )
    for node in top_level:
        line = first_line + node.lineno - 1
        check = _read(node, path, line, hidden=any(r.what == HIDDEN and node.lineno - 1 in r for r in regions))
        if any(check.label == other.label for other in checks):
            raise SourceError(path, line, f"two checks are labelled {check.label!r}", "give each its own label")
        checks.append(check)
    if not checks:
        raise SourceError(path, first_line, "a check cell without a check", f"write {EXAMPLE!r}")
    _refuse_observed_alone(checks, path, first_line, [node.lineno for node in top_level])
    return tuple(checks)


def refuse_much_observed(exercises: Sequence[Exercise], points: float, path: Path, line_of: Mapping[str, int]) -> None:
    """Observed checks hold at most a fifth of a lab's points. line_of: check cell's id -> line. Raises SourceError."""
    observed = sum(e.observed_points for e in exercises)
    if observed > OBSERVED_SHARE * points + 1e-9:
        most = max(exercises, key=lambda e: e.observed_points)
        raise SourceError(
            path,
            line_of[most.check_id],
            f"observed checks hold {observed:g} of the lab's {points:g} points, {most.observed_points:g} of them here; "
            f"{OBSERVED_SHARE * points:g} are allowed, because a process can lie about them",
            "lower their weight, or check a value that can be computed again",
        )


def _refuse_observed_alone(checks: Sequence[Check], path: Path, first_line: int, lines: Sequence[int]) -> None:
    for check, line in zip(checks, lines, strict=True):
        if check.observed and (check.guard or check.required):
            word = "a guard" if check.guard else "required"
            raise SourceError(
                path, first_line + line - 1, f"an observed check that is {word}", "take one of the two out"
            )
        if check.observed and all(c.observed or c.guard for c in checks):
            raise SourceError(
                path,
                first_line + line - 1,
                "an observed check in a cell without a check of a value: it would never pay",
                "add a check that compares values, without observed=True and guard=True",
            )


def _read(node: ast.With, path: Path, line: int, hidden: bool) -> Check:
    call = node.items[0].context_expr
    assert isinstance(call, ast.Call)
    if len(node.items) > 1 or len(call.args) != 1:
        raise SourceError(path, line, "a check takes one label and nothing else in its `with`", f"write {EXAMPLE!r}")
    label = _literal(call.args[0])
    if not isinstance(label, str) or not label.strip() or "|" in label or '"' in label:
        raise SourceError(path, line, "a check's label must be plain text in quotes, without | and \"", EXAMPLE)
    options: dict[str, Any] = {}
    for keyword in call.keywords:
        types = OPTIONS.get(keyword.arg or "")
        value = _literal(keyword.value)
        if types is None:
            raise SourceError(path, line, f"check has no option {keyword.arg!r}", f"it has {', '.join(OPTIONS)}")
        if not isinstance(value, types) or (isinstance(value, int | float) and keyword.arg == "weight" and value <= 0):
            raise SourceError(path, line, f"{keyword.arg} of a check must be written out as it is", EXAMPLE)
        options[str(keyword.arg)] = value
    return Check(label=label, hidden=hidden, misconceptions=tuple(_misconceptions(node, path, line)), **options)


def _misconceptions(node: ast.With, path: Path, line: int) -> Iterator[str]:
    for call in ast.walk(node):
        if not (isinstance(call, ast.Call) and _calls(call, "explain")):
            continue
        table = call.args[2] if len(call.args) > 2 else None
        if not isinstance(table, ast.Dict):
            raise SourceError(
                path, line + call.lineno - node.lineno, "explain needs its misconceptions", "explain(got, want, {...})"
            )
        for key in table.keys:
            message = _literal(key)
            if not isinstance(message, str):
                raise SourceError(
                    path, line, "a misconception's message must be plain text in quotes", '{"...": wrong}'
                )
            yield message


def _literal(node: ast.AST | None) -> Any:
    try:
        return ast.literal_eval(node) if isinstance(node, ast.expr) else None
    except ValueError:
        return None


def _calls(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def _line(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 1))
