"""A profiler's trace as lanes: a row for each depth of each thread, and one for each stream of a device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from labkit.pictures.palette import COLORS, LINE, MUTED, STRONG, TINT
from labkit.pictures.picture import ALL, WIDTH, Drawing, Group, Picture, Table, catch_failures
from labkit.pictures.svg import SMALL, draw_cell, draw_line, draw_text, emphasize_parts, escape_text, measure_width

LEFT, HIGH, GAP, TOP = 92, 26, 14, 6  # pixels
LONG = WIDTH - LEFT - 24  # pixels of the time axis
MAX_LISTED = 40  # events in the table, the longest ones
REGION = "user_annotation"
DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
LAUNCH = ("cuda_runtime", "cuda_driver")
DRAWN = (REGION, "cpu_op", "python_function", *DEVICE, *LAUNCH)
SMALLEST = 0.3  # pixels: shorter events aren't drawn


@dataclass
class Bar:
    """A complete event."""

    name: str
    cat: str
    lane: str
    start: float
    end: float
    correlation: object = None
    row: int = 0
    regions: Sequence[str] = ()
    """The names of the regions around it, the outermost first; a region's own is last."""


@dataclass
class Lane:
    """A thread or a stream."""

    name: str
    bars: list[Bar] = field(default_factory=list)
    rows: int = 1
    """How deep its events are nested."""


