"""A class in the sandbox with a submission that takes memory without end and one that never ends."""

from __future__ import annotations

import json
import re

from autograder.demo.students import collect_reference, fill_notebook
from autograder.model.course import Lab
from benchmarks.gpu.grading import grade
from benchmarks.gpu.report import Context, PartResult, passed_if

GIB = 1.0
GREEDY = """
import torch
from labkit import device
kept = []
while True:
    kept.append(torch.ones(64 << 20, dtype=torch.uint8, device=device()))
"""
HANGS = """
import torch
from labkit import device
x = torch.ones(1000, 1000, device=device())
while True:
    x = x @ x / 1000
"""
NEIGHBOURS = 6


def run(context: Context) -> PartResult:
    lab = min(context.labs, key=lambda each: len(each.exercises))
    right = collect_reference(lab)
    first = lab.exercises[0].name
    submissions = [(f"right_{n}", _notebook(lab, right)) for n in range(NEIGHBOURS)]
    submissions.insert(1, ("greedy", _notebook(lab, {**right, first: f"{right[first]}\n{GREEDY}"})))
    submissions.insert(3, ("hangs", _notebook(lab, {**right, first: f"{right[first]}\n{HANGS}"})))
    bounds = {"memory_gib": 3, "gpu_memory_gib": GIB, "cell_seconds": 20}
    there = grade(lab, submissions, context.device, context.jobs, **bounds)
    whole = sum(exercise.points for exercise in lab.exercises)
    points = {student: sum(cell.points for cell in result.cells) for student, result in there.results.items()}
    said = {student: _error(there.outputs[student][lab.exercise(first).cell_id]) for student in ("greedy", "hangs")}
    bound = re.search("out of memory|memory limit|allocate memory", said["greedy"]) is not None
    ended = "time limit" in said["hangs"]
    neighbours = all(abs(points[f"right_{n}"] - whole) < 1e-6 for n in range(NEIGHBOURS))
    what = f"{lab.name}, {len(submissions)} submissions, {context.jobs} at a time, {there.seconds:.0f} s"
    lines = [
        f"{what}, at most {GIB:g} GiB on the device each; a lab of {whole:g} points.",
        "",
        f"- a bound on memory stopped the greedy one: {_yes(bound)}, {points['greedy']:g} points: `{said['greedy']}`",
        f"- the time of a cell stopped the other: {_yes(ended)}, {points['hangs']:g} points: `{said['hangs']}`",
        f"- their neighbours have full marks: {_yes(neighbours)}",
    ]
    return passed_if(bound and ended and neighbours, lines)


def _notebook(lab: Lab, solutions: dict[str, str]) -> bytes:
    return json.dumps(fill_notebook(lab, solutions)).encode()


def _error(outputs: str) -> str:
    """The first line of the last error among the outputs of a cell."""
    errors = [f"{each['ename']}: {each['evalue']}" for each in json.loads(outputs) if each["output_type"] == "error"]
    return errors[-1].splitlines()[0] if errors else "no error"


def _yes(good: bool) -> str:
    return "yes" if good else "NO"
