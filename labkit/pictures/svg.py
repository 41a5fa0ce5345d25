"""SVG elements as strings.

Attributes use single quotes: a drawing is also inside an HTML attribute, where double quotes would take more space.
"""

from __future__ import annotations

import html
from collections.abc import Iterable

from labkit.pictures.palette import INK, LINE, ON, TINT, build_dark_rules

NORMAL, SMALL = 13, 12  # font sizes
CHARACTER = 0.61  # width of a character of the monospaced font, in units of its size


def to_svg(value: float) -> str:
    """Format a coordinate to a tenth of a pixel."""
    return f"{round(value, 1) + 0.0:g}"


def draw_text(
    x: float, y: float, words: str, color: str = INK, anchor: str = "start", size: float = NORMAL, mono: bool = False
) -> str:
    """Draw words whose baseline starts at this point, or has its middle or end there.

    Args:
        mono: Whether to use the monospaced font.
    """
    kind = " font-family='monospace'" if mono else ""
    kind += " xml:space='preserve'" if "  " in words else ""
    anchored = f" text-anchor='{anchor}'" if anchor != "start" else ""
    colored = f" fill='{color}'" if color != INK else ""
    sized = f" font-size='{to_svg(size)}'" if size != NORMAL else ""
    return f"<text x='{to_svg(x)}' y='{to_svg(y)}'{anchored}{colored}{sized}{kind}>{escape_text(words)}</text>"


def draw_rect(
    x: float,
    y: float,
    width: float,
    height: float,
    fill: str = "none",
    tint: float = 1,
    stroke: str = "",
    extra: str = "",
) -> str:
    """Draw a rectangle.

    Args:
        tint: The opacity of its fill.
        extra: Further attributes.
    """
    kind = (f" fill-opacity='{tint:g}'" if tint != 1 else "") + (f" stroke='{stroke}'" if stroke else "")
    place = f"x='{to_svg(x)}' y='{to_svg(y)}' width='{to_svg(width)}' height='{to_svg(height)}'"
    return f"<rect {place} fill='{fill}'{kind}{extra and ' ' + extra}/>"


def draw_line(x1: float, y1: float, x2: float, y2: float, stroke: str = INK, width: float = 1, extra: str = "") -> str:
    return draw_path([(x1, y1), (x2, y2)], stroke, width, extra=extra)


def draw_path(
    points: Iterable[tuple[float, float]], stroke: str, width: float = 1.8, dash: str = "", extra: str = ""
) -> str:
    dashed = f" stroke-dasharray='{dash}'" if dash else ""
    d = "M" + "L".join(f"{to_svg(x)} {to_svg(y)}" for x, y in points)
    return f"<path d='{d}' fill='none' stroke='{stroke}' stroke-width='{width:g}'{dashed}{extra and ' ' + extra}/>"


def draw_circle(
    x: float, y: float, r: float, fill: str = "none", tint: float = 1, stroke: str = "", extra: str = ""
) -> str:
    kind = (f" fill-opacity='{tint:g}'" if tint != 1 else "") + (f" stroke='{stroke}'" if stroke else "")
    return f"<circle cx='{to_svg(x)}' cy='{to_svg(y)}' r='{to_svg(r)}' fill='{fill}'{kind}{extra and ' ' + extra}/>"


def draw_cell(
    x: float, y: float, width: float, height: float, words: str, fill: str, tint: float = TINT, size: float = NORMAL
) -> str:
    """Draw a box with centered words."""
    inside = draw_text(x + width / 2, y + height / 2 + size * 0.36, words, anchor="middle", size=size) if words else ""
    return draw_rect(x, y, width, height, fill, tint, LINE, "rx='3'") + inside


def show_only(frames: Iterable[int], *parts: str) -> str:
    """Group parts that appear only in these frames."""
    listed = list(frames)
    hidden = "" if 0 in listed else " display='none'"
    return f"<g data-only='{_format_frames(listed)}'{hidden}>{''.join(parts)}</g>"


def emphasize_parts(frames: Iterable[int], *parts: str) -> str:
    """Group parts that are pale in all other frames."""
    listed = list(frames)
    pale = "" if 0 in listed else " opacity='.2'"
    return f"<g data-strong='{_format_frames(listed)}'{pale}>{''.join(parts)}</g>"


def draw_traveler(route: str, end: tuple[float, float], *parts: str) -> str:
    """Group parts around the origin, which travel along a route and rest at its end.

    Args:
        route: The data of a path.
    """
    return f"<g data-route='{route}' transform='translate({to_svg(end[0])} {to_svg(end[1])})'>{''.join(parts)}</g>"


def draw_label(words: str, color: str, size: float = SMALL) -> str:
    """Draw words around the origin in a filled box."""
    width, height = measure_width(words, size) + 10, size + 7
    box = draw_rect(-width / 2, -height / 2, width, height, color, extra="rx='9'")
    return box + draw_text(0, size * 0.36, words, ON, "middle", size)


def is_hidden(part: str) -> bool:
    """Return whether a part made by show_only() doesn't appear in the first frame."""
    return part.startswith("<g data-only=") and " display='none'" in part.split(">", 1)[0]


def _format_frames(frames: list[int]) -> str:
    """Format frames as numbers and ranges, such as "0 3-7"."""
    runs: list[list[int]] = []
    for frame in sorted(frames):
        if runs and frame == runs[-1][1] + 1:
            runs[-1][1] = frame
        else:
            runs.append([frame, frame])
    return " ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in runs)


def tag_element(name: str, value: str, element: str) -> str:
    """Add a data attribute that a script uses to find the element."""
    head, rest = element.split(" ", 1)
    return f"{head} data-{name}='{value}' {rest}"


def format_count(number: int, noun: str) -> str:
    """Format a number of things, such as "1 graph" or "2 graphs"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def measure_width(words: str, size: float = NORMAL) -> float:
    """Return the width of words in the monospaced font; in the other font they're narrower."""
    return len(words) * CHARACTER * size


def escape_text(words: str) -> str:
    return html.escape(words, quote=False)


def build_document(width: float, height: float, title: str, words: str, body: str) -> str:
    """Build the whole SVG, with its own background and colors for use outside a page."""
    size = f"width='{to_svg(width)}' height='{to_svg(height)}' viewBox='0 0 {to_svg(width)} {to_svg(height)}'"
    label = html.escape(f"{title}: {words}", quote=True)
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' {size} role='img' aria-label='{label}' fill='currentColor' "
        f"font-family='system-ui,sans-serif' font-size='{NORMAL}'><title>{escape_text(title)}</title>"
        f"<desc>{escape_text(words)}</desc><style>{STANDALONE}</style>{body}</svg>"
    )


STANDALONE = (
    "svg{color:#222;background:#fff}@media(prefers-color-scheme:dark){svg{color:#ddd;background:#1b1b1b}"
    f"{build_dark_rules()}}}"
)
