"""Figures of matplotlib, inline: one that is open at the end of a cell is shown there as a PNG, and closed."""

from __future__ import annotations

import io
import os
import sys
from typing import Any

BACKEND = "module://matplotlib_inline.backend_inline"


def show_inline(shell: Any) -> None:
    """Have this shell show figures. A backend that is imported after it finds it by itself."""
    if "matplotlib" not in sys.modules:
        return
    from IPython.core.pylabtools import activate_matplotlib
    from matplotlib import pyplot
    from matplotlib_inline.backend_inline import configure_inline_support

    pyplot._REPL_DISPLAYHOOK = pyplot._ReplDisplayHook.NONE  # type: ignore[attr-defined]  # of an earlier shell
    configure_inline_support.current_backend = "unset"  # type: ignore[attr-defined]
    activate_matplotlib(BACKEND)
    configure_inline_support(shell, BACKEND)


def draw_once() -> None:
    """A first picture, for nobody: it finds fonts and fills caches, which each process would do anew."""
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
    """For the programs that cells start."""
    os.environ["MPLBACKEND"] = BACKEND
