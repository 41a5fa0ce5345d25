"""The cells of the worked labs that name a device: how long each takes on this one, and on the CPU."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence

from autograder.demo.students import collect_reference, fill_notebook
from autograder.model.course import Kind, Lab
from autograder.model.metadata import read_kind
from benchmarks.classroom import ROOT
from benchmarks.gpu.report import Context, PartResult, passed_if

NAMES_A_DEVICE = re.compile(r"\bdevice\b|\bcuda\b|\baccelerator\b|\bpin_memory\b|non_blocking")
SHOWS = (Kind.GIVEN, Kind.EXAMPLE)
RUN = """
import json, sys, time
from autograder.student_process.kernel import Kernel
kernel, told = Kernel(), []
for number, source in enumerate(json.load(sys.stdin), start=1):
    start = time.perf_counter()
    outputs = kernel.run(source, number)
    errors = [f"{o['ename']}: {o['evalue']}" for o in outputs if o["output_type"] == "error"]
    told.append([time.perf_counter() - start, errors])
with open(sys.argv[1], "w") as file:
    json.dump(told, file)
"""
WARMS_UP = """
import torch
from labkit import device
_ = (torch.ones(64, 64, device=device()) @ torch.ones(64, 64, device=device())).sum().item()
"""


def run(context: Context) -> PartResult:
    rows, raised = [], []
    for lab in context.labs:
        cells = _cells(lab)
        there, here = (_times([source for _, source in cells], device) for device in (context.device, "cpu"))
        for (heading, source), (seconds, errors), (beside, on_cpu) in zip(cells, there, here, strict=True):
            if errors and not on_cpu:
                raised.append(f"{lab.name}, {heading}: {errors[0][:200]}")
            if NAMES_A_DEVICE.search(source) and heading:
                rows.append(f"| {lab.name} | {heading} | {1e3 * seconds:.1f} | {1e3 * beside:.1f} |")
    head = [f"| lab | section | a cell on {context.device}, ms | on the CPU, ms |", "|---|---|---|---|"]
    return passed_if(not raised, [*head, *rows, "", *(f"- raises here only: {each}" for each in raised)])


def _cells(lab: Lab) -> list[tuple[str, str]]:
    """(the heading above, the source) of each code cell of the worked lab, behind one that starts the device."""
    heading, cells = "", [("", WARMS_UP)]
    for cell in fill_notebook(lab, collect_reference(lab)).cells:
        if cell.cell_type == "markdown":
            found: Sequence[str] = re.findall(r"^#{2,3} (.+)$", cell.source, re.MULTILINE)
            heading = found[-1] if found else heading
        elif cell.cell_type == "code":
            cells.append((heading if read_kind(cell) in SHOWS else "", cell.source))
    return cells


def _times(sources: Sequence[str], device: str) -> list[tuple[float, list[str]]]:
    """(seconds, errors) of each cell, in a process of its own."""
    environment: Mapping[str, str] = os.environ | {"GRADLAB_DEVICE": device}
    told = ROOT / "benchmarks" / "results" / "gpu" / ".times.json"
    told.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-c", RUN, str(told)]
    subprocess.run(command, input=json.dumps(sources), text=True, cwd=ROOT, env=dict(environment), check=True)
    found: list[tuple[float, list[str]]] = json.loads(told.read_text(encoding="utf-8"))
    told.unlink()
    return found
