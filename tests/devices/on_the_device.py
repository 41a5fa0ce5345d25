"""Every lab as on a machine with a GPU: labkit's device is the simulated second one, and the lab makes its tensors there."""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

import labkit
from autograder.authoring.regions import strip_markers
from autograder.examiner.execution import create_namespace, run_cell
from autograder.model.course import CellKind, Lab
from labkit.check import record_outcomes
from labkit.probes.two_devices import SECOND, PlacedTensor, TwoDevices


@contextlib.contextmanager
def simulate_second_device() -> Iterator[None]:
    """labkit.device() is the simulated device, and torch.Generator(device) the CPU's."""
    cpu = torch.Generator

    class Generator(cpu):
        def __new__(cls, device: Any = "cpu") -> Any:
            return cpu()

    # A tensor of the simulated device has one dtype for good: Module.to has to make new parameters.
    torch.__future__.set_overwrite_module_params_on_conversion(True)
    try:
        with pytest.MonkeyPatch.context() as patch, TwoDevices():
            patch.setattr(torch, "Generator", Generator)
            for module in (importlib.import_module("labkit.device"), labkit):
                patch.setattr(module, "device", lambda: SECOND)
            yield
    finally:
        torch.set_default_device(None)
        torch.__future__.set_overwrite_module_params_on_conversion(False)


@contextlib.contextmanager
def set_default_device() -> Iterator[None]:
    """Make the CPU the default device by torch's mode, as a GPU would be: every torch call passes through it."""
    torch.set_default_device("cpu")
    try:
        yield
    finally:
        torch.set_default_device(None)


def run(lab: Lab, device: contextlib.AbstractContextManager[None]) -> tuple[dict[str, set[str]], set[str], set[str]]:
    """exercise -> ids of the checks that fail; exercises that got a tensor on the CPU; ids of cells that raised."""
    names = create_namespace()
    quizzes = {cell.name for cell in lab.cells if cell.quiz}
    failures: dict[str, set[str]] = {}
    on_cpu, raising_cells = set[str](), set[str]()
    with device:
        for cell in lab.cells:
            if (
                cell.kind not in (CellKind.GIVEN, CellKind.EXAMPLE, CellKind.EXERCISE, CellKind.CHECK)
                or cell.name in quizzes
            ):
                continue
            with record_outcomes() as outcomes:
                try:
                    run_cell(strip_markers(cell.source), names, f"<{cell.id}>")
                except Exception:
                    raising_cells.add(cell.id)
            if cell.kind is CellKind.EXERCISE and isinstance(names[cell.name], FunctionType):
                names[cell.name] = watch_arguments(names[cell.name], functools.partial(on_cpu.add, cell.name))
            failures.setdefault(cell.name, set()).update(o.id for o in outcomes if not o.passed)
    return failures, on_cpu, raising_cells


def watch_arguments(f: Callable[..., Any], report: Callable[[], None]) -> Callable[..., Any]:
    """f, which calls `found` when it gets a tensor on the CPU."""

    @functools.wraps(f)
    def looked(*args: Any, **kwargs: Any) -> Any:
        if any(isinstance(v, Tensor) and not isinstance(v, PlacedTensor) for v in tree_leaves((args, kwargs))):
            report()
        return f(*args, **kwargs)

    return looked
