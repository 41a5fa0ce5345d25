"""A picture of which a reader may choose a part: buttons in a live notebook, the whole picture elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from labkit.pictures.picture import Picture

ALL = "all"


class Choice(Picture):
    """options: what can be chosen, the whole first. draw_chosen: gives the PNG for one of them."""

    def __init__(self, words: str, options: Sequence[str], draw_chosen: Callable[[str], str | bytes]) -> None:
        super().__init__(words, lambda: draw_chosen(options[0]))
        self.options, self.draw_chosen = list(options), draw_chosen

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        return {**super()._repr_mimebundle_(**options), **self._widget()}

    def _widget(self) -> dict[str, Any]:
        """The widget's part of what a notebook shows.

        Nothing where there is no kernel, no ipywidgets or no drawing, or where the whole has one part.
        """
        try:
            import ipywidgets
            from IPython import get_ipython

            if get_ipython() is None or not isinstance(self.drawing, bytes):
                return {}
            if len(self.options) < (3 if self.options[0] == ALL else 2):
                return {}
            buttons = ipywidgets.ToggleButtons(
                options=self.options, value=self.options[0], style={"button_width": "initial"}
            )
            image = ipywidgets.Image(value=self.drawing, format="png")

            def choose(change: dict[str, Any]) -> None:
                image.value = self.draw_chosen(change["new"])

            buttons.observe(choose, names="value")
            shown = ipywidgets.VBox([buttons, image])._repr_mimebundle_()
        except Exception:
            return {}
        kind = "application/vnd.jupyter.widget-view+json"
        return {kind: shown[kind]} if shown and kind in shown else {}
