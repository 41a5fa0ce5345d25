"""How shapes are broadcast: aligned at their last dimension, one row for each, and the result below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from labkit.pictures.picture import Picture, never_fails, new_figure, png_of

Shape = Sequence[int]
MAX_DIMS = 6
MAX_SHAPES = 4
SAME, STRETCHED, CONFLICT, RESULT = "#dbe7f5", "#fbe3b5", "#f2b8b5", "#d5ead0"


@never_fails
def show_broadcasting(*shapes: Shape) -> Picture:
    """Draw how these shapes (two to four, of at most six dimensions) are broadcast.

    A dimension that is stretched from 1, or missing, is yellow; one that does not fit is red.
    """
    if not 2 <= len(shapes) <= MAX_SHAPES or any(len(s) > MAX_DIMS for s in shapes):
        return Picture(
            f"(no picture: show_broadcasting draws 2 to {MAX_SHAPES} shapes of at most {MAX_DIMS} dimensions)"
        )
    rows = aligned(shapes)
    result = [_size(column) for column in zip(*rows, strict=True)]
    lines = [_line(name, row, "") for name, row in zip(_names(rows), rows, strict=True)]
    lines.append(_line("result", result, "X"))
    if None in result:
        lines.append("X: these sizes do not fit, so the operation raises an error")
    return Picture("\n".join(lines), lambda: _draw(rows, result))


@never_fails
def explore_broadcasting(a: Shape = (4, 1), b: Shape = (3,)) -> Picture:
    """Two fields for shapes, with the picture of show_broadcasting below, which follows them.

    Without a kernel or without ipywidgets it is the picture of the shapes given here.
    """
    still = show_broadcasting(a, b)
    return replace(still, widgets=lambda: _fields((a, b), still))


def _fields(start: Sequence[Shape], still: Picture) -> Any:
    """The two fields, and the picture that follows them."""
    import ipywidgets  # type: ignore[import-untyped]

    fields = [
        ipywidgets.Text(value=", ".join(map(str, shape)), description=f"shape {name}:", continuous_update=False)
        for name, shape in zip("ab", start, strict=True)
    ]
    drawing, words = ipywidgets.Image(format="png"), ipywidgets.HTML()

    def show(picture: Picture) -> None:
        made = picture.drawing
        words.value = "" if isinstance(made, bytes) else "This cannot be drawn."
        if isinstance(made, bytes):
            drawing.value = made

    def follow(*_: Any) -> None:
        try:
            shapes = [shape_of(field.value) for field in fields]
        except ValueError as error:
            words.value = str(error)
        else:
            show(show_broadcasting(*shapes))

    for field in fields:
        field.observe(follow, "value")
    show(still)
    return ipywidgets.VBox([ipywidgets.HBox(fields), words, drawing])


def shape_of(text: str) -> tuple[int, ...]:
    """The shape that somebody typed: "4, 1", "(4, 1)", "4 1" or nothing. Raises ValueError."""
    parts = text.replace("(", " ").replace(")", " ").replace(",", " ").split()
    if len(parts) > MAX_DIMS or not all(p.isascii() and p.isdigit() and len(p) <= 3 for p in parts):
        raise ValueError(f"Write a shape as at most {MAX_DIMS} sizes below 1000, such as 4, 1")
    return tuple(int(p) for p in parts)


def aligned(shapes: Sequence[Shape]) -> list[list[int | None]]:
    """The shapes as rows of one length, aligned at the right. None where a shape has no such dimension."""
    width = max((len(s) for s in shapes), default=0)
    return [[None] * (width - len(s)) + list(s) for s in shapes]


def _size(column: Sequence[int | None]) -> int | None:
    """The size of the result in this dimension, or None where the sizes do not fit."""
    sizes = {n for n in column if n is not None and n != 1}
    return None if len(sizes) > 1 else sizes.pop() if sizes else 1


def _names(rows: Sequence[object]) -> str:
    return "abcd"[: len(rows)]


def _line(name: str, sizes: Sequence[int | None], missing: str) -> str:
    return f"{name:7}" + "".join(f"{_text(n, missing):>5}" for n in sizes)


def _text(size: int | None, missing: str = "") -> str:
    return missing if size is None else str(size)


def _draw(rows: list[list[int | None]], result: list[int | None]) -> bytes:
    from matplotlib.patches import Rectangle

    width = max(len(result), 1)
    figure = new_figure(0.8 * width + 2.6, 0.5 * (len(rows) + 1) + 1.1)
    axes = figure.add_subplot()

    def cell(column: float, row: float, text: str, colour: str, style: str = "-") -> None:
        axes.add_patch(Rectangle((column, row), 1, 0.9, facecolor=colour, edgecolor="#7a93ad", linestyle=style))
        axes.text(column + 0.5, row + 0.45, text, ha="center", va="center", fontsize=9)

    for number, (name, row) in enumerate(zip(_names(rows), rows, strict=True)):
        axes.text(-0.2, -number + 0.45, f"shape {name}", ha="right", va="center", fontsize=9)
        for column, (size, wanted) in enumerate(zip(row, result, strict=True)):
            if wanted is None and size not in (None, 1):
                cell(column, -number, str(size), CONFLICT)
            elif size is None or (size == 1 and wanted != 1):
                cell(column, -number, f"{_text(size)} → {_text(wanted, '?')}".strip(), STRETCHED, "--")
            else:
                cell(column, -number, str(size), SAME)
    base = -len(rows) - 0.3
    axes.text(-0.2, base + 0.45, "result", ha="right", va="center", fontsize=9)
    for column, size in enumerate(result):
        cell(column, base, _text(size, "error"), CONFLICT if size is None else RESULT)
    words = "yellow: stretched, or added in front" + ("   red: does not fit" if None in result else "")
    axes.text(0, base - 0.5, words, ha="left", va="center", fontsize=7, color="#666666")
    axes.set_xlim(-1.6, max(width, 3) + 0.3)
    axes.set_ylim(base - 0.8, 1.2)
    axes.set_axis_off()
    return png_of(figure)
