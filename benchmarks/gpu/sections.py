"""The cells of the worked labs that name a device: how long each takes on this device, and on the CPU."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence

from autograder.base.device import Device
from autograder.demo.students import collect_reference, fill_notebook
from autograder.model.course import CellKind, Lab
from autograder.model.metadata import read_kind
from benchmarks.classroom import ROOT
from benchmarks.gpu.report import GpuContext, PartResult, judge_part

DEVICE_NAME = re.compile(r"\bdevice\b|\bcuda\b|\baccelerator\b|\bpin_memory\b|non_blocking")
SHOWN_KINDS = (CellKind.GIVEN, CellKind.EXAMPLE)
RUN = """
import json, sys, time
from autograder.student_process.kernel import Kernel
kernel, results = Kernel(), []
for number, source in enumerate(json.load(sys.stdin), start=1):
    start = time.perf_counter()
    outputs = kernel.run(source, number)
    errors = [f"{o['ename']}: {o['evalue']}" for o in outputs if o["output_type"] == "error"]
    results.append([time.perf_counter() - start, errors])
with open(sys.argv[1], "w") as file:
    json.dump(results, file)
"""
WARM_UP = """
import torch
from labkit import device
_ = (torch.ones(64, 64, device=device()) @ torch.ones(64, 64, device=device())).sum().item()
"""


def run(context: GpuContext) -> PartResult:
    rows, device_errors = [], []
    for lab in context.labs:
        cells = _collect_cells(lab)
        sources = [source for _, source in cells]
        on_device, on_cpu = (_measure_cells(sources, device) for device in (context.device, Device.CPU))
        for (heading, source), (seconds, errors), (cpu_seconds, cpu_errors) in zip(
            cells, on_device, on_cpu, strict=True
        ):
            if errors and not cpu_errors:
                device_errors.append(f"{lab.name}, {heading}: {errors[0][:200]}")
            if DEVICE_NAME.search(source) and heading:
                rows.append(f"| {lab.name} | {heading} | {1e3 * seconds:.1f} | {1e3 * cpu_seconds:.1f} |")
    head = [f"| lab | section | a cell on {context.device}, ms | on the CPU, ms |", "|---|---|---|---|"]
    return judge_part(
        not device_errors, [*head, *rows, "", *(f"- fails only on {context.device}: {each}" for each in device_errors)]
    )


def _collect_cells(lab: Lab) -> list[tuple[str, str]]:
    """Collect the code cells of the worked lab, after one that starts the device.

    Returns:
        (heading, source) of each. The heading is that of its section, or empty if the cell isn't shown in the report.
    """
    heading, cells = "", [("", WARM_UP)]
    for cell in fill_notebook(lab, collect_reference(lab)).cells:
        if cell.cell_type == "markdown":
            headings: Sequence[str] = re.findall(r"^#{2,3} (.+)$", cell.source, re.MULTILINE)
            heading = headings[-1] if headings else heading
        elif cell.cell_type == "code":
            cells.append((heading if read_kind(cell) in SHOWN_KINDS else "", cell.source))
    return cells


def _measure_cells(sources: Sequence[str], device: Device) -> list[tuple[float, list[str]]]:
    """Run these cells in a new process, and return (seconds, errors) of each."""
    environment: Mapping[str, str] = os.environ | {"GRADLAB_DEVICE": device.value}
    times_file = ROOT / "benchmarks" / "results" / "gpu" / ".times.json"
    times_file.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-c", RUN, str(times_file)]
    subprocess.run(command, input=json.dumps(sources), text=True, cwd=ROOT, env=dict(environment), check=True)
    times: list[tuple[float, list[str]]] = json.loads(times_file.read_text(encoding="utf-8"))
    times_file.unlink()
    return times
