"""Tries right answers with inputs drawn from other seeds: python -m scripts.seed_trials COUNT [LAB...].

An instructor may set another seed for a new term, and then no right answer may be refused. Each seed tries one right
answer of each exercise, in turn.
"""

from __future__ import annotations

import functools
import itertools
import multiprocessing
import re
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import torch

from autograder.authoring.course_folder import read_course, read_labs
from autograder.base.fork_memory import make_forks_cheap
from autograder.model.course import Cell, Lab
from autograder.proving.workbench import Workbench, iter_workbenches

ROOT = Path(__file__).parent.parent
SEED = re.compile(r"(globals\(\), seed=)\d+\)")  # as the builder writes it
JOBS = 2


def main(count: int, names: tuple[str, ...]) -> int:
    """Try this many seeds on these labs, by default on all.

    Returns:
        The number of refusals, each of which is printed.
    """
    labs = list(read_labs(read_course(ROOT), names))
    refusals = 0
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(JOBS, context) as pool:
        for future in as_completed([pool.submit(functools.partial(try_lab, lab, count)) for lab in reversed(labs)]):
            tried, lines = future.result()
            print(*lines, tried, sep="\n", flush=True)
            refusals += len(lines)
    return refusals


def try_lab(lab: Lab, count: int) -> tuple[str, list[str]]:
    """Return a summary, and a line for each refusal."""
    torch.set_num_threads(1)
    make_forks_cheap()
    refusals: list[str] = []
    exercises = 0
    for workbench in iter_workbenches(lab):
        if SEED.search(workbench.check_cell.source):
            exercises += 1
            refusals += _iter_refusals(workbench, count)
    return f"{lab.name}: {exercises} exercises with {count} seeds each, {len(refusals)} refusals", refusals


def set_seed(checks: Cell, seed: int) -> Cell:
    """Return the cell of an exercise's checks that draws its inputs from this seed."""
    return checks.model_copy(update={"source": SEED.sub(rf"\g<1>{seed})", checks.source)})


def _iter_refusals(workbench: Workbench, count: int) -> Iterator[str]:
    """Yield a line for each right answer that's refused with one of these seeds."""
    lab, exercise = workbench.lab, workbench.exercise
    reference = ("the reference", lab.cell(exercise.cell_id).source)
    right = [reference, *((a.label, a.source) for a in exercise.answers if a.right)]
    for seed, (label, source) in zip(range(2, count + 2), itertools.cycle(right), strict=False):
        other = Workbench(lab, exercise, workbench.namespace, workbench.process)
        other.check_cell = set_seed(workbench.check_cell, seed)
        result = other.try_source(source)
        if result.failure or result.failed_checks:
            reason = result.failure or f"it fails {', '.join(result.failed_checks)}"
            yield f'{lab.name} {exercise.name}: seed {seed} refuses "{label}": {reason}'


if __name__ == "__main__":
    sys.exit(bool(main(int(sys.argv[1]), tuple(sys.argv[2:]))))
