"""A long command shows its progress and names slow counter."""

import io
from types import SimpleNamespace

import pytest
from rich.console import Console

from autograder.base import progress_bar
from autograder.base.progress_bar import LONG_SECONDS, show_progress

NOW = 1000.0


@pytest.fixture(autouse=True)
def stopped_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_bar, "time", SimpleNamespace(monotonic=lambda: NOW))


def test_without_a_terminal_the_last_step_and_slow_steps_are_lines() -> None:
    console, running = Console(file=io.StringIO(), width=200), {"ada": NOW - 64, "ben": NOW}
    with show_progress(console, "grading 01", 2, running.copy) as counter:
        counter.report_slow_steps()
        assert console.file.getvalue() == "", "a line was printed a moment ago"
        counter.last_line -= LONG_SECONDS + 1
        counter.report_slow_steps()
        counter.report_slow_steps()
        assert console.file.getvalue() == "grading 01: 0 of 2, still at ada for 64 s\n"
        running.clear()
        counter.advance()
        counter.advance(failed=True)
    assert "grading 01: 2 of 2, 1 failed" in console.file.getvalue()


def test_a_terminal_has_a_bar_that_names_slow_steps() -> None:
    console = Console(file=io.StringIO(), width=200, force_terminal=True)
    with show_progress(console, "grading 01", 2, lambda: {"s[1]": NOW - 64}) as counter:
        counter.report_slow_steps()
        counter.bar.refresh()
    assert "still at s[1] for 64 s" in console.file.getvalue()
