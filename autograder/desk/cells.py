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
from autograder.intake.cell_origin import find_lab_answer, find_stock_answer, is_own
from autograder.metadata import get_answer_name, get_cell_name
from autograder.reports.prose import render_prose


def select_answer_cells(cells: Sequence[Any], place: GradedPlace, plain: bool) -> list[Any]:
    """The answer's cell with those of code that the student put after it.

    plain: made for stock nbgrader. There tests speak of the code before them, the last ones also of all that the
    student wrote after them; and an answer is shown with all that the student wrote beside it.
    """
    if plain and not (place.by_hand or place.task):
        return _collect_tested_code(cells, place.cell)
    if plain:
        found_at = next((number for number, cell in enumerate(cells) if get_cell_name(cell) == place.cell), None)
        return [] if found_at is None else [cells[number] for number in find_stock_answer(cells, found_at)]
    wanted = get_answer_name(place.cell)
    return [
        cells[number]
        for start, cell in enumerate(cells)
        if get_cell_name(cell) == wanted
        for number in find_lab_answer(cells, start)
    ]


def _collect_tested_code(cells: Sequence[Any], tests: str) -> list[Any]:
    """The student's code between the tests before these and these; of the last tests, also what is after them."""
    since: list[Any] = []
    for number, cell in enumerate(cells):
        if get_cell_name(cell) == tests:
            rest = cells[number + 1 :]
            last = not any(is_grade(other) or is_task(other) for other in rest)
            return since + [other for other in rest if last and (is_own(other) or is_solution(other))]
        if is_grade(cell):
            since = []
        elif cell.cell_type == "code" and (is_solution(cell) or "nbgrader" not in cell.metadata):
            since.append(cell)
    return []


def render_asked_and_model(cells: Sequence[Any], place: GradedPlace, plain: bool, config: Any) -> tuple[Markup, Markup]:
    """As HTML: the text before the answer, and the worked solution. cells: of the source notebook."""
    wanted = place.cell if plain else get_answer_name(place.cell)
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
    """Of a text what stands in its marked regions, or all of it; of code all, without the markers."""
    region = _compile_region("ClearSolutions", "solution", config)
    if cell.cell_type == "markdown":
        solution = "\n\n".join(region.findall(cell.source))
        return render_prose(solution or cell.source, cell.get("attachments"))
    return Markup("<pre>{}</pre>").format(region.sub(r"\1", cell.source).rstrip())


def _compile_region(preprocessor: str, what: str, config: Any) -> re.Pattern[str]:
    """A region between nbgrader's markers, which a configuration may have changed. A line that holds one is one."""
    own = (config or {}).get(preprocessor, {})
    words = what.replace("_", " ").upper()
    begin, end = (
        re.escape(own.get(f"{edge}_{what}_delimeter", f"{edge.upper()} {words}")) for edge in ("begin", "end")
    )
    return re.compile(rf"^[^\n]*{begin}[^\n]*\n(.*?)^[^\n]*{end}[^\n]*\n?", re.MULTILINE | re.DOTALL)
