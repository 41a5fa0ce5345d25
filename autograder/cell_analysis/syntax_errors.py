"""Finds the syntax error for which a notebook refuses a cell, even if it has run the statements above it.

IPython compiles a cell statement by statement. So a `return` at the margin, below a function that it should have ended,
is refused after the function was defined, without its last line.
"""

from __future__ import annotations

import ast
import re
import warnings

from autograder.cell_analysis.cell_source import MAX_SOURCE, check_depth

COMMAND = re.compile(r"^(\s*)[%!].*$", re.MULTILINE)  # a line for IPython or the shell
MAX_MESSAGE = 200  # characters


def find_syntax_error(source: str) -> str:
    """Return a sentence about the cell's syntax error; empty if it has none, is too long or too deep."""
    if len(source) > MAX_SOURCE:
        return ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(COMMAND.sub(r"\1pass", source))
            check_depth(tree)
            compile(tree, "<cell>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    except SyntaxError as error:
        return f"{type(error).__name__} in line {error.lineno} of your cell: {error.msg[:MAX_MESSAGE]}"
    except (ValueError, RecursionError, MemoryError):
        return ""
    return ""
