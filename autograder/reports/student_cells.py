"""Renders cells that students wrote, with what they printed and drew, bounded in size and safe to show in a page."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from autograder.base.text import truncate
from autograder.gradebook.submission_result import GradedCellResult
from autograder.intake.cell_origin import find_lab_answer
from autograder.model.course import CellKind
from autograder.model.metadata import get_cell_name, make_cell_name
from autograder.rendering.picture_size import MAX_PIXELS, count_pixels
from autograder.rendering.prose import render_code, render_prose, reserve_pixels
from autograder.rendering.safe_svg import count_safe_pixels

MAX_TEXT = 20_000  # characters of one output


@dataclass
class ShownCell:
    """A student's cell with its output and pictures."""

    source: str
    words: Markup | None = None
    """An answer in words, as HTML."""
    code: Markup = Markup()  # noqa: RUF009 - immutable
    """Any other cell, as HTML."""
    text: str = ""
    """What it printed."""
    pictures: list[tuple[str, str]] = field(default_factory=list)
    """Data URLs of PNG or safe SVG, each with its description."""

    @property
    def is_empty(self) -> bool:
        return not (self.source.strip() or self.text.strip() or self.pictures)


def render_student_cells(notebook: Any, exercise: GradedCellResult) -> list[ShownCell]:
    """Render the exercise's or question's cell, and the cells that the student added after it."""
    name = make_cell_name(CellKind.QUESTION if exercise.by_hand else CellKind.EXERCISE, exercise.name)
    indices = [index for index, cell in enumerate(notebook.cells) if get_cell_name(cell) == name]
    return render_answer([notebook.cells[i] for index in indices for i in find_lab_answer(notebook.cells, index)])


def render_answer(cells: Sequence[Any]) -> list[ShownCell]:
    """Render an answer's cells. Later ones that are empty are left out: running the last cell adds one."""
    shown = [render_cell(cell) for cell in cells]
    return shown[:1] + [cell for cell in shown[1:] if not cell.is_empty]


def render_cell(cell: Any) -> ShownCell:
    """Render a student's cell, bounded in size and safe to show in a page."""
    shown = ShownCell(cell.source)
    if cell.cell_type == "markdown":
        shown.words = render_prose(cell.source, cell.get("attachments"))
    else:
        shown.code = render_code(cell.source)
    for output in cell.get("outputs", []):
        if output.output_type == "stream":
            shown.text += output.text
        elif output.output_type == "error":
            shown.text += f"{output.ename}: {output.evalue}\n"
        else:
            picture, drawing = output.data.get("image/png"), output.data.get("image/svg+xml")
            area = count_safe_pixels(drawing, MAX_PIXELS) if isinstance(drawing, str) else None
            if area is not None and reserve_pixels(area):
                encoded = base64.b64encode(drawing.encode()).decode()
                shown.pictures.append((f"data:image/svg+xml;base64,{encoded}", str(output.data.get("text/plain", ""))))
            elif isinstance(picture, str):
                size = count_pixels(picture)
                if size is not None and size <= MAX_PIXELS and reserve_pixels(size):
                    shown.pictures.append((f"data:image/png;base64,{''.join(picture.split())}", ""))
                else:
                    shown.text += f"(a picture {'' if size is None else f'of {size:,} pixels '}is left out)\n"
            else:
                shown.text += str(output.data.get("text/plain", "")) + "\n"
    shown.text = truncate(shown.text, MAX_TEXT)
    return shown
