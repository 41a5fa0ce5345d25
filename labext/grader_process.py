"""The grader process of the user's own course. It keeps running, so it's warm for the next mark."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MAX_LINE_BYTES = 2**22  # of one answer
NO_COURSE = (
    "There's no grader here: this folder belongs to no course with source/ notebooks. You can still run the visible "
    "checks. In a class, hand in the notebook as your instructor says. On your own, work in a clone of the course, "
    "which brings the grader."
)


class GraderUnavailable(Exception):
    """A failure to mark a notebook, in words for the student."""


@dataclass(eq=False)
class _Turn:
    """A request that waits until those before it are answered, or is being answered."""

    notebook: Path | None
    """None if the process is only started."""
    is_mark: bool
    begin: asyncio.Future[None]


class GraderProcess:
    """The grader process of one course. It starts when the student begins to write, long before a mark is requested.

    It answers one request after the other, from all browser tabs.

    Args:
        course: The course that the server found when it started. If None, no process starts, and marking fails.
    """

    def __init__(self, course: Path | None) -> None:
        self._course = course
        self._progress: dict[str, Any] = {}
        self._process: asyncio.subprocess.Process | None = None
        self._turns: list[_Turn] = []  # the first one's request is being answered

    async def begin(self) -> None:
        """Start the process unless it's running. This takes about ten seconds, while the student writes."""
        if self._course is not None and not self._turns:
            async with self._take_turn(None, False):
                await self._start(self._course)

    async def ask(self, notebook: Path, **request: Any) -> dict[str, Any]:
        """Send a request about this notebook, see serve() of the grader. Without more, the notebook is marked.

        The grader writes the feedback page and the marks next to the labs. Raises GraderUnavailable.
        """
        if self._course is None:
            raise GraderUnavailable(NO_COURSE)
        async with self._take_turn(notebook, not request):
            process = await self._start(self._course)
            assert process.stdin is not None and process.stdout is not None
            try:
                process.stdin.write(json.dumps({"notebook": str(notebook), **request}).encode() + b"\n")
                await process.stdin.drain()
                answer: dict[str, Any] = json.loads(await process.stdout.readline())
                while "progress" in answer:
                    self._progress = answer["progress"]
                    answer = json.loads(await process.stdout.readline())
            except (OSError, ValueError):  # it ended, or printed something else
                self.end()
                raise GraderUnavailable(
                    "The grader stopped. Try again, or run `gradlab mark` in a terminal to see why."
                ) from None
            finally:
                self._progress = {}
        if "refused" in answer:
            raise GraderUnavailable(str(answer["refused"]))
        return answer

    def read_progress(self, notebook: Path) -> dict[str, Any]:
        """Return the step that the mark of this notebook is at, see GradingProgress; empty if it hasn't begun.

        While the grader marks another notebook, {after: its lab's name}.
        """
        current = self._turns[0].notebook if self._turns else None
        return self._progress if current in (notebook, None) else {"after": current.stem}

    def end_mark(self, notebook: Path) -> None:
        """End this notebook's mark, or its wait for one. Other requests about the notebook are answered."""
        for number, turn in enumerate(self._turns):
            if not turn.is_mark or turn.notebook != notebook:
                continue
            if number == 0:
                self.end()
            elif not turn.begin.done():
                turn.begin.set_exception(GraderUnavailable("You cancelled it."))

    @contextlib.asynccontextmanager
    async def _take_turn(self, notebook: Path | None, is_mark: bool) -> AsyncIterator[None]:
        """Wait until the requests before this one are answered. Raises GraderUnavailable if it's cancelled before."""
        turn = _Turn(notebook, is_mark, asyncio.get_running_loop().create_future())
        self._turns.append(turn)
        try:
            if self._turns[0] is not turn:
                await turn.begin
            yield
        finally:
            was_first = self._turns[0] is turn
            self._turns.remove(turn)
            if was_first and self._turns and not self._turns[0].begin.done():
                self._turns[0].begin.set_result(None)

    def end(self) -> None:
        """End the process, and with it whatever it's doing. The next request starts another."""
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()

    async def _start(self, course: Path) -> asyncio.subprocess.Process:
        if self._process is None or self._process.returncode is not None:
            command = [sys.executable, "-P", "-m", "autograder.cli", "mark", "--serve", "--course", str(course)]
            pipe = asyncio.subprocess.PIPE
            self._process = await asyncio.create_subprocess_exec(
                *command, stdin=pipe, stdout=pipe, limit=MAX_LINE_BYTES, env=os.environ | {"PYTHONUNBUFFERED": "1"}
            )
        return self._process
