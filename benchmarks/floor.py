"""The floor: every cell of a submission, checks included, runs in a fork of one warm process that renders pictures."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from autograder.examiner.examination import Step
from autograder.forkserver.server_process import ONE_THREAD
from benchmarks.classroom import ROOT


@dataclass(frozen=True)
class FloorRun:
    """One submission on the floor."""

    wall: float
    """Seconds of wall-clock time."""
    cpu: float
    """Seconds of CPU time."""
    points: dict[str, float]
    """The points of each check cell."""


class Floor:
    """The process that is forked for each submission; see floor_process.py."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, steps: Sequence[Step]) -> FloorRun:
        """Run a submission's cells in a fork.

        Raises:
            SystemExit: If the process has ended.
        """
        assert self._process.stdin is not None and self._process.stdout is not None
        print(json.dumps([[step.id, step.kind, step.source] for step in steps]), file=self._process.stdin, flush=True)
        if not (line := self._process.stdout.readline()):
            raise SystemExit("the floor's process ended")
        return FloorRun(**json.loads(line))


@contextmanager
def start_floor() -> Iterator[Floor]:
    """Start the process, with its own cache of torch.compile, which the first run fills."""
    with tempfile.TemporaryDirectory() as cache:
        command = [sys.executable, "-m", "benchmarks.floor_process"]
        env = os.environ | ONE_THREAD | {"TORCHINDUCTOR_CACHE_DIR": cache}
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, cwd=ROOT, env=env, text=True)
        with process:
            yield Floor(process)
