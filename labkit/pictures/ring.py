"""The partial sums in a ring all-reduce, step by step, and the traffic of two ways to add over ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from labkit.pictures.chart import Line, draw_chart, fit_axes
from labkit.pictures.picture import Drawing, Group, Picture, catch_failures
from labkit.pictures.svg import BLUE, GRAY, OCHRE, RED, draw_cell, draw_rect, draw_text, show_only

State = list[list[set[int]]]  # state[rank][chunk]: the ranks whose values are in the sum
FRAME = "stroke-width='2.5'"


def compute_ring_states(world_size: int) -> list[tuple[State, list[int]]]:
    """Return the state after each of the 2 * (world_size - 1) steps, with the chunk that each rank sent in the step.

    The first item is the start, with -1 for each rank, since nothing has been sent.
    """
    state: State = [[{rank} for _ in range(world_size)] for rank in range(world_size)]
    states = [(state, [-1] * world_size)]
    for step in range(2 * (world_size - 1)):
        sent = [(rank - step) % world_size for rank in range(world_size)]
        state = [[set(parts) for parts in row] for row in state]
        before = states[-1][0]
        for rank, chunk in enumerate(sent):
            state[(rank + 1) % world_size][chunk] |= before[rank][chunk]
        states.append((state, sent))
    return states


@catch_failures
def explore_ring(world_size: int) -> Picture:
    """Draw the ring all-reduce of a tensor in as many chunks as there are ranks, 2 to 8: a table for each step."""
    if not 2 <= world_size <= 8:
        raise ValueError(f"world_size={world_size}: only rings of 2 to 8 ranks can be drawn")
    states = compute_ring_states(world_size)
    names = ["start", *(f"step {number}" for number in range(1, len(states)))]
    lines = []
    for name, (state, sent) in zip(names, states, strict=True):
        complete = sum(len(parts) == world_size for row in state for parts in row)
        sending = "" if sent[0] < 0 else "  rank 0 sends chunk " + str(sent[0])
        lines.append(f"{name:7} {complete:2} of {world_size**2} chunks are complete{sending}")
    return Picture("\n".join(lines), lambda: draw_ring(states, names, lines))


def draw_ring(states: list[tuple[State, list[int]]], names: list[str], lines: list[str]) -> Drawing:
    """Draw a table of ranks and chunks for each step, with a frame around what arrived in it."""
    size = len(states[0][0])
    left, top, side = 58, 56, 46 if size < 6 else 40
    parts = [draw_text(left + size * side / 2, 40, "chunk", anchor="middle", size=11)]
    parts += [draw_text(left + side * (n + 0.5), top - 3, str(n), anchor="middle", size=11) for n in range(size)]
    parts += [draw_text(left - 8, top + side * (n + 0.6), f"rank {n}", anchor="end", size=11) for n in range(size)]
    for number, (name, line) in enumerate(zip(names, lines, strict=True)):
        half = "" if number == 0 else ": add" if number < size else ": replace"
        progress = line.removeprefix(f"{name:7}").split("  rank")[0].strip()
        parts.append(show_only([number], draw_text(4, 16, f"{name}{half}, {progress}")))
    for rank in range(size):
        for chunk in range(size):
            x, y = left + side * chunk, top + side * rank
            for ranks, held in _find_held_sums([state[rank][chunk] for state, _ in states]):
                color, tint = (BLUE, 0.45) if len(ranks) == size else (OCHRE, 0.4) if len(ranks) > 1 else (GRAY, 0.12)
                sums = "".join(map(str, sorted(ranks)))
                parts.append(
                    show_only(held, draw_cell(x, y, side - 3, side - 3, sums, color, tint, 12 if size < 6 else 9))
                )
    for number, (_, sent) in enumerate(states):
        if number:
            frames = [
                draw_rect(
                    left + side * sent[(rank - 1) % size], top + side * rank, side - 3, side - 3, "none", 1, RED, FRAME
                )
                for rank in range(size)
            ]
            parts.append(show_only([number], *frames))
    words = [" ".join(line.split()) for line in lines]
    return Drawing(
        "A ring all-reduce",
        left + size * side + 60,
        top + side * size + 8,
        parts,
        [Group("step", names, steps=True)],
        words,
    )


def _find_held_sums(by_frame: list[set[int]]) -> list[tuple[set[int], list[int]]]:
    """Return the distinct sums that a cell holds, in order, each with the frames that show it."""
    distinct = [ranks for n, ranks in enumerate(by_frame) if ranks not in by_frame[:n]]
    return [(ranks, [n for n, current in enumerate(by_frame) if current == ranks]) for ranks in distinct]


@catch_failures
def show_traffic(world_sizes: Sequence[int]) -> Picture:
    """Draw what the busiest rank sends, in units of the whole tensor: in a ring, and if one rank collects."""
    ring = [2 * (n - 1) / n for n in world_sizes]
    gather = [float(n - 1) for n in world_sizes]
    rows = zip(world_sizes, ring, gather, strict=True)
    lines = [f"{n:3} ranks: ring {a:.3f}, one rank collects {b:.0f}" for n, a, b in rows]
    return Picture("\n".join(lines), lambda: draw_traffic(world_sizes, ring, gather))


def draw_traffic(world_sizes: Sequence[int], ring: list[float], gather: list[float]) -> Drawing:
    lines = [
        Line("ring", list(zip(map(float, world_sizes), ring, strict=True)), dots=True),
        Line("one rank collects and sends back", list(zip(map(float, world_sizes), gather, strict=True)), dots=True),
    ]
    axes = fit_axes(lines, "ranks", "sent by the busiest rank, in whole tensors", from_zero=True)
    parts, width, height = draw_chart(lines, replace(axes, x_ticks=list(world_sizes), height=190))
    return Drawing("What the busiest rank sends", width, height, parts)
