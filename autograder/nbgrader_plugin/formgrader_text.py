"""Filters for what a student wrote, as the formgrader shows it in nbgrader's own template on the instructor's server.

They replace nbconvert's. They never render a student's HTML, which can keep a sanitizer busy for hours, and bound what
a page holds, since nbconvert makes a tree of all its elements.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from jinja2 import pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape
from nbconvert.filters import Highlight2HTML
from nbconvert.filters.ansi import ansi2html, strip_ansi
from nbconvert.filters.markdown_mistune import InvalidNotebook, IPythonRenderer, MarkdownWithMath
from nbconvert.filters.strings import clean_html
from nbconvert.preprocessors import Preprocessor
from nbformat import NotebookNode

from autograder.model.course import CellKind
from autograder.model.metadata import read_cell_metadata
from autograder.rendering.picture_size import MAX_PIXELS, count_pixels
from autograder.rendering.prose import PAGE_PIXELS, Budget, limit_page, render_prose
from autograder.rendering.safe_svg import count_safe_pixels

MAX_COLORED, MAX_LINES = 100_000, 500  # characters and lines of code on a page: highlighting is quadratic in them
MAX_SHOWN = 100_000  # characters of a value
MAX_ELEMENTS = 40_000  # of a page's texts; begin and end count separately
MAX_COLORS = 2_000  # changes of color in the outputs of a page
BUDGET = "gradlab_budget"  # the key of the page's budget in its resources
NO_FORMULAS = Markup('<div class="tex2jax_ignore mathjax_ignore">{}</div>')  # MathJax would make links in them


@dataclass
class PageBudget:
    """What the rest of one page may use."""

    texts: Budget = field(default_factory=lambda: Budget(elements=MAX_ELEMENTS))
    """For Markdown that students wrote."""
    code: int = MAX_COLORED
    """Characters of code in colors."""
    colors: int = MAX_COLORS
    """Changes of color in outputs."""


def get_page_budget(context: Context) -> PageBudget:
    """Return what the rest of the current page may use."""
    resources: Any = context.get("resources")
    budget: PageBudget = resources.setdefault(BUDGET, PageBudget()) if isinstance(resources, dict) else PageBudget()
    return budget


class PictureLimit(Preprocessor):
    """Replaces pictures in outputs that a browser can't show, or that would run in it, by a message."""

    def preprocess(self, nb: NotebookNode, resources: Any) -> Any:
        left = PAGE_PIXELS
        for output in (output for cell in nb.cells for output in cell.get("outputs", [])):
            data = output.get("data", {})
            for kind in [kind for kind in data if kind.startswith("image/")]:
                picture = data[kind]
                size = None
                if isinstance(picture, str):
                    size = count_safe_pixels(picture, MAX_PIXELS) if kind == "image/svg+xml" else count_pixels(picture)
                if size is None or size > min(left, MAX_PIXELS):
                    del data[kind]
                    data["text/plain"] = f"{data.get('text/plain', '')}\n(a picture is left out)"
                else:
                    left -= size
        return nb, resources


BoundPictures = PictureLimit  # its old name, which nbgrader_config.py files may list


@pass_context
def render_text(context: Context, source: str) -> Markup:
    """Render a text as HTML: the course's own as nbconvert does, others without HTML, scripts and addresses.

    Only a locked cell is certain to have the course's text, since the intake restores it.
    """
    cell: Any = context.get("cell") or {}
    flags = cell.get("metadata", {}).get("nbgrader", {})
    attachments = cell.get("attachments") or {}
    if cell.get("cell_type") == "markdown" and flags.get("locked") and not flags.get("solution"):
        renderer = IPythonRenderer(escape=False, attachments=attachments)
        with contextlib.suppress(InvalidNotebook):  # raised for a missing picture
            return Markup(MarkdownWithMath(renderer=renderer).render(source))
    with limit_page(get_page_budget(context).texts):
        return NO_FORMULAS.format(render_prose(source, attachments))


@pass_context
def render_html(context: Context, html: str) -> str:
    """Show the grader's own HTML: from render_text(), or the card of a check. Show any other value as its text."""
    if isinstance(html, Markup):
        return html
    cell: Any = context.get("cell")
    metadata = read_cell_metadata(cell) if cell else None
    if metadata is not None and metadata.kind is CellKind.CHECK:
        return str(clean_html(html))
    output: Any = context.get("output") or {}
    text = output.get("data", {}).get("text/plain", "") if isinstance(output, Mapping) else ""
    shown = "".join(text) if isinstance(text, list) else str(text)
    return Markup("<pre>{}</pre>").format(shown[:MAX_SHOWN])


@pass_context
def color_code(context: Context, source: str, language: str | None = None, metadata: Any = None) -> str:
    """Show code in colors, or without if it exceeds the page's budget."""
    budget = get_page_budget(context)
    cost = len(source) + MAX_COLORED // MAX_LINES * source.count("\n")
    if cost > budget.code:
        return f'<div class="highlight"><pre>{escape(source)}</pre></div>'
    budget.code -= cost
    return str(Highlight2HTML(pygments_lexer="python3")(source, language=language, metadata=metadata))


@pass_context
def show_output(context: Context, text: str) -> str:
    """Show what a cell printed in its colors, or without if they exceed the page's budget."""
    budget, changes = get_page_budget(context), text.count("\x1b[")
    if changes > budget.colors:
        return str(escape(strip_ansi(text)))
    budget.colors -= changes
    return str(ansi2html(text))
