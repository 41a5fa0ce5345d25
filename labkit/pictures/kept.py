"""What a forward pass keeps for backward, step by step: up the hill, and down again."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks

from labkit.pictures.choice import ALL, choice
from labkit.pictures.picture import Picture, never_fails, new_figure, png_of

MODES = ("backward()", "backward(retain_graph=True)", "no_grad()", "detach() at the end")
STYLES = {
    "backward()": ("#1f6fb2", "-"),
    "backward(retain_graph=True)": ("#c44e28", "--"),
    "no_grad()": ("#4a8f3c", "-."),
    "detach() at the end": ("#7a5195", ":"),
}


@never_fails
def show_kept(model: nn.Sequential, x: Tensor) -> Picture:
    """Draw the bytes that the graph of `model(x)` holds for backward, after each step forward and back.

    model: a Sequential of layers; two of them in a row, such as Linear and Tanh, may share what they keep.
    Measured in four ways: a usual backward, one with retain_graph=True, no_grad, and detach() of the result.
    """
    curves, layers = {mode: measure(model, x, mode) for mode in MODES}, len(model)
    width = max(len(mode) for mode in MODES)
    lines = [f"{mode:{width}}  most {max(c):9,} bytes, at the end {c[-1]:9,} bytes" for mode, c in curves.items()]
    return choice("\n".join(lines), [ALL, *MODES], lambda chosen: draw(curves, layers, chosen))


@dataclass
class _Kept:
    """Counts the bytes of the storages that a graph holds now, each once."""

    known: set[int]
    holders: list[weakref.ref[Any]] = field(default_factory=list)

    def pack(self, t: Tensor) -> _Holder:
        holder = _Holder(t.detach())  # a saved output would keep its own graph alive
        self.holders.append(weakref.ref(holder))
        return holder

    def now(self) -> int:
        alive = [holder.tensor.untyped_storage() for ref in self.holders if (holder := ref()) is not None]
        sizes = {storage.data_ptr(): storage.nbytes() for storage in alive}
        return sum(nbytes for address, nbytes in sizes.items() if address not in self.known)


@dataclass
class _Holder:
    tensor: Tensor


def measure(model: nn.Sequential, x: Tensor, mode: str) -> list[int]:
    """Bytes held for backward: before, after each layer forward, and after each layer on the way back.

    Without the parameters, the buffers and x. The last number is what is left at the end.
    """
    kept = _Kept({t.untyped_storage().data_ptr() for t in (*model.parameters(), *model.buffers(), x)})
    seen = [kept.now()]
    leaves = [p for p in model.parameters() if p.requires_grad]
    with saved_tensors_hooks(kept.pack, lambda holder: holder.tensor), torch.set_grad_enabled(mode != "no_grad()"):
        outputs: list[Tensor] = []
        h = x
        for layer in model:
            h = layer(h)
            outputs.append(h)
            seen.append(kept.now())
    back: list[int] = []
    if mode.startswith("backward"):
        for output in outputs[:-1]:  # its gradient comes when what lies behind it has been through
            output.register_hook(lambda _: back.append(kept.now()))
        outputs.clear()
        torch.autograd.grad(h.sum(), leaves, retain_graph="retain" in mode)
        back.append(kept.now())
    else:
        outputs.clear()
        h = h.detach()
        back = [kept.now()] * len(model)
    return seen + back


def draw(curves: dict[str, list[int]], layers: int, chosen: str = ALL) -> bytes:
    """One line for each mode, or one mode in colour and the others in grey."""
    figure = new_figure(7, 3.4)
    axes = figure.add_subplot()
    for mode, curve in curves.items():
        colour, line = STYLES[mode]
        pale = chosen not in (ALL, mode)
        axes.plot(
            range(len(curve)),
            [nbytes / 1024 for nbytes in curve],
            line,
            color="#d0d0d0" if pale else colour,
            linewidth=1 if pale else 2.2,
            label=mode,
            zorder=1 if pale else 2,
        )
    axes.axvline(layers, color="#999999", linewidth=0.8)
    top = axes.get_ylim()[1]
    axes.text(layers / 2, top, "forward", ha="center", va="bottom", fontsize=8)
    axes.text(layers * 1.5, top, "backward, or what comes instead", ha="center", va="bottom", fontsize=8)
    axes.set_xlabel("layers done", fontsize=8)
    axes.set_ylabel("KiB held for backward", fontsize=8)
    axes.tick_params(labelsize=8)
    axes.legend(fontsize=8, loc="upper left")
    return png_of(figure)
