"""The outputs of a cell: what it prints, shows and raises, in the form of nbclient and bounded in size."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

MAX_TEXT = 200_000  # characters of text output of one cell
MAX_LINES = 5_000
MAX_ITEMS = 500  # pieces of output
MAX_DATA = 2_000_000  # characters of one cell's display data, pictures in base64 included
CUT = "\n(the limit on output was reached: the rest of this cell's output was cut off)\n"

Output = dict[str, Any]


@dataclass
class Pane:
    """Where outputs go: below the cell, or into an Output widget."""

    items: list[Output] = field(default_factory=list)
    clear_first: bool = False
    """Whether the next output replaces all of them."""


class Outputs:
    """The outputs of the cell that is running.

    As in a kernel, printed text waits until its stream is flushed. So a display appears after the text that was printed
    before it, and without a display in between, stdout appears before stderr. Consecutive texts of a stream are merged.
    """

    def __init__(self) -> None:
        self.below = Pane()
        self.panes = [self.below]  # outputs go into the last one
        self._buffers: dict[str, list[str]] = {"stdout": [], "stderr": []}
        self._displays: dict[str, list[Output]] = {}
        self._reset_limits()

    def _reset_limits(self) -> None:
        waiting = sum(len(text) for texts in self._buffers.values() for text in texts)
        self._text_left, self._lines_left, self._data_left = MAX_TEXT - waiting, MAX_LINES, MAX_DATA

    def add_text(self, name: str, text: str) -> None:
        """Buffer text for the stream of this name until flush()."""
        if self._text_left <= 0 or self._lines_left <= 0 or not text:
            return
        part = text[: self._text_left]
        lines = part.split("\n", self._lines_left)
        part = "\n".join(lines[: self._lines_left]) + "\n" if len(lines) > self._lines_left else part
        self._text_left -= len(text)
        self._lines_left -= text.count("\n")
        part += CUT if len(part) < len(text) or self._text_left <= 0 or self._lines_left <= 0 else ""
        self._buffers[name].append(part)

    def flush(self, name: str) -> None:
        text = "".join(self._buffers[name])
        if not text:
            return
        self._buffers[name].clear()
        items = self._prepare_items()
        if items and items[-1].get("name") == name:
            items[-1]["text"] += text
        elif len(items) < MAX_ITEMS:
            items.append({"output_type": "stream", "name": name, "text": text})

    def take_message(self, kind: str, content: dict[str, Any]) -> None:
        """Take a message that the shell publishes, named as in Jupyter's messaging protocol."""
        if kind == "clear_output":
            self._clear(bool(content.get("wait")))
        elif kind == "error":
            self._add_error(content["ename"], content["evalue"], content["traceback"])
        elif kind in ("display_data", "execute_result", "update_display_data"):
            self._show(kind, content)

    def _show(self, kind: str, content: dict[str, Any]) -> None:
        data, metadata = self._limit_data(content["data"], content["metadata"] or {})
        display = str((content.get("transient") or {}).get("display_id") or "")
        for shown in self._displays.get(display, ()):
            shown["data"], shown["metadata"] = data, metadata
        items = [] if kind == "update_display_data" else self._prepare_items()
        if kind == "update_display_data" or len(items) >= MAX_ITEMS:
            return
        if len(items) == MAX_ITEMS - 1:
            data, metadata = {"text/plain": CUT.strip()}, {}
        count = {"execution_count": content["execution_count"]} if kind == "execute_result" else {}
        items.append({"output_type": kind, "metadata": metadata, "data": data, **count})
        if display and self.panes[-1] is self.below:
            self._displays.setdefault(display, []).append(items[-1])

    def _limit_data(self, data: dict[str, Any], metadata: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        size = sum(len(str(value)) for part in (data, metadata) for value in part.values())
        if size > self._data_left:
            return {"text/plain": CUT.strip()}, {}
        self._data_left -= size
        return data, metadata

    def _add_error(self, kind: str, text: str, lines: list[str]) -> None:
        items = self._prepare_items()
        if len(items) >= MAX_ITEMS + 1:  # one more than for others: an exception is never left out
            return
        lines = [line[:MAX_TEXT] for line in lines[:200]]
        items.append({"output_type": "error", "ename": kind, "evalue": text[:MAX_TEXT], "traceback": lines})

    def _clear(self, wait: bool) -> None:
        pane = self.panes[-1]
        if wait:
            pane.clear_first = True
        else:
            pane.items.clear()
            self._reset_after_clear(pane)

    def _prepare_items(self) -> list[Output]:
        """Return the list to add an output to, cleared if that was due."""
        pane = self.panes[-1]
        if pane.clear_first:
            pane.items.clear()
            pane.clear_first = False
            self._reset_after_clear(pane)
        return pane.items

    def _reset_after_clear(self, pane: Pane) -> None:
        if pane is self.below:
            self._displays.clear()
            self._reset_limits()  # cleared outputs take no space
