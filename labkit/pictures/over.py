"""Several curves over the same x, in panels side by side; in a live notebook one panel can be chosen."""

from __future__ import annotations

import math
from collections.abc import Mapping

from torch import Tensor

from labkit.pictures.choice import ALL, choice
from labkit.pictures.curves import COLOURS
from labkit.pictures.picture import Picture, never_fails, new_figure, png_of

LINES = ("-", "--", "-.", ":")


@never_fails
def show_over(x: Tensor, panels: Mapping[str, Mapping[str, Tensor]], log: bool = False) -> Picture:
    """Draw the curves of each panel over x, all panels on one scale.

    x: (n,), what the curves are drawn against. panels: title of a panel -> label of a curve -> (n,), its values. Values
    that are not finite are gaps. log: whether the scale is logarithmic; values of 0 or less are gaps there too.
    Whatever cannot be drawn becomes a picture that says so in words.
    """
    places = [float(value) for value in x.detach()]
    drawn = {t: {label: [float(v) for v in c.detach()] for label, c in curves.items()} for t, curves in panels.items()}
    for title, curves in drawn.items():
        for label, values in curves.items():
            if len(values) != len(places):
                raise ValueError(f"{title}, {label}: {len(values)} values for {len(places)} places")
    if not any(drawn.values()):
        raise ValueError("there is no curve")
    width = max(len(label) for curves in drawn.values() for label in curves)
    words = [
        f"{title}: {label:{width}}  {described(values)}" for title, c in drawn.items() for label, values in c.items()
    ]
    return choice("\n".join(words), [ALL, *drawn], lambda chosen: draw(places, drawn, log, chosen))


def described(values: list[float]) -> str:
    """The least and the greatest finite value, and how many are not finite."""
    finite = [value for value in values if math.isfinite(value)]
    text = f"from {min(finite):.3g} to {max(finite):.3g}" if finite else "no finite value"
    return text + (f", {len(values) - len(finite)} not finite" if len(finite) < len(values) else "")


def draw(
    places: list[float], panels: Mapping[str, Mapping[str, list[float]]], log: bool = False, chosen: str = ALL
) -> bytes:
    """All panels side by side, or one of them alone."""
    shown = [title for title in panels if chosen in (ALL, title)]
    figure = new_figure(7.6, 3.1)
    first = None
    for number, title in enumerate(shown):
        axes = figure.add_subplot(1, len(shown), number + 1, sharey=first)
        first = first or axes
        for place, (label, values) in enumerate(panels[title].items()):
            kept = [v if math.isfinite(v) and (v > 0 or not log) else math.nan for v in values]
            colour, line = COLOURS[place % len(COLOURS)], LINES[place % len(LINES)]
            axes.plot(places, kept, line, color=colour, linewidth=1.8, label=label)
        if log:
            axes.set_yscale("log")
        axes.set_title(title, fontsize=9)
        axes.set_xlabel("x", fontsize=8)
        axes.tick_params(labelsize=7, which="both", labelleft=number == 0)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, fontsize=8, loc="outside lower center", ncols=len(labels))
    return png_of(figure)
