"""A vector-Jacobian product: the sum of the Jacobian's rows, each multiplied by its number in v."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from labkit.pictures.palette import BLUE, GREEN, MUTED, OCHRE, RED
from labkit.pictures.picture import WIDTH, Drawing, Group, Picture, Table, catch_failures
from labkit.pictures.svg import (
    SMALL,
    draw_cell,
    draw_label,
    draw_rect,
    draw_text,
    draw_traveler,
    emphasize_parts,
    show_only,
    to_svg,
)

MAX = 6
HIGH, GAP, LEFT, TOP, V_WIDE = 46.0, 22.0, 190.0, 30.0, 126.0  # pixels; a product rests in the gap below its entry


@catch_failures
def show_vjp(f: Callable[[Tensor], Tensor], x: Tensor, v: Tensor) -> Picture:
    """Draw v, the Jacobian of f at x, and v @ J below it, with a step for each column of J.

    In a step, the numbers of v travel along the rows of J to the entries of the column, which they multiply. The entry
    of v @ J below that column is hidden until then, so students can work it out.

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
    words = ["v = " + _format_vector(weights)]
    for j, entry in enumerate(result):
        sums = " + ".join(
            f"{_format_number(w)} * {_format_number(row[j])}" for w, row in zip(weights, rows, strict=True)
        )
        words.append(f"entry {j}: {sums} = {_format_number(entry)}")
    jacobian = "\n".join(f"row {i} of J: {_format_vector(row)}" for i, row in enumerate(rows))
    return Picture("\n".join([jacobian, *words]), lambda: _draw(weights, rows, result, words))


def _draw(v: list[float], rows: list[list[float]], result: list[float], words: list[str]) -> Drawing:
    """Draw v next to the rows of J, with v @ J below. Each later frame adds one entry, and emphasizes its column."""
    columns = len(result)
    wide = (WIDTH - LEFT - 8) / columns
    below = TOP + (HIGH + GAP) * len(rows) + 12
    parts = [
        draw_text(4 + V_WIDE / 2, TOP - 10, "v", anchor="middle"),
        draw_text(LEFT + wide * columns / 2, TOP - 10, "J", anchor="middle"),
        draw_text(LEFT - 12, below + HIGH / 2 + 4, "v @ J", anchor="end"),
    ]
    for i, (weight, row) in enumerate(zip(v, rows, strict=True)):
        y = TOP + (HIGH + GAP) * i
        parts.append(draw_cell(4, y, V_WIDE, HIGH, _format_number(weight), OCHRE))
        parts.append(draw_text(LEFT - 12, y + HIGH / 2 + 4, "times", MUTED, "end", SMALL))
        for j, entry in enumerate(row):
            cell = draw_cell(
                LEFT + wide * j, y, wide - 6, HIGH, _format_number(entry), MUTED if entry == 0 else BLUE, 0.2
            )
            parts.append(emphasize_parts([0, j + 1], cell))
    for j, entry in enumerate(result):
        x = LEFT + wide * j
        parts.append(show_only(range(j + 1), draw_cell(x, below, wide - 6, HIGH, "?", MUTED)))
        parts.append(
            show_only(range(j + 1, columns + 1), draw_cell(x, below, wide - 6, HIGH, _format_number(entry), GREEN))
        )
        frame = draw_rect(x - 3, below - 3, wide, HIGH + 6, "none", 1, RED, "stroke-width='3' rx='5'")
        products = [
            _draw_product(4 + V_WIDE / 2, x + wide / 2 - 3, TOP + (HIGH + GAP) * i + HIGH / 2, weight * row[j])
            for i, (weight, row) in enumerate(zip(v, rows, strict=True))
        ]
        parts.append(show_only([j + 1], frame, *products))
    names = ["start", *(f"entry {j}" for j in range(columns))]
    table_rows = [
        *([_format_number(weight), *map(_format_number, row)] for weight, row in zip(v, rows, strict=True)),
        ["v @ J", *map(_format_number, result)],
    ]
    return Drawing(
        "A vector-Jacobian product",
        WIDTH,
        below + HIGH + 8,
        parts,
        [Group("step", names, True)],
        words,
        caption=True,
        table=Table("v, J and v @ J as a table", [["v", *(f"column {j} of J" for j in range(columns))], *table_rows]),
    )


def _draw_product(start: float, end: float, y: float, value: float) -> str:
    """Draw the product of a number in v and an entry of J, which travels from one to the other and rests below."""
    rest = y + HIGH / 2 + GAP / 2
    route = f"M{to_svg(start)} {to_svg(y)}L{to_svg(end)} {to_svg(y)}L{to_svg(end)} {to_svg(rest)}"
    return draw_traveler(route, (end, rest), draw_label(_format_number(value), RED))


def _format_vector(values: list[float]) -> str:
    return f"[{', '.join(map(_format_number, values))}]"


def _format_number(value: float) -> str:
    return f"{value:.4g}"
