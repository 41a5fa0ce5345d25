"""The grader behind "Mark my work" starts once for a course, before its first mark is asked for."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from labext.marking import GraderProcess, NoGrader


@contextlib.asynccontextmanager
async def grader_of_its_own() -> AsyncIterator[GraderProcess]:
    grader = GraderProcess()
    try:
        yield grader
    finally:
        if grader._process is not None:
            grader._process.kill()
            await grader._process.wait()


def graders() -> list[int]:
    """Pids of the graders that this process has started."""
    return [p.pid for p in psutil.Process(os.getpid()).children() if "mark" in p.cmdline()]


def copied(course: Path, lab: str) -> Path:
    """Where a student's notebook of this lab lies; begin() does not read it."""
    (course / "source" / lab).mkdir(parents=True, exist_ok=True)
    (course / "source" / lab / f"{lab}.ipynb").touch()
    return course / "work" / lab / f"{lab}.ipynb"


def test_who_begins_to_write_finds_one_grader_started_however_often_the_state_is_asked_for(tmp_path: Path) -> None:
    async def begin_often() -> None:
        async with grader_of_its_own() as grader:
            notebook = copied(tmp_path, "01_first")
            await asyncio.gather(*(grader.begin(notebook) for _ in range(5)))
            await grader.begin(copied(tmp_path, "02_second"))
            assert len(graders()) == 1

    asyncio.run(begin_often())


def test_where_no_course_is_nothing_starts_and_a_mark_says_what_to_do(tmp_path: Path) -> None:
    async def ask() -> None:
        async with grader_of_its_own() as grader:
            await grader.begin(tmp_path / "01_first" / "01_first.ipynb")
            assert graders() == []
            with pytest.raises(NoGrader, match="hand the notebook in"):
                await grader.mark(tmp_path / "01_first" / "01_first.ipynb")

    asyncio.run(ask())
