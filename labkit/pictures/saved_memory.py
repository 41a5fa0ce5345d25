"""Bytes that a graph holds for backward, which grow layer by layer forward and shrink on the way back."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks

from labkit.pictures.chart import TOP, Line, draw_chart, fit_axes
from labkit.pictures.chart_table import build_value_table
from labkit.pictures.palette import LINE
from labkit.pictures.picture import ALL, Drawing, Group, Picture, catch_failures
from labkit.pictures.svg import SMALL, draw_line, draw_text

MODES = ("backward()", "backward(retain_graph=True)", "no_grad()", "detach() at the end")


@catch_failures
def show_kept(model: nn.Sequential, x: Tensor) -> Picture:
    """Draw the bytes that the graph of `model(x)` holds for backward, after each step forward and back.

    It measures four ways: a usual backward, one with retain_graph=True, no_grad, and detach() of the result.

    Args:
        model: A Sequential of layers. Two adjacent ones, such as Linear and Tanh, may share what they keep.
    """
    curves, layers = {mode: measure(model, x, mode) for mode in MODES}, len(model)
    width = max(len(mode) for mode in MODES)
    lines = [f"{mode:{width}}  most {max(c):9,} bytes, at the end {c[-1]:9,} bytes" for mode, c in curves.items()]
    return Picture("\n".join(lines), lambda: draw(curves, layers, lines))


@dataclass
class _HeldStorages:
    """Counts the bytes of the storages that a graph currently holds, each once."""

    known: set[int]
    holders: list[weakref.ref[Any]] = field(default_factory=list)

    def pack(self, t: Tensor) -> _Holder:
        holder = _Holder(t.detach())  # a saved output would keep its own graph alive
        self.holders.append(weakref.ref(holder))
        return holder

    def measure(self) -> int:
        """Return the bytes of what is held now."""
        alive = [holder.tensor.untyped_storage() for ref in self.holders if (holder := ref()) is not None]
        sizes = {storage.data_ptr(): storage.nbytes() for storage in alive}
        return sum(nbytes for address, nbytes in sizes.items() if address not in self.known)


@dataclass
class _Holder:
    tensor: Tensor


def measure(model: nn.Sequential, x: Tensor, mode: str) -> list[int]:
    """Measure the bytes held for backward: at first, after each layer forward, and after each layer on the way back.

    The parameters, the buffers and x don't count. The last number is what is left at the end.
    """
    storages = _HeldStorages({t.untyped_storage().data_ptr() for t in (*model.parameters(), *model.buffers(), x)})
    forward = [storages.measure()]
    leaves = [p for p in model.parameters() if p.requires_grad]
    with saved_tensors_hooks(storages.pack, lambda holder: holder.tensor), torch.set_grad_enabled(mode != "no_grad()"):
        outputs: list[Tensor] = []
        h = x
        for layer in model:
            h = layer(h)
            outputs.append(h)
            forward.append(storages.measure())
    back: list[int] = []
    if mode.startswith("backward"):
        for output in outputs[:-1]:  # its gradient arrives after the layers that follow it
            output.register_hook(lambda _: back.append(storages.measure()))
        outputs.clear()
        torch.autograd.grad(h.sum(), leaves, retain_graph="retain" in mode)
        back.append(storages.measure())
    else:
        outputs.clear()
        h = h.detach()
        back = [storages.measure()] * len(model)
    return forward + back


def draw(curves: dict[str, list[int]], layers: int, words: list[str]) -> Drawing:
    """Draw a line for each mode, or one of them emphasized and the others pale."""
    lines = [
        Line(mode, [(float(i), nbytes / 1024) for i, nbytes in enumerate(curve)], [0, place])
        for place, (mode, curve) in enumerate(curves.items(), 1)
    ]
    axes = fit_axes(lines, "layers done", "KiB held for backward", from_zero=True)
    parts, width, height = draw_chart(lines, axes)
    for x, label in ((layers / 2, "forward"), (layers * 1.5, "backward, or what replaces it")):
        parts.append(draw_text(axes.place(x, 0)[0], TOP - 8, label, anchor="middle", size=SMALL))
    middle, _ = axes.place(layers, 0)
    parts.append(draw_line(middle, TOP, middle, TOP + axes.height, LINE))
    groups = [Group("way", [ALL, *curves])]
    table = build_value_table(lines, axes.x_label)
    return Drawing("Bytes held for backward", width, height, parts, groups, ["\n".join(words), *words], table=table)
