"""The floor's process: for each submission, it runs every cell, checks included, in a fork of itself.

Run it as `python -m benchmarks.floor_process`. Each line of standard input is a submission's cells as JSON,
[[id, kind, source], ...]. It answers with a line {"wall": seconds, "cpu": seconds, "points": {check cell: points}}. The
process has loaded what the grader's fork server loads, and nothing of the grader.
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
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what a cell's subprocesses print mustn't mix with the answers
        for line in sys.stdin:
            print(json.dumps(_run_in_fork(json.loads(line), kernel)), file=answers, flush=True)


def _run_in_fork(cells: Cells, kernel: Kernel) -> dict[str, Any]:
    """Run the cells in a fork, and return its wall and CPU seconds and the points."""
    read_end, write_end = os.pipe()
    start = time.perf_counter()
    child = os.fork()
    if child == 0:
        try:
            os.write(write_end, json.dumps(_compute_points(cells, kernel)).encode())
        finally:
            os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        points = json.loads(pipe.read())
    _, _, usage = os.wait4(child, 0)
    return {"wall": time.perf_counter() - start, "cpu": usage.ru_utime + usage.ru_stime, "points": points}


def _compute_points(cells: Cells, kernel: Kernel) -> dict[str, float]:
    """Run the cells, and read each check cell's points from the text of its last value, as nbgrader does."""
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
