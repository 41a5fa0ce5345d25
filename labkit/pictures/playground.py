"""A network of 2 inputs, 3 hidden units and 1 result, drawn with its values, its loss and all derivatives.

The reader moves inputs, target and parameters, and takes steps of gradient descent. The browser computes them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch

from labkit.pictures.palette import BLUE, MUTED, OCHRE, RED
from labkit.pictures.picture import Drawing, Picture, catch_failures, read_script
from labkit.pictures.svg import draw_circle, draw_line, draw_text, tag_element

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
RADIUS = 30  # pixels of a node
GROW, SHRINK, FLAT = BLUE, RED, MUTED


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
        f"result {p.result:.3f}, target {target:.3g}, loss {p.loss:.4f}",
        "parameter, value, derivative of the loss:",
    ]
    return "\n".join(lines + [f"  {name:3} {parameters[name]:6.2f}  {p.gradients[name]:7.3f}" for name in START])


def draw(inputs: Sequence[float], target: float, parameters: Mapping[str, float]) -> Drawing:
    """Draw nodes with values, edges with weights and, at the right, the losses of the reader's steps.

    An edge's width is the size of its weight, and its color the sign of the gradient.
    """
    p = compute_pass(inputs, target, parameters)
    places = {"x1": (50.0, 110.0), "x2": (50.0, 270.0), "result": (510.0, 190.0)}
    places |= {f"h{j}": (280.0, 70.0 + 120 * (j - 1)) for j in range(1, HIDDEN + 1)}
    edges = [(f"w{i}{j}", f"x{i}", f"h{j}") for i in (1, 2) for j in range(1, HIDDEN + 1)]
    edges += [(f"v{j}", f"h{j}", "result") for j in range(1, HIDDEN + 1)]
    lines, labels = [], []
    for name, start, end in edges:
        (xa, ya), (xb, yb) = places[start], places[end]
        width = 0.6 + 2 * min(abs(parameters[name]), 3)
        length = math.hypot(xb - xa, yb - ya)
        dx, dy = (xb - xa) * RADIUS / length, (yb - ya) * RADIUS / length
        lines.append(
            tag_element(
                "edge", name, draw_line(xa + dx, ya + dy, xb - dx, yb - dy, _choose_color(p.gradients[name]), width)
            )
        )
        at = 0.33 if start in ("x1", "x2") else 0.45
        labels.append(_draw_label(xa + at * (xb - xa), ya + at * (yb - ya) - 6, name, parameters, p))
    nodes = []
    values = dict(zip(("x1", "x2", "h1", "h2", "h3", "result"), [*inputs, *p.hidden, p.result], strict=True))
    for name, (x, y) in places.items():
        nodes.append(draw_circle(x, y, RADIUS, "none", 1, "currentColor"))
        nodes.append(draw_text(x, y - 12, name, anchor="middle", size=11))
        nodes.append(tag_element("node", name, draw_text(x, y + 4, f"{values[name]:.2f}", anchor="middle")))
        nodes.append(
            tag_element("grad", name, draw_text(x, y + 18, f"({p.gradients[name]:.2f})", anchor="middle", size=11))
        )
    for name, node in (("b1", "h1"), ("b2", "h2"), ("b3", "h3"), ("c", "result")):
        labels.append(_draw_label(places[node][0], places[node][1] + 46, name, parameters, p))
    parts = [
        tag_element("loss", "", draw_text(4, 16, f"target {target:.2f}, loss {p.loss:.4f}")),
        *lines,
        *nodes,
        *labels,
    ]
    parts.append(draw_text(4, 384, "blue: would grow in a step. red: would shrink. gray: derivative 0."))
    plot = {"x": 600, "y": 60, "width": 150, "height": 250}
    parts += [
        draw_text(600, 46, "loss of each step, log", size=11),
        "<path d='M600 60V310H750' fill='none' stroke='#888'/>",
    ]
    parts += [
        draw_text(596, 60 + 250 * (2 - n) / 10 + 4, f"1e{n}", anchor="end", size=10) for n in (2, 0, -2, -4, -6, -8)
    ]
    parts.append(f"<polyline data-losses='' fill='none' stroke='{OCHRE}' stroke-width='2'/>")
    data = {
        "inputs": list(inputs),
        "target": target,
        "parameters": dict(parameters),
        "rate": RATE,
        "plot": plot,
        "colors": {"grow": GROW, "shrink": SHRINK, "flat": FLAT},
    }
    return Drawing("A small network", 770, 396, parts, script=read_script("playground.js"), data=data)


def _choose_color(gradient: float) -> str:
    return FLAT if abs(gradient) < 5e-4 else SHRINK if gradient > 0 else GROW


def _draw_label(x: float, y: float, name: str, parameters: Mapping[str, float], p: Pass) -> str:
    words = draw_text(x, y, f"{name} {parameters[name]:.2f}", _choose_color(p.gradients[name]), "middle")
    return tag_element("label", name, words)
