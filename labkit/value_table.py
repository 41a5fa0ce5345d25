"""The values of two tensors side by side on a card: numbers if there are few, or else shades."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from labkit.card_style import COLORS, VALUE
from labkit.difference import DIFFERS, Difference

MARK = f"color:{COLORS['fail']};text-decoration:underline"


def render_values(difference: Difference) -> str:
    """Render both tensors as HTML; empty if the difference has no values."""
    if difference.your_numbers and difference.expected_numbers:
        return _render_numbers(difference)
    if difference.your_shades:
        from labkit.pictures.shades import draw_shades  # most checks need none

        return draw_shades(difference)
    return ""


def _render_numbers(difference: Difference) -> str:
    """Render rows of numbers, with those that differ underlined. They're text, which every front end shows in rows."""
    yours, expected = difference.your_numbers, difference.expected_numbers
    width = max(len(text) for row in (*yours, *expected) for text in row)
    both = "".join(
        f'<div><div style="font-size:.85em">{name}</div>'
        f'<pre style="{VALUE};margin:0">{_render_rows(rows, difference.differing, width)}</pre></div>'
        for name, rows in (("yours", yours), ("expected", expected))
    )
    direction = "column" if len(yours) == len(expected) == 1 else "row"  # two vectors are easier to compare stacked
    layout = f"display:flex;flex-flow:{direction} wrap;gap:.4em 2em;margin:.4em 0 .2em"
    return f'<div style="{layout}">{both}</div>'


def _render_rows(rows: Sequence[Sequence[str]], differing: Sequence[str], width: int) -> str:
    """Render each row as a line, with each number in as many characters as `width`."""
    lines = []
    for i, row in enumerate(rows):
        marks = differing[i] if differing else ""
        cells = []
        for j, text in enumerate(row):
            shown = escape(text)
            if marks and marks[j] == DIFFERS:
                shown = f'<b style="{MARK}">{shown}</b>'
            cells.append(" " * (width - len(text)) + shown)
        lines.append("  ".join(cells))
    return "\n".join(lines)
