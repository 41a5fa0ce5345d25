"""Renders the HTML pages, which load nothing from elsewhere and escape every value.

Pages for students have no script. Pages for instructors have Gradlab's own, which the page's policy allows by digest.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import re
from importlib.resources import files
from typing import Any
from urllib.parse import quote

from jinja2 import ChoiceLoader, Environment, FileSystemLoader, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup, escape

from autograder.base.text import pluralize
from autograder.model.term import format_minute
from autograder.rendering.course_text import format_line, format_sentences
from labkit.lab_progress import shorten_lab_name
from labkit.points import format_points

STYLES = files("labext").joinpath("share/jupyter/labextensions/gradlab-course/style")  # the extension has them, too
CODE = re.compile("`([^`\n]+)`")
BREAK = re.compile(r"(?<=[^\W_])(?:_+|@)(?=[^\W_])|(?<=[^\W\d_])\.(?=[^\W\d_])")


def render_live(template: str, **values: Any) -> str:
    """Render a page for an instructor, with sortable tables. It may load nothing, and runs only Gradlab's script."""
    script = files("autograder.reports").joinpath("templates/page.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:"
    return render_template(template, script=Markup(script), policy=policy, **values)


def render_template(template: str, **values: Any) -> str:
    return build_jinja_environment("autograder.reports").get_template(template).render(**values)


@functools.cache
def build_jinja_environment(package: str) -> Environment:
    """Return the environment of a package's templates, cached with the compiled ones: a student's page takes 60 ms."""
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package), FileSystemLoader(str(STYLES))]),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "points": format_points,
        "code": format_code,
        "line": format_line,
        "sentences": format_sentences,
        "url": quote,
        "part": functools.partial(quote, safe=""),  # part of an address
        "breaks": add_breaks,
        "minute": format_minute,
        "plural": pluralize,
        "number": shorten_lab_name,
    }
    return environment


def format_code(text: str) -> Markup:
    """Escape a text that may quote a student, and mark up what is between backticks as code."""
    return Markup(CODE.sub(r"<code>\1</code>", str(escape(text))))


def add_breaks(text: str) -> Markup:
    """Escape the text, and let lines break within its names after an underscore, a dot or an @."""
    return Markup(BREAK.sub(r"\g<0><wbr>", str(escape(text))))
