"""Renders the HTML pages: templates without scripts or anything from elsewhere, every value escaped."""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape


def render(template: str, **values: Any) -> str:
    environment = Environment(
        loader=PackageLoader("autograder.reports"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(**values)
