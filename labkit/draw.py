"""Draws inputs for a function: each choice by hypothesis, the numbers of tensors by a generator."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from unittest import mock

import torch
from torch import Tensor


class Draw:
    """Draws the parts of one input: draw(strategy) returns a value of a hypothesis strategy.

    Args:
        choose: Returns a value of a strategy.
        shift: Added to the seeds of generators.
    """

    def __init__(self, choose: Callable[[Any], Any], shift: int = 0) -> None:
        self._choose, self._shift = choose, shift

    def __call__(self, strategy: Any) -> Any:
        return self._choose(strategy)

    def make_generator(self, device: Any = "cpu") -> torch.Generator:
        """Return a generator for the numbers of a tensor."""
        from hypothesis.strategies import integers

        return torch.Generator(device).manual_seed(self(integers(0, 2**32)) + self._shift)

    @staticmethod
    def apply_layout(t: Tensor, edge: str) -> Tensor:
        """Return a tensor with the memory layout that the edge names, or this one.

        The names are "transposed", "every second one" (along the first axis), and "expanded", which repeats the first
        row. They may be part of the edge's name.
        """
        if "transposed" in edge and t.dim() > 1:
            return t.mT.contiguous().mT
        if "every second one" in edge and t.dim():
            return torch.stack([t, t], 1).flatten(0, 1)[::2]
        return t[:1].expand(t.shape) if "expanded" in edge and t.dim() else t

    @staticmethod
    def apply_gradient_state(t: Tensor, edge: str) -> Tensor:
        """Return the tensor in the state for autograd that the edge names, or as it is.

        The names are "requires grad", "from an operation" and "holds .grad". They may be part of the edge's name.
        """
        if any(state in edge for state in ("requires grad", "from an operation", "holds .grad")):
            t.requires_grad_()
        if "holds .grad" in edge:
            t.grad = torch.full_like(t, 1000.0)
        return t.clone() if "from an operation" in edge else t


DrawArguments = Callable[[Draw, str], tuple[Any, ...]]  # called with the edge, too


@dataclass(frozen=True)
class DrawnInput:
    """One input of a domain. Each call gets arguments of its own, because it can change everything that it's given."""

    draw_arguments: DrawArguments
    edge: str
    choices: tuple[Any, ...]
    """What hypothesis chose."""
    shift: int = 0
    """Added to the seeds of generators: the twin of an input has the same choices, and other numbers in tensors."""

    def make_arguments(self) -> tuple[Any, ...]:
        choices: Iterator[Any] = iter(self.choices)
        return self.draw_arguments(Draw(lambda _: copy.copy(next(choices)), self.shift), self.edge)


def draw_inputs(draw_arguments: DrawArguments, edge: str, count: int, number: int) -> list[DrawnInput]:
    """Draw this many inputs.

    Args:
        number: The seed.
    """
    from hypothesis import HealthCheck, Phase, given, seed, settings
    from hypothesis.internal.conjecture.providers import HypothesisProvider
    from hypothesis.strategies import composite

    inputs: list[DrawnInput] = []

    def draw_one(draw: Callable[[Any], Any]) -> None:
        choices: list[Any] = []

        def choose(strategy: Any) -> Any:
            choices.append(draw(strategy))
            return copy.copy(choices[-1])

        draw_arguments(Draw(choose), edge)
        inputs.append(DrawnInput(draw_arguments, edge, tuple(choices)))

    @seed(number)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(composite(draw_one)())
    def collect(_: None) -> None:
        pass

    # Hypothesis also draws constants that it finds in the source of whatever modules are imported. Then the inputs
    # would depend on what a process imported first, and on the folder that Gradlab is installed in.
    with mock.patch.object(HypothesisProvider, "_maybe_draw_constant", return_value=None):
        collect()
    return inputs


def add_repeats(inputs: Sequence[DrawnInput]) -> list[DrawnInput]:
    """Add a twin of the first input, and the first again: which exposes a function that caches its results."""
    first = inputs[0]
    return [*inputs, DrawnInput(first.draw_arguments, first.edge, first.choices, shift=1), first]
