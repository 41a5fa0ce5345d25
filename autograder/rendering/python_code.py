"""Python code as HTML, with the class names of Pygments; labext's code.css has their colors."""

from __future__ import annotations

import functools

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer


def render_python(source: str) -> str:
    """Return the code as the inside of an HTML element. Students' code must go through prose.render_code()."""
    return str(highlight(source, _get_lexer(), _get_formatter()))


@functools.cache
def _get_lexer() -> PythonLexer:
    return PythonLexer(stripnl=False)


@functools.cache
def _get_formatter() -> HtmlFormatter:
    return HtmlFormatter(nowrap=True)
