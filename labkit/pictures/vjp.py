"""A vector-Jacobian product: the sum of the Jacobian's rows, each multiplied by its number in v."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from labkit.pictures.palette import BLUE, GREEN, MUTED, OCHRE
from labkit.pictures.picture import Drawing, Group, Picture, catch_failures
from labkit.pictures.svg import draw_cell, draw_rect, draw_text, show_only

MAX = 6
WIDE, HIGH, LEFT, TOP = 62, 32, 96, 40  # pixels


@catch_failures
def show_vjp(f: Callable[[Tensor], Tensor], x: Tensor, v: Tensor) -> Picture:
    """Draw v, the Jacobian of f at x, and v @ J below it, with a step for each column of J.

    Args:
        x: A vector of at most six numbers.
        v: A vector of the shape of f(x), which has at most six numbers too.
    """
    start = x.detach().clone().requires_grad_()
    out = f(start)
    if out.dim() != 1 or start.dim() != 1 or max(out.numel(), start.numel()) > MAX:
        raise ValueError(f"x and f(x) must be vectors of at most {MAX} numbers")
    (product,) = torch.autograd.grad(out, start, v, retain_graph=True)
    rows = [torch.autograd.grad(out, start, one, retain_graph=True)[0].tolist() for one in torch.eye(len(out)).to(out)]
    weights, result = v.tolist(), product.tolist()
    words = ["v = " + _format_vector(weights) + ", v @ J = " + _format_vector(result)]
    for j, entry in enumerate(result):
        sums = " + ".join(
            f"{_format_number(w)} * {_format_number(row[j])}" for w, row in zip(weights, rows, strict=True)
        )
        words.append(f"entry {j}: {sums} = {_format_number(entry)}")
    jacobian = "\n".join(f"row {i} of J: {_format_vector(row)}" for i, row in enumerate(rows))
    return Picture("\n".join([jacobian, *words]), lambda: _draw(weights, rows, result, words))


def _draw(v: list[float], rows: list[list[float]], result: list[float], words: list[str]) -> Drawing:
    """Draw v next to the rows of J, with v @ J below. Each later frame outlines the column of one entry."""
    columns, below = len(result), TOP + HIGH * len(rows) + 14
    width = LEFT + WIDE * columns + 10
    parts = [
        draw_text(WIDE / 2 + 4, TOP - 8, "v", anchor="middle"),
        draw_text(LEFT + WIDE * columns / 2, TOP - 8, "J", anchor="middle"),
    ]
    parts.append(draw_text(LEFT - 10, below + 20, "v @ J", anchor="end"))
    for i, (weight, row) in enumerate(zip(v, rows, strict=True)):
        y = TOP + HIGH * i
        parts.append(draw_cell(4, y, WIDE - 4, HIGH - 3, _format_number(weight), OCHRE, 0.35))
        parts.append(draw_text(LEFT - 4, y + 20, "times", anchor="end", size=10))
        parts += [
            draw_cell(
                LEFT + WIDE * j, y, WIDE - 3, HIGH - 3, _format_number(entry), MUTED if entry == 0 else BLUE, 0.25
            )
            for j, entry in enumerate(row)
        ]
    for j, entry in enumerate(result):
        x = LEFT + WIDE * j
        parts.append(draw_cell(x, below, WIDE - 3, HIGH - 3, _format_number(entry), GREEN, 0.35))
        frame = draw_rect(x - 1, TOP - 2, WIDE - 1, below + HIGH - TOP, "none", 1, OCHRE, "stroke-width='2.5'")
        parts.append(show_only([j + 1], frame))
    parts += [show_only([n], draw_text(4, below + HIGH + 20, line)) for n, line in enumerate(words)]
    names = ["all", *(f"entry {j}" for j in range(columns))]
    wide = max(width, max(map(len, words)) * 6.8)
    return Drawing("A vector-Jacobian product", wide, below + HIGH + 30, parts, [Group("step", names, True)], words)


def _format_vector(values: list[float]) -> str:
    return f"[{', '.join(map(_format_number, values))}]"


def _format_number(value: float) -> str:
    return f"{value:.4g}"
