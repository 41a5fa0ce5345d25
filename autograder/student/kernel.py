"""Executes cells as a notebook does: in ipykernel's shell, without a front end, a thread or a socket.

What cells print, show and raise is what nbclient would store with a stock kernel, bounded in size.
"""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import getpass
import os
import pdb
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ipykernel
from IPython.core import debugger
from IPython.core.error import UsageError

from autograder.rpc.limit_words import describe_limit
from autograder.student.event_loop import EventLoop
from autograder.student.figures import set_environment, show_inline
from autograder.student.outputs import MAX_DATA as MAX_DATA
from autograder.student.outputs import MAX_ITEMS as MAX_ITEMS
from autograder.student.outputs import MAX_LINES as MAX_LINES
from autograder.student.outputs import MAX_TEXT as MAX_TEXT
from autograder.student.outputs import Output as Output
from autograder.student.outputs import Outputs
from autograder.student.shell import create_shell, refuse_getpass, refuse_input
from autograder.student.streams import NAMES, Stream, capture_streams
from autograder.student.widgets import Widgets

LAUNCHER = str(Path(ipykernel.__file__).parent.parent / "ipykernel_launcher.py")  # what a kernel was started as


class Kernel:
    """A shell in which the cells of one notebook run. `namespace` is the notebook's."""

    eventloop = None  # where ipykernel looks

    def __init__(self) -> None:
        self.outputs = Outputs()
        self.shell = create_shell(self)
        self._streams = [Stream(name, lambda: self.outputs) for name in NAMES]
        self._widgets = Widgets()
        self._at_home = False
        show_inline(self.shell)
        self.namespace: dict[str, Any] = self.shell.user_ns

    def run(self, source: str, number: int | None = None) -> list[Output]:
        """The outputs of a cell. Whatever it raises is one of them.

        number: the cell's execution count; without one, the cells that ran are counted.
        """
        self.outputs = self._widgets.outputs = Outputs()
        if not self._at_home:
            self._settle()
        if number is not None:
            self.shell.execution_count = number
        with contextlib.suppress(Exception):  # a cell may have replaced the display hook
            self.shell.set_parent({"header": {"msg_id": f"cell-{self.shell.execution_count}"}})
        with capture_streams(self._streams), _block_input():
            try:
                result = self._loop.run_cell(self.shell, source)
                self._told(result.error_before_exec or result.error_in_exec)
            except SystemExit:
                self.shell.ask_exit()
            except asyncio.CancelledError as error:
                self.show_error(error, [])
        self._widgets.tell()
        items = self.outputs.below.items
        if self._loop.has_tasks():
            self.outputs = self._widgets.outputs = Outputs()  # as with nbclient, nobody hears what they say now
            with capture_streams(self._streams), contextlib.suppress(SystemExit):
                self._loop.pause()
        return items

    def message(self, kind: str, content: dict[str, Any]) -> None:
        """Of the shell: something to show."""
        self.outputs.message(kind, content)

    def show_error(self, error: BaseException, lines: list[str]) -> None:
        """Of the shell: an exception, with its traceback."""
        try:
            text = str(error)
        except Exception:
            text = "(its message cannot be shown)"
        for stream in self._streams:
            stream.flush()
        self.message("error", {"ename": type(error).__name__, "evalue": text, "traceback": lines})
        if limit := describe_limit(error):
            self.say(f"In grading, {limit}.")

    def say(self, text: str) -> None:
        """A word about grading, on stderr."""
        self.outputs.printed("stderr", f"{text}\n")

    def _settle(self) -> None:
        """In a sandbox, which cleared the environment that the shell had set."""
        self.shell.init_environment()
        self.shell.user_ns["_dh"][:] = [os.getcwd()]  # where %cd goes back to: the shell was made elsewhere
        set_environment()
        self._loop = EventLoop()
        _set_debuggers()
        sys.argv[:] = [LAUNCHER, "-f", f"{os.getcwd()}/kernel.json", "--HistoryManager.hist_file=:memory:"]
        self._at_home = True

    def _told(self, error: BaseException | None) -> None:
        """An exception of which the shell only printed a traceback, as it does of groups, is an output as well."""
        shown = any(output["output_type"] == "error" for output in self.outputs.below.items)
        if error is not None and not shown and not isinstance(error, UsageError):
            self.show_error(error, [])


def _skip() -> None:
    """breakpoint(), where no debugger is attached."""


def _set_debuggers() -> None:
    """As a kernel does: breakpoint() is debugpy's, which lets a forgotten one pass, and pdb is IPython's."""
    sys.breakpointhook = _skip
    pdb.Pdb = debugger.Pdb = debugger.InterruptiblePdb  # type: ignore[misc, assignment]
    pdb.set_trace = debugger.set_trace  # type: ignore[assignment]


@contextlib.contextmanager
def _block_input() -> Iterator[None]:
    before = builtins.input, getpass.getpass
    builtins.input, getpass.getpass = refuse_input, refuse_getpass
    try:
        yield
    finally:
        builtins.input, getpass.getpass = before
