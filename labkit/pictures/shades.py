"""Two small matrices side by side as shades, in the page's own colors. This is HTML for a card, not a lab's picture.

The SVG holds no words, so a sanitiser that removes it leaves nothing behind.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from html import escape

from labkit.difference import DIFFERS, LEVELS, NOT_FINITE, Difference
from labkit.pictures.palette import INK, choose_shade
from labkit.pictures.svg import to_svg

SIDE, LEAST_CELL, MOST_CELL = 190.0, 6.0, 22.0  # pixels


def draw_shades(difference: Difference) -> str:
    """Draw the matrices as HTML; empty if the difference holds none."""
    yours, expected = difference.your_shades, difference.expected_shades
    if not yours or not expected:
        return ""
    places = _find_places(difference.differing, DIFFERS)
    values = len(yours) * len(yours[0])
    marks = _draw_marks(places, values)
    size = max(LEAST_CELL, min(MOST_CELL, SIDE / max(len(yours), len(yours[0]), len(expected), len(expected[0]))))
    both = "".join(
        f'<div>{_draw_matrix(rows, marks, size)}<div style="font-size:.85em">{name}</div></div>'
        for name, rows in (("yours", yours), ("expected", expected))
    )
    box = "display:flex;flex-wrap:wrap;gap:1.5em;margin:.4em 0 .2em"
    image = (
        f'<div role="img" aria-label="{escape(_describe_difference(difference, places))}" style="{box}">{both}</div>'
    )
    return f'{image}<div style="font-size:.85em;opacity:.85">{_format_legend(difference, places, values)}</div>'


def _describe_difference(difference: Difference, places: Sequence[tuple[int, int]]) -> str:
    """Describe the picture for readers who can't see it."""
    text = f"Two matrices as shades from {difference.least:.4g} to {difference.most:.4g}: "
    text += f"yours, {_format_size(difference.your_shades)}, "
    text += f"and the expected one, {_format_size(difference.expected_shades)}."
    if not places:
        return text
    first = ", ".join(f"({row}, {column})" for row, column in places[:8])
    count = "1 value differs" if len(places) == 1 else f"{len(places)} values differ"
    return f"{text} {count}: at {first}{' and more' if len(places) > 8 else ''}."


def _format_size(rows: Sequence[str]) -> str:
    return f"{len(rows)} by {len(rows[0])}"


def _format_legend(difference: Difference, places: Sequence[tuple[int, int]], values: int) -> str:
    text = f"{_draw_swatch(0)} {difference.least:.4g} to {_draw_swatch(len(LEVELS) - 1)} {difference.most:.4g}"
    if places:
        text += "; they differ everywhere" if len(places) == values else "; a dot where they differ"
        text += ", a frame around the first" if 1 < len(places) < values else ""
    if any(NOT_FINITE in row for row in (*difference.your_shades, *difference.expected_shades)):
        text += "; a cross for NaN or an infinity"
    return text


def _draw_swatch(level: int) -> str:
    return f'<span aria-hidden="true" style="color:{_choose_color(level)}">&#9632;</span>'


def _choose_color(level: int) -> str:
    return choose_shade(level / (len(LEVELS) - 1))


def _find_places(rows: Sequence[str], character: str) -> list[tuple[int, int]]:
    return [(i, j) for i, row in enumerate(rows) if character in row for j, one in enumerate(row) if one == character]


def _draw_matrix(rows: Sequence[str], marks: str, size: float) -> str:
    """Draw each row as a line one unit thick, with equal neighbors as one segment.

    Args:
        marks: SVG to draw on top.
    """
    height, width = len(rows), len(rows[0])
    runs: dict[str, list[str]] = defaultdict(list)
    for i, row in enumerate(rows):
        start = 0
        for j in range(1, width + 1):
            if j == width or row[j] != row[start]:
                runs[row[start]].append(f"M{start} {i}h{j - start}")
                start = j
    runs.pop(NOT_FINITE, None)
    crosses = [f"M{j}.2 {i - 0.3:g}l.6 .6m0-.6l-.6 .6" for i, j in _find_places(rows, NOT_FINITE)]
    parts = [_draw_path("".join(d), _choose_color(LEVELS.index(value)), "1") for value, d in sorted(runs.items())]
    parts.append(_draw_path("".join(crosses), INK, ".12"))
    box = f"width='{to_svg(width * size)}' height='{to_svg(height * size)}' "
    box += f"viewBox='0 -.5 {width} {height}'"
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' {box} aria-hidden='true' fill='none' "
        f"style='outline:1px solid {INK};max-width:100%'>{''.join(parts)}{marks}</svg>"
    )


def _draw_marks(places: Sequence[tuple[int, int]], values: int) -> str:
    """Draw a frame around the first place and a dot in each, unless every value is marked."""
    dots = "".join([f"M{j}.5 {i}h0" for i, j in places]) if len(places) < values else ""
    frame = (
        "" if not dots else "".join(_draw_path(f"M{j}.05 {i - 0.45:g}h.9v.9h-.9z", INK, ".1") for i, j in places[:1])
    )
    return _draw_path(dots, INK, ".3", " stroke-linecap='round'") + frame


def _draw_path(d: str, stroke: str, width: str, extra: str = "") -> str:
    return f"<path d='{d}' stroke='{stroke}' stroke-width='{width}'{extra}/>" if d else ""
