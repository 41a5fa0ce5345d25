"""Syntax trees of cells, which many rules look at in turn."""

from __future__ import annotations

import ast
import functools


@functools.lru_cache(maxsize=512)  # about the cells of one lab
def parse_source(source: str) -> ast.Module:
    """Parse Python. All callers get the same tree, so none may change it."""
    return ast.parse(source)
