"""A picture of which a reader may choose a part: buttons in a live notebook, the whole picture elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from labkit.pictures.picture import Picture

ALL = "all"


def choice(words: str, options: Sequence[str], draw_chosen: Callable[[str], str | bytes]) -> Picture:
    """options: what can be chosen, the whole first, which is ALL where it shows the others together.

    draw_chosen: gives the PNG for one of them.
    """
    picture = Picture(words, lambda: draw_chosen(options[0]))

    def widgets() -> Any:
        import ipywidgets  # type: ignore[import-untyped]

        # As wide as their words: cut off, two of them can read alike.
        style = {"button_width": "initial"}
        buttons = ipywidgets.ToggleButtons(options=list(options), value=options[0], style=style)
        image = ipywidgets.Image(value=picture.drawing, format="png")

        def choose(change: dict[str, Any]) -> None:
            image.value = draw_chosen(change["new"])

        buttons.observe(choose, names="value")
        return ipywidgets.VBox([buttons, image])

    if len(options) >= (3 if options[0] == ALL else 2):
        picture.widgets = widgets
    return picture
