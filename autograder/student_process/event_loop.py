"""The event loop in which cells run, as in a kernel: asyncio.run() is refused, and tasks go on in later cells."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from asyncio import all_tasks, wait  # by name, since a cell may patch the module
from typing import Any

from IPython.core.async_helpers import _asyncio_runner

PAUSE_SECONDS = 0.02  # for tasks to go on between cells, about as long as a kernel waits for the next cell


class EventLoop:
    """An event loop. It must be created in the process whose cells it runs: a fork would share its descriptors."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self._loop)

    def run_cell(self, shell: Any, source: str) -> Any:
        """Run a cell and return IPython's result."""
        task = self._loop.create_task(_run_cell(shell, source))
        while not task.done():
            with contextlib.suppress(RuntimeError):  # the cell stopped the loop
                self._loop.run_until_complete(task)
        return task.result()

    def has_tasks(self) -> bool:
        """Return whether cells left unfinished tasks."""
        return bool(all_tasks(self._loop))

    def run_tasks_briefly(self) -> None:
        """Let unfinished tasks go on for a moment."""
        with contextlib.suppress(RuntimeError):
            self._loop.run_until_complete(wait(all_tasks(self._loop), timeout=PAUSE_SECONDS))


async def _run_cell(shell: Any, source: str) -> Any:
    """Run a cell as ipykernel does: if it awaits something, in this loop."""
    error = None
    try:
        cell = shell.transform_cell(source)
    except Exception:
        cell, error = source, sys.exc_info()
    uses_asyncio = shell.loop_runner is _asyncio_runner
    if uses_asyncio and shell.should_run_async(source, transformed_cell=cell, preprocessing_exc_tuple=error):
        return await shell.run_cell_async(
            source, store_history=True, transformed_cell=cell, preprocessing_exc_tuple=error
        )
    return shell.run_cell(source, store_history=True)
