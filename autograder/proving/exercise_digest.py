"""Digests what a proof of an exercise depends on: its code and that of its lab, but none of the wording."""

from __future__ import annotations

import ast

from autograder.authoring.regions import stub_solutions
from autograder.base.digest import digest
from autograder.model.course import CellKind, Exercise, Lab


def digest_exercise(lab: Lab, exercise: Exercise) -> str:
    """Digest an exercise's answers and checks, and its lab's other code.

    Without docstrings, comments, labels, hints, and the messages of checks: an editor may change these.
    """
    parts: list[str] = []
    for cell in lab.cells:
        if cell.kind.traits.markdown or (cell.kind == CellKind.CHECK and cell.name != exercise.name):
            continue
        parts += (cell.kind, cell.name, drop_wording(cell.source))
        if cell.kind == CellKind.EXERCISE:
            parts.append(drop_wording(stub_solutions(cell)))
    for check in exercise.checks:
        parts += (check.id, str((check.weight, check.guard, check.required, check.observed, check.hidden)))
    for answer in exercise.answers:
        parts += (answer.kind, ",".join(answer.fails), answer.raises, drop_wording(answer.source))
    promises = sorted({",".join(sorted(promise.checks)) for promise in exercise.promises})  # the order is wording
    return digest(*parts, str(exercise.points), ";".join(promises), *exercise.equivalent, ",".join(exercise.parameters))


def drop_wording(source: str) -> str:
    """Return what this code does, without the words that people read."""
    return ast.unparse(_WordingRemover().visit(ast.parse(source)))


class _WordingRemover(ast.NodeTransformer):
    """Removes docstrings and messages."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._drop_docstring(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self._drop_docstring(node)

    def _drop_docstring(self, node: ast.FunctionDef | ast.ClassDef) -> ast.AST:
        if ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
        return self.generic_visit(node)

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        node.msg = None
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name == "check":  # its id, and the options that change points
            node.args = node.args[:1]
            node.keywords = [keyword for keyword in node.keywords if keyword.arg != "hint"]
        elif name == "hint":
            node.args = []
        elif name == "explain":
            for argument in node.args[2:]:
                if isinstance(argument, ast.Dict):  # the misconceptions, by message
                    argument.keys = [ast.Constant(f"misconception {n}") for n in range(len(argument.keys))]
        elif name == "define_reference" and isinstance(solution := node.args[1], ast.Constant):
            node.args[1] = ast.Constant(drop_wording(str(solution.value)))
        return self.generic_visit(node)
