"""A check sees the same of a student's function whether it runs in its own process or in another one."""

from __future__ import annotations

from types import ModuleType

import pytest

from tests.examiner.observe import differences
from tests.examiner.program import Program, programs_of
from tests.examiner.programs import (
    arrays,
    calls,
    captures,
    errors,
    geometry,
    gradients,
    graph_inside,
    handles,
    memory,
    orders,
    state,
    training,
    values,
)

MODULES: tuple[ModuleType, ...] = (
    arrays,
    calls,
    captures,
    errors,
    geometry,
    gradients,
    graph_inside,
    handles,
    memory,
    orders,
    state,
    training,
    values,
)
PROGRAMS = {
    f"{module.__name__.rpartition('.')[2]}: {name.replace('_', ' ')}": program
    for module in MODULES
    for name, program in programs_of(module).items()
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_local_and_remote_look_the_same(program: Program) -> None:
    remote = program.seen_remotely()  # first: it leaves no trace in the student's objects here
    assert list(differences(remote, program.seen_locally())) == []


def test_there_are_enough_programs() -> None:
    assert len(PROGRAMS) >= 150
