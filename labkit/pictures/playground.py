"""A network of 2 inputs, 3 hidden units and 1 result, drawn with its values, its loss and all derivatives.

The reader moves inputs, target and parameters, and takes steps of gradient descent. The browser computes them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch

from labkit.pictures.palette import BLUE, INK, LINE, MUTED, OCHRE, RED
from labkit.pictures.picture import WIDTH, Drawing, Picture, catch_failures, read_script
from labkit.pictures.svg import SMALL, draw_circle, draw_text, tag_element, to_svg

HIDDEN = 3
# w{i}{j}: from input i to hidden unit j; b{j}: its bias; v{j}: from hidden unit j to the result; c: its bias.
START = {
    "w11": 1.0,
    "w21": -0.5,
    "w12": -1.0,
    "w22": 1.5,
    "w13": 0.5,
    "w23": 0.5,
    "b1": 0.0,
    "b2": 0.25,
    "b3": -0.5,
    "v1": 0.75,
    "v2": -1.0,
    "v3": 0.5,
    "c": 0.0,
}
RATE = 0.1
ENOUGH = 1e-6  # a loss at which playing ends
RADIUS = 32  # pixels of a node
LABEL = 38, 9  # half the width and half the height of a weight's label, in pixels
PLOT = {"x": 618, "y": 60, "width": 134, "height": 330}
PLACES = {
    "x1": (46.0, 125.0),
    "x2": (46.0, 305.0),
    "h1": (310.0, 75.0),
    "h2": (310.0, 215.0),
    "h3": (310.0, 355.0),
    "result": (520.0, 215.0),
}
EDGES = [(f"w{i}{j}", f"x{i}", f"h{j}") for i in (1, 2) for j in range(1, HIDDEN + 1)]
EDGES += [(f"v{j}", f"h{j}", "result") for j in range(1, HIDDEN + 1)]
GROW, SHRINK, FLAT = BLUE, RED, MUTED
SIGNS = {GROW: " ↑", SHRINK: " ↓", FLAT: ""}


class Pass(NamedTuple):
    """One forward and backward pass."""

    hidden: tuple[float, ...]
    result: float
    loss: float
    gradients: dict[str, float]
    """Gradients of the loss, by the name of a parameter or of a number in the network."""


def compute_pass(inputs: Sequence[float], target: float, parameters: Mapping[str, float]) -> Pass:
    """Run a pass for two inputs: hidden j is tanh(w1j * x1 + w2j * x2 + bj), the result sum(vj * hj) + c.

    The loss is (result - target)**2 / 2. The gradients have the keys of START, x1, x2, h1 to h3 and result. Everything
    is computed in float64.

    Args:
        parameters: Numbers for all names of START.
    """
    leaf = {name: _create_leaf(parameters[name]) for name in START}
    leaf |= {f"x{i}": _create_leaf(value) for i, value in enumerate(inputs, 1)}
    hidden = [
        torch.tanh(leaf[f"w1{j}"] * leaf["x1"] + leaf[f"w2{j}"] * leaf["x2"] + leaf[f"b{j}"])
        for j in range(1, HIDDEN + 1)
    ]
    result = sum((leaf[f"v{j}"] * h for j, h in enumerate(hidden, 1)), leaf["c"])
    loss = (result - target) ** 2 / 2
    numbers = leaf | {f"h{j}": h for j, h in enumerate(hidden, 1)} | {"result": result}
    gradients = torch.autograd.grad(loss, list(numbers.values()))
    return Pass(
        tuple(h.item() for h in hidden),
        result.item(),
        loss.item(),
        {name: gradient.item() for name, gradient in zip(numbers, gradients, strict=True)},
    )


def _create_leaf(value: float) -> torch.Tensor:
    return torch.tensor(float(value), dtype=torch.float64, requires_grad=True)


@catch_failures
def play_network(inputs: tuple[float, float], target: float, parameters: Mapping[str, float] | None = None) -> Picture:
    """Draw the network's forward and backward pass for two inputs and a target.

    The reader can move everything, and take steps of gradient descent. It raises nothing: if a name is wrong, the
    picture says so.

    Args:
        parameters: Numbers for some or all names of START, which has the defaults.
    """
    unknown = set(parameters or {}) - set(START)
    if unknown:
        raise ValueError(f"no such parameters: {', '.join(sorted(unknown))}")
    x1, x2 = (float(value) for value in inputs)
    values = {**START, **{name: float(value) for name, value in (parameters or {}).items()}}
    return Picture(describe_network((x1, x2), target, values), lambda: draw((x1, x2), float(target), values))


def describe_network(inputs: Sequence[float], target: float, parameters: Mapping[str, float]) -> str:
    """Describe the values, the loss and all derivatives."""
    p = compute_pass(inputs, target, parameters)
    lines = [
        f"inputs {inputs[0]:.3g}, {inputs[1]:.3g}; hidden {', '.join(f'{h:.3f}' for h in p.hidden)}",
        f"result {p.result:.3f}, target {target:.3g}, loss {format_loss(p.loss)}",
        "parameter, value, derivative of the loss:",
    ]
    return "\n".join(lines + [f"  {name:3} {parameters[name]:6.2f}  {p.gradients[name]:7.3f}" for name in START])


def draw(inputs: Sequence[float], target: float, parameters: Mapping[str, float]) -> Drawing:
    """Draw nodes with values, edges with weights and, at the right, the losses of the reader's steps.

    An edge's width is the size of its weight, its color the sign of the gradient, which an arrow repeats.
    """
    p = compute_pass(inputs, target, parameters)
    edges, labels = [], []
    for name, start, end in EDGES:
        share = 0.3 if start in ("x1", "x2") else 0.5
        width = 0.6 + 2 * min(abs(parameters[name]), 3)
        path = f"<path d='{_split_edge(start, end, share)}' stroke='{_choose_color(p.gradients[name])}'"
        edges.append(tag_element("edge", name, f"{path} stroke-width='{width:g}'/>"))
        (xa, ya), (xb, yb) = PLACES[start], PLACES[end]
        labels.append(_draw_label(xa + share * (xb - xa), ya + share * (yb - ya) + 4, name, parameters, p))
    nodes = []
    values = dict(zip(("x1", "x2", "h1", "h2", "h3", "result"), [*inputs, *p.hidden, p.result], strict=True))
    for name, (x, y) in PLACES.items():
        nodes.append(draw_circle(x, y, RADIUS, "none", 1, INK))
        nodes.append(draw_text(x, y - 12, name, anchor="middle", size=SMALL))
        nodes.append(tag_element("node", name, draw_text(x, y + 5, f"{values[name]:.2f}", anchor="middle")))
        gradient = f"({p.gradients[name]:.2f})"
        nodes.append(tag_element("grad", name, draw_text(x, y + 20, gradient, anchor="middle", size=SMALL)))
    for name, node in (("b1", "h1"), ("b2", "h2"), ("b3", "h3"), ("c", "result")):
        labels.append(_draw_label(PLACES[node][0], PLACES[node][1] + RADIUS + 16, name, parameters, p))
    parts = [
        tag_element("loss", "", draw_text(4, 16, f"target {target:.2f}, loss {format_loss(p.loss)}")),
        f"<g fill='none'>{''.join(edges)}</g>",
        *nodes,
        *labels,
        draw_text(4, 428, "↑ blue: grows in a step, ↓ red: shrinks, gray: derivative 0", size=SMALL),
        *_draw_plot(),
    ]
    data = {
        "inputs": list(inputs),
        "target": target,
        "parameters": dict(parameters),
        "rate": RATE,
        "enough": ENOUGH,
        "plot": PLOT,
        "colors": {"grow": GROW, "shrink": SHRINK, "flat": FLAT},
    }
    return Drawing("A small network", WIDTH, 438, parts, script=read_script("playground.js"), data=data)


def _draw_plot() -> list[str]:
    """Draw the axes of the losses, and the line that a script fills."""
    left, top, width, height = PLOT["x"], PLOT["y"], PLOT["width"], PLOT["height"]
    corner = f"M{left} {top}V{top + height}H{left + width}"
    ticks = [
        draw_text(left - 5, top + height * (2 - n) / 10 + 4, f"1e{n}", anchor="end", size=SMALL)
        for n in (2, 0, -2, -4, -6, -8)
    ]
    return [
        draw_text(left - 32, top - 16, "loss of each step", size=SMALL),
        f"<path d='{corner}' fill='none' stroke='{LINE}'/>",
        *ticks,
        f"<polyline data-losses='' fill='none' stroke='{OCHRE}' stroke-width='2.5'/>",
    ]


def _split_edge(start: str, end: str, share: float) -> str:
    """Return the data of an edge's path, with a gap at its label, so no line strikes through the words."""
    (xa, ya), (xb, yb) = PLACES[start], PLACES[end]
    length = math.hypot(xb - xa, yb - ya)
    # The line leaves the label's box through its side, or through its top or bottom if it's steep.
    reach = min(LABEL[0] / abs(xb - xa), LABEL[1] / abs(yb - ya) if yb != ya else 1)
    stops = (RADIUS / length, share - reach, share + reach, 1 - RADIUS / length)
    a, b, c, d = (f"{to_svg(xa + t * (xb - xa))} {to_svg(ya + t * (yb - ya))}" for t in stops)
    return f"M{a}L{b}M{c}L{d}"


def format_loss(loss: float) -> str:
    """Format a loss with the digits that show how small it is."""
    return f"{loss:.4f}" if loss >= 1e-3 else f"{loss:.1e}"


def _choose_color(gradient: float) -> str:
    return FLAT if abs(gradient) < 5e-4 else SHRINK if gradient > 0 else GROW


def _draw_label(x: float, y: float, name: str, parameters: Mapping[str, float], p: Pass) -> str:
    color = _choose_color(p.gradients[name])
    text = f"{name} {parameters[name]:.2f}{SIGNS[color]}"
    return tag_element("label", name, draw_text(x, y, text, color, "middle", SMALL))
