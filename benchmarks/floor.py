"""The floor: every cell of a submission, checks included, in a fork of one fork server, its pictures rendered."""

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
class Run:
    """wall, cpu: seconds. points: of each check cell."""

    wall: float
    cpu: float
    points: dict[str, float]


class Floor:
    """The process that is forked; see floor_process.py."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, steps: Sequence[Step]) -> Run:
        """Raises SystemExit where the process is lost."""
        assert self._process.stdin is not None and self._process.stdout is not None
        print(json.dumps([[step.id, step.kind, step.source] for step in steps]), file=self._process.stdin, flush=True)
        if not (line := self._process.stdout.readline()):
            raise SystemExit("the floor's process ended")
        return Run(**json.loads(line))


@contextmanager
def new_floor() -> Iterator[Floor]:
    """With a cache of torch.compile of its own, which its first run fills."""
    with tempfile.TemporaryDirectory() as cache:
        command = [sys.executable, "-m", "benchmarks.floor_process"]
        env = os.environ | ONE_THREAD | {"TORCHINDUCTOR_CACHE_DIR": cache}
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, cwd=ROOT, env=env, text=True)
        with process:
            yield Floor(process)
