"""The grader for "Mark my work" starts once for a course, before its first mark is asked for."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from labext.grader_process import GraderProcess, GraderUnavailable


@contextlib.asynccontextmanager
async def open_grader(course: Path | None) -> AsyncIterator[GraderProcess]:
    grader = GraderProcess(course)
    try:
        yield grader
    finally:
        if grader._process is not None:
            grader._process.kill()
            await grader._process.wait()


def list_graders() -> list[int]:
    """Pids of the graders that this process has started."""
    return [p.pid for p in psutil.Process(os.getpid()).children() if "mark" in p.cmdline()]


def test_one_grader_starts_however_often_the_state_is_asked_for(tmp_path: Path) -> None:
    async def begin_often() -> None:
        async with open_grader(tmp_path) as grader:
            await asyncio.gather(*(grader.begin() for _ in range(5)))
            await grader.begin()
            assert len(list_graders()) == 1

    asyncio.run(begin_often())


def test_without_a_course_nothing_starts_and_a_mark_says_what_to_do(tmp_path: Path) -> None:
    async def ask() -> None:
        async with open_grader(None) as grader:
            await grader.begin()
            assert list_graders() == []
            with pytest.raises(GraderUnavailable, match="hand in the notebook"):
                await grader.ask(tmp_path / "01_first" / "01_first.ipynb")

    asyncio.run(ask())
