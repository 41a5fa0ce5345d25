"""Executes cells as a notebook does, and keeps what they print, show and raise, bounded in size."""

from __future__ import annotations

import contextlib
import io
import sys
import traceback
from collections.abc import Iterator
from typing import Any

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from autograder.wire.limits import limit_hit

MAX_TEXT = 200_000  # characters of text output of one cell
MAX_LINES = 5_000
MAX_ITEMS = 500  # pieces of output
MAX_DATA = 2_000_000  # characters of one cell's display data, pictures in base64 included
CUT = "\n(the limit on output was reached: the rest of this cell's output was cut off)\n"

QUIET = Config({"HistoryManager": {"enabled": False}})  # it would start a thread, and the kernel is made before a fork
Output = dict[str, Any]


class Outputs:
    """The outputs of the cell that is running, in their order, as notebooks write them."""

    def __init__(self) -> None:
        self.items: list[Output] = []
        self.text_left, self.lines_left, self.data_left = MAX_TEXT, MAX_LINES, MAX_DATA

    def stream(self, name: str, text: str) -> None:
        if self.text_left <= 0 or self.lines_left <= 0 or not text:
            return
        kept = text[: self.text_left]
        kept = "".join(kept.splitlines(keepends=True)[: self.lines_left])
        self.text_left -= len(text)
        self.lines_left -= text.count("\n")
        kept += CUT if len(kept) < len(text) or self.text_left <= 0 or self.lines_left <= 0 else ""
        last = self.items[-1] if self.items else {}
        if last.get("output_type") == "stream" and last.get("name") == name:
            last["text"] += kept
        elif len(self.items) < MAX_ITEMS:
            self.items.append({"output_type": "stream", "name": name, "text": kept})

    def show(self, kind: str, data: dict[str, Any], metadata: dict[str, Any] | None = None, **more: Any) -> None:
        size = sum(len(str(value)) for value in data.values())
        if len(self.items) >= MAX_ITEMS:
            return
        if size > self.data_left or len(self.items) == MAX_ITEMS - 1:
            data = {"text/plain": CUT.strip()}
        self.data_left -= size
        self.items.append({"output_type": kind, "data": data, "metadata": metadata or {}, **more})

    def error(self, kind: str, text: str, lines: list[str]) -> None:
        text, lines = text[:MAX_TEXT], [line[:MAX_TEXT] for line in lines[:200]]
        self.items.append({"output_type": "error", "ename": kind, "evalue": text, "traceback": lines})


class _Stream(io.TextIOBase):
    def __init__(self, kernel: Kernel, name: str) -> None:
        self.kernel, self.name = kernel, name

    def write(self, text: str) -> int:
        self.kernel.outputs.stream(self.name, str(text))
        return len(text)

    def writable(self) -> bool:
        return True


class _Publisher(DisplayPublisher):  # type: ignore[misc]
    kernel: Any = None

    def publish(self, data: Any, metadata: Any = None, *_: Any, **__: Any) -> None:
        self.kernel.outputs.show("display_data", dict(data), dict(metadata or {}))

    def clear_output(self, wait: bool = False) -> None:
        self.kernel.outputs.items.clear()


class _Hook(DisplayHook):  # type: ignore[misc]
    kernel: Any = None

    def __call__(self, result: Any = None) -> None:
        if result is None or self.quiet():
            return
        data, metadata = self.compute_format_data(result)
        self.update_user_ns(result)
        self.kernel.outputs.show("execute_result", dict(data), dict(metadata), execution_count=self.prompt_count)


class Kernel:
    """An IPython shell without a front end. `namespace` is the notebook's."""

    def __init__(self) -> None:
        self.outputs = Outputs()
        publisher, hook = type("P", (_Publisher,), {"kernel": self}), type("H", (_Hook,), {"kernel": self})
        InteractiveShell.clear_instance()
        self.shell = InteractiveShell.instance(
            display_pub_class=publisher,
            displayhook_class=hook,
            history_length=0,
            colors="NoColor",
            autocall=0,
            config=QUIET,
        )
        shell: Any = self.shell
        shell.showtraceback = self._show_traceback
        shell.ask_exit = self._say_that_it_goes_on
        self.namespace: dict[str, Any] = self.shell.user_ns

    def run(self, source: str) -> list[Output]:
        """The outputs of a cell. Whatever it raises is one of them."""
        self.outputs = Outputs()
        with self._streams():
            try:
                self.shell.run_cell(source, store_history=True)
            except SystemExit:
                self._say_that_it_goes_on()
        return self.outputs.items

    @contextlib.contextmanager
    def _streams(self) -> Iterator[None]:
        before = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = _Stream(self, "stdout"), _Stream(self, "stderr")
        try:
            yield
        finally:
            sys.stdout, sys.stderr = before

    def _say_that_it_goes_on(self) -> None:
        self.outputs.stream("stderr", "SystemExit: a notebook goes on after exit()\n")

    def _show_traceback(self, *_: Any, **__: Any) -> None:
        kind, error, trace = sys.exc_info()
        if kind is None or error is None:
            return
        try:
            text = str(error)
        except Exception:
            text = "(its message cannot be shown)"
        self.outputs.error(kind.__name__, text, traceback.format_exception(kind, error, trace))
        if limit := limit_hit(error):
            self.outputs.stream("stderr", f"In grading, {limit}.\n")
