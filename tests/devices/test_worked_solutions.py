"""On a simulated second device, worked solutions compute where their arguments are, and leave nothing on the CPU."""

from __future__ import annotations

import contextlib
import io
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest
from torch import Tensor

from autograder.authoring.course_folder import read_course, read_labs
from autograder.authoring.regions import strip_markers
from autograder.model.course import CellKind, Lab
from labkit.check import record_outcomes
from labkit.probes.two_devices import TwoDevices
from tests.devices import on_the_device
from tests.devices.second_device import run_on_second_device

ADDRESS = "asks for memory addresses: tensors of the simulated device have none"
AUTOCAST = "autocast, which checkpointing asks too, knows no device of the simulated one's name"
COMPILE = "neither torch.compile nor torch.export works while a device is simulated"
RANKS = "each rank is its own process, which has no simulation"
# Exercises that the simulated device cannot test, by lab.
LIMITS: dict[str, dict[str, str]] = {
    "01_tensors": {"overlap": ADDRESS},
    "04_graph_control": {"window_gradients": AUTOCAST},
    "06b_layers": {"materialize": "begins with a model on meta, which is the simulated device's own name"},
    "07_memory": {"in_segments": AUTOCAST, "checkpoint_once": AUTOCAST},
    "07c_allocator": {"packed_bf16": ADDRESS, "chunked_loss": AUTOCAST},
    "09_amp": {name: AUTOCAST for name in ("amp_dtypes", "train_amp", "underflow_fraction", "amp_step")},
    "10_compile": {name: COMPILE for name in ("n_graphs", "clip_norm", "Decay", "find_trace_bug", "export_gate")},
    "11_distributed": {name: RANKS for name in ("global_mean", "ddp_step", "accum_no_sync")},
    "12_capstone": {"train_window": AUTOCAST},
}
# Results that are rightly on the CPU although their arguments are not.
ON_CPU = {
    "06a_training_practice": {"checkpoint": "random states are tensors on the CPU"},
    "06c_data": {"pad_collate": "the docstring asks for lengths and labels in CPU memory"},
    "08_functions": {"grad_reverse": "vmap passes its own tensors, which wrap those of the device"},
    "12_capstone": {"evaluate": "the docstring asks for the matrix in CPU memory"},
}


# Exercises that get tensors on the CPU although the lab found another device, and why.
BEFORE_DEVICES = "comes before the lab says what a device is"
BATCHES = "the docstring asks for batches in CPU memory, which the exercise moves"
BITS = "is about the bits of numbers, which are the same on every device"
CPU_ARGUMENTS = {
    "02_shapes_and_devices": {
        name: BEFORE_DEVICES for name in ("with_batch", "split_heads", "safe_mse", "attention", "multi_head_attention")
    }
    | {
        name: "is about memory or rounding, which are the same on every device"
        for name in ("windows", "pairwise_distances")
    }
    | {"to_device": "moves tensors itself, and its own checks simulate a second device"},
    "05_inplace": {"outcome": "judges code that writes through NumPy"},
    "06b_layers": {"materialize": "the docstring asks for a state in CPU memory"},
    "06c_data": {
        "pad_collate": "gives labels and lengths, which stay in CPU memory",
        "my_part": "is given the numbers of samples",
        "ShiftedScans": "gives scans in CPU memory, where a dataset has them",
    },
    "08_functions": {"grad_reverse": "vmap passes its own tensors, which wrap those of the device"},
    "09_amp": {"ulp": BITS, "bf16_sgd_": BITS},
    "12_capstone": {"train_window": BATCHES, "evaluate": BATCHES, "fit_best": BATCHES},
}
# Labs that say at the start that they stay on the CPU.
STAY = {"07_memory", "07b_profiler", "11_distributed"}
STAYS_ON_CPU = re.compile(r"cells (run on|use) the CPU,? even if \w+ (machine )?ha(s|ve) a GPU", re.I)
# Cells that raise on a simulated device, by lab.
CELLS = {
    "09_amp": {
        name: AUTOCAST
        for name in (
            "your-turn-ulp-3-points-easy-6",
            "further-practice-amp-dtypes-medium-5",
            "your-turn-train-amp-4-points-medium-5",
            "your-turn-myscaler-5-points-hard-5",
        )
    },
    "10_compile": {name: COMPILE for name in ("what-the-first-call-does-3", "export-4")},
}


