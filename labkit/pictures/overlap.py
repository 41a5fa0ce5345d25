"""A schema of when gradients are sent in buckets during backward: to scale, not measured."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

from torch import nn

from labkit.pictures.palette import COLORS, MUTED, RED, STRONG
from labkit.pictures.picture import WIDTH, Drawing, Group, Picture, Table, catch_failures
from labkit.pictures.svg import SMALL, draw_cell, draw_line, draw_text, format_count, measure_width, show_only

LEFT, RIGHT, HIGH = 92, 24, 42  # pixels


@catch_failures
def show_overlap(model: nn.Module, caps: Mapping[str, float], speed: float = 1.0, start: float = 0.02) -> Picture:
    """Draw backward through a model's layers, the last one first, and the all-reduce of their buckets.

    It's a schema: the time of a layer is proportional to its bytes.

    Args:
        caps: Label -> bytes at which a bucket is full.
        speed: How much longer an all-reduce takes than backward for the same bytes.
        start: The latency of an all-reduce, as a share of the whole backward.
    """
    sizes = [(name, sum(p.nbytes for p in m.parameters(recurse=False))) for name, m in model.named_modules()]
    layers = [(name or "model", nbytes) for name, nbytes in reversed(sizes) if nbytes]
    ends = [end / sum(n for _, n in layers) for end in itertools.accumulate(n for _, n in layers)]
    runs = {label: _schedule_messages(_fill_buckets(layers, cap), ends, speed, start) for label, cap in caps.items()}
    words = [
        f"{label}: {format_count(len(sent), 'all-reduce')}, done at {sent[-1].end:.2f} of backward's time"
        for label, sent in runs.items()
    ]
    text = "\n".join(["a schema, to scale and not measured", *words])
    return Picture(text, lambda: _draw([name for name, _ in layers], ends, runs, words))


@dataclass
class Message:
    """An all-reduce of some layers. Times are in units of the whole backward."""

    layers: list[int]
    start: float
    end: float


def _fill_buckets(layers: list[tuple[str, int]], cap: float) -> list[list[int]]:
    """Return the layers of each bucket, by number. A bucket is closed when it's full."""
    buckets: list[list[int]] = []
    held = cap
    for number, (_, nbytes) in enumerate(layers):
        if held >= cap:
            buckets.append([])
            held = 0
        buckets[-1].append(number)
        held += nbytes
    return buckets


def _schedule_messages(buckets: list[list[int]], ends: list[float], speed: float, start: float) -> list[Message]:
    """Schedule the messages one after the other, each once its last gradient is ready."""
    sent: list[Message] = []
    for bucket in buckets:
        begin = max(ends[bucket[-1]], sent[-1].end if sent else 0.0)
        first = ends[bucket[0] - 1] if bucket[0] else 0.0
        sent.append(Message(bucket, begin, begin + start + speed * (ends[bucket[-1]] - first)))
    return sent


def _draw(names: list[str], ends: list[float], runs: Mapping[str, list[Message]], words: list[str]) -> Drawing:
    """Draw backward above the all-reduces. A bucket has the color of its layers."""
    unit = (WIDTH - LEFT - RIGHT) / max(sent[-1].end for sent in runs.values())
    parts = [draw_text(LEFT - 8, 45, "backward", anchor="end"), draw_text(LEFT - 8, 99, "all-reduce", anchor="end")]
    for frame, sent in enumerate(runs.values()):
        frame_parts = []
        for number, message in enumerate(sent):
            color = COLORS[number % len(COLORS)]
            for layer in message.layers:
                begin = ends[layer - 1] if layer else 0.0
                frame_parts.append(_draw_block(begin, ends[layer], 20, unit, names[layer], color))
            frame_parts.append(_draw_block(message.start, message.end, 74, unit, f"bucket {number}", color))
        end = LEFT + unit * sent[-1].end
        frame_parts.append(draw_line(end, 16, end, 122, RED, 2.5) + draw_text(end, 140, "done", RED, "end", SMALL))
        parts.append(show_only([frame], *frame_parts))
    x = LEFT + unit * ends[-1]
    parts += [
        draw_line(x, 16, x, 122, MUTED, 1.4, "stroke-dasharray='4 4'"),
        draw_text(x - 4, 140, "backward ends", MUTED, "end", SMALL),
    ]
    parts.append(draw_text(4, 166, "a schema, to scale and not measured", MUTED, size=SMALL))
    rows = [
        [
            label,
            f"bucket {number}",
            ", ".join(names[layer] for layer in one.layers),
            f"{one.start:.2f}",
            f"{one.end:.2f}",
        ]
        for label, sent in runs.items()
        for number, one in enumerate(sent)
    ]
    table = Table("Messages as a table", [["buckets", "bucket", "layers", "start", "end"], *rows])
    groups = [Group("buckets", list(runs))]
    return Drawing("Buckets and backward", WIDTH, 172, parts, groups, words, True, table)


def _draw_block(start: float, end: float, y: float, unit: float, words: str, color: str) -> str:
    width = unit * (end - start)
    shown = words if measure_width(words, SMALL) < width else ""
    return draw_cell(LEFT + unit * start, y, max(width - 1, 1), HIGH, shown, color, STRONG, SMALL)
