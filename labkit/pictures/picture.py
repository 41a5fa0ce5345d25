"""Pictures that a notebook displays. They're drawn only when shown, so graders never draw them.

A picture needs no kernel and no network. If it can't be drawn, it says so in words instead of raising.
"""

from __future__ import annotations

import functools
import json
import textwrap
import urllib.parse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ParamSpec

from labkit.pictures import svg
from labkit.pictures.palette import build_dark_rules

P = ParamSpec("P")
ALL = "all"
WIDTH = 760.0  # of a drawing, in units that are pixels in a text column of that width
LEAST, MOST = 0.9, 1.6  # scales at which words are easy to read
LEAST_FITTED = 0.7  # the smallest scale at which they still can be read, without "Enlarge"
CAPTION_ROW, CAPTION_LENGTH = 19, 108  # units, characters
RAW = " /:=;,'()!*~.-_+?@$[]{}|"  # characters that need no quoting in a data URL inside an HTML attribute


class NothingToDrawError(ValueError):
    """There is nothing to draw, most often because an exercise isn't written yet."""

    def __init__(self) -> None:
        super().__init__("There's nothing to draw yet. Write the function first, then run this cell again.")


@dataclass(frozen=True)
class Group:
    """A group of choices that the reader can make."""

    name: str
    labels: Sequence[str]
    steps: bool = False
    """Whether the choices are a sequence, shown with a slider and a play button."""


@dataclass(frozen=True)
class Table:
    """What the picture shows as a table, which the reader can open."""

    title: str
    rows: Sequence[Sequence[str]]
    """The first row has the names of the columns."""


@dataclass(frozen=True)
class Drawing:
    """One SVG for all frames. `svg.show_only` and `svg.emphasize_parts` say which parts appear in which frame.

    A frame is one choice in each group. In the numbering of frames, the last group varies fastest.
    """

    title: str
    width: float
    height: float
    parts: Sequence[str]
    groups: Sequence[Group] = ()
    words: Sequence[str] = ()
    """The words of each frame; empty if the picture's words are enough."""
    caption: bool = False
    """Whether the words of a frame also appear below the drawing."""
    table: Table | None = None
    script: str = ""
    """JavaScript to run after player.js."""
    data: Any = None
    """What the script reads from picture.data."""


@dataclass
class Picture:
    """A picture, with words for readers who can't see it."""

    words: str
    draw: Callable[[], Drawing] | None = None

    @functools.cached_property
    def drawing(self) -> Drawing | None:
        """The drawing; None if there isn't one, or if drawing failed, which `words` then say."""
        try:
            return self.draw() if self.draw else None
        except Exception as error:
            self.words += f"\n{describe_failure(error)}"
            return None

    @property
    def first_frame(self) -> str:
        """The first frame as SVG; empty if there is no drawing."""
        return self._build_svg([part for part in self.drawing.parts if not svg.is_hidden(part)]) if self.drawing else ""

    @property
    def html(self) -> str:
        """The still picture as an image with its words, which becomes interactive if scripts run.

        Sanitisers keep images in a notebook that isn't trusted. Everything that the interactive picture needs is in the
        image's attributes, so it never shows as text.
        """
        drawing = self.drawing
        if drawing is None:
            return ""
        sizes = f"width:100%;max-width:{MOST * drawing.width:.0f}px"
        config = {
            "title": drawing.title,
            "groups": [{"name": g.name, "labels": list(g.labels), "steps": g.steps} for g in drawing.groups],
            "words": list(drawing.words or [self.words]),
            "caption": drawing.caption,
            "sizes": sizes,
            "least": [round(LEAST_FITTED * drawing.width), round(LEAST * drawing.width)],
            "style": read_script("player.css") + build_dark_rules(".gradlab-picture[data-dark] "),
        }
        if drawing.table is not None:
            config["table"] = {"title": drawing.table.title, "rows": [list(row) for row in drawing.table.rows]}
        if drawing.data is not None:
            config["data"] = drawing.data
        attributes = {
            "alt": self.words,
            "style": f"display:block;height:auto;{sizes};min-width:{LEAST_FITTED * drawing.width:.0f}px",
            "src": f"data:image/svg+xml,{urllib.parse.quote(self._build_svg(drawing.parts), safe=RAW)}",
            "data-picture": json.dumps(config, ensure_ascii=False, separators=(",", ":")),
            "onload": f"{{{read_script('player.js')}{drawing.script}}}",
        }
        image = f"<img {' '.join(f'{k}={_quote(v)}' for k, v in attributes.items())}>"
        return f'<div class="gradlab-picture" style="overflow-x:auto">{image}</div>'

    def _build_svg(self, parts: Sequence[str]) -> str:
        """Build the SVG with the words of the first frame below it, if they're a caption."""
        drawing = self.drawing
        assert drawing is not None
        words = drawing.words[0] if drawing.words else self.words
        height = drawing.height
        caption = ""
        if drawing.caption:
            lines = [one for line in words.split("\n") for one in textwrap.wrap(line, CAPTION_LENGTH)]
            placed = [svg.draw_text(4, height + CAPTION_ROW * n, line) for n, line in enumerate(lines, 1)]
            caption = f"<g data-caption='{svg.to_svg(height)}'>{''.join(placed)}</g>"
            height += CAPTION_ROW * len(lines) + 8
        return svg.build_document(drawing.width, height, drawing.title, words, "".join(parts) + caption)

    def __repr__(self) -> str:
        return self.words

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        has_drawing = self.drawing is not None  # drawing may add to the words
        return {
            "text/plain": self.words,
            **({"image/svg+xml": self.first_frame, "text/html": self.html} if has_drawing else {}),
        }


def _quote(value: str) -> str:
    return '"' + value.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;") + '"'


@functools.cache
def read_script(name: str) -> str:
    """Read a script or a stylesheet of this folder, without comments and indentation."""
    lines = (line.strip() for line in Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines())
    return "\n".join(line for line in lines if line and not line.startswith(("//", "/*"))) + "\n"


def describe_failure(error: Exception) -> str:
    """Describe why there is no picture."""
    if isinstance(error, NothingToDrawError):
        return str(error)
    kind = "" if type(error) is ValueError else f"{type(error).__name__}: "
    return f"(no picture: {kind}{error})"


def catch_failures(draw: Callable[P, Picture]) -> Callable[P, Picture]:
    """Turn an exception into a Picture that says what went wrong, so a picture never hides a verdict."""

    @functools.wraps(draw)
    def draw_safely(*args: P.args, **kwargs: P.kwargs) -> Picture:
        try:
            return draw(*args, **kwargs)
        except Exception as error:
            return Picture(describe_failure(error))

    return draw_safely
