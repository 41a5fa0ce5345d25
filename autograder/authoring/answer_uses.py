"""Refuses course code that ends Run All as long as an exercise isn't written, or is wrong."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from autograder.authoring.syntax_trees import parse_source
from autograder.base.errors import SourceError
from autograder.model.course import Cell, CellKind


def refuse_bare_uses(code: Sequence[Cell]) -> None:
    """Raise SourceError if an experiment or an example uses an answer outside of `try`.

    Args:
        code: The code cells of a lab, in order, each valid Python.
    """
    answers: dict[str, str] = {}  # what an exercise defines -> the exercise
    for cell in code:
        if cell.kind is CellKind.EXERCISE:
            definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
            body = parse_source(cell.source).body
            answers |= {each.name: cell.name for each in body if isinstance(each, definitions)}
        elif cell.kind in (CellKind.SCRATCH, CellKind.EXAMPLE):
            finder = _UseFinder(set(answers))
            finder.visit(parse_source(cell.source))
            for name in finder.found[:1]:
                raise SourceError(
                    cell.path,
                    cell.get_line(name.lineno),
                    f"until the exercise {answers[name.id]!r} is written, this cell ends Run All",
                    "write try: around it, and except Exception as error: print(repr(error)) below it",
                )


class _UseFinder(ast.NodeVisitor):
    """Finds names that running a cell reads, apart from those within `try` and within functions."""

    def __init__(self, names: set[str]) -> None:
        self.names = names
        self.found: list[ast.Name] = []

    def visit_Try(self, node: ast.Try) -> None:
        for statement in (*node.handlers, *node.orelse, *node.finalbody):
            self.visit(statement)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for part in (*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)):
            self.visit(part)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """Leave it out: it runs later."""

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load) and node.id in self.names:
            self.found.append(node)
