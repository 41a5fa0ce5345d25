"""Renders the HTML pages: templates without scripts or anything from elsewhere, every value escaped."""

from __future__ import annotations

import re
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup, escape

CODE = re.compile("`([^`\n]+)`")


def render(template: str, **values: Any) -> str:
    environment = Environment(
        loader=PackageLoader("autograder.reports"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"points": points, "code": code}
    return environment.get_template(template).render(**values)


def points(number: float) -> str:
    """Points as a person reads them: at most two decimals."""
    return f"{round(number, 2):g}"


def code(text: str) -> Markup:
    """The text, escaped, with what stands between backticks as code."""
    return Markup(CODE.sub(r"<code>\1</code>", str(escape(text))))
