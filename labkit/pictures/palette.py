"""The colors of all pictures, each with one shade for light and one for dark backgrounds.

Parts of a drawing name the light shade, which any renderer understands. A stylesheet replaces it on dark backgrounds.
"""

from __future__ import annotations

import colorsys

INK = "currentColor"
# Words in any of these shades are readable on their background. Curves use the first ones.
BLUE, RED, GREEN, PURPLE, OCHRE, TEAL = "#1f6cb0", "#b8402a", "#2c7539", "#7d4a9c", "#86600a", "#1b7074"
MUTED = "#666666"  # words and marks that matter less
ON = "#ffffff"  # words on a box that is filled with a color
LINE = "#888888"  # outlines and axes, which are visible on both backgrounds
DARK_SHADES = {  # by the light shade
    BLUE: "#6fb3ee",
    RED: "#f08a72",
    GREEN: "#6cc07a",
    PURPLE: "#c397dd",
    OCHRE: "#d9ad45",
    TEAL: "#5fbfc4",
    MUTED: "#a8a8a8",
    ON: "#111111",
}
COLORS = (BLUE, RED, GREEN, PURPLE, OCHRE, TEAL)
DASHES = ("", "8 4", "2 3", "10 3 2 3", "14 4", "4 4")
# The opacity of fills below words: the background shows through, so the words keep their contrast.
FAINT, TINT, STRONG = 0.12, 0.28, 0.42


def choose_shade(part: float) -> str:
    """Return a color for a number between 0 and 1: from blue through green to yellow, of medium lightness."""
    rgb = colorsys.hls_to_rgb((250 - 200 * part) / 360, 0.47, 0.62)
    return "#" + "".join(f"{round(15 * one):x}" for one in rgb)


def build_dark_rules(scope: str = "") -> str:
    """Build the CSS rules that replace each light shade by the dark one.

    Args:
        scope: A selector of what is dark, with a space at its end.
    """
    return "".join(
        f"{scope}[{kind}='{light}']{{{kind}:{dark}}}"
        for light, dark in DARK_SHADES.items()
        for kind in ("fill", "stroke")
    )
