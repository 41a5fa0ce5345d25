"""Shows how far a long command is, and what takes long: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from threading import Event, Thread

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

LINE_SECONDS = 5.0  # between the lines where nothing can move
LONG_SECONDS = 20.0  # after which it is said what is not done yet, and again after as many

Running = Mapping[str, float]  # what is being done -> since when, by time.monotonic


class Steps:
    """Counts what is done of `total`, and what of it failed."""

    def __init__(
        self, console: Console, title: str, total: int, bar: Progress, task: TaskID, running: Callable[[], Running]
    ) -> None:
        self.console, self.title, self.total, self.bar, self.task = console, title, total, bar, task
        self.running = running
        self.done = self.failed = 0
        self.begun = self.told = time.monotonic()

    def step(self, failed: bool = False) -> None:
        """One more is done."""
        self.done += 1
        self.failed += failed
        self.bar.update(self.task, advance=1, words=self.words())
        if not self.console.is_terminal and (time.monotonic() - self.told > LINE_SECONDS or self.done == self.total):
            self._print_line(self.words())

    def words(self) -> str:
        """How many failed, and how many are done in a second."""
        rate = self.done / max(time.monotonic() - self.begun, 1e-3)
        return f"{self.failed} failed, {rate:.1f}/s" if self.failed else f"{rate:.1f}/s"

    def report_slow_steps(self) -> None:
        """Where there is such, and nothing was said for long."""
        now = time.monotonic()
        long = [
            f"{name} for {now - since:.0f} s" for name, since in self.running().items() if now - since > LONG_SECONDS
        ]
        if not long:
            return
        words = f"still at {', '.join(long)}"
        self.bar.update(self.task, words=words)
        if not self.console.is_terminal and now - self.told > LONG_SECONDS:
            self._print_line(words)

    def _print_line(self, words: str) -> None:
        self.told = time.monotonic()
        self.console.print(f"{self.title}: {self.done} of {self.total}, {words}", markup=False)


@contextlib.contextmanager
def show_progress(
    console: Console, title: str, total: int, running: Callable[[], Running] = dict[str, float]
) -> Iterator[Steps]:
    """Call step() of what it gives for each of `total`. running: what is being done, asked from another thread."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[words]}", markup=False),
        TimeRemainingColumn(),
    )
    ended = Event()
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        steps = Steps(console, title, total, bar, bar.add_task(title, total=total, words=""), running)
        looking = Thread(target=_watch_steps, args=(steps, ended), daemon=True)
        looking.start()
        try:
            yield steps
        finally:
            ended.set()
            looking.join()


def _watch_steps(steps: Steps, ended: Event) -> None:
    while not ended.wait(LINE_SECONDS):
        steps.report_slow_steps()
