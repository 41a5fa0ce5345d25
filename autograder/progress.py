"""Shows how far a long command is: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

LINE_SECONDS = 5.0  # between the lines where nothing can move


class Steps:
    """Counts what is done of `total`, and what of it failed."""

    def __init__(self, console: Console, title: str, total: int, bar: Progress, task: TaskID) -> None:
        self.console, self.title, self.total, self.bar, self.task = console, title, total, bar, task
        self.done = self.failed = 0
        self.begun = self.told = time.monotonic()

    def step(self, failed: bool = False) -> None:
        """One more is done."""
        self.done += 1
        self.failed += failed
        self.bar.update(self.task, advance=1, words=self.words())
        if not self.console.is_terminal and (time.monotonic() - self.told > LINE_SECONDS or self.done == self.total):
            self.told = time.monotonic()
            self.console.print(f"{self.title}: {self.done} of {self.total}, {self.words()}", markup=False)

    def words(self) -> str:
        """How many failed, and how many are done in a second."""
        rate = self.done / max(time.monotonic() - self.begun, 1e-3)
        return f"{self.failed} failed, {rate:.1f}/s" if self.failed else f"{rate:.1f}/s"


@contextlib.contextmanager
def progress(console: Console, title: str, total: int) -> Iterator[Steps]:
    """Call step() of what it gives for each of `total`."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[words]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        yield Steps(console, title, total, bar, bar.add_task(title, total=total, words=""))