@catch_failures
def show_trace(trace: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> Picture:
    """Draw the complete events of a Chrome trace, or of a list of events. A region can be emphasized.

    Work on the device has the color of the region that launched it.
    """
    events = trace["traceEvents"] if isinstance(trace, Mapping) else trace
    bars = [_read_bar(event) for event in events if event.get("ph", "X") == "X" and event.get("cat", "cpu_op") in DRAWN]
    if not bars:
        raise ValueError("there are no complete events")
    lanes = _build_lanes(bars)
    _name_regions(bars)
    regions = list(dict.fromkeys(bar.name for bar in sorted(bars, key=lambda bar: bar.start) if bar.cat == REGION))
    words = [_format_counts(lane.name, lane.bars) for lane in lanes]
    longest = sorted(bars, key=_measure_length, reverse=True)[:3]
    words.append("longest: " + ", ".join(f"{bar.name} {_measure_length(bar):g} µs" for bar in longest))
    frames = [_format_counts(name, [bar for bar in bars if name in bar.regions]) for name in regions]
    return Picture("\n".join(words), lambda: _draw(lanes, regions, ["\n".join(words), *frames]))


def _read_bar(event: Mapping[str, Any]) -> Bar:
    cat, start = event.get("cat", "cpu_op"), float(event["ts"])
    kind = "stream" if cat in DEVICE else "thread"
    lane = f"{kind} {event.get('tid', 0)}"
    return Bar(event["name"], cat, lane, start, start + float(event["dur"]), event.get("args", {}).get("correlation"))


def _build_lanes(bars: Sequence[Bar]) -> list[Lane]:
    """Build the lanes, threads first, with each event in the row of its depth."""
    lanes: dict[str, Lane] = {}
    open_bars: dict[str, list[Bar]] = {}
    for bar in sorted(bars, key=lambda bar: (bar.start, -bar.end)):
        lane = lanes.setdefault(bar.lane, Lane(bar.lane))
        around = [outer for outer in open_bars.get(bar.lane, []) if outer.end > bar.start]
        bar.row = len(around)
        open_bars[bar.lane] = [*around, bar]
        lane.bars.append(bar)
        lane.rows = max(lane.rows, bar.row + 1)
    return sorted(lanes.values(), key=lambda lane: lane.name.startswith("stream"))


def _name_regions(bars: Sequence[Bar]) -> None:
    """Set each event's regions by its start time, in any thread; for the device, by the time of its launch."""
    regions = sorted((bar for bar in bars if bar.cat == REGION), key=lambda bar: (bar.start, -bar.end))
    launched = {bar.correlation: bar.start for bar in bars if bar.cat in LAUNCH and bar.correlation is not None}
    for bar in bars:
        at = launched.get(bar.correlation) if bar.cat in DEVICE else bar.start
        bar.regions = [region.name for region in regions if at is not None and region.start <= at < region.end]


def _measure_length(bar: Bar) -> float:
    return bar.end - bar.start


def _format_counts(name: str, bars: Sequence[Bar]) -> str:
    counts = {
        "regions": sum(bar.cat == REGION for bar in bars),
        "operators": sum(bar.cat in ("cpu_op", "python_function") for bar in bars),
        "calls of the runtime": sum(bar.cat in LAUNCH for bar in bars),
        "rows of the device": sum(bar.cat in DEVICE for bar in bars),
    }
    return f"{name}: " + ", ".join(f"{kind} {count}" for kind, count in counts.items() if count)


def _draw(lanes: Sequence[Lane], regions: Sequence[str], words: list[str]) -> Drawing:
    """Draw lanes from top to bottom over one time axis, with one region emphasized, or all."""
    bars = [bar for lane in lanes for bar in lane.bars]
    begin, end = min(bar.start for bar in bars), max(bar.end for bar in bars)
    unit = LONG / ((end - begin) or 1)
    outermost = dict.fromkeys(bar.regions[0] for bar in sorted(bars, key=lambda bar: bar.start) if bar.regions)
    colors = {name: COLORS[number % len(COLORS)] for number, name in enumerate(outermost)}
    parts, y = [], float(TOP)
    for lane in lanes:
        parts.append(draw_text(LEFT - 8, y + 17, lane.name, anchor="end"))
        for bar in lane.bars:
            if unit * _measure_length(bar) >= SMALLEST:
                box = _draw_box(bar, LEFT + unit * (bar.start - begin), y + HIGH * bar.row, unit, colors)
                frames = [0, *(n for n, name in enumerate(regions, 1) if name in bar.regions)]
                parts.append(
                    emphasize_parts(frames, f"<title>{escape_text(bar.name)}, {_measure_length(bar):g} µs</title>", box)
                )
        y += HIGH * lane.rows + GAP
    parts += _draw_axis(y, end - begin, unit)
    groups = [Group("region", [ALL, *regions])] if regions else []
    shown_words = words if groups else words[:1]
    return Drawing("A trace", WIDTH, y + 28, parts, groups, shown_words, table=_build_table(bars, begin))


def _build_table(bars: Sequence[Bar], begin: float) -> Table:
    """Tabulate the longest events, in order of time."""
    listed = sorted(sorted(bars, key=_measure_length)[-MAX_LISTED:], key=lambda bar: bar.start)
    rows = [[bar.name, bar.lane, f"{bar.start - begin:g}", f"{_measure_length(bar):g}"] for bar in listed]
    title = "Events as a table" if len(bars) <= MAX_LISTED else f"The {MAX_LISTED} longest events as a table"
    return Table(title, [["event", "lane", "start in µs", "length in µs"], *rows])


def _draw_box(bar: Bar, x: float, y: float, unit: float, colors: Mapping[str, str]) -> str:
    width = max(unit * _measure_length(bar) - 1, 0.5)
    shown = bar.name if measure_width(bar.name, SMALL) < width - 4 else ""
    color = colors[bar.regions[0]] if bar.regions else MUTED
    tint = STRONG if bar.cat == REGION else TINT
    return draw_cell(x, y, width, HIGH - 3, shown, color, tint, SMALL)


def _draw_axis(y: float, length: float, unit: float) -> list[str]:
    """Draw times in microseconds since the first event."""
    step = 10.0 ** (len(str(int(length))) - 1)
    step = next((s for s in (step / 5, step / 2, step) if length / s <= 10), step)
    ticks = [n * step for n in range(int(length / step) + 1)]
    parts = [draw_line(LEFT, y, LEFT + LONG, y, LINE)]
    for at in ticks:
        x = LEFT + unit * at
        parts += [draw_line(x, y, x, y + 4, LINE), draw_text(x, y + 17, f"{at:g}", MUTED, "middle", SMALL)]
    return [*parts, draw_text(LEFT - 8, y + 17, "µs", MUTED, "end", SMALL)]
