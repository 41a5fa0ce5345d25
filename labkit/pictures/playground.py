"""A network of 2 inputs, 3 hidden numbers and 1 result, drawn with its values, its loss and all derivatives.

In a live notebook the reader moves inputs, target and parameters, and takes steps of gradient descent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch

from labkit.pictures.picture import Picture, never_fails, new_figure, png_of

HIDDEN = 3
# w{i}{j}: from input i to hidden number j; b{j}: its bias; v{j}: from hidden number j to the result; c: its bias.
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
GROW, SHRINK, FLAT = "#1f6fb2", "#c44e28", "#9a9a9a"


class Pass(NamedTuple):
    """One forward and backward pass. gradients: of the loss, by the name of a parameter or of a number in it."""

    hidden: tuple[float, ...]
    result: float
    loss: float
    gradients: dict[str, float]


def forward_and_backward(inputs: Sequence[float], target: float, parameters: Mapping[str, float]) -> Pass:
    """The pass for two inputs: hidden j is tanh(w1j * x1 + w2j * x2 + bj), the result sum(vj * hj) + c.

    The loss is (result - target)**2 / 2. parameters: all names of START. The gradients have the keys of START, x1, x2,
    h1 to h3 and result. Computed in float64.
    """
    leaf = {name: _leaf(parameters[name]) for name in START}
    leaf |= {f"x{i}": _leaf(value) for i, value in enumerate(inputs, 1)}
    hidden = [
        torch.tanh(leaf[f"w1{j}"] * leaf["x1"] + leaf[f"w2{j}"] * leaf["x2"] + leaf[f"b{j}"])
        for j in range(1, HIDDEN + 1)
    ]
    result = sum((leaf[f"v{j}"] * h for j, h in enumerate(hidden, 1)), leaf["c"])
    loss = (result - target) ** 2 / 2
    asked = leaf | {f"h{j}": h for j, h in enumerate(hidden, 1)} | {"result": result}
    gradients = torch.autograd.grad(loss, list(asked.values()))
    return Pass(
        tuple(h.item() for h in hidden),
        result.item(),
        loss.item(),
        {name: gradient.item() for name, gradient in zip(asked, gradients, strict=True)},
    )


def _leaf(value: float) -> torch.Tensor:
    return torch.tensor(float(value), dtype=torch.float64, requires_grad=True)


@never_fails
def play_network(inputs: tuple[float, float], target: float, parameters: Mapping[str, float] | None = None) -> Picture:
    """Draw the network's forward and backward pass for two inputs and a target.

    parameters: numbers for some or all names of START; the others start as there. Raises nothing: a wrong name gives a
    picture that says so. In a live notebook everything can be moved, and a button takes a step of gradient descent.
    """
    unknown = set(parameters or {}) - set(START)
    if unknown:
        raise ValueError(f"no such parameters: {', '.join(sorted(unknown))}")
    x1, x2 = (float(value) for value in inputs)
    values = {**START, **{name: float(value) for name, value in (parameters or {}).items()}}
    picture = Picture(words_on((x1, x2), target, values), lambda: draw((x1, x2), target, values))
    picture.widgets = lambda: _playground((x1, x2), float(target), values, picture)
    return picture


def _playground(inputs: tuple[float, float], target: float, start: Mapping[str, float], picture: Picture) -> Any:
    """Sliders for inputs, target and the parameter that is chosen; buttons for a step and for the start."""
    import ipywidgets  # type: ignore[import-untyped]

    def slider(value: float, name: str) -> Any:
        return ipywidgets.FloatSlider(value=value, min=-6, max=6, step=0.05, description=name, readout_format=".2f")

    values = dict(start)
    x1, x2, aim = slider(inputs[0], "x1"), slider(inputs[1], "x2"), slider(target, "target")
    chosen = ipywidgets.Dropdown(options=list(START), value="w11", description="parameter")
    moved = slider(values["w11"], "value")
    step, back = ipywidgets.Button(description="step"), ipywidgets.Button(description="start again")
    image = ipywidgets.Image(value=picture.drawing, format="png")
    settling = [False]  # while a slider follows, it is not moved by the reader

    def show() -> None:
        image.value = draw((x1.value, x2.value), aim.value, values, chosen.value)

    def follow() -> None:
        settling[0] = True
        moved.value = values[chosen.value]
        settling[0] = False
        show()

    def move(change: dict[str, Any]) -> None:
        if not settling[0]:
            values[chosen.value] = change["new"]
            show()

    def descend(_: Any) -> None:
        gradients = forward_and_backward((x1.value, x2.value), aim.value, values).gradients
        values.update({name: values[name] - RATE * gradients[name] for name in START})
        follow()

    def restart(_: Any) -> None:
        values.update(start)
        follow()

    for part in (x1, x2, aim):
        part.observe(lambda _: show(), names="value")
    moved.observe(move, names="value")
    chosen.observe(lambda _: follow(), names="value")
    step.on_click(descend)
    back.on_click(restart)
    return ipywidgets.VBox(
        [ipywidgets.HBox([x1, x2, aim]), ipywidgets.HBox([chosen, moved, step, back]), image],
    )


def words_on(inputs: Sequence[float], target: float, parameters: Mapping[str, float]) -> str:
    """The values, the loss and all derivatives, in words."""
    p = forward_and_backward(inputs, target, parameters)
    lines = [
        f"inputs {inputs[0]:.3g}, {inputs[1]:.3g}; hidden {', '.join(f'{h:.3f}' for h in p.hidden)}",
        f"result {p.result:.3f}, target {target:.3g}, loss {p.loss:.4f}",
        "parameter, value, derivative of the loss:",
    ]
    return "\n".join(lines + [f"  {name:3} {parameters[name]:6.2f}  {p.gradients[name]:7.3f}" for name in START])


def draw(inputs: Sequence[float], target: float, parameters: Mapping[str, float], chosen: str = "") -> bytes:
    """Nodes with values, edges with weights. An edge is as wide as its weight is large; its colour is the gradient's
    sign. chosen: the parameter whose number is in a frame."""
    p = forward_and_backward(inputs, target, parameters)
    figure = new_figure(8.5, 4.2)
    axes = figure.add_subplot()
    places = {"x1": (0.0, 2.4), "x2": (0.0, 0.6), "result": (6.0, 1.5)}
    places |= {f"h{j}": (3.0, 3.0 - 1.5 * (j - 1)) for j in range(1, HIDDEN + 1)}
    edges = [(f"w{i}{j}", f"x{i}", f"h{j}") for i in (1, 2) for j in range(1, HIDDEN + 1)]
    edges += [(f"v{j}", f"h{j}", "result") for j in range(1, HIDDEN + 1)]
    for name, start, end in edges:
        (xa, ya), (xb, yb) = places[start], places[end]
        colour = _colour(p.gradients[name])
        axes.plot([xa, xb], [ya, yb], color=colour, linewidth=0.6 + 2 * min(abs(parameters[name]), 3), zorder=1)
        at = 0.3 if start == "x1" else 0.22 if start == "x2" else 0.5
        _label(axes, xa + at * (xb - xa), ya + at * (yb - ya), name, parameters, p, chosen)
    values = dict(zip(("x1", "x2", "h1", "h2", "h3", "result"), [*inputs, *p.hidden, p.result], strict=True))
    for name, (x, y) in places.items():
        axes.scatter([x], [y], s=2300, color="white", edgecolors="#333333", linewidths=1.4, zorder=3)
        axes.text(x, y + 0.02, f"{name}\n{values[name]:.2f}\n({p.gradients[name]:.2f})", ha="center", va="center")
        axes.texts[-1].set(fontsize=8, zorder=4)
    for name, node in (("b1", "h1"), ("b2", "h2"), ("b3", "h3"), ("c", "result")):
        _label(axes, places[node][0], places[node][1] - 0.58, name, parameters, p, chosen)
    axes.set_title(f"target {target:.2f}, loss {p.loss:.4f}", fontsize=10, loc="left")
    axes.text(0, -0.9, "blue: would grow in a step. red: would shrink. grey: derivative 0.", fontsize=8)
    axes.set_xlim(-0.8, 6.9)
    axes.set_ylim(-1.1, 3.6)
    axes.set_axis_off()
    return png_of(figure)


def _colour(gradient: float) -> str:
    return FLAT if abs(gradient) < 5e-4 else SHRINK if gradient > 0 else GROW


def _label(axes: Any, x: float, y: float, name: str, parameters: Mapping[str, float], p: Pass, chosen: str) -> None:
    frame = {"boxstyle": "round,pad=0.2", "facecolor": "white", "linewidth": 1.5 if name == chosen else 0.0}
    frame["edgecolor"] = "black" if name == chosen else "white"
    text = f"{name} {parameters[name]:.2f}"
    axes.text(x, y, text, fontsize=8, color=_colour(p.gradients[name]), ha="center", va="center", bbox=frame, zorder=5)
