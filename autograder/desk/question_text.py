"""What a question asks, and its worked solution, from the source notebook."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup
from nbgrader.utils import is_grade, is_solution, is_task

from autograder.gradebook.cell_address import CellAddress
from autograder.model.metadata import get_cell_name
from autograder.rendering.prose import render_prose


def render_question_and_solution(
    cells: Sequence[Any], address: CellAddress, answer_name: str, config: Any
) -> tuple[Markup, Markup]:
    """Render the question, which is the text before the answer unless the answer's cell has one, and the solution.

    Args:
        cells: The cells of the source notebook.
        address: The graded cell.
        answer_name: The name of the cell that holds the worked answer.
        config: nbgrader's configuration, which may use other words to mark regions.
    """
    question, solutions = Markup(), list[Markup]()
    for cell in cells:
        name = get_cell_name(cell)
        if address.task and name == answer_name:
            scheme = _compile_region("ClearMarkScheme", "mark_scheme", config)
            return render_prose(scheme.sub("", cell.source)), render_prose("\n\n".join(scheme.findall(cell.source)))
        if name == address.cell and not is_solution(cell):
            return question, Markup().join(solutions)
        if name == answer_name:
            return _render_own_question(cell, config) or question, _render_solution(cell, config)
        if is_solution(cell):
            solutions.append(_render_solution(cell, config))
        elif is_grade(cell):
            solutions = []
        elif cell.cell_type == "markdown" and not is_task(cell):
            question = render_prose(cell.source, cell.get("attachments"))
    return question, Markup().join(solutions)


def _render_own_question(cell: Any, config: Any) -> Markup:
    """Render the question in a text that also has the solution, between markers."""
    text, solutions = _compile_region("ClearSolutions", "solution", config).subn("", cell.source)
    is_text = cell.cell_type == "markdown" and solutions and text.strip()
    return render_prose(text, cell.get("attachments")) if is_text else Markup()


def _render_solution(cell: Any, config: Any) -> Markup:
    """Render the worked solution: a text's marked regions, or all of it; or a code cell without the markers."""
    region = _compile_region("ClearSolutions", "solution", config)
    if cell.cell_type == "markdown":
        solution = "\n\n".join(region.findall(cell.source))
        return render_prose(solution or cell.source, cell.get("attachments"))
    return Markup("<pre>{}</pre>").format(region.sub(r"\1", cell.source).rstrip())


def _compile_region(preprocessor: str, region: str, config: Any) -> re.Pattern[str]:
    """Compile the pattern of a region between nbgrader's markers, which the configuration may change.

    A line that contains a marker counts as one.
    """
    settings = (config or {}).get(preprocessor, {})
    words = region.replace("_", " ").upper()
    begin, end = (
        re.escape(settings.get(f"{edge}_{region}_delimeter", f"{edge.upper()} {words}")) for edge in ("begin", "end")
    )
    return re.compile(rf"^[^\n]*{begin}[^\n]*\n(.*?)^[^\n]*{end}[^\n]*\n?", re.MULTILINE | re.DOTALL)
