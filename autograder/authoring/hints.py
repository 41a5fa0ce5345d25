"""A given cell that is nothing but `hint("...", "...")`: its texts, which the notebook shows folded."""

from __future__ import annotations

import ast


def read_hints(source: str) -> tuple[str, ...]:
    """The hints of such a cell; none where the cell is something else."""
    match _parse_statements(source):
        case [ast.Expr(value=ast.Call(func=ast.Name(id="hint"), args=args, keywords=[]))]:
            texts = tuple(a.value for a in args if isinstance(a, ast.Constant) and isinstance(a.value, str))
            return texts if len(texts) == len(args) else ()
    return ()


def find_lost_hint(source: str) -> int:
    """The line, from 1, of a hint that stands beside other code, where no notebook folds it; 0 where there is none."""
    for statement in _parse_statements(source):
        match statement:
            case ast.Expr(value=ast.Call(func=ast.Name(id="hint"))):
                return statement.lineno
    return 0


def _parse_statements(source: str) -> list[ast.stmt]:
    """Those of the cell; none where it is not Python alone."""
    try:
        return ast.parse(source).body
    except (SyntaxError, ValueError):
        return []
