"""Trials in which the reference is wrong, since they're of the edge whose check is tried."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from autograder.proving.spoiled_results import Function
from labkit.domain import Domain
from labkit.trial import Case, Trial


class DomainEdge(NamedTuple):
    """An edge of one of an exercise's domains."""

    domain: str
    """The name of the function that draws its arguments."""
    edge: str

    def has_case(self, case: Case) -> bool:
        return (case.drawn.draw_arguments.__name__, case.drawn.edge) == self


def use_switch_at_edge(edge: DomainEdge, switch: Callable[[], Callable[[bool], Any]]) -> None:
    """Let all domains of this process turn the switch on before trials with this edge, and off after them.

    Args:
        switch: Returns the EdgeSwitch of the running check.
    """
    run_trials = Domain.run_trials

    def run_switched(function: Function, cases: Sequence[Case], call: Function | None) -> list[Trial]:
        trials: list[Trial] = []
        for is_edge, group in itertools.groupby(cases, edge.has_case):
            if is_edge:
                switch()(True)
            trials += run_trials(function, list(group), call)
            if is_edge:
                switch()(False)
        return trials

    Domain.run_trials = staticmethod(run_switched)
