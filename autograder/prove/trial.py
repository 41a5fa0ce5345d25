"""Tries answers on a lab: the lab runs once, and each answer is tried in a fork at its exercise."""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
import inspect
import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from autograder.build.checks import is_check
from autograder.build.regions import HIDDEN, find_regions, stubbed
from autograder.course import Cell, Exercise, Kind, Lab
from autograder.examiner.cells import new_namespace, run_cell, run_check_cell
from autograder.prove.forks import ForkFailed, in_fork
from autograder.prove.generated import HardCoded, Spoiled, spoilers
from labkit.outcome import Outcome, earned

HARD_CODED = "the results of the visible checks, hard-coded"


@dataclass(frozen=True)
class Trial:
    """What one answer earned. `applied` is False where a generated answer was the reference after all."""

    outcomes: tuple[Outcome, ...] = ()
    points: float = 0.0
    failure: str = ""  # the process died, or a cell of the course raised
    applied: bool = True

    @property
    def failed(self) -> tuple[str, ...]:
        return tuple(o.label for o in self.outcomes if not o.passed)


class Bench:
    """A lab that has run up to one of its exercises; answers to that exercise are tried in forks from here."""

    def __init__(self, lab: Lab, exercise: Exercise, namespace: dict[str, Any]) -> None:
        self.lab, self.exercise, self.namespace = lab, exercise, namespace
        ids = [c.id for c in lab.cells]
        start, end = ids.index(exercise.cell_id), ids.index(exercise.check_id)
        self.between = [c for c in lab.cells[start + 1 : end] if c.kind in (Kind.GIVEN, Kind.SCRATCH)]

    def try_source(self, source: str) -> Trial:
        """Try a solution of the exercise given as the source of its cell."""
        return self._try(lambda: self._define(source))

    def try_blank(self) -> Trial:
        cell = self.lab.cell(self.exercise.cell_id)
        return self.try_source(stubbed(cell.source, find_regions(cell.source, self.lab.path, cell.line)))

    def try_generated(self) -> dict[str, Trial]:
        """Description -> trial of each wrong answer that gradlab makes from the reference. None for a class."""
        reference = self.lab.cell(self.exercise.cell_id).source
        trials = {}
        for label, spoil in spoilers().items():
            trials[label] = self._try(self._replacing(reference, functools.partial(Spoiled, spoil=spoil)))
        if self.exercise.parameters:
            calls = self._visible_calls(reference)
            trials[HARD_CODED] = self._try(self._replacing(reference, lambda f: HardCoded(f, calls)))
        return {label: trial for label, trial in trials.items() if trial.applied or trial.failure}

    def constant_parameters(self) -> list[str]:
        """Parameters that have the same value in every call of the hidden checks. An object counts by its identity."""

        def work() -> list[str]:
            self._define(self.lab.cell(self.exercise.cell_id).source)
            function = self.namespace[self.exercise.name]
            if inspect.isclass(function):
                return []
            seen: dict[str, set[str]] = {p: set() for p in self.exercise.parameters}
            signature = inspect.signature(function)

            def recorded(*args: Any, **kwargs: Any) -> Any:
                bound = signature.bind(*args, **kwargs)
                bound.apply_defaults()
                for name, value in bound.arguments.items():
                    seen[name].add(_fingerprint(value))
                return function(*args, **kwargs)

            self.namespace[self.exercise.name] = recorded
            self._run_between()
            run_check_cell(_part(self._check_cell, self.lab, hidden=True), self.namespace, "<hidden checks>")
            return [name for name, values in seen.items() if len(values) < 2]

        if not any(c.hidden for c in self.exercise.checks):
            return []
        result: list[str] = in_fork(work)
        return result

    def _try(self, define: Callable[[], Any]) -> Trial:
        def work() -> dict[str, Any]:
            replaced = define()
            self._run_between()
            outcomes = run_check_cell(self._check_cell.source, self.namespace, f"<check of {self.exercise.name}>")
            applied = getattr(replaced, "applied", True)
            return {"outcomes": [o.as_dict() for o in outcomes], "applied": applied}

        try:
            answer = in_fork(work)
        except ForkFailed as failure:
            return Trial(failure=str(failure))
        outcomes = tuple(Outcome(**o) for o in answer["outcomes"])
        return Trial(outcomes, earned(outcomes, self.exercise.points), applied=answer["applied"])

    def _define(self, source: str) -> None:
        run_cell(source, self.namespace, f"<answer to {self.exercise.name}>")

    def _replacing(self, reference: str, make: Callable[[Callable[..., Any]], Any]) -> Callable[[], Any]:
        def define() -> Any:
            self._define(reference)
            function = self.namespace[self.exercise.name]
            if inspect.isclass(function):
                return Spoiled(function, lambda f, args, kwargs: (f(*args, **kwargs), False))
            self.namespace[self.exercise.name] = replaced = make(function)
            return replaced

        return define

    def _visible_calls(self, reference: str) -> int:
        def work() -> int:
            self._define(reference)
            function, calls = self.namespace[self.exercise.name], 0

            def counted(*args: Any, **kwargs: Any) -> Any:
                nonlocal calls
                calls += 1
                return function(*args, **kwargs)

            self.namespace[self.exercise.name] = counted
            self._run_between()
            run_check_cell(_part(self._check_cell, self.lab, hidden=False), self.namespace, "<visible checks>")
            return calls

        count: int = in_fork(work)
        return count

    def _run_between(self) -> None:
        for cell in self.between:
            run_cell(cell.source, self.namespace, f"<{cell.id}>")

    @property
    def _check_cell(self) -> Cell:
        return self.lab.cell(self.exercise.check_id)


