"""How the formgrader shows text cells: nbgrader's own template puts a student's HTML into the instructor's page."""

from __future__ import annotations

from typing import Any

from jinja2 import pass_context
from jinja2.runtime import Context
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

from autograder.reports.prose import prose


@pass_context
def render_text(context: Context, source: str) -> str:
    """Show a text as HTML: the course's own as nbconvert does, everything else without HTML, scripts and addresses.

    Only a locked cell has the course's text for certain: the intake puts it back.
    """
    cell: Any = context.get("cell") or {}
    flags = cell.get("metadata", {}).get("nbgrader", {})
    attachments = cell.get("attachments") or {}
    if cell.get("cell_type") == "markdown" and flags.get("locked") and not flags.get("solution"):
        renderer = IPythonRenderer(escape=False, attachments=attachments)
        return str(MarkdownWithMath(renderer=renderer).render(source))
    return str(prose(source, attachments))
