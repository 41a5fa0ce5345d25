"""What the source of a check cell has: probes, and visible and hidden checks."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from autograder.authoring.checks import is_check
from autograder.authoring.regions import HIDDEN, find_regions
from autograder.model.course import Cell


def select_checks(cell: Cell, hidden: bool) -> str:
    """Return the source of a check cell with only its hidden or visible checks, and all its other statements."""
    regions = [region for region in find_regions(cell) if region.kind == HIDDEN]
    tree = ast.parse(cell.source)
    tree.body = [
        node
        for node in tree.body
        if not is_check(node) or any(node.lineno - 1 in region for region in regions) == hidden
    ]
    return ast.unparse(tree)


def has_probe_call(source: str, given: Sequence[str]) -> bool:
    """Return whether a check cell uses a probe: one of the given ones, or one of labkit's."""
    nodes = list(ast.walk(ast.parse(source)))
    uses_labkit = any(isinstance(node, ast.Attribute) and ast.unparse(node.value) == "probes" for node in nodes)
    return uses_labkit or any(isinstance(node, ast.Name) and node.id in given for node in nodes)
