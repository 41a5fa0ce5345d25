"""Reads the checks of a check cell from its syntax tree, so labels, weights and hints are known without a run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import Any

from autograder.authoring.regions import HIDDEN, find_regions
from autograder.authoring.syntax_trees import parse_source
from autograder.base.errors import SourceError
from autograder.model.course import Cell, Check, Exercise

ID = re.compile(r"[a-z][a-z0-9_]{0,39}$")
OPTIONS: dict[str, tuple[type, ...]] = {
    "hint": (str, tuple),
    "weight": (int, float),
    "guard": (bool,),
    "required": (bool,),
    "observed": (bool,),
}
OBSERVED_SHARE = 0.2  # of a lab's points, which may depend on observed checks
EXAMPLE = 'with check("finite", "the result is finite", hint="What is exp(1000)?"):'


def is_check(node: ast.AST) -> bool:
    """Return whether this is a statement `with check(...):`."""
    return isinstance(node, ast.With) and any(_is_call_to(item.context_expr, "check") for item in node.items)


def read_checks(cell: Cell) -> tuple[Check, ...]:
    """Return each `with check(...)` of the cell, in order. It must be at the top level, with its own id and label."""
    tree = parse_source(cell.source)
    hidden = [region for region in find_regions(cell) if region.kind == HIDDEN]
    top_level = [node for node in tree.body if isinstance(node, ast.With) and is_check(node)]
    allowed = {id(item.context_expr) for node in top_level for item in node.items}
    for node in ast.walk(tree):
        if _is_call_to(node, "check") and id(node) not in allowed:
            raise SourceError(
                cell.path,
                cell.get_line(getattr(node, "lineno", 1)),
                "a check that isn't a separate statement at the top level",
                f"write {EXAMPLE!r}, and put loops inside it",
            )
    checks: list[Check] = []
    for node in top_level:
        check = _read_check(node, cell, hidden=any(node.lineno - 1 in region for region in hidden))
        for attribute in ("id", "label"):
            if any(getattr(check, attribute) == getattr(other, attribute) for other in checks):
                problem = f"two checks have the {attribute} {getattr(check, attribute)!r}"
                raise SourceError(cell.path, cell.get_line(node.lineno), problem, "give each its own")
        checks.append(check)
    if not checks:
        raise SourceError(cell.path, cell.line, "this check cell has no check", f"write {EXAMPLE!r}")
    _refuse_observed_alone(checks, cell, [node.lineno for node in top_level])
    return tuple(checks)


def refuse_excess_observed(exercises: Sequence[Exercise], points: float, cells: Sequence[Cell]) -> None:
    """Raise SourceError if observed checks have more than a fifth of a lab's points.

    Args:
        points: The lab's points.
        cells: The lab's cells, to find the line for the message.
    """
    observed = sum(e.observed_points for e in exercises)
    if observed > OBSERVED_SHARE * points + 1e-9:
        most = max(exercises, key=lambda e: e.observed_points)
        cell = next(cell for cell in cells if cell.id == most.check_id)
        raise SourceError(
            cell.path,
            cell.line,
            f"observed checks hold {observed:g} of the lab's {points:g} points, {most.observed_points:g} of them here; "
            f"{OBSERVED_SHARE * points:g} are allowed, because a process can lie about them",
            "lower their weight, or check a value that can be recomputed",
        )


def _refuse_observed_alone(checks: Sequence[Check], cell: Cell, lines: Sequence[int]) -> None:
    for check, line in zip(checks, lines, strict=True):
        if check.observed and (check.guard or check.required):
            word = "a guard" if check.guard else "required"
            problem = f"an observed check that is {word}"
            raise SourceError(cell.path, cell.get_line(line), problem, "remove one of the two")
        if check.observed and all(c.observed or c.guard for c in checks):
            raise SourceError(
                cell.path,
                cell.get_line(line),
                "an observed check in a cell without a check of a value never earns points",
                "add a check that compares values, without observed=True and guard=True",
            )


def _read_check(node: ast.With, cell: Cell, hidden: bool) -> Check:
    """Read one `with check(...)`. Raises SourceError unless its arguments are valid literals."""
    call, line = node.items[0].context_expr, cell.get_line(node.lineno)
    assert isinstance(call, ast.Call)
    if len(node.items) > 1 or len(call.args) != 2:
        problem = "a check takes an id and a label, and must be the only item of its `with`"
        raise SourceError(cell.path, line, problem, EXAMPLE)
    name, label = map(_evaluate_literal, call.args)
    if not isinstance(name, str) or not ID.match(name):
        raise SourceError(
            cell.path, line, "a check's id must be a short name of lower-case letters, digits and _, in quotes", EXAMPLE
        )
    if not isinstance(label, str) or not label.strip() or '"' in label:
        raise SourceError(cell.path, line, "a check's label must be plain text in quotes, without \"", EXAMPLE)
    options: dict[str, Any] = {}
    for keyword in call.keywords:
        types = OPTIONS.get(keyword.arg or "")
        value = _evaluate_literal(keyword.value)
        if types is None:
            raise SourceError(cell.path, line, f"check has no option {keyword.arg!r}", f"it has {', '.join(OPTIONS)}")
        if isinstance(value, tuple) and not (value and all(isinstance(hint, str) for hint in value)):
            raise SourceError(
                cell.path, line, "hints of a check must be texts, written out", 'hint=("first", "second")'
            )
        if not isinstance(value, types) or (isinstance(value, int | float) and keyword.arg == "weight" and value <= 0):
            raise SourceError(cell.path, line, f"{keyword.arg} of a check must be a valid value, written out", EXAMPLE)
        options[str(keyword.arg)] = value
    return Check(id=name, label=label, hidden=hidden, misconceptions=tuple(_iter_misconceptions(node, cell)), **options)


def _iter_misconceptions(node: ast.With, cell: Cell) -> Iterator[str]:
    for call in ast.walk(node):
        if not (isinstance(call, ast.Call) and _is_call_to(call, "explain")):
            continue
        line = cell.get_line(call.lineno)
        table = call.args[2] if len(call.args) > 2 else None
        if not isinstance(table, ast.Dict):
            problem = "explain needs its misconceptions as a dict in the call, not in a variable"
            raise SourceError(cell.path, line, problem, 'explain(got, want, {"what was misunderstood": value})')
        for key in table.keys:
            message = _evaluate_literal(key)
            if not isinstance(message, str):
                problem = "a misconception's message must be plain text in quotes"
                raise SourceError(cell.path, line, problem, '{"...": wrong}')
            yield message


def _evaluate_literal(node: ast.AST | None) -> Any:
    try:
        return ast.literal_eval(node) if isinstance(node, ast.expr) else None
    except ValueError:
        return None


def _is_call_to(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
