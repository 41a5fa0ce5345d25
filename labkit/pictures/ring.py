"""The partial sums in a ring all-reduce, step by step."""

from __future__ import annotations

import math

from labkit.pictures.palette import BLUE, FAINT, LINE, MUTED, OCHRE, RED, STRONG
from labkit.pictures.picture import WIDTH, Drawing, Group, Picture, Table, catch_failures
from labkit.pictures.svg import (
    SMALL,
    draw_cell,
    draw_circle,
    draw_label,
    draw_rect,
    draw_text,
    draw_traveler,
    show_only,
    to_svg,
)

State = list[list[set[int]]]  # state[rank][chunk]: the ranks whose values are in the sum
FRAME = "stroke-width='3' rx='3'"
CENTER, AROUND, NODE = (170.0, 175.0), 125.0, 28.0  # pixels of the ring: where it is, its radius, that of a rank
LEFT, TOP, TABLE_WIDTH = 420.0, 46.0, 332.0  # pixels of the table


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
    lines = [
        f"{name + ':':8} {_count_complete(state):2} of {world_size**2} chunks are complete"
        + _describe_sent(number, sent)
        for number, (name, (state, sent)) in enumerate(zip(names, states, strict=True))
    ]
    return Picture("\n".join(lines), lambda: draw_ring(states, names, lines))


def _count_complete(state: State) -> int:
    return sum(len(parts) == len(state) for row in state for parts in row)


def _describe_sent(number: int, sent: list[int]) -> str:
    if sent[0] < 0:
        return ""
    action = "adds to" if number < len(sent) else "replaces"
    pairs = ", ".join(f"rank {rank} sends chunk {chunk}" for rank, chunk in enumerate(sent))
    return f"; {pairs}, and the next rank {action} its own"


def draw_ring(states: list[tuple[State, list[int]]], names: list[str], lines: list[str]) -> Drawing:
    """Draw the ring, around which chunks travel, next to a table of ranks and chunks for each step."""
    size = len(states[0][0])
    sent = [chunks for _, chunks in states]
    parts = [*_draw_ranks(size), *_draw_travelers(sent), *_draw_table(states)]
    rows = [
        [name, f"rank {rank}", *(_format_sum(parts) for parts in row)]
        for name, (state, _) in zip(names, states, strict=True)
        for rank, row in enumerate(state)
    ]
    table = Table("Sums as a table", [["step", "rank", *(f"chunk {chunk}" for chunk in range(size))], *rows])
    words = [" ".join(line.split()) for line in lines]
    groups = [Group("step", names, steps=True)]
    return Drawing("A ring all-reduce", WIDTH, 2 * CENTER[1], parts, groups, words, True, table)


def _place_rank(rank: float, size: int, reach: float = AROUND) -> tuple[float, float]:
    """Return the place of a rank on the ring, clockwise from the top, or of a place between two ranks."""
    angle = 2 * math.pi * rank / size - math.pi / 2
    return CENTER[0] + reach * math.cos(angle), CENTER[1] + reach * math.sin(angle)


def _draw_arc(start: float, end: float, size: int) -> str:
    """Return the data of a path along the ring between two places."""
    (xa, ya), (xb, yb) = _place_rank(start, size), _place_rank(end, size)
    return f"M{to_svg(xa)} {to_svg(ya)}A{to_svg(AROUND)} {to_svg(AROUND)} 0 0 1 {to_svg(xb)} {to_svg(yb)}"


def _draw_ranks(size: int) -> list[str]:
    """Draw the ranks as circles, and an arrow from each to the next."""
    parts = []
    gap = size * (NODE + 4) / (2 * math.pi * AROUND)  # in units of the distance between two ranks
    for rank in range(size):
        arc = _draw_arc(rank + gap, rank + 1 - gap, size)
        parts.append(f"<path d='{arc}' fill='none' stroke='{LINE}' stroke-width='2'/>")
        (x, y), (xb, yb) = _place_rank(rank + 1 - gap, size), _place_rank(rank + 1 - gap - 0.02, size)
        angle = math.degrees(math.atan2(y - yb, x - xb))
        head = f"M-9 -5L1 0L-9 5z' transform='translate({to_svg(x)} {to_svg(y)}) rotate({to_svg(angle)})"
        parts.append(f"<path d='{head}' fill='{LINE}'/>")
    for rank in range(size):
        x, y = _place_rank(rank, size)
        parts += [
            draw_circle(x, y, NODE, MUTED, FAINT, LINE),
            draw_text(x, y + 4, f"rank {rank}", anchor="middle", size=SMALL),
        ]
    return parts


def _draw_travelers(sent: list[list[int]]) -> list[str]:
    """Draw what each rank sends in each step, between the rank and the next."""
    parts = []
    for number, chunks in enumerate(sent[1:], 1):
        size = len(chunks)
        labels = [
            draw_traveler(
                _draw_arc(rank, rank + 0.5, size),
                _place_rank(rank + 0.5, size),
                draw_label(f"chunk {chunk}" if size < 6 else str(chunk), RED),
            )
            for rank, chunk in enumerate(chunks)
        ]
        parts.append(show_only([number], *labels))
    return parts


def _draw_table(states: list[tuple[State, list[int]]]) -> list[str]:
    """Draw the sums that each rank holds, with a frame around what arrived in a step."""
    size = len(states[0][0])
    wide, high = min(90.0, TABLE_WIDTH / size), min(64.0, 296 / size)
    top = CENTER[1] - high * size / 2 + 12
    parts = [draw_text(LEFT + size * wide / 2, top - 22, "chunk", anchor="middle", size=SMALL)]
    parts += [draw_text(LEFT + wide * (n + 0.5), top - 6, str(n), anchor="middle", size=SMALL) for n in range(size)]
    parts += [
        draw_text(LEFT - 8, top + high * (n + 0.5) + 3, f"rank {n}", anchor="end", size=SMALL) for n in range(size)
    ]
    for rank in range(size):
        for chunk in range(size):
            x, y = LEFT + wide * chunk, top + high * rank
            for ranks, held in _find_held_sums([state[rank][chunk] for state, _ in states]):
                color, tint = (
                    (BLUE, STRONG) if len(ranks) == size else (OCHRE, 0.34) if len(ranks) > 1 else (MUTED, FAINT)
                )
                cell = draw_cell(x, y, wide - 3, high - 3, _format_sum(ranks), color, tint, 13 if size < 6 else 9)
                parts.append(show_only(held, cell))
    for number, (_, sent) in enumerate(states):
        frames = [
            draw_rect(LEFT + wide * sent[rank - 1], top + high * rank, wide - 3, high - 3, "none", 1, RED, FRAME)
            for rank in range(size)
        ]
        parts += [show_only([number], *frames)] * bool(number)
    return parts


def _format_sum(ranks: set[int]) -> str:
    return "".join(map(str, sorted(ranks)))


def _find_held_sums(by_frame: list[set[int]]) -> list[tuple[set[int], list[int]]]:
    """Return the distinct sums that a cell holds, in order, each with the frames that show it."""
    distinct = [ranks for n, ranks in enumerate(by_frame) if ranks not in by_frame[:n]]
    return [(ranks, [n for n, current in enumerate(by_frame) if current == ranks]) for ranks in distinct]
