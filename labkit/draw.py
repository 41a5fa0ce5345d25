"""Draws inputs for a function: each choice by hypothesis, the numbers of tensors by a generator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch


class Draw:
    """Draws the parts of one input: draw(strategy) returns a value of a hypothesis strategy.

    Args:
        draw: Draws from hypothesis.
        choices: What an earlier input drew, to draw the same again, with other random numbers.
    """

    def __init__(self, draw: Callable[[Any], Any], choices: Sequence[Any] = ()) -> None:
        self.choices: list[Any] = []
        self._draw, self._earlier = draw, iter(choices)
        self._is_twin = bool(choices)

    def __call__(self, strategy: Any) -> Any:
        value = next(self._earlier) if self._is_twin else self._draw(strategy)
        self.choices.append(value)
        return value

    def make_generator(self, device: Any = "cpu") -> torch.Generator:
        """Return a generator for the numbers of a tensor."""
        from hypothesis.strategies import integers

        return torch.Generator(device).manual_seed(self(integers(0, 2**32)) + self._is_twin)


DrawArguments = Callable[[Draw, str], tuple[Any, ...]]  # called with the edge, too


def draw_inputs(draw_arguments: DrawArguments, edge: str, count: int, number: int) -> list[tuple[Any, ...]]:
    """Draw this many inputs, and a twin of the first: with the same choices, but other numbers in tensors.

    Args:
        number: The seed.
    """
    from hypothesis import HealthCheck, Phase, given, seed, settings
    from hypothesis.strategies import composite

    inputs: list[tuple[Any, ...]] = []
    twins: list[tuple[Any, ...]] = []

    def draw_with_twin(draw: Callable[[Any], Any]) -> None:
        first = Draw(draw)
        inputs.append(draw_arguments(first, edge))
        twins.append(draw_arguments(Draw(draw, first.choices), edge))

    @seed(number)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(composite(draw_with_twin)())
    def collect(_: None) -> None:
        pass

    collect()
    return [*inputs, twins[0]]
