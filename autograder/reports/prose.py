"""Markdown with formulas as HTML that runs nothing and fetches nothing: what stands in a text is shown, or left out."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

from latex2mathml.converter import convert
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape
from mdit_py_plugins.dollarmath import dollarmath_plugin

from autograder.reports.picture_size import may_be_shown

MAX_TEXT = 50_000  # characters; the rest is cut off
MAX_FORMULA = 2_000
MATHML = "{http://www.w3.org/1998/Math/MathML}"
ELEMENTS = frozenset(
    MATHML + name
    for name in """math mi mn mo mrow mfrac msup msub msubsup msqrt mroot mtext mspace mover munder munderover mtable
    mtr mtd mstyle mfenced mpadded mphantom menclose""".split()
)
ATTRIBUTES = frozenset(
    """display stretchy mathvariant accent accentunder columnalign rowspacing columnspacing displaystyle scriptlevel
    fence form minsize maxsize linethickness width height depth lspace rspace separator movablelimits largeop""".split()
)
PICTURES = {"image/png", "image/jpeg", "image/gif"}

Attachments = Mapping[str, Mapping[str, str]]  # a cell's: name -> type -> base64


def prose(text: str, attachments: Attachments | None = None) -> Markup:
    """The text as HTML. HTML that it holds is shown as text. Pictures are those of the cell's own attachments."""
    shown = text if len(text) <= MAX_TEXT else text[:MAX_TEXT] + "\n\n(cut off here)"
    return Markup(_parser().render(shown, {"attachments": attachments or {}}))


@functools.cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.use(dollarmath_plugin, renderer=_formula, allow_labels=False, allow_digits=False, double_inline=True)
    parser.add_render_rule("image", _picture)
    return parser


def _formula(content: str, options: Mapping[str, Any]) -> str:
    """MathML, which browsers show by themselves; what is no formula stays as it was written."""
    try:
        if len(content) > MAX_FORMULA:
            raise ValueError("too long")
        return _plain(str(convert(content, display="block" if options.get("display_mode") else "inline")))
    except Exception:  # a parser of a student's text: whatever it raises, the text is shown
        return f"<code>{escape(content)}</code>"


def _plain(formula: str) -> str:
    """MathML of known elements that refer to nothing: \\href and \\text put in what they were given.

    It is written anew from what was read in it: a browser reads some texts in another way. Raises ValueError.
    """
    if "<!" in formula or "<?" in formula:
        raise ValueError("more than a formula")
    root = ElementTree.fromstring(formula)
    for element in root.iter():
        if element.tag not in ELEMENTS or not ATTRIBUTES.issuperset(element.attrib):
            raise ValueError("more than a formula")
        element.tag = element.tag.removeprefix(MATHML)  # HTML has it without
    return ElementTree.tostring(root, encoding="unicode", short_empty_elements=False)


def _picture(_: Any, tokens: list[Token], number: int, __: Any, env: Mapping[str, Any]) -> str:
    token = tokens[number]
    words, source = escape(token.content), str(token.attrGet("src") or "")
    for kind, data in env["attachments"].get(source.removeprefix("attachment:"), {}).items():
        if source.startswith("attachment:") and kind in PICTURES and may_be_shown(data):
            return f'<img alt="{words}" src="data:{kind};base64,{escape("".join(data.split()))}">'
    return f"<em>(a picture: {words or escape(source)})</em>"
