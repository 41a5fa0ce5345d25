"""A check sees the same of a student's function whether it runs in its own process or in another one."""

from importlib import import_module
from pkgutil import iter_modules

import pytest
import torch

from autograder.examiner.connection import Connection
from autograder.examiner.remote_namespace import RemoteNamespace
from tests.examiner import programs
from tests.examiner.observe import list_differences
from tests.examiner.program import Program, list_programs, start_student_process

PROGRAMS = {
    f"{file.name}: {name.replace('_', ' ')}": program
    for file in iter_modules(programs.__path__)
    for name, program in list_programs(import_module(f"{programs.__name__}.{file.name}")).items()
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_local_and_remote_look_the_same(program: Program) -> None:
    remote = program.run_remotely()  # first: it leaves no trace in the student's objects here
    assert list(list_differences(remote, program.run_locally())) == []


def _double(x: torch.Tensor) -> torch.Tensor:
    return 2 * x


def test_a_given_function_travels_under_its_own_name_when_a_check_has_another_one_for_it() -> None:
    student_names = {"f": lambda g, x: g(x), "_double": _double, "turn": torch.neg}
    with start_student_process(student_names, ["_double", "turn"]) as channel:
        namespace = RemoteNamespace(Connection(channel), {"turn": _double, "_double": _double})
        assert namespace.get_proxy("f")(_double, torch.ones(1)) == 2
