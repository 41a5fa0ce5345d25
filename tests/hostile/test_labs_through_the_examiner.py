"""The course's own labs through the examiner: the worked solution gets every point, the empty notebook none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from autograder.authoring.regions import stubbed
from autograder.course import Kind, Lab
from autograder.demo.students import reference
from autograder.examiner.examine import Step, examine
from autograder.forkserver.client import ForkServer
from labkit.outcome import Outcome, earned

KINDS = {
    Kind.GIVEN: "given",
    Kind.EXAMPLE: "example",
    Kind.SCRATCH: "student",
    Kind.EXERCISE: "student",
    Kind.CHECK: "check",
}


@pytest.fixture(scope="module")
def fork_server() -> Iterator[ForkServer]:
    process = ForkServer()
    yield process
    process.close()


def outcomes_of(lab: Lab, solutions: dict[str, str], fork_server: ForkServer) -> dict[str, list[Outcome]]:
    steps = []
    for cell in lab.cells:
        source = solutions.get(cell.name, stubbed(cell)) if cell.kind is Kind.EXERCISE else cell.source
        if cell.kind in KINDS:
            exercise = cell.name if cell.kind is Kind.EXERCISE else ""
            steps.append(Step(cell.id, KINDS[cell.kind], source, exercise=exercise))
    seen = examine(steps, fork_server.student)
    return {e.name: seen[e.check_id].outcomes for e in lab.exercises}


def test_the_worked_solution_passes_every_check(labs: list[Lab], fork_server: ForkServer) -> None:
    for lab in labs:
        for name, outcomes in outcomes_of(lab, reference(lab), fork_server).items():
            assert len(outcomes) == len(lab.exercise(name).checks)
            assert [(o.label, o.seen) for o in outcomes if not o.passed] == [], f"{lab.name}, {name}"


def test_the_empty_notebook_earns_nothing(labs: list[Lab], fork_server: ForkServer) -> None:
    for lab in labs:
        for name, outcomes in outcomes_of(lab, {}, fork_server).items():
            assert earned(outcomes, 1) == 0, f"{lab.name}, {name}"
