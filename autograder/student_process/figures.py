"""Inline figures of matplotlib: one that is open at the end of a cell is shown as a PNG and closed."""

from __future__ import annotations

import io
import os
import sys
from typing import Any

BACKEND = "module://matplotlib_inline.backend_inline"


def show_inline(shell: Any) -> None:
    """Make this shell show figures. If matplotlib is imported later, its backend finds the shell on its own."""
    if "matplotlib" not in sys.modules:
        return
    from IPython.core.pylabtools import activate_matplotlib
    from matplotlib import pyplot
    from matplotlib_inline.backend_inline import configure_inline_support

    pyplot._REPL_DISPLAYHOOK = pyplot._ReplDisplayHook.NONE  # of an earlier shell
    configure_inline_support.current_backend = "unset"  # type: ignore[attr-defined]
    activate_matplotlib(BACKEND)
    configure_inline_support(shell, BACKEND)


def draw_once() -> None:
    """Draw a figure and discard it, to find fonts and fill caches once instead of in each process."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(1, 1))
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    axes.plot([0, 1], label="a")
    axes.set_title("a $x^2$")
    axes.legend()
    figure.savefig(io.BytesIO(), format="png", bbox_inches="tight")


def set_environment() -> None:
    """Select the inline backend for programs that cells start."""
    os.environ["MPLBACKEND"] = BACKEND
