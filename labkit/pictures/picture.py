"""Pictures that a notebook displays. They're drawn only when shown, so graders never draw them.

A picture needs no kernel and no network. If it can't be drawn, it says so in words instead of raising.
"""

from __future__ import annotations

import functools
import json
import urllib.parse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ParamSpec

from labkit.pictures import svg

P = ParamSpec("P")
ALL = "all"
RAW = " /:=;,'()!*~.-_+?@$[]{}|"  # characters that need no quoting in a data URL inside an HTML attribute


@dataclass(frozen=True)
class Group:
    """A group of choices that the reader can make."""

    name: str
    labels: Sequence[str]
    steps: bool = False
    """Whether the choices are a sequence, shown with a slider and a play button."""


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
            self.words += f"\n(no picture: {type(error).__name__}: {error})"
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
        if self.drawing is None:
            return ""
        groups = [{"name": g.name, "labels": list(g.labels), "steps": g.steps} for g in self.drawing.groups]
        config = {"title": self.drawing.title, "groups": groups, "words": list(self.drawing.words or [self.words])}
        if self.drawing.data is not None:
            config["data"] = self.drawing.data
        attributes = {
            "alt": self.words,
            "style": "max-width:100%",
            "src": f"data:image/svg+xml,{urllib.parse.quote(self._build_svg(self.drawing.parts), safe=RAW)}",
            "data-picture": json.dumps(config, ensure_ascii=False, separators=(",", ":")),
            "onload": f"{{{read_script('player.js')}{self.drawing.script}}}",
        }
        return f'<div class="gradlab-picture"><img {" ".join(f"{k}={_quote(v)}" for k, v in attributes.items())}></div>'

    def _build_svg(self, parts: Sequence[str]) -> str:
        assert self.drawing is not None
        words = self.drawing.words[0] if self.drawing.words else self.words
        return svg.build_document(self.drawing.width, self.drawing.height, self.drawing.title, words, "".join(parts))

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
    """Read a script of this folder, without comments and indentation."""
    lines = (line.strip() for line in Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//")) + "\n"


def catch_failures(draw: Callable[P, Picture]) -> Callable[P, Picture]:
    """Turn an exception into a Picture that says what went wrong, so a picture never hides a verdict."""

    @functools.wraps(draw)
    def draw_safely(*args: P.args, **kwargs: P.kwargs) -> Picture:
        try:
            return draw(*args, **kwargs)
        except Exception as error:
            return Picture(f"(no picture: {type(error).__name__}: {error})")

    return draw_safely
