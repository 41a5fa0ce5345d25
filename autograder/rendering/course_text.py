"""The course's own words as HTML that fits into a line: labels, hints and titles, and a quiz's statements and reasons.

Students' words never come here: a message about a result may quote them, and what looks like a formula there isn't one.
"""

from __future__ import annotations

import re

from markupsafe import Markup, escape

from autograder.rendering.prose import format_markdown

CODE = r"`(?P<code>[^`\n]+)`"
# As in Markdown, but $HOME and $PATH, or $5 and $6, are no formula.
FORMULA = r"(?<![\\$\w])\$(?P<formula>[^\s$`](?:[^$`\n]*[^\s$`\\])?)\$(?![\w$])"
PARTS = re.compile(f"{CODE}|{FORMULA}")
PARAGRAPH = re.compile(r"<p>(?P<inside>(?:(?!<p>).)*)</p>\s*", re.DOTALL)


def format_line(text: str) -> Markup:
    """Escape a line, and mark up its code and formulas. It isn't Markdown: its stars and underscores are shown."""
    line, end = Markup(), 0
    for part in PARTS.finditer(text):
        line += escape(text[end : part.start()])
        line += (
            _format_formula(part["formula"]) if part["code"] is None else Markup("<code>{}</code>").format(part["code"])
        )
        end = part.end()
    return line + escape(text[end:])


def format_sentences(text: str) -> Markup:
    """Render Markdown, without a paragraph around it if it's only one."""
    formatted = format_markdown(text)
    return format_line(text) if formatted is None else _strip_paragraph(formatted)


def _format_formula(formula: str) -> Markup:
    formatted = format_markdown(f"${formula}$")
    return escape(f"${formula}$") if formatted is None else _strip_paragraph(formatted)


def _strip_paragraph(html: Markup) -> Markup:
    paragraph = PARAGRAPH.fullmatch(html)
    return Markup(paragraph["inside"]) if paragraph else html
