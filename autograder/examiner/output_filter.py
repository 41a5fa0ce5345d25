"""Checks the outputs that a student process sends for a cell, and keeps those that a notebook may contain."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable
from typing import Any

import nbformat
from nbformat import NotebookNode

MAX_OUTPUTS = 16 * 2**20  # bytes of one cell's outputs in a message
MAX_ITEMS = 1_000  # outputs of one cell
MAX_TEXT = 250_000  # characters of one output's text
MAX_DATA = 4_000_000  # characters of one output's display data, pictures in base64 included
MAX_DEPTH = 50  # of display data in JSON
MAX_OF_SUBMISSION = 10_000_000  # characters of all outputs together
CUT = "The limit on the output of a whole submission was reached: this cell's output is left out.\n"
# Types that a page or JupyterLab shows as they are. Others are programs for a renderer: that of a plot can fetch other
# files from the server, with the rights of the person who opens the notebook.
MIMES = frozenset(
    "text/plain text/html text/latex text/markdown image/png image/jpeg image/gif image/svg+xml application/json "
    "application/vnd.jupyter.widget-view+json".split()
)
JSON = re.compile(r"application/(.*\+)?json")  # as in the notebook format's schema
NAME = re.compile(r"[\w .-]{1,100}", re.ASCII)
MAX_COUNT = 10**6  # of execution counts, and of a picture's width and height
SIZE = re.compile(r"\d{1,6}(px|em|%)?", re.ASCII)
Output = dict[str, Any]


def write_outputs(cell: NotebookNode, outputs: Iterable[Output], number: int) -> None:
    """Write what a cell displayed into the notebook, with the cell's execution count."""
    cell.execution_count = number
    cell.outputs = [nbformat.from_dict(output) for output in outputs]
    for output in cell.outputs:
        if output.output_type == "execute_result":
            output.execution_count = number


def build_stopped_output(reason: str) -> Output:
    """Build the output of a cell that was stopped for this reason."""
    return {"output_type": "error", "ename": "Stopped", "evalue": reason, "traceback": [reason]}


def read_outputs(text: Any) -> list[Output]:
    """Return the outputs in this JSON, each with only the fields of its type and within bounds."""
    try:
        parsed = json.loads(text, parse_constant=str, parse_float=_parse_float)
        if "\\ud" in text.lower():  # perhaps half a surrogate pair, which no file could hold
            parsed = json.loads(json.dumps(parsed, ensure_ascii=False).encode("utf-8", "replace"))
    except (TypeError, AttributeError, ValueError, RecursionError):
        return []
    outputs = [_filter_output(output) for output in parsed[:MAX_ITEMS]] if isinstance(parsed, list) else []
    return [output for output in outputs if output]


def _parse_float(text: str) -> float | str:
    """Parse a JSON number. One too large for a float remains text, since a notebook can't hold infinity."""
    number = float(text)
    return number if math.isfinite(number) else text


def limit_outputs(outputs: list[Output], left: int) -> tuple[list[Output], int]:
    """Replace outputs of more than `left` characters by a notice.

    Returns:
        The outputs, and how many characters are left for other cells.
    """
    size = _count_characters(outputs)
    if size > left:
        return [{"output_type": "stream", "name": "stderr", "text": CUT}], left
    return outputs, left - size


def _count_characters(value: Any) -> int:
    """Count the characters of all texts, plus a few around each value, as in a file."""
    if isinstance(value, str):
        return len(value) + 4
    if isinstance(value, dict):
        return 8 + sum(len(key) + 6 + _count_characters(inner) for key, inner in value.items())
    return 8 + sum(map(_count_characters, value)) if isinstance(value, list) else 8


def _filter_output(output: Any) -> Output | None:
    kind = output.get("output_type") if isinstance(output, dict) else None
    if kind == "stream":
        name = "stderr" if output.get("name") == "stderr" else "stdout"
        return {"output_type": kind, "name": name, "text": _truncate_text(output.get("text"))}
    if kind == "error":
        lines = output.get("traceback")
        traceback = [_truncate_text(line) for line in lines[:200]] if isinstance(lines, list) else []
        texts = {"ename": _truncate_text(output.get("ename")), "evalue": _truncate_text(output.get("evalue"))}
        return {"output_type": kind, **texts, "traceback": traceback}
    if kind in ("display_data", "execute_result") and isinstance(output.get("data"), dict):
        data = _filter_data(output["data"])
        shown = {"output_type": kind, "data": data, "metadata": _filter_metadata(output.get("metadata"), data)}
        return shown | ({"execution_count": _get_execution_count(output)} if kind == "execute_result" else {})
    return None


def _filter_data(data: dict[str, Any]) -> dict[str, Any]:
    """Return display data by MIME type. Each value is text, or for a JSON type anything, and all fit into MAX_DATA."""
    filtered: dict[str, Any] = {}
    left = MAX_DATA
    for mime, value in data.items():
        is_json = JSON.fullmatch(mime) and value is not None and _measure_depth(value) < MAX_DEPTH
        if mime not in MIMES or not (is_json or isinstance(value, str)):
            continue
        left -= len(value) if isinstance(value, str) else len(json.dumps(value))
        if left >= 0:
            filtered[mime] = value
    return filtered


def _filter_metadata(metadata: Any, data: dict[str, Any]) -> dict[str, Any]:
    """Return the display metadata, general and by MIME type. Only known keys, since pages put some into tags."""
    if not isinstance(metadata, dict):
        return {}
    by_type = {mime: _select_known_keys(metadata[mime]) for mime in data if isinstance(metadata.get(mime), dict)}
    return _select_known_keys(metadata) | {mime: values for mime, values in by_type.items() if values}


def _select_known_keys(metadata: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in metadata.items() if key in METADATA and METADATA[key](value)}


def _is_size(value: Any) -> bool:
    return _is_count(value) or (isinstance(value, str) and SIZE.fullmatch(value) is not None)


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= MAX_COUNT


def _get_execution_count(output: Output) -> int | None:
    count = output.get("execution_count")
    return count if _is_count(count) else None


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


METADATA: dict[str, Callable[[Any], bool]] = {
    "width": _is_size,
    "height": _is_size,
    "needs_background": lambda value: value in ("light", "dark"),
    "unconfined": _is_flag,
    "isolated": _is_flag,
    "expanded": _is_flag,
    "root": lambda value: isinstance(value, str) and NAME.fullmatch(value) is not None,
}


def _measure_depth(value: Any) -> int:
    """Return how deep lists and objects are nested, since whatever writes notebooks recurses into them."""
    depth, level = 0, [value]
    while level and depth < MAX_DEPTH:
        depth += 1
        inside = [v.values() if isinstance(v, dict) else v for v in level if isinstance(v, dict | list)]
        level = [item for items in inside for item in items]
    return depth


def _truncate_text(value: Any) -> str:
    return value[:MAX_TEXT] if isinstance(value, str) else ""
