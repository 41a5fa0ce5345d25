"""The grader process of the user's own course. It keeps running, so it's warm for the next mark."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
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


class GraderProcess:
    """The grader process of one course. It starts when the student begins to write, long before a mark is requested.

    Args:
        course: The course that the server found when it started. If None, no process starts, and marking fails.
    """

    def __init__(self, course: Path | None) -> None:
        self._course = course
        self.progress: dict[str, Any] = {}
        """The step that the grader is at, see GradingProgress; empty if it isn't marking or hasn't begun."""
        self._process: asyncio.subprocess.Process | None = None
        self._lock = asyncio.Lock()

    async def begin(self) -> None:
        """Start the process unless it's running. This takes about ten seconds, while the student writes."""
        if self._course is not None and not self._lock.locked():
            async with self._lock:
                await self._start(self._course)

    async def ask(self, notebook: Path, **request: Any) -> dict[str, Any]:
        """Send a request about this notebook, see serve() of the grader. Without more, the notebook is marked.

        The grader writes the feedback page and the marks next to the labs. Raises GraderUnavailable.
        """
        if self._course is None:
            raise GraderUnavailable(NO_COURSE)
        async with self._lock:
            process = await self._start(self._course)
            assert process.stdin is not None and process.stdout is not None
            try:
                process.stdin.write(json.dumps({"notebook": str(notebook), **request}).encode() + b"\n")
                await process.stdin.drain()
                answer: dict[str, Any] = json.loads(await process.stdout.readline())
                while "progress" in answer:
                    self.progress = answer["progress"]
                    answer = json.loads(await process.stdout.readline())
            except (OSError, ValueError):  # it ended, or printed something else
                self.end()
                raise GraderUnavailable(
                    "The grader stopped. Try again, or run `gradlab mark` in a terminal to see why."
                ) from None
            finally:
                self.progress = {}
        if "refused" in answer:
            raise GraderUnavailable(str(answer["refused"]))
        return answer

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
