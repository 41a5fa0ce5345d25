"""What a submission costs on the device: every cell in one process, and beyond that the examiner and the sandbox."""

from __future__ import annotations

import os
import time
from statistics import median

import nbformat

from autograder.authoring.notebooks import build_source_notebook
from autograder.examiner.clock import Timeouts
from autograder.examiner.examination import examine_steps
from autograder.forkserver.client import ForkServer, ProcessSettings
from autograder.grading.lab_cells import parse_cells
from autograder.grading.task import ExamineSettings, make_settings
from autograder.sandbox import find_layers, find_strongest_level
from autograder.workers.compile_cache import prepare_compile_cache
from benchmarks.floor import new_floor
from benchmarks.gpu.report import Context, PartResult, passed_if
from labkit.outcome import compute_earned

TURNS = 3  # after one that warms up


def run(context: Context) -> PartResult:
    os.environ["GRADLAB_DEVICE"] = context.device
    level, rows, lost = find_strongest_level(find_layers()), [], []
    limits = make_settings(ExamineSettings(isolation=level), context.device).limits
    with new_floor() as floor:
        for lab in context.labs:
            notebook = build_source_notebook(lab)
            steps = [cell.step for cell in parse_cells(notebook)]
            compiled = prepare_compile_cache(nbformat.writes(notebook).encode())
            fork_server = ForkServer(ProcessSettings(level, limits, context.device, compiled))
            alone, whole = [], []
            for _ in range(1 + TURNS):
                alone.append(floor.run(steps).wall)
                start = time.perf_counter()
                seen = examine_steps(steps, fork_server.start_process, Timeouts())
                whole.append(time.perf_counter() - start)
            fork_server.close()
            lost += [
                f"{lab.name}, {name}"
                for name, came in seen.items()
                if name.startswith("check-") and compute_earned(came.outcomes, 1) < 1
            ]
            one, both = median(alone[1:]), median(whole[1:])
            rows.append(f"| {lab.name} | {one:.2f} | {both:.2f} | {both - one:.2f} |")
    head = [
        f"Seconds by the clock, medians of {TURNS} turns with the worked solutions; one submission at a time.",
        "",
        "| lab | the floor: the same cells in a fork of one process | examined, in the sandbox | beyond the floor |",
        "|---|---|---|---|",
    ]
    return passed_if(not lost, [*head, *rows, "", *(f"- lost a point: {each}" for each in lost)])
