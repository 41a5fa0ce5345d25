"""Whatever is drawn, a right answer passes."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import labkit.domain
from autograder.authoring.regions import strip_markers
from autograder.examiner.execution import create_namespace, record_check_cell, run_cell
from autograder.model.course import Cell, Exercise, Lab
from autograder.proving.forks import run_in_fork

ROOT = Path(__file__).parents[2]
DRAWN = [path for path in sorted((ROOT / "labs").glob("*/exercises/*.py")) if "@domain(" in path.read_text()]
SEEDS = 1000


def iter_cells_before(lab: Lab, exercise: Exercise) -> Iterator[Cell]:
    """Yield the given cells and the solutions that an exercise's checks may use."""
    for cell in itertools.takewhile(lambda cell: cell.id != exercise.cell_id, lab.cells):
        if cell.kind in ("given", "exercise"):
            yield cell


def find_refusals(lab: Lab, exercise: Exercise, seeds: range) -> list[tuple[int, str, str]]:
    """Try a right answer with each seed. Returns the seed, the answer and what the check says, for each that fails."""
    namespace: dict[str, Any] = create_namespace()
    for cell in iter_cells_before(lab, exercise):
        run_cell(strip_markers(cell.source), namespace, cell.id)
    answers = {a.label: a.source for a in exercise.answers if a.right}
    answers["the solution"] = strip_markers(lab.cell(exercise.cell_id).source)
    checks = strip_markers(lab.cell(exercise.check_id).source)
    assert "globals(), seed=1)" in checks
    refusals = []
    for seed, label in zip(seeds, itertools.cycle(answers), strict=False):
        labkit.domain._cases.clear()  # of other seeds
        own = dict(namespace)
        run_cell(answers[label], own, label)
        outcomes = record_check_cell(checks.replace("globals(), seed=1)", f"globals(), seed={seed})"), own, f"{seed}")
        refusals += [(seed, label, f"{o.id}: {o.seen}") for o in outcomes if not o.passed]
    return refusals


@pytest.mark.nightly
@pytest.mark.parametrize("path", DRAWN, ids=[path.stem for path in DRAWN])
def test_no_seed_makes_a_right_answer_fail(labs: list[Lab], path: Path) -> None:
    (lab,) = (lab for lab in labs if lab.name == path.parts[-3])
    assert run_in_fork(lambda: find_refusals(lab, lab.exercise(path.stem), range(SEEDS))) == []
