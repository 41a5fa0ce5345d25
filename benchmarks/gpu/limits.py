"""A class in the sandbox with one submission that allocates memory without end and one that never ends."""

from __future__ import annotations

import json
import re

from autograder.demo.students import collect_reference, fill_notebook
from autograder.model.course import Lab
from benchmarks.gpu.grading import grade_submissions
from benchmarks.gpu.report import GpuContext, PartResult, judge_part

LIMIT_GIB = 1.0
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


def run(context: GpuContext) -> PartResult:
    lab = min(context.labs, key=lambda each: len(each.exercises))
    right = collect_reference(lab)
    first = lab.exercises[0].name
    submissions = [(f"right_{n}", _fill_notebook(lab, right)) for n in range(NEIGHBOURS)]
    submissions.insert(1, ("greedy", _fill_notebook(lab, {**right, first: f"{right[first]}\n{GREEDY}"})))
    submissions.insert(3, ("hangs", _fill_notebook(lab, {**right, first: f"{right[first]}\n{HANGS}"})))
    limits = {"memory_gib": 3, "gpu_memory_gib": LIMIT_GIB, "cell_seconds": 20}
    grades = grade_submissions(lab, submissions, context.device, context.jobs, **limits)
    worth = sum(exercise.worth for exercise in lab.exercises)
    points = {student: sum(cell.points for cell in result.cells) for student, result in grades.results.items()}
    cell_id = lab.exercise(first).cell_id
    errors = {student: _find_error(grades.outputs[student][cell_id]) for student in ("greedy", "hangs")}
    memory_limited = re.search("out of memory|memory limit|allocate memory", errors["greedy"]) is not None
    time_limited = "time limit" in errors["hangs"]
    neighbours_right = all(abs(points[f"right_{n}"] - worth) < 1e-6 for n in range(NEIGHBOURS))
    summary = f"{lab.name}, {len(submissions)} submissions, {context.jobs} at a time, {grades.seconds:.0f} s"
    lines = [
        f"{summary}, at most {LIMIT_GIB:g} GiB on the device for each; the lab is worth {worth:g} points.",
        "",
        f"- a memory limit stopped the greedy submission: {_format_answer(memory_limited)}, "
        f"{points['greedy']:g} points: `{errors['greedy']}`",
        f"- the time limit of a cell stopped the one that hangs: {_format_answer(time_limited)}, "
        f"{points['hangs']:g} points: `{errors['hangs']}`",
        f"- all other submissions have full marks: {_format_answer(neighbours_right)}",
    ]
    return judge_part(memory_limited and time_limited and neighbours_right, lines)


def _fill_notebook(lab: Lab, solutions: dict[str, str]) -> bytes:
    return json.dumps(fill_notebook(lab, solutions)).encode()


def _find_error(outputs: str) -> str:
    """Return the first line of the last error among a cell's outputs."""
    errors = [f"{each['ename']}: {each['evalue']}" for each in json.loads(outputs) if each["output_type"] == "error"]
    return errors[-1].splitlines()[0] if errors else "no error"


def _format_answer(good: bool) -> str:
    return "yes" if good else "NO"
