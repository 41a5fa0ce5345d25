"""Starts the grader of the user's own course, and asks it for marks. It keeps running, so it is warm."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

LINE = 2**22  # bytes of one answer at most
NO_COURSE = (
    "No grader is here: this folder belongs to no course with its source/ notebooks. Your checks show what can be "
    "seen here; hand the notebook in (Nbgrader, Assignment List) to have it marked."
)


class GraderUnavailable(Exception):
    """Why a notebook could not be marked, in words for its student."""


class GraderProcess:
    """The grader's process of one course. It starts when the student begins to write, long before a mark is requested.

    Args:
        course: The course that the server found when it started; None starts nothing and marks nothing.
    """

    def __init__(self, course: Path | None) -> None:
        self._course = course
        self._process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()

    async def begin(self) -> None:
        """Start the process unless it is running; that takes about ten seconds, while the student writes."""
        if self._course is not None and not self._turn.locked():
            async with self._turn:
                await self._start(self._course)

    async def mark(self, notebook: Path) -> dict[str, Any]:
        """{points, worth, words}. Writes the feedback page and marks beside the labs. Raises GraderUnavailable."""
        if self._course is None:
            raise GraderUnavailable(NO_COURSE)
        async with self._turn:
            process = await self._start(self._course)
            assert process.stdin is not None and process.stdout is not None
            try:
                process.stdin.write(json.dumps({"notebook": str(notebook)}).encode() + b"\n")
                await process.stdin.drain()
                line = await process.stdout.readline()
            except (OSError, ValueError):
                line = b""
            if not line:
                self._process = None
                raise GraderUnavailable("The grader ended. Try again; `gradlab mark` in a terminal says why.")
        answer: dict[str, Any] = json.loads(line)
        if "refused" in answer:
            raise GraderUnavailable(str(answer["refused"]))
        return answer

    async def _start(self, course: Path) -> asyncio.subprocess.Process:
        if self._process is None or self._process.returncode is not None:
            command = [sys.executable, "-P", "-m", "autograder.cli", "mark", "--serve", "--course", str(course)]
            pipe = asyncio.subprocess.PIPE
            self._process = await asyncio.create_subprocess_exec(
                *command, stdin=pipe, stdout=pipe, limit=LINE, env=os.environ | {"PYTHONUNBUFFERED": "1"}
            )
        return self._process
