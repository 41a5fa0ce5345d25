"""Who has which partial sums in a ring all-reduce, step by step; and what each way to add over ranks sends."""

from __future__ import annotations

from collections.abc import Sequence

from labkit.pictures.choice import ALL, choice
from labkit.pictures.picture import Picture, never_fails, new_figure, png_of

State = list[list[set[int]]]  # state[rank][chunk]: the ranks whose parts are in the sum
DONE, PART, OWN, SENT = "#9ecae1", "#fdd49e", "#f2f2f2", "#c44e28"


def ring_states(world_size: int) -> list[tuple[State, list[int]]]:
    """For the start and each of the 2 * (world_size - 1) steps: the state after it, and the chunk each rank sent in it.

    At the start nothing was sent: -1 for each rank.
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


@never_fails
def explore_ring(world_size: int) -> Picture:
    """Draw the ring all-reduce of a tensor in as many chunks as there are ranks, 2 to 8: a table for each step."""
    if not 2 <= world_size <= 8:
        raise ValueError(f"a ring of {world_size} cannot be drawn: from 2 to 8 ranks can")
    states = ring_states(world_size)
    names = ["start", *(f"step {number}" for number in range(1, len(states)))]
    lines = []
    for name, (state, sent) in zip(names, states, strict=True):
        done = sum(len(parts) == world_size for row in state for parts in row)
        told = "" if sent[0] < 0 else "  rank 0 sends chunk " + str(sent[0])
        lines.append(f"{name:7} {done:2} of {world_size**2} chunks are complete{told}")
    return choice("\n".join(lines), [ALL, *names], lambda chosen: draw_ring(states, names, chosen))


def draw_ring(states: list[tuple[State, list[int]]], names: list[str], chosen: str) -> bytes:
    """All tables, small, or one of them."""
    from matplotlib.patches import Rectangle

    shown = list(range(len(states))) if chosen == ALL else [names.index(chosen)]
    columns = min(4, len(shown))
    rows = -(-len(shown) // columns)
    figure = new_figure(2.1 * columns if len(shown) > 1 else 4, 2.1 * rows if len(shown) > 1 else 3.4)
    for place, number in enumerate(shown):
        axes = figure.add_subplot(rows, columns, place + 1)
        state, sent = states[number]
        size = len(state)
        for rank, row in enumerate(state):
            for chunk, parts in enumerate(row):
                colour = DONE if len(parts) == size else PART if len(parts) > 1 else OWN
                came = number > 0 and sent[(rank - 1) % size] == chunk
                box = Rectangle((chunk - 0.46, rank - 0.46), 0.92, 0.92, facecolor=colour, zorder=3 if came else 2)
                box.set_edgecolor(SENT if came else "white")
                box.set_linewidth(2.0 if came else 1.0)
                axes.add_patch(box)
                text = "".join(map(str, sorted(parts)))
                axes.text(chunk, rank, text, ha="center", va="center", fontsize=7 if len(shown) > 1 else 11, zorder=4)
        half = "" if number == 0 else ", add" if number < size else ", replace"
        axes.set_title(names[number] + half, fontsize=8)
        axes.set_xlim(-0.6, size - 0.4)
        axes.set_ylim(size - 0.4, -0.6)
        axes.set_xticks(range(size))
        axes.set_yticks(range(size))
        axes.tick_params(labelsize=7, length=0)
        axes.set_xlabel("chunk", fontsize=7)
        axes.set_ylabel("rank", fontsize=7)
        for spine in axes.spines.values():
            spine.set_visible(False)
    return png_of(figure)


@never_fails
def show_traffic(world_sizes: Sequence[int]) -> Picture:
    """Draw what the busiest rank sends, in units of the whole tensor: in a ring, and where one rank collects."""
    ring = [2 * (n - 1) / n for n in world_sizes]
    gather = [float(n - 1) for n in world_sizes]
    rows = zip(world_sizes, ring, gather, strict=True)
    lines = [f"{n:3} ranks: ring {a:.3f}, one rank collects {b:.0f}" for n, a, b in rows]
    return Picture("\n".join(lines), lambda: draw_traffic(world_sizes, ring, gather))


def draw_traffic(world_sizes: Sequence[int], ring: list[float], gather: list[float]) -> bytes:
    """Two lines over the number of ranks."""
    figure = new_figure(6, 2.8)
    axes = figure.add_subplot()
    axes.plot(world_sizes, gather, "s--", color="#c44e28", label="one rank collects and sends back")
    axes.plot(world_sizes, ring, "o-", color="#1f6fb2", label="ring")
    axes.set_xticks(list(world_sizes))
    axes.set_xlabel("ranks", fontsize=8)
    axes.set_ylabel("sent by the busiest rank,\nin whole tensors", fontsize=8)
    axes.set_ylim(bottom=0)
    axes.tick_params(labelsize=8)
    axes.legend(fontsize=8)
    return png_of(figure)
