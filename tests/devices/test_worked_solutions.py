"""Every worked solution computes where its arguments lie, and leaves nothing on the CPU: on a simulated second device."""

from __future__ import annotations

import contextlib
import io
import warnings
from types import FunctionType
from typing import Any

import pytest
from torch import Tensor

from autograder.authoring.regions import without_markers
from autograder.course import Kind, Lab
from labkit.check import recording
from labkit.probes.two_devices import TwoDevices
from tests.devices.elsewhere import elsewhere

ADDRESS = "asks where memory lies: tensors of the simulated device have no address"
GRAPH = "is handed a graph, or hands out a leaf, that was made on the other side of the move"
VERSION = "predicts errors that need autograd's version counters, which the simulated device does not keep"
AUTOCAST = "autocast, which checkpointing asks too, knows no device of the simulated one's name"
OPTIMIZER = "its check's optimizer keeps gradients of its own, which the move does not reach"
COMPILE = "neither torch.compile nor torch.export works while a device is simulated"
RANKS = "each rank is a process of its own, where nothing is simulated"
ALIVE = "its check asks what is still alive, and the move keeps what it moved"
# Exercises of which the simulated device cannot say anything, by lab.
LIMITS: dict[str, dict[str, str]] = {
    "01_tensors": {"slots": ADDRESS, "overlap": ADDRESS},
    "02_shapes_and_devices": {"to_device": "moves tensors itself, and its own checks simulate a second device"},
    "03_autograd": {"trainable": GRAPH, "task_gradients": GRAPH, "stream_gradient": GRAPH, "graph_size": GRAPH},
    "04_graph_control": {"window_gradients": GRAPH},
    "05_inplace": {"outcome": VERSION},
    "06_training": {"train_epoch": OPTIMIZER},
    "06b_layers_and_data": {
        "materialize": "begins with a model on meta, which is the simulated device's own name",
        "prefetch": "its check closes its own iterator, which the move wraps",
    },
    "07_memory": {"in_segments": AUTOCAST, "checkpoint_once": AUTOCAST},
    "07c_allocator": {"packed_bf16": ADDRESS, "kept_elsewhere": ALIVE, "chunked_loss": ALIVE},
    "09_amp": {name: AUTOCAST for name in ("amp_dtypes", "train_amp", "underflow_fraction", "amp_step")},
    "10_compile": {name: COMPILE for name in ("n_graphs", "clip_norm", "Decay", "find_trace_bug", "export_gate")},
    "11_distributed": {name: RANKS for name in ("global_mean", "ddp_step", "accum_no_sync")},
    "12_capstone": {"train_window": AUTOCAST},
}
# Results that lie on the CPU although their arguments do not, and should.
ON_CPU = {
    "06_training": {"checkpoint": "random states are tensors on the CPU"},
    "06b_layers_and_data": {"pad_collate": "the docstring asks for lengths and labels in CPU memory"},
    "08_functions": {"grad_reverse": "vmap hands out tensors of its own, which hold those of the device"},
    "12_capstone": {"evaluate": "the docstring asks for the matrix in CPU memory"},
}


@pytest.mark.nightly
def test_worked_solutions_pass_their_checks_on_a_second_device(labs: list[Lab]) -> None:
    """Nightly: every lab runs twice, in minutes."""
    failed, left_behind = {}, {}
    for lab in labs:
        left: dict[str, list[Tensor]] = {}
        with_history, as_leaves = (failing(lab, leaves, left) for leaves in (False, True))
        failed[lab.name] = {name for name in with_history if with_history[name] & as_leaves[name]}
        left_behind[lab.name] = {name for name, tensors in left.items() if tensors} - failed[lab.name]
    assert failed == {lab.name: set(LIMITS.get(lab.name, {})) for lab in labs}
    assert left_behind == {lab.name: set(ON_CPU.get(lab.name, {})) for lab in labs}


def failing(lab: Lab, leaves: bool, left: dict[str, list[Tensor]]) -> dict[str, set[str]]:
    """exercise -> ids of the checks that fail. leaves: how arguments are moved, see elsewhere()."""
    names: dict[str, Any] = {"__name__": "__main__"}
    found: dict[str, set[str]] = {}
    quizzes = {cell.name for cell in lab.cells if cell.quiz}
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), TwoDevices():
        warnings.simplefilter("ignore")
        for cell in lab.cells:
            if cell.kind not in (Kind.GIVEN, Kind.EXERCISE, Kind.CHECK) or cell.name in quizzes:
                continue
            with recording() as outcomes:
                exec(compile(without_markers(cell.source), f"<{cell.id}>", "exec"), names)
            if cell.kind is Kind.EXERCISE and isinstance(names[cell.name], FunctionType):
                names[cell.name] = elsewhere(names[cell.name], leaves, left.setdefault(cell.name, []))
            found.setdefault(cell.name, set()).update(o.id for o in outcomes if not o.passed)
    return found
