"""Renders Markdown with formulas as HTML that runs nothing and fetches nothing.

`python -m autograder.rendering.markdown SECONDS` renders what arrives on its standard input, and ends if a text takes
too long or too much memory. prose.py starts it, since students' texts must not be parsed in the grader's own process.
"""

from __future__ import annotations

import functools
import json
import re
import resource
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from typing import IO, Any
from xml.etree import ElementTree

from latex2mathml.converter import convert
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import escape
from mdit_py_plugins.dollarmath import dollarmath_plugin

from autograder.base.text import truncate
from autograder.rendering.picture_size import MAX_PIXELS, count_pixels
from autograder.rendering.prose import LANGUAGE, LENGTH, REPLY, Attachments
from autograder.rendering.python_code import render_python

MAX_FORMULA = 2_000  # characters
MAX_ADDRESS = 1_000  # characters of a link's address, which is on the page twice
# A domain of letters: browsers read a last part with a digit as a numeric address.
WEB = re.compile(
    r"https?://(?P<names>(?:[a-z0-9_-]+\.)+)(?P<domain>[a-z]{2,}|xn--[a-z0-9-]+)(?::\d+)?(?:[/?#]|$)", re.IGNORECASE
)
# Endings of names that aren't on the public web, or that routers answer to, and routers' names under public ones.
PRIVATE = frozenset(
    """localhost local localdomain internal lan home corp intranet private mail domain host workgroup wlan network arpa
    test example invalid alt onion box ip cpe cube nas router gateway modem station hub dsl""".split()
)
ROUTERS = frozenset(
    """hi.link routerlogin.net routerlogin.com orbilogin.net orbilogin.com mywifiext.net mywifiext.com tplinkwifi.net
    tplinklogin.net tplinkmodem.net tplinkrepeater.net tplogin.cn asusrouter.com router.asus.com repeater.asus.com
    miwifi.com tendawifi.com amplifi.com""".split()
)
MEMORY = 2**30  # bytes of address space
MACROS = re.compile(r"\\(def|edef|gdef|xdef|let|futurelet|newcommand|renewcommand|newenvironment|DeclareMathOperator)")
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


def render_markdown(text: str, attachments: Attachments) -> tuple[str, int]:
    """Render a text as HTML.

    HTML in the text is shown as text. Pictures are the cell's own attachments. Links lead only to the public web, and
    show their address.

    Returns:
        The HTML, and the pixels of its pictures together.
    """
    shown: dict[str, int] = {}
    page = str(_build_parser().render(text, {"attachments": attachments, "shown": shown, "links": []}))
    return page, sum(shown.values())


@functools.cache
def _build_parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "highlight": _render_code_block}).enable("table")
    parser.use(dollarmath_plugin, renderer=_render_formula, allow_labels=False, allow_digits=False, double_inline=True)
    parser.add_render_rule("image", _render_picture)
    parser.add_render_rule("link_open", _open_link)
    parser.add_render_rule("link_close", _close_link)
    return parser


def _render_code_block(source: str, language: str, _: str) -> str:
    """Return a code block's HTML if it's Python; empty for any other, which is then escaped."""
    return render_python(source) if language == LANGUAGE else ""


def _render_formula(content: str, options: Mapping[str, Any]) -> str:
    """Render a formula as MathML, which browsers show on their own; show anything else as code."""
    try:
        if len(content) > MAX_FORMULA or MACROS.search(content):
            raise ValueError("too much for a formula")
        return _check_formula(str(convert(content, display="block" if options.get("display_mode") else "inline")))
    except Exception:  # whatever the parser raises on a student's text, the text is shown
        return f"<code>{escape(content)}</code>"


def _check_formula(formula: str) -> str:
    """Rewrite MathML that has only known elements and refers to nothing, since \\href and \\text insert any text.

    A browser reads some texts differently, so nothing is passed through unparsed.

    Raises:
        ValueError: It holds more than a formula.
    """
    if "<!" in formula or "<?" in formula:
        raise ValueError("more than a formula")
    root = ElementTree.fromstring(formula)
    for element in root.iter():
        if element.tag not in ELEMENTS or not ATTRIBUTES.issuperset(element.attrib):
            raise ValueError("more than a formula")
        element.tag = element.tag.removeprefix(MATHML)  # HTML has no namespaces
    return ElementTree.tostring(root, encoding="unicode", short_empty_elements=False)


def _render_picture(_: RendererHTML, tokens: Sequence[Token], number: int, __: Any, env: Mapping[str, Any]) -> str:
    token = tokens[number]
    words, source = escape(token.content), str(token.attrGet("src") or "")
    name, shown = source.removeprefix("attachment:"), env["shown"]
    for kind, data in env["attachments"].get(name, {}).items() if name not in shown else ():
        size = count_pixels(data) if source.startswith("attachment:") and kind in PICTURES else None
        if size is not None and size <= MAX_PIXELS:
            shown[name] = size  # shown once: its bytes would be on the page each time
            return f'<img alt="{words}" src="data:{kind};base64,{escape("".join(data.split()))}">'
    return f"<em>(a picture: {words or escape(source)})</em>"


def _open_link(_: RendererHTML, tokens: Sequence[Token], number: int, __: Any, env: Mapping[str, Any]) -> str:
    """Open a link if it leads to the public web; any other could reach a local server with the reader's login."""
    href = str(tokens[number].attrGet("href") or "")
    env["links"].append(href)
    return f'<a href="{escape(href)}" rel="noopener noreferrer nofollow">' if _is_web(href) else ""


def _close_link(_: RendererHTML, tokens: Sequence[Token], number: int, __: Any, env: Mapping[str, Any]) -> str:
    href = env["links"].pop()
    return f"{'</a>' if _is_web(href) else ''} ({escape(truncate(href, MAX_ADDRESS, '...'))})"


def _is_web(href: str) -> bool:
    """Return whether this address is on the public web: not numeric, and not a machine or local network."""
    address = WEB.match(href) if len(href) <= MAX_ADDRESS else None
    if address is None or address["domain"].lower() in PRIVATE:
        return False
    host = f"{address['names']}{address['domain']}".lower()
    return not any(host == name or host.endswith(f".{name}") for name in ROUTERS)


def serve(requests: IO[bytes], replies: IO[bytes], seconds: float) -> None:
    """Render one text after another. The answer is HTML, or empty if the text can't be rendered.

    Args:
        requests: Messages, each `[text, attachments]` as JSON, preceded by its length.
        replies: Replies, each preceded by REPLY.
        seconds: Processor time for one text; a text that takes longer ends the process.
    """
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    while head := requests.read(LENGTH.size):
        signal.setitimer(signal.ITIMER_PROF, seconds)  # whose signal ends a process
        begin, size = time.process_time(), 0
        try:
            text, attachments = json.loads(requests.read(LENGTH.unpack(head)[0]))
            html, size = render_markdown(text, attachments)
            page = html.encode("utf-8", "replace")
        except Exception:  # too deep, too much memory, a bug in the parser: the text is shown unformatted
            page = b""
        signal.setitimer(signal.ITIMER_PROF, 0)
        replies.write(REPLY.pack(len(page), time.process_time() - begin, size) + page)
        replies.flush()


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer, float(sys.argv[1]))
