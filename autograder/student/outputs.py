"""The outputs of a cell: what it prints, shows and raises, kept as nbclient keeps it, and bounded in size."""

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
    """Where outputs go: below the cell, or into an Output widget. clear_first: the next output replaces all of it."""

    items: list[Output] = field(default_factory=list)
    clear_first: bool = False


class Outputs:
    """The outputs of the cell that is running.

    Printed text waits until its stream is flushed, as in a kernel: so a display comes after what was printed before it,
    and of text without a display between, that on stdout comes first. Consecutive texts of a stream become one output.
    """

    def __init__(self) -> None:
        self.below = Pane()
        self.panes = [self.below]  # the last one takes what comes
        self._printed: dict[str, list[str]] = {"stdout": [], "stderr": []}
        self._displays: dict[str, list[Output]] = {}
        self._renew()

    def _renew(self) -> None:
        waiting = sum(len(text) for texts in self._printed.values() for text in texts)
        self._text_left, self._lines_left, self._data_left = MAX_TEXT - waiting, MAX_LINES, MAX_DATA

    def printed(self, name: str, text: str) -> None:
        """Text for the stream of this name, which waits for flush()."""
        if self._text_left <= 0 or self._lines_left <= 0 or not text:
            return
        kept = text[: self._text_left]
        lines = kept.split("\n", self._lines_left)
        kept = "\n".join(lines[: self._lines_left]) + "\n" if len(lines) > self._lines_left else kept
        self._text_left -= len(text)
        self._lines_left -= text.count("\n")
        kept += CUT if len(kept) < len(text) or self._text_left <= 0 or self._lines_left <= 0 else ""
        self._printed[name].append(kept)

    def flush(self, name: str) -> None:
        text = "".join(self._printed[name])
        if not text:
            return
        self._printed[name].clear()
        items = self._prepare_items()
        if items and items[-1].get("name") == name:
            items[-1]["text"] += text
        elif len(items) < MAX_ITEMS:
            items.append({"output_type": "stream", "name": name, "text": text})

    def message(self, kind: str, content: dict[str, Any]) -> None:
        """What the shell publishes, by the names of the messaging protocol."""
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
        if len(items) >= MAX_ITEMS + 1:  # one more than others: what a cell raised is never left out
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
        """The outputs to which one is about to be added."""
        pane = self.panes[-1]
        if pane.clear_first:
            pane.items.clear()
            pane.clear_first = False
            self._reset_after_clear(pane)
        return pane.items

    def _reset_after_clear(self, pane: Pane) -> None:
        if pane is self.below:
            self._displays.clear()
            self._renew()  # what was cleared is kept nowhere
