"""Dynamo's compilations: which call compiled a graph, and which graph served it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from labkit.pictures.palette import BLUE, LINE, MUTED, RED
from labkit.pictures.picture import ALL, WIDTH, Drawing, Group, Picture, Table, catch_failures
from labkit.pictures.svg import SMALL, draw_circle, draw_line, draw_rect, draw_text, emphasize_parts, format_count

MODES = {"dynamic=None": None, "dynamic=False": False, "dynamic=True": True}


@dataclass
class CompileRun:
    """What Dynamo did in a sequence of calls."""

    graphs: list[str]
    """The shape that each graph was made for, with n for a dynamic size."""
    served: list[int]
    """The number of the graph that ran in each call; -1 if there was none."""
    compiled: list[bool]
    """Whether each call compiled a graph."""


@catch_failures
def show_compiles(f: Callable[[Tensor], Any], inputs: Sequence[Tensor]) -> Picture:
    """Draw which calls of torch.compile(f) compiled a graph, used an earlier one, or ran without a graph.

    The calls take these inputs one after the other, with each of the three settings of `dynamic`. No compiler runs
    after Dynamo. Earlier and new compilations are discarded.
    """
    if not inputs:
        raise ValueError("there are no inputs")
    runs = {mode: record_compilations(f, inputs, dynamic) for mode, dynamic in MODES.items()}
    width = max(map(len, MODES))
    sizes = [format_shape(x.shape) for x in inputs]
    lines = [
        f"{mode:{width}}  {format_count(len(run.graphs), 'graph')}: {_describe_calls(run)}"
        for mode, run in runs.items()
    ]
    words = [f"calls with {', '.join(sizes)}", *lines]
    return Picture("\n".join(words), lambda: draw(runs, sizes, words))


def record_compilations(f: Callable[[Tensor], Any], inputs: Sequence[Tensor], dynamic: bool | None) -> CompileRun:
    """Record what Dynamo does in these calls."""
    import torch._dynamo

    result = CompileRun([], [], [])

    def record(graph: Any, _: Any) -> Callable[..., Any]:
        number = len(result.graphs)
        values = [node.meta.get("example_value") for node in graph.graph.nodes if node.op == "placeholder"]
        result.graphs.append(next((format_shape(v.shape) for v in values if isinstance(v, Tensor)), "()"))

        def run(*args: Any) -> Any:
            result.served[-1] = number
            return graph.forward(*args)

        return run

    torch._dynamo.reset()
    try:
        compiled = torch.compile(f, backend=record, dynamic=dynamic)
        for x in inputs:
            result.served.append(-1)
            before = len(result.graphs)
            compiled(x)
            result.compiled.append(len(result.graphs) > before)
    finally:
        torch._dynamo.reset()
    return result


def format_shape(shape: Sequence[Any]) -> str:
    """Format a shape, such as (4, 3), with n for a dynamic size."""
    sizes = [str(size) if type(size) is int else "n" for size in shape]
    return f"({', '.join(sizes)})"


def _describe_calls(run: CompileRun) -> str:
    return ", ".join(_list_calls(run))


def _list_calls(run: CompileRun) -> list[str]:
    return [
        "eager" if number < 0 else f"{'compiles' if new else 'runs'} {run.graphs[number]}"
        for number, new in zip(run.served, run.compiled, strict=True)
    ]


def draw(runs: dict[str, CompileRun], sizes: Sequence[str], words: Sequence[str]) -> Drawing:
    """Draw all settings below each other, or one of them emphasized and the others pale."""
    left, row = 88.0, 26.0
    step = max(44.0, 7.5 * max(map(len, sizes)), min(220.0, (WIDTH - left - 8) / len(sizes)))
    right = left + step * len(sizes)
    parts, y = [], 18.0
    for position, (mode, run) in enumerate(runs.items(), 1):
        rows = [*["no graph"] * (-1 in run.served), *run.graphs]
        first = -1 if -1 in run.served else 0
        inside = [draw_text(4, y, f"{mode}: {format_count(len(run.graphs), 'graph')}")]
        for number, name in enumerate(rows):
            at = y + row * (number + 1)
            inside += [
                draw_line(left, at - 4, right, at - 4, LINE, 0.7, "stroke-opacity='.45'"),
                draw_text(left - 8, at, name, anchor="end", size=SMALL),
            ]
        for call, (served, new) in enumerate(zip(run.served, run.compiled, strict=True)):
            inside.append(_draw_call(left + step * (call + 0.5), y + row * (served - first + 1) - 4, served, new))
        y += row * (len(rows) + 1)
        inside += [
            draw_text(left + step * (n + 0.5), y, size, anchor="middle", size=SMALL) for n, size in enumerate(sizes)
        ]
        parts.append(emphasize_parts([0, position], *inside))
        y += 30
    parts.append(
        draw_text(
            4, y - 2, "square: compiles a graph, dot: runs an earlier one, cross: runs without one", MUTED, size=SMALL
        )
    )
    all_words = ["\n".join(words), *words[1:]]
    calls = [f"call {number} with {size}" for number, size in enumerate(sizes, 1)]
    columns = [["call", *calls], *([mode, *_list_calls(run)] for mode, run in runs.items())]
    table = Table("Calls as a table", list(zip(*columns, strict=True)))
    groups = [Group("dynamic", [ALL, *runs])]
    width = max(WIDTH, right + 10)
    return Drawing("Which graph serves which call", width, y + 8, parts, groups, all_words, table=table)


def _draw_call(x: float, y: float, served: int, new: bool) -> str:
    if served < 0:
        return draw_line(x - 6, y - 6, x + 6, y + 6, RED, 2.6) + draw_line(x - 6, y + 6, x + 6, y - 6, RED, 2.6)
    return draw_rect(x - 7, y - 7, 14, 14, RED) if new else draw_circle(x, y, 7, BLUE)
