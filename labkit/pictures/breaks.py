"""The source of functions, with the lines at which Dynamo breaks the graph."""

from __future__ import annotations

import contextlib
import inspect
import io
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from labkit.pictures.palette import LINE, RED, TINT
from labkit.pictures.picture import WIDTH, Drawing, Group, Picture, Table, catch_failures
from labkit.pictures.svg import draw_line, draw_rect, draw_text, format_count, measure_width, show_only

ROW, LEFT = 24.0, 14.0  # pixels
REASONS = (  # a pattern in PyTorch's reason, and what it means
    (r"generic_jump|Data-dependent branching", "the values of a tensor decide what runs next"),
    (r"\.item\(\)|\.tolist\(\)", "Python needs a tensor's value as a number"),
    (r"builtin operator `print`", "only Python can print"),
    (r"builtin operator `(\w+)`", r"only Python can run `\1`"),
    (r"graph_break\(\)", "the code asks for a break"),
)
UNKNOWN = "Dynamo can't trace this line"


@dataclass
class BreakReport:
    """The lines of a function at which Dynamo breaks its graph."""

    lines: list[str]
    """The function's source."""
    breaks: dict[int, str]
    """Line number -> why Dynamo breaks the graph there, in PyTorch's words."""
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
                breaks.setdefault(number, str(reason.reason).strip())
    return BreakReport(textwrap.dedent("".join(lines)).rstrip().split("\n"), breaks, explanation.graph_count)


def explain_reason(reason: str) -> str:
    """Say in plain words what PyTorch's reason for a break means."""
    for pattern, meaning in REASONS:
        found = re.search(pattern, reason)
        if found:
            return found.expand(meaning)
    return UNKNOWN


def _describe_breaks(report: BreakReport) -> str:
    if not report.breaks:
        return f"{format_count(report.graphs, 'graph')}, no break"
    places = "; ".join(
        f"{report.lines[number].strip()!r}: {explain_reason(reason)}"
        for number, reason in sorted(report.breaks.items())
    )
    return f"{format_count(report.graphs, 'graph')}, broken at {places}"


def _draw(reports: Mapping[str, BreakReport], words: list[str]) -> Drawing:
    """Draw each function's source, with a red line and a reason below each line at which the graph ends."""
    parts, width, height = [], WIDTH, 0.0
    for frame, report in enumerate(reports.values()):
        inside, y = [], 22.0
        for number, source in enumerate(report.lines):
            if number in report.breaks:
                inside.append(draw_rect(4, y - 17, WIDTH - 8, ROW, RED, TINT))
            inside.append(draw_text(LEFT, y, source, mono=True))
            width = max(width, LEFT + measure_width(source) + 10)
            y += ROW
            if number in report.breaks:
                reason = f"the graph ends here: {explain_reason(report.breaks[number])}"
                inside += [
                    draw_line(4, y - 17, WIDTH - 4, y - 17, RED, 2.5, "stroke-dasharray='8 4'"),
                    draw_text(LEFT, y + 1, reason, RED),
                ]
                y += ROW
        outline = draw_rect(2, 1, WIDTH - 4, y - 14, stroke=LINE, extra="rx='4'")
        inside += [outline, draw_text(4, y + 8, format_count(report.graphs, "graph"))]
        parts.append(show_only([frame], *inside) if len(reports) > 1 else "".join(inside))
        height = max(height, y + 16)
    groups = [Group("function", list(reports))] if len(reports) > 1 else []
    rows = [
        [name, report.lines[number].strip(), reason]
        for name, report in reports.items()
        for number, reason in sorted(report.breaks.items())
    ]
    table = Table("PyTorch's own reasons", [["function", "line", "reason"], *rows]) if rows else None
    return Drawing("Code and where its graph breaks", width, height, parts, groups, words, table=table)
