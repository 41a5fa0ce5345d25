"""A watched function reports which of its parameters never changed, by the contents of its arguments."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from autograder.proving.call_recorder import CallRecorder


def is_constant(*values: Any) -> bool:
    recorder = CallRecorder(lambda value: None, ["value"])
    for value in values:
        recorder(value)
    return recorder.constant == ["value"]


def make_adder(n: int) -> Callable[[int], int]:
    return lambda x: x + n


@dataclass
class Clock:
    now: float

    def read(self) -> float:
        return self.now


def test_numbers_and_tensors_count_by_value_shape_layout_and_type() -> None:
    t = torch.arange(6.0).reshape(2, 3)
    assert is_constant(3, 3) and not is_constant(3, 4)
    assert is_constant(t, t.clone())
    for other in (t + 1, t.T, t.double(), t.flatten(), t.clone().requires_grad_()):
        assert not is_constant(t, other)


def test_functions_count_by_their_code_and_contents_not_by_their_address() -> None:
    assert is_constant(make_adder(1), make_adder(1))
    assert not is_constant(make_adder(1), make_adder(2))
    assert not is_constant(lambda x: x + 1, lambda x: x * 1)


def test_objects_count_by_their_contents() -> None:
    assert is_constant(Clock(1.0), Clock(1.0))
    assert not is_constant(Clock(1.0), Clock(2.0))


def test_methods_count_by_the_contents_of_their_objects() -> None:
    assert is_constant(Clock(1.0).read, Clock(1.0).read)
    assert not is_constant(Clock(1.0).read, Clock(2.0).read)


def test_generators_count_by_their_seeds() -> None:
    assert not is_constant(*(torch.Generator().manual_seed(seed) for seed in (0, 1)))


def test_modules_count_by_their_parameters() -> None:
    one, same, other = nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2)
    same.load_state_dict(one.state_dict())
    assert is_constant(one, same)
    assert not is_constant(one, other)


def test_the_values_of_calls_in_a_fork_count_too() -> None:
    recorder = CallRecorder(lambda value: None, ["value"])
    recorder(1)
    if (pid := os.fork()) == 0:
        recorder(2)
        os._exit(0)
    os.waitpid(pid, 0)
    assert (recorder.calls, recorder.constant) == (1, [])
