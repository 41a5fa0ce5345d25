"""A picture as a value that a notebook displays, drawn when it is shown: a grader that shows nothing draws nothing.

One that cannot be drawn says so in words, and raises nothing.
"""

from __future__ import annotations

import functools
import io
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ParamSpec

if TYPE_CHECKING:
    from matplotlib.figure import Figure

P = ParamSpec("P")
VIEW = "application/vnd.jupyter.widget-view+json"


@dataclass
class Picture:
    """words: what a reader without pictures gets. draw: gives the drawing, as SVG or PNG.

    widgets: makes the ipywidgets by which a reader changes the drawing, where there is a kernel for them.
    """

    words: str
    draw: Callable[[], str | bytes] | None = None
    widgets: Callable[[], Any] | None = None

    @functools.cached_property
    def drawing(self) -> str | bytes:
        """SVG, or PNG, or an empty text where there is none or drawing failed, which `words` then say."""
        try:
            return self.draw() if self.draw else ""
        except Exception as error:
            self.words += f"\n(no picture: {type(error).__name__}: {error})"
            return ""

    def __repr__(self) -> str:
        return self.words

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        drawing = self.drawing
        kind = "image/png" if isinstance(drawing, bytes) else "image/svg+xml"
        return {"text/plain": self.words, **({kind: drawing, **self._live()} if drawing else {})}

    def _live(self) -> dict[str, Any]:
        """The view of the widgets. Nothing where there is no kernel or no ipywidgets."""
        ipython = sys.modules.get("IPython")
        if self.widgets is None or ipython is None or ipython.get_ipython() is None:
            return {}
        try:
            shown = self.widgets()._repr_mimebundle_()
        except Exception:  # the still picture says the same
            return {}
        return {VIEW: shown[VIEW]} if shown and VIEW in shown else {}


def never_fails(draw: Callable[P, Picture]) -> Callable[P, Picture]:
    """Turn an exception into a Picture that says what went wrong: a picture must not hide a verdict."""

    @functools.wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> Picture:
        try:
            return draw(*args, **kwargs)
        except Exception as error:
            return Picture(f"(no picture: {type(error).__name__}: {error})")

    return drawn


def new_figure(width: float, height: float) -> Figure:
    """A figure that belongs to nobody: pyplot, and with it the student's own plots, are left alone. Inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=110, layout="constrained")


def png_of(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()
