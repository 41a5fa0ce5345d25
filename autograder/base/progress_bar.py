"""Shows the progress of a long command, and what takes long: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from threading import Event, Thread

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

LINE_SECONDS = 5.0  # between two lines if there is no terminal
LONG_SECONDS = 20.0  # after which a running step is named, and between two such lines

Running = Mapping[str, float]  # when each running step began, by time.monotonic()


class ProgressCounter:
    """Counts how many of `total` steps are done, and how many failed."""

    def __init__(
        self, console: Console, title: str, total: int, bar: Progress, task: TaskID, running: Callable[[], Running]
    ) -> None:
        self.console, self.title, self.total, self.bar, self.task = console, title, total, bar, task
        self.running = running
        self.done = self.failed = 0
        self.start = self.last_line = time.monotonic()

    def advance(self, failed: bool = False) -> None:
        """Count one more step as done."""
        self.done += 1
        self.failed += failed
        self.bar.update(self.task, advance=1, message=self.describe())
        is_line_due = time.monotonic() - self.last_line > LINE_SECONDS or self.done == self.total
        if not self.console.is_terminal and is_line_due:
            self._print_line(self.describe())

    def describe(self) -> str:
        """Say how many steps failed, and how many are done per second."""
        rate = self.done / max(time.monotonic() - self.start, 1e-3)
        return f"{self.failed} failed, {rate:.1f}/s" if self.failed else f"{rate:.1f}/s"

    def report_slow_steps(self) -> None:
        """Name steps that take long, but not too often."""
        now = time.monotonic()
        slow = [
            f"{name} for {now - since:.0f} s" for name, since in self.running().items() if now - since > LONG_SECONDS
        ]
        if not slow:
            return
        message = f"still at {', '.join(slow)}"
        self.bar.update(self.task, message=message)
        if not self.console.is_terminal and now - self.last_line > LONG_SECONDS:
            self._print_line(message)

    def _print_line(self, message: str) -> None:
        self.last_line = time.monotonic()
        self.console.print(f"{self.title}: {self.done} of {self.total}, {message}", markup=False)


@contextlib.contextmanager
def show_progress(
    console: Console, title: str, total: int, running: Callable[[], Running] = dict[str, float]
) -> Iterator[ProgressCounter]:
    """Show progress while the caller calls advance() on the yielded object for each of `total` steps.

    Args:
        running: Returns the running steps; called from another thread.
    """
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[message]}", markup=False),
        TimeRemainingColumn(),
    )
    ended = Event()
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        counter = ProgressCounter(console, title, total, bar, bar.add_task(title, total=total, message=""), running)
        watcher = Thread(target=_watch_steps, args=(counter, ended), daemon=True)
        watcher.start()
        try:
            yield counter
        finally:
            ended.set()
            watcher.join()


def _watch_steps(counter: ProgressCounter, ended: Event) -> None:
    while not ended.wait(LINE_SECONDS):
        counter.report_slow_steps()
