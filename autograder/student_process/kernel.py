"""Executes cells as a notebook does, in ipykernel's shell, but without a front end, threads or sockets.

The outputs are those that nbclient would store with a stock kernel, bounded in size.
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

from autograder.rpc.limit_errors import describe_limit
from autograder.student_process.event_loop import EventLoop
from autograder.student_process.figures import set_environment, show_inline
from autograder.student_process.outputs import Output, Outputs
from autograder.student_process.shell import create_shell, refuse_getpass, refuse_input
from autograder.student_process.streams import NAMES, Stream, capture_streams
from autograder.student_process.widgets import Widgets

LAUNCHER = str(Path(ipykernel.__file__).parent.parent / "ipykernel_launcher.py")  # the script that starts a kernel


class Kernel:
    """A shell in which the cells of one notebook run. `namespace` is the notebook's."""

    eventloop = None  # read by ipykernel

    def __init__(self) -> None:
        self.outputs = Outputs()
        self.shell = create_shell(self)
        self._streams = [Stream(name, lambda: self.outputs) for name in NAMES]
        self._widgets = Widgets()
        self._is_settled = False
        show_inline(self.shell)
        self.namespace: dict[str, Any] = self.shell.user_ns

    def run(self, source: str, number: int | None = None) -> list[Output]:
        """Run a cell and return its outputs, which include what it raises.

        Args:
            number: The cell's execution count. By default, one more than the last.
        """
        self._begin_outputs()
        if not self._is_settled:
            self._settle()
        if number is not None:
            self.shell.execution_count = number
        with contextlib.suppress(Exception):  # a cell may have replaced the display hook
            self.shell.set_parent({"header": {"msg_id": f"cell-{self.shell.execution_count}"}})
        with capture_streams(self._streams), _block_input():
            try:
                result = self._loop.run_cell(self.shell, source)
                self._ensure_error_output(result.error_before_exec or result.error_in_exec)
            except SystemExit:
                self.shell.ask_exit()
            except asyncio.CancelledError as error:
                self.show_error(error, [])
        self._widgets.send_outputs()
        items = self.outputs.below.items
        if self._loop.has_tasks():
            self._begin_outputs()  # as with nbclient, their output is lost now
            with capture_streams(self._streams), contextlib.suppress(SystemExit):
                self._loop.run_tasks_briefly()
        return items

    def _begin_outputs(self) -> None:
        self.outputs = Outputs()
        self._widgets.begin_cell(self.outputs)

    def take_message(self, kind: str, content: dict[str, Any]) -> None:
        """Take a message that the shell publishes."""
        self.outputs.take_message(kind, content)

    def show_error(self, error: BaseException, lines: list[str]) -> None:
        """Show an exception with the lines of its traceback."""
        try:
            text = str(error)
        except Exception:
            text = "(its message can't be shown)"
        for stream in self._streams:
            stream.flush()
        self.take_message("error", {"ename": type(error).__name__, "evalue": text, "traceback": lines})
        if limit := describe_limit(error):
            self.say(f"In grading, {limit}.")

    def say(self, text: str) -> None:
        """Show a notice about grading on stderr."""
        self.outputs.add_text("stderr", f"{text}\n")

    def _settle(self) -> None:
        """Adapt the shell to the sandbox, which has another folder and cleared the environment variables."""
        self.shell.init_environment()
        self.shell.user_ns["_dh"][:] = [os.getcwd()]  # the history of %cd: the shell was created in another folder
        set_environment()
        self._loop = EventLoop()
        _set_debuggers()
        sys.argv[:] = [LAUNCHER, "-f", f"{os.getcwd()}/kernel.json", "--HistoryManager.hist_file=:memory:"]
        self._is_settled = True

    def _ensure_error_output(self, error: BaseException | None) -> None:
        """Add an output for an exception if the shell only printed its traceback, as for exception groups."""
        shown = any(output["output_type"] == "error" for output in self.outputs.below.items)
        if error is not None and not shown and not isinstance(error, UsageError):
            self.show_error(error, [])


def _skip() -> None:
    """Act as breakpoint() does when no debugger is attached."""


def _set_debuggers() -> None:
    """Set the debuggers of a kernel: debugpy's breakpoint(), where a leftover call does nothing, and IPython's pdb."""
    sys.breakpointhook = _skip
    pdb.Pdb = debugger.Pdb = debugger.InterruptiblePdb  # type: ignore[misc, assignment]
    pdb.set_trace = debugger.set_trace


@contextlib.contextmanager
def _block_input() -> Iterator[None]:
    before = builtins.input, getpass.getpass
    builtins.input, getpass.getpass = refuse_input, refuse_getpass
    try:
        yield
    finally:
        builtins.input, getpass.getpass = before
