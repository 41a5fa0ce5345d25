"""The source of functions, with the lines at which Dynamo breaks the graph."""

from __future__ import annotations

import contextlib
import inspect
import io
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from labkit.pictures.palette import RED
from labkit.pictures.picture import Drawing, Group, Picture, catch_failures
from labkit.pictures.svg import draw_line, draw_rect, draw_text, measure_width, show_only

ROW, SIZE = 20.0, 12.0  # pixels


@dataclass
class BreakReport:
    """The lines of a function at which Dynamo breaks its graph."""

    lines: list[str]
    """The function's source."""
    breaks: dict[int, str]
    """Line number -> why Dynamo breaks the graph there."""
    graphs: int
    """The number of graphs."""


@catch_failures
def show_breaks(functions: Mapping[str, tuple[Callable[..., Any], tuple[Any, ...]]]) -> Picture:
    """Draw the source of each function, with a line where torch.compile breaks its graph for these arguments.

    Each function runs once. Earlier compilations are discarded.

    Args:
        functions: Label -> function and its arguments.
    """
    reports = {name: explain(f, args) for name, (f, args) in functions.items()}
    words = [f"{name}: {_describe_breaks(one)}" for name, one in reports.items()]
    return Picture("\n".join(words), lambda: _draw(reports, words))


def explain(f: Callable[..., Any], args: tuple[Any, ...]) -> BreakReport:
    """Collect what torch._dynamo.explain says, by line of the function."""
    import torch._dynamo

    lines, first = inspect.getsourcelines(f)
    first = max(first, 1)
    torch._dynamo.reset()
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            explanation = torch._dynamo.explain(f)(*args)
    finally:
        torch._dynamo.reset()
    breaks: dict[int, str] = {}
    for reason in explanation.break_reasons:
        if not reason.graph_break:
            continue
        for place in reason.user_stack:
            number = place.lineno - first
            if place.filename == f.__code__.co_filename and 0 <= number < len(lines):
                breaks.setdefault(number, _shorten_reason(str(reason.reason)))
    return BreakReport(textwrap.dedent("".join(lines)).rstrip().split("\n"), breaks, explanation.graph_count)


def _shorten_reason(reason: str) -> str:
    return reason.strip().split("\n")[0][:70]


def _describe_breaks(report: BreakReport) -> str:
    if not report.breaks:
        return f"{report.graphs} graphs, no break"
    places = "; ".join(
        f"{report.lines[number].strip()!r}: {reason}" for number, reason in sorted(report.breaks.items())
    )
    return f"{report.graphs} graphs, broken at {places}"


def _draw(reports: Mapping[str, BreakReport], words: list[str]) -> Drawing:
    """Draw each function's source, with a red line and a reason below each line at which the graph ends."""
    parts, width, height = [], 0.0, 0.0
    for frame, report in enumerate(reports.values()):
        inside, y = [], 18.0
        for number, source in enumerate(report.lines):
            if number in report.breaks:
                inside.append(draw_rect(2, y - 14, measure_width(source, SIZE) + 14, ROW - 2, RED, 0.25))
            inside.append(draw_text(8, y, source, mono=True))
            width = max(width, measure_width(source, SIZE) + 20)
            y += ROW
            if number in report.breaks:
                reason = f"the graph ends here: {report.breaks[number]}"
                inside += [
                    draw_line(8, y - 10, 28, y - 10, RED, 2, "stroke-dasharray='6 3'"),
                    draw_text(34, y - 6, reason, RED, size=11),
                ]
                width = max(width, 34 + len(reason) * 6.4)
                y += ROW * 0.7
        inside.append(draw_text(8, y + 6, f"{report.graphs} graphs"))
        parts.append(show_only([frame], *inside) if len(reports) > 1 else "".join(inside))
        height = max(height, y + 16)
    groups = [Group("function", list(reports))] if len(reports) > 1 else []
    return Drawing("Code and where its graph breaks", width, height, parts, groups, words)
