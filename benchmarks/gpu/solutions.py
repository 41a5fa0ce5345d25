"""The worked solutions of every lab, graded on the device: full marks, and the time there and on the CPU."""

from __future__ import annotations

import json

from autograder.base.device import Device
from autograder.demo.students import collect_reference, fill_notebook
from benchmarks.gpu.grading import find_failed_checks, grade_submissions
from benchmarks.gpu.report import GpuContext, PartResult, judge_part


def run(context: GpuContext) -> PartResult:
    rows, good = [], True
    for lab in context.labs:
        worked = [("ada", json.dumps(fill_notebook(lab, collect_reference(lab))).encode())]
        on_device = grade_submissions(lab, worked, context.device, 1)
        on_cpu = grade_submissions(lab, worked, Device.CPU, 1)
        failed = sorted(find_failed_checks(on_device.results["ada"]))
        notes = on_device.results["ada"].notes
        good &= not failed and not notes
        outcome = "; ".join([*failed, *(note.words for note in notes)]) or "full marks"
        rows.append(f"| {lab.name} | {outcome} | {on_device.seconds:.1f} | {on_cpu.seconds:.1f} |")
    head = [
        f"Seconds that a grader takes to start, import torch and grade one submission, on {context.device} and on the "
        "CPU of the same machine.",
        "",
        f"| lab | worked solution | on {context.device}, s | on the CPU, s |",
        "|---|---|---|---|",
    ]
    return judge_part(good, [*head, *rows])
