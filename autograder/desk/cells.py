"""Of notebooks, the cells that one mark speaks of: in a student's what was written, in the source what was asked and a
worked solution.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup
from nbgrader.utils import is_grade, is_solution, is_task

from autograder.desk.place import GradedPlace
from autograder.intake.handed_in_cells import after, beside, is_own
from autograder.metadata import answer_to, name_of
from autograder.reports.prose import prose


def written(cells: Sequence[Any], place: GradedPlace, plain: bool) -> list[Any]:
    """The answer's cell with those of code that the student put after it.

    plain: made for stock nbgrader. There tests speak of the code before them, the last ones also of all that the
    student wrote after them; and an answer is shown with all that the student wrote beside it.
    """
    if plain and not (place.by_hand or place.task):
        return _before(cells, place.cell)
    if plain:
        found_at = next((number for number, cell in enumerate(cells) if name_of(cell) == place.cell), None)
        return [] if found_at is None else [cells[number] for number in beside(cells, found_at)]
    wanted = answer_to(place.cell)
    return [
        cells[number] for start, cell in enumerate(cells) if name_of(cell) == wanted for number in after(cells, start)
    ]


def _before(cells: Sequence[Any], tests: str) -> list[Any]:
    """The student's code between the tests before these and these; of the last tests, also what is after them."""
    since: list[Any] = []
    for number, cell in enumerate(cells):
        if name_of(cell) == tests:
            rest = cells[number + 1 :]
            last = not any(is_grade(other) or is_task(other) for other in rest)
            return since + [other for other in rest if last and (is_own(other) or is_solution(other))]
        if is_grade(cell):
            since = []
        elif cell.cell_type == "code" and (is_solution(cell) or "nbgrader" not in cell.metadata):
            since.append(cell)
    return []


def asked_and_model(cells: Sequence[Any], place: GradedPlace, plain: bool, config: Any) -> tuple[Markup, Markup]:
    """As HTML: the text before the answer, and the worked solution. cells: of the source notebook."""
    wanted = place.cell if plain else answer_to(place.cell)
    asked, models = Markup(), list[Markup]()
    for cell in cells:
        name = name_of(cell)
        if place.task and name == wanted:
            scheme = _marked("ClearMarkScheme", "mark_scheme", config)
            return prose(scheme.sub("", cell.source)), prose("\n\n".join(scheme.findall(cell.source)))
        if name == place.cell and not is_solution(cell):
            return asked, Markup().join(models)
        if name == wanted:
            return asked, _model(cell, config)
        if is_solution(cell):
            models.append(_model(cell, config))
        elif is_grade(cell):
            models = []
        elif cell.cell_type == "markdown" and not is_task(cell):
            asked = prose(cell.source, cell.get("attachments"))
    return asked, Markup().join(models)


def _model(cell: Any, config: Any) -> Markup:
    """Of a text what stands in its marked regions, or all of it; of code all, without the markers."""
    region = _marked("ClearSolutions", "solution", config)
    if cell.cell_type == "markdown":
        solution = "\n\n".join(region.findall(cell.source))
        return prose(solution or cell.source, cell.get("attachments"))
    return Markup("<pre>{}</pre>").format(region.sub(r"\1", cell.source).rstrip())


def _marked(preprocessor: str, what: str, config: Any) -> re.Pattern[str]:
    """A region between nbgrader's markers, which a configuration may have changed. A line that holds one is one."""
    own = (config or {}).get(preprocessor, {})
    words = what.replace("_", " ").upper()
    begin, end = (
        re.escape(own.get(f"{edge}_{what}_delimeter", f"{edge.upper()} {words}")) for edge in ("begin", "end")
    )
    return re.compile(rf"^[^\n]*{begin}[^\n]*\n(.*?)^[^\n]*{end}[^\n]*\n?", re.MULTILINE | re.DOTALL)
