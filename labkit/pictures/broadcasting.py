"""Broadcasting of shapes: one row for each, aligned at the last dimension, and the result below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from labkit.pictures.palette import BLUE, GREEN, LINE, OCHRE, RED, STRONG, TINT
from labkit.pictures.picture import WIDTH, Drawing, Picture, catch_failures, read_script
from labkit.pictures.svg import SMALL, draw_rect, draw_text

Shape = Sequence[int]
MAX_DIMS = 6
MAX_SHAPES = 4
KINDS = {  # color, opacity, outline, and its width
    "same": (BLUE, TINT, LINE, 1),
    "stretched": (OCHRE, STRONG, LINE, 1),
    "conflict": (RED, TINT, RED, 4),
    "result": (GREEN, TINT, LINE, 1),
}
LEFT, TOP, MOST_WIDE, HIGH = 82, 8, 240, 44  # pixels


@catch_failures
def show_broadcasting(*shapes: Shape) -> Picture:
    """Draw how these shapes (two to four, of at most six dimensions) are broadcast.

    A dimension that is stretched from 1, or missing, is ochre; one that doesn't fit is red, with a thick outline.
    """
    if not 2 <= len(shapes) <= MAX_SHAPES or any(len(s) > MAX_DIMS for s in shapes):
        return Picture(
            f"(no picture: show_broadcasting draws 2 to {MAX_SHAPES} shapes of at most {MAX_DIMS} dimensions)"
        )
    rows = align_shapes(shapes)
    return Picture(_describe_rows(rows), lambda: _draw(rows, max(map(len, rows))))


@catch_failures
def explore_broadcasting(a: Shape = (4, 1), b: Shape = (3,)) -> Picture:
    """Draw as show_broadcasting does, with two fields in which the reader changes the shapes."""
    still = show_broadcasting(a, b)
    if still.draw is None:
        return still
    rows, shapes = align_shapes((a, b)), [[int(n) for n in shape] for shape in (a, b)]
    data = {"shapes": shapes, "most": MAX_DIMS, "kinds": KINDS}
    script = read_script("broadcasting.js")
    return Picture(still.words, lambda: replace(_draw(rows, MAX_DIMS), script=script, data=data))


def _describe_rows(rows: list[list[int | None]]) -> str:
    result = [_compute_size(column) for column in zip(*rows, strict=True)]
    lines = [_format_line(name, row, "") for name, row in zip(_get_letters(rows), rows, strict=True)]
    lines.append(_format_line("result", result, "X"))
    if None in result:
        lines.append("X: these sizes do not fit, so the operation raises an error")
    return "\n".join(lines)


def align_shapes(shapes: Sequence[Shape]) -> list[list[int | None]]:
    """Return the shapes as rows of one length, aligned at the right, with None for a missing dimension."""
    width = max((len(s) for s in shapes), default=0)
    return [[None] * (width - len(s)) + list(s) for s in shapes]


def _compute_size(column: Sequence[int | None]) -> int | None:
    """Return the size of the result in this dimension; None if the sizes don't fit."""
    sizes = {n for n in column if n is not None and n != 1}
    return None if len(sizes) > 1 else sizes.pop() if sizes else 1


def _get_letters(rows: Sequence[object]) -> str:
    return "abcd"[: len(rows)]


def _format_line(name: str, sizes: Sequence[int | None], missing: str) -> str:
    return f"{name:7}" + "".join(f"{_format_size(n, missing):>5}" for n in sizes)


def _format_size(size: int | None, missing: str = "") -> str:
    return missing if size is None else str(size)


def _draw(rows: list[list[int | None]], columns: int) -> Drawing:
    """Draw the shapes and the result.

    Args:
        columns: How many columns to leave room for; the shapes' columns are at the right.
    """
    result = [_compute_size(column) for column in zip(*rows, strict=True)]
    parts = []
    for number, (name, row) in enumerate(zip(_get_letters(rows), rows, strict=True)):
        parts.append(draw_text(LEFT - 10, TOP + HIGH * number + 25, f"shape {name}", anchor="end"))
        shown = [_describe_cell(size, wanted) for size, wanted in zip(row, result, strict=True)]
        parts += _draw_row(str(number), TOP + HIGH * number, shown, columns)
    below = TOP + HIGH * len(rows) + 10
    parts.append(draw_text(LEFT - 10, below + 25, "result", anchor="end"))
    parts += _draw_row(
        "result", below, [(_format_size(n, "error"), "conflict" if n is None else "result") for n in result], columns
    )
    x, y = float(LEFT), below + HIGH + 22
    for words, kind in (("stretched, or added in front", "stretched"), ("does not fit", "conflict")):
        fill, tint, stroke, thick = KINDS[kind]
        swatch = draw_rect(x, y - 11, 14, 14, fill, tint, stroke, f"stroke-width='{min(thick, 2)}'")
        parts += [swatch, draw_text(x + 22, y, words, size=SMALL)]
        x += 210
    return Drawing("Shapes, aligned at their last dimension", WIDTH, y + 10, parts)


def _describe_cell(size: int | None, wanted: int | None) -> tuple[str, str]:
    """Return the words and the kind of one size of a shape."""
    if wanted is None and size not in (None, 1):
        return str(size), "conflict"
    if size is None or (size == 1 and wanted != 1):
        return f"{_format_size(size)} → {_format_size(wanted, '?')}".strip(), "stretched"
    return str(size), "same"


def _draw_row(name: str, y: float, cells: list[tuple[str, str]], columns: int) -> list[str]:
    """Draw boxes for all columns. Those that the shape doesn't have are hidden, for a script to show."""
    parts = []
    wide = min(MOST_WIDE, (WIDTH - LEFT) / max(columns, 1))
    for column in range(columns):
        at = column - columns + len(cells)
        words, kind = cells[at] if at >= 0 else (" ", "same")
        hidden = "" if at >= 0 else " display='none'"
        fill, tint, stroke, thick = KINDS[kind]
        outline = f"rx='3' stroke-width='{thick}'"
        inside = draw_rect(LEFT + wide * column, y, wide - 6, HIGH - 5, fill, tint, stroke, outline)
        inside += draw_text(LEFT + wide * (column + 0.5) - 3, y + 25, words, anchor="middle")
        parts.append(f"<g data-cell='{name} {column}'{hidden}>{inside}</g>")
    return parts
