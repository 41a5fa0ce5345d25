"""What a question asks, and its worked solution, from the source notebook."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup
from nbgrader.utils import is_grade, is_solution, is_task

from autograder.desk.place import GradedPlace
from autograder.model.metadata import get_cell_name
from autograder.reports.prose import render_prose


def render_asked_and_model(cells: Sequence[Any], place: GradedPlace, wanted: str, config: Any) -> tuple[Markup, Markup]:
    """The text before the answer, and the worked solution, as HTML.

    Args:
        cells: Those of the source notebook.
        place: The graded cell.
        wanted: The name of the cell that holds the worked answer.
        config: nbgrader's, which may mark regions with other words.
    """
    asked, models = Markup(), list[Markup]()
    for cell in cells:
        name = get_cell_name(cell)
        if place.task and name == wanted:
            scheme = _compile_region("ClearMarkScheme", "mark_scheme", config)
            return render_prose(scheme.sub("", cell.source)), render_prose("\n\n".join(scheme.findall(cell.source)))
        if name == place.cell and not is_solution(cell):
            return asked, Markup().join(models)
        if name == wanted:
            return asked, _render_model(cell, config)
        if is_solution(cell):
            models.append(_render_model(cell, config))
        elif is_grade(cell):
            models = []
        elif cell.cell_type == "markdown" and not is_task(cell):
            asked = render_prose(cell.source, cell.get("attachments"))
    return asked, Markup().join(models)


def _render_model(cell: Any, config: Any) -> Markup:
    """The worked solution: a text's marked regions, or all of it; all of a code cell, without the markers."""
    region = _compile_region("ClearSolutions", "solution", config)
    if cell.cell_type == "markdown":
        solution = "\n\n".join(region.findall(cell.source))
        return render_prose(solution or cell.source, cell.get("attachments"))
    return Markup("<pre>{}</pre>").format(region.sub(r"\1", cell.source).rstrip())


def _compile_region(preprocessor: str, what: str, config: Any) -> re.Pattern[str]:
    """A region between nbgrader's markers, which the configuration may change. A line that contains one is a marker."""
    own = (config or {}).get(preprocessor, {})
    words = what.replace("_", " ").upper()
    begin, end = (
        re.escape(own.get(f"{edge}_{what}_delimeter", f"{edge.upper()} {words}")) for edge in ("begin", "end")
    )
    return re.compile(rf"^[^\n]*{begin}[^\n]*\n(.*?)^[^\n]*{end}[^\n]*\n?", re.MULTILINE | re.DOTALL)