def test_a_lab_asks_for_its_device_or_says_that_it_stays_on_the_cpu(labs: list[Lab]) -> None:
    asking = {lab.name for lab in labs if re.search(r"\b(use_)?device\(\)", "".join(c.source for c in lab.cells))}
    assert {lab.name for lab in labs} - asking == STAY
    first_cells = {lab.name: " ".join(lab.cells[0].source.split()) for lab in labs if lab.name in STAY}
    assert {name for name, text in first_cells.items() if not STAYS_ON_CPU.search(text)} == set()


def calls_use_device(lab: Lab) -> bool:
    return any("use_device()" in cell.source for cell in lab.cells if not cell.kind.traits.markdown)


def test_generators_are_made_for_the_device_of_new_tensors(labs: list[Lab]) -> None:
    """torch.rand on a GPU refuses a generator of the CPU's."""
    on_cpu = {
        (lab.name, cell.name)
        for lab in labs
        for cell in lab.cells
        if "torch.Generator()" in cell.source and calls_use_device(lab)
    }
    # the order of the data, and the runs of `checkpoint`, which stay on the CPU
    assert on_cpu == {("06_training", ""), ("06a_training_practice", "")}


def test_a_new_lab_runs_on_the_available_device(course_without_gradebook: Path) -> None:
    (lab,) = read_labs(read_course(course_without_gradebook))
    failures, on_cpu, raising_cells = on_the_device.run(lab, on_the_device.simulate_second_device())
    assert not any(failures.values())
    assert not on_cpu
    assert not raising_cells


@pytest.mark.nightly
def test_worked_solutions_pass_their_checks_on_a_second_device(labs: list[Lab]) -> None:
    """Nightly: every lab runs three times, in minutes. Moved there from a lab on the CPU, and as the lab itself does."""
    failed, left_behind, cpu_arguments, cells = {}, {}, {}, {}
    for lab in labs:
        cpu_tensors: dict[str, list[Tensor]] = {}
        with_history, as_leaves = (list_failing_checks(lab, leaves, cpu_tensors) for leaves in (False, True))
        failed[lab.name] = {name for name in with_history if with_history[name] & as_leaves[name]}
        left_behind[lab.name] = {name for name, tensors in cpu_tensors.items() if tensors} - failed[lab.name]
        if lab.name not in STAY:
            with silence():
                failures, cpu_arguments[lab.name], cells[lab.name] = on_the_device.run(
                    lab, on_the_device.simulate_second_device()
                )
            failed[lab.name] = {name for name in failed[lab.name] if failures[name]}
    assert failed == {lab.name: set(LIMITS.get(lab.name, {})) for lab in labs}
    assert left_behind == {lab.name: set(ON_CPU.get(lab.name, {})) for lab in labs}
    assert cpu_arguments == {name: set(CPU_ARGUMENTS.get(name, {})) for name in cpu_arguments}
    assert cells == {name: set(CELLS.get(name, {})) for name in cells}


@pytest.mark.nightly
def test_labs_run_with_a_default_device(labs: list[Lab]) -> None:
    """Nightly: minutes. How torch.compile, vmap and counts of operations work in the mode of a default device."""
    for lab in labs:
        if any("use_device()" in cell.source for cell in lab.cells):
            with silence():
                failures, _, raising_cells = on_the_device.run(lab, on_the_device.set_default_device())
            assert not raising_cells and not any(failures.values()), lab.name


def list_failing_checks(lab: Lab, leaves: bool, cpu_tensors: dict[str, list[Tensor]]) -> dict[str, set[str]]:
    """exercise -> ids of the checks that fail. leaves: how arguments are moved, see run_on_second_device()."""
    names: dict[str, Any] = {"__name__": "__main__"}
    failures: dict[str, set[str]] = {}
    quizzes = {cell.name for cell in lab.cells if cell.quiz}
    with silence(), TwoDevices():
        for cell in lab.cells:
            if cell.kind not in (CellKind.GIVEN, CellKind.EXERCISE, CellKind.CHECK) or cell.name in quizzes:
                continue
            with record_outcomes() as outcomes:
                exec(compile(strip_markers(cell.source), f"<{cell.id}>", "exec"), names)
            if cell.kind is CellKind.EXERCISE and isinstance(names[cell.name], FunctionType):
                names[cell.name] = run_on_second_device(names[cell.name], leaves, cpu_tensors.setdefault(cell.name, []))
            failures.setdefault(cell.name, set()).update(o.id for o in outcomes if not o.passed)
    return failures


@contextlib.contextmanager
def silence() -> Iterator[None]:
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        yield