def benches(lab: Lab) -> Iterator[Bench]:
    """A Bench for each exercise in turn. The lab's own cells run in this process, with the reference solutions."""
    namespace = new_namespace()
    by_cell = {e.cell_id: e for e in lab.exercises}
    for cell in lab.cells:
        if cell.id in by_cell:
            yield Bench(lab, by_cell[cell.id], namespace)
        if cell.kind in (Kind.GIVEN, Kind.SCRATCH, Kind.EXERCISE):
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                run_cell(cell.source, namespace, f"<{cell.id}>")


def notebook_points(lab: Lab, solutions: Mapping[str, str]) -> dict[str, float]:
    """Exercise -> points of a whole notebook with these exercises written (name -> source), the others left empty.

    Given cells may fail in it, as one that shows the student's own result does before it is written.
    """

    def work() -> dict[str, float]:
        namespace = new_namespace()
        points = {}
        for cell in lab.cells:
            if cell.kind is Kind.CHECK:
                outcomes = run_check_cell(cell.source, namespace, f"<{cell.id}>")
                points[cell.name] = earned(outcomes, lab.exercise(cell.name).points)
            elif cell.kind in (Kind.GIVEN, Kind.SCRATCH, Kind.EXERCISE):
                stub = stubbed(cell.source, find_regions(cell.source, lab.path, cell.line))
                with contextlib.suppress(Exception):
                    run_cell(solutions.get(cell.name, stub), namespace, f"<{cell.id}>")
        return points

    points: dict[str, float] = in_fork(work)
    return points


def _part(cell: Cell, lab: Lab, hidden: bool) -> str:
    """The check cell with only its hidden, or only its visible checks, and all of its other statements."""
    regions = [r for r in find_regions(cell.source, lab.path, cell.line) if r.what == HIDDEN]
    tree = ast.parse(cell.source)
    tree.body = [
        node
        for node in tree.body
        if not is_check(node) or any(node.lineno - 1 in region for region in regions) == hidden
    ]
    return ast.unparse(tree)


def _fingerprint(value: Any) -> str:
    parts = []
    for leaf in tree_leaves(value):
        if isinstance(leaf, Tensor):
            listed = leaf.detach().to(torch.complex128).tolist() if leaf.dtype != torch.bool else leaf.tolist()
            parts.append(f"{tuple(leaf.shape)}{tuple(leaf.stride())}{leaf.dtype}{leaf.requires_grad}{listed}")
        elif isinstance(leaf, np.ndarray):
            parts.append(f"{leaf.shape}{leaf.dtype}{leaf.tolist()}")
        else:
            parts.append(repr(leaf))
    return hashlib.sha256(repr(parts).encode()).hexdigest()
