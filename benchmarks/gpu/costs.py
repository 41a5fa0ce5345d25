"""What a submission costs on the device: every cell in one process, and beyond that the examiner and the sandbox."""

from __future__ import annotations

import os
import time
from statistics import median

import nbformat

from autograder.authoring.notebooks import build_source_notebook
from autograder.examiner.examination import examine_steps
from autograder.examiner.time_budget import Timeouts
from autograder.forkserver.client import ForkServerClient, ProcessSettings
from autograder.grading.lab_cells import parse_cells
from autograder.grading.task import ExamineSettings, make_settings
from autograder.sandbox import find_layers, find_strongest_level
from autograder.workers.compile_cache import prepare_compile_cache
from benchmarks.floor import start_floor
from benchmarks.gpu.report import GpuContext, PartResult, judge_part
from labkit.outcome import compute_earned

TURNS = 3  # after one that warms up


def run(context: GpuContext) -> PartResult:
    os.environ["GRADLAB_DEVICE"] = context.device.value
    level, rows, lost_points = find_strongest_level(find_layers()), [], []
    limits = make_settings(ExamineSettings(isolation=level), context.device).limits
    with start_floor() as floor:
        for lab in context.labs:
            notebook = build_source_notebook(lab)
            steps = [cell.step for cell in parse_cells(notebook)]
            compiled = prepare_compile_cache(nbformat.writes(notebook).encode())
            fork_server = ForkServerClient(ProcessSettings(level, limits, context.device, compiled))
            floor_seconds, examined_seconds = [], []
            for _ in range(1 + TURNS):
                floor_seconds.append(floor.run(steps).wall)
                start = time.perf_counter()
                results = examine_steps(steps, fork_server.start_process, Timeouts())
                examined_seconds.append(time.perf_counter() - start)
            fork_server.close()
            lost_points += [
                f"{lab.name}, {name}"
                for name, result in results.items()
                if name.startswith("check-") and compute_earned(result.outcomes, 1) < 1
            ]
            on_floor, examined = median(floor_seconds[1:]), median(examined_seconds[1:])
            rows.append(f"| {lab.name} | {on_floor:.2f} | {examined:.2f} | {examined - on_floor:.2f} |")
    head = [
        f"Wall-clock seconds, medians of {TURNS} turns with the worked solutions, one submission at a time.",
        "",
        "| lab | the floor: the same cells in a fork of one warm process | with the examiner and the sandbox "
        "| beyond the floor |",
        "|---|---|---|---|",
    ]
    return judge_part(not lost_points, [*head, *rows, "", *(f"- lost a point: {each}" for each in lost_points)])
