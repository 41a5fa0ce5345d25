"""The fork server of the floor: runs every cell of a submission, checks included, in a fork of itself.

Run as `python -m benchmarks.floor_process`: for each line of its standard input, which is a submission's cells as JSON,
[[id, kind, source], ...], it writes a line: {"wall": seconds, "cpu": seconds, "points": {check cell: points}}. It holds
what a fork server of the grader holds, and nothing of the grader.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
import time
from typing import Any

import torch

from autograder.base.fork_memory import make_forks_cheap
from autograder.forkserver.server import create_warm_kernel
from autograder.student_process.kernel import Kernel

Cells = list[list[str]]


def main() -> None:
    kernel = create_warm_kernel()
    importlib.import_module("torch._inductor.compile_fx")
    make_forks_cheap()
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what a cell's subprocesses print is no answer
        for line in sys.stdin:
            print(json.dumps(_in_a_fork(json.loads(line), kernel)), file=answers, flush=True)


def _in_a_fork(cells: Cells, kernel: Kernel) -> dict[str, Any]:
    reading, writing = os.pipe()
    started = time.perf_counter()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, json.dumps(_points(cells, kernel)).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        points = json.loads(pipe.read())
    _, _, used = os.wait4(child, 0)
    return {"wall": time.perf_counter() - started, "cpu": used.ru_utime + used.ru_stime, "points": points}


def _points(cells: Cells, kernel: Kernel) -> dict[str, float]:
    """Points of each check cell, as nbgrader reads them: from the text of its last value."""
    torch.set_num_threads(1)
    points = {}
    for name, kind, source in cells:
        outputs = kernel.run(source)
        if kind == "check":
            points[name] = 0.0
            with contextlib.suppress(IndexError, KeyError, ValueError):
                points[name] = float(outputs[-1]["data"]["text/plain"])
    return points


if __name__ == "__main__":
    main()
