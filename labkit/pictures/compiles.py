"""Which call made Dynamo compile, and which graph served it: one row for each graph, one column for each call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from labkit.pictures.choice import ALL, choice
from labkit.pictures.picture import Picture, never_fails, new_figure, png_of

MODES = {"dynamic=None": None, "dynamic=False": False, "dynamic=True": True}


@dataclass
class Followed:
    """graphs: the shape that each graph was made for, with n for a size that it leaves open. served: for each call the
    number of the graph that ran, -1 where none did. compiled: whether this call made the graph."""

    graphs: list[str]
    served: list[int]
    compiled: list[bool]


@never_fails
def show_compiles(f: Callable[[Tensor], Any], inputs: Sequence[Tensor]) -> Picture:
    """Call torch.compile(f) with these tensors one after the other, in each of the three settings of dynamic, and draw
    which call compiled a graph, which was served by an earlier one, and which ran without any.

    No compiler runs after Dynamo. What was compiled before is forgotten, before and after.
    """
    if not inputs:
        raise ValueError("there is no input")
    runs = {mode: follow(f, inputs, dynamic) for mode, dynamic in MODES.items()}
    width = max(map(len, MODES))
    sizes = [shape_of(x.shape) for x in inputs]
    lines = [f"{mode:{width}}  {len(run.graphs)} graphs: {_told(run)}" for mode, run in runs.items()]
    words = "\n".join([f"calls with {', '.join(sizes)}", *lines])
    return choice(words, [ALL, *MODES], lambda chosen: draw(runs, sizes, chosen))


def follow(f: Callable[[Tensor], Any], inputs: Sequence[Tensor], dynamic: bool | None) -> Followed:
    """What Dynamo does in these calls."""
    import torch._dynamo

    found = Followed([], [], [])

    def keep(graph: Any, _: Any) -> Callable[..., Any]:
        number = len(found.graphs)
        values = [node.meta.get("example_value") for node in graph.graph.nodes if node.op == "placeholder"]
        found.graphs.append(next((shape_of(v.shape) for v in values if isinstance(v, Tensor)), "()"))

        def run(*args: Any) -> Any:
            found.served[-1] = number
            return graph.forward(*args)

        return run

    torch._dynamo.reset()
    try:
        compiled = torch.compile(f, backend=keep, dynamic=dynamic)
        for x in inputs:
            found.served.append(-1)
            before = len(found.graphs)
            compiled(x)
            found.compiled.append(len(found.graphs) > before)
    finally:
        torch._dynamo.reset()
    return found


def shape_of(shape: Sequence[Any]) -> str:
    """(4, 3) as text, with n for a size that is open."""
    sizes = [str(size) if type(size) is int else "n" for size in shape]
    return f"({', '.join(sizes)})"


def _told(run: Followed) -> str:
    parts = [
        "eager" if number < 0 else f"{'compiles' if new else 'runs'} {run.graphs[number]}"
        for number, new in zip(run.served, run.compiled, strict=True)
    ]
    return ", ".join(parts)


def draw(runs: dict[str, Followed], sizes: Sequence[str], chosen: str = ALL) -> bytes:
    """All settings below each other, or one of them."""
    shown = [mode for mode in runs if chosen in (ALL, mode)]
    rows = [max(1, len(runs[mode].graphs)) for mode in shown]
    figure = new_figure(7.5, 0.7 * len(shown) + 0.27 * sum(rows))
    panels = figure.subplots(len(shown), 1, squeeze=False, height_ratios=[n + 1 for n in rows])
    for mode, axes in zip(shown, panels[:, 0], strict=True):
        run = runs[mode]
        for call, (number, new) in enumerate(zip(run.served, run.compiled, strict=True)):
            if number < 0:
                axes.plot([call], [-1], "x", color="#c44e28", markersize=7)
            else:
                axes.plot([call], [number], "s" if new else "o", color="#c44e28" if new else "#1f6fb2", markersize=7)
        eager = [-1] if -1 in run.served else []
        places = [*eager, *range(len(run.graphs))]
        axes.set_yticks(places, [*["no graph"] * len(eager), *run.graphs], fontsize=7)
        axes.set_ylim(max(places, default=0) + 0.6, min(places, default=0) - 0.6)
        axes.set_xticks(range(len(sizes)), sizes, fontsize=7)
        axes.set_title(f"{mode}: {len(run.graphs)} graphs", fontsize=8, loc="left")
        axes.grid(axis="y", color="#e4e4e4", linewidth=0.6)
    figure.supxlabel("calls; square: a graph is compiled, dot: one is there already, cross: none, eager", fontsize=7)
    return png_of(figure)
