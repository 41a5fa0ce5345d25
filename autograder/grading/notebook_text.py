"""Formatting of a notebook as text, byte for byte as nbformat writes it, but five times faster.

The standard library's JSON encoder is slow when it indents, and nbformat copies and validates what it writes.
"""

from __future__ import annotations

import json
from json.encoder import encode_basestring
from typing import Any

from nbformat import NotebookNode
from nbformat.v4.rwbase import split_lines, strip_transient


def format_notebook(notebook: NotebookNode) -> str:
    """Format a notebook like `nbformat.writes`. This splits the notebook's strings, so don't use it afterwards."""
    return _format_value(strip_transient(split_lines(notebook)), "") + "\n"


def _format_value(value: Any, margin: str) -> str:
    """Format a value like json.dumps with indent=1, sort_keys=True and ensure_ascii=False."""
    if isinstance(value, str):
        return encode_basestring(value)
    inner = margin + " "
    if isinstance(value, dict) and value:
        lines = [f"{inner}{encode_basestring(key)}: {_format_value(value[key], inner)}" for key in sorted(value)]
        return "{\n" + ",\n".join(lines) + f"\n{margin}}}"
    if isinstance(value, list | tuple) and value:
        return "[\n" + ",\n".join([inner + _format_value(each, inner) for each in value]) + f"\n{margin}]"
    return json.dumps(value)
