"""Reads given cells that contain only `hint("...", "...")`, whose texts the notebook shows folded."""

from __future__ import annotations

import ast

from autograder.authoring.syntax_trees import parse_source


def read_hints(source: str) -> tuple[str, ...]:
    """Return the hints of such a cell; () for any other cell."""
    match _parse_statements(source):
        case [ast.Expr(value=ast.Call(func=ast.Name(id="hint"), args=args, keywords=[]))]:
            texts = tuple(a.value for a in args if isinstance(a, ast.Constant) and isinstance(a.value, str))
            return texts if len(texts) == len(args) else ()
    return ()


def find_lost_hint(source: str) -> int:
    """Return the line, from 1, of a hint next to other code, which isn't folded; 0 if there is none."""
    for statement in _parse_statements(source):
        match statement:
            case ast.Expr(value=ast.Call(func=ast.Name(id="hint"))):
                return statement.lineno
    return 0


def _parse_statements(source: str) -> list[ast.stmt]:
    """Return the statements of the cell; [] if it isn't pure Python."""
    try:
        return parse_source(source).body
    except (SyntaxError, ValueError):
        return []
