"""A student's text as HTML, rendered in a separate process with bounded time and memory, or shown unformatted.

A few hundred characters can keep the libraries that read Markdown and formulas busy for hours.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import re
import select
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass

from markupsafe import Markup

from autograder.base.text import truncate

Attachments = Mapping[str, Mapping[str, str]]  # a cell's: name -> type -> base64

BACKTICKS = re.compile("`+")
LANGUAGE = "python"  # of code blocks whose tokens get classes
LENGTH = struct.Struct("!I")  # precedes each message to the process that renders
REPLY = struct.Struct("!IdQ")  # precedes each reply: its length, the seconds that it took, pixels of its pictures
MAX_TEXT = 10_000  # characters that are formatted; a longer text is shown unformatted
MAX_SHOWN = 50_000  # characters of a text; the rest is cut off
SECONDS = 2.0  # of processor time for one text; a page of 10,000 characters takes a tenth of a second
WAIT_SECONDS = 600.0  # of wall-clock time, on a machine that is busy with other things
MAX_REPLY = 2**24  # bytes of one text's HTML: a cell's pictures have 8 million characters together
PAGE_SECONDS = 5.0  # of processor time for all texts of one page
PAGE_CHARACTERS = 30_000_000  # of their HTML
PAGE_PIXELS = 400_000_000  # of its pictures together: a browser takes four bytes for each
PAGE_ELEMENTS = 200_000  # in the HTML of its texts: a browser takes half a kilobyte for each
MAX_CACHED, MAX_CACHED_LENGTH = 1024, 20_000  # texts whose HTML is cached, and its characters


@dataclass
class Budget:
    """What the rest of one page may use."""

    seconds: float = PAGE_SECONDS
    """Processor time for its texts."""
    characters: int = PAGE_CHARACTERS
    """Characters of the texts' HTML."""
    elements: int = PAGE_ELEMENTS
    """Elements of the texts' HTML; begin and end count separately."""
    pixels: int = PAGE_PIXELS
    """Pixels of its pictures."""

    @property
    def is_spent(self) -> bool:
        """Whether no more texts are rendered."""
        return self.seconds <= 0 or self.characters <= 0 or self.elements <= 0

    def charge(self, rendered: RenderedText) -> bool:
        """Charge a text to the budget, and return whether the page has room for it. Its time counts in any case."""
        self.seconds -= rendered.seconds
        if rendered.html is None:
            return False
        self.characters -= len(rendered.html)
        self.elements -= rendered.html.count("<")
        self.pixels -= rendered.pixels
        return self.characters >= 0 and self.elements >= 0 and self.pixels >= 0


@dataclass(frozen=True)
class RenderedText:
    """A text after rendering."""

    html: str | None = None
    """None if the text can't be rendered within the bounds."""
    seconds: float = SECONDS
    """Processor time that it took."""
    pixels: int = 0
    """Pixels of its pictures together."""


_budget: ContextVar[Budget | None] = ContextVar("page budget", default=None)


def render_prose(text: str, attachments: Attachments | None = None) -> Markup:
    """Render a text as HTML. HTML in it is shown as text; its pictures are the cell's own attachments."""
    formatted = format_markdown(text, attachments)
    return _render_unformatted(text) if formatted is None else formatted


def render_code(source: str) -> Markup:
    """Render Python as HTML, with a class for each kind of token, within the same bounds."""
    fence = "`" * max(3, 1 + max(map(len, BACKTICKS.findall(source)), default=0))
    formatted = format_markdown(f"{fence}{LANGUAGE}\n{source}\n{fence}\n")
    return _render_unformatted(source) if formatted is None else formatted


def format_markdown(text: str, attachments: Attachments | None = None) -> Markup | None:
    """Render Markdown; None if that takes more than the text or its page may use."""
    budget = _budget.get()
    if len(text) > MAX_TEXT or (budget is not None and budget.is_spent):
        return None
    rendered = _render(text, attachments or {})
    if rendered.html is None or (budget is not None and not budget.charge(rendered)):
        return None
    return Markup(rendered.html)


def reserve_pixels(count: int) -> bool:
    """Charge a picture to the page's budget, and return whether the page has room for it."""
    budget = _budget.get()
    if budget is None:
        return True
    budget.pixels -= count
    return budget.pixels >= 0


@contextlib.contextmanager
def limit_page(budget: Budget | None = None) -> Iterator[None]:
    """Bound what all texts of one page may use together; once that's spent, texts are shown unformatted.

    Args:
        budget: What the page may still use, if its texts are rendered in several parts.
    """
    token = _budget.set(budget or Budget())
    try:
        yield
    finally:
        _budget.reset(token)


def _render_unformatted(text: str) -> Markup:
    return Markup('<pre class="plain">{}</pre>').format(truncate(text, MAX_SHOWN))


def _render(text: str, attachments: Attachments) -> RenderedText:
    with _LOCK:
        if attachments or text not in CACHE:
            rendered = _get_renderer().render(text, attachments)
            if attachments or len(rendered.html or "") > MAX_CACHED_LENGTH:
                return rendered
            if len(CACHE) == MAX_CACHED:
                del CACHE[next(iter(CACHE))]
            CACHE[text] = rendered
        return CACHE[text]


class _Renderer:
    """The process that renders. It ends if a text is too much for it, and the next text starts another."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def render(self, text: str, attachments: Attachments) -> RenderedText:
        message = json.dumps([text, attachments]).encode()
        process = self._start()
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(LENGTH.pack(len(message)) + message)
            process.stdin.flush()
            length, seconds, pixels = REPLY.unpack(self._read(process, REPLY.size))
            if length > MAX_REPLY:
                raise EOFError
            page = self._read(process, length)
        except (OSError, EOFError):
            self.close()
            return RenderedText()
        return RenderedText(page.decode() if page else None, seconds, pixels)

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _start(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "autograder.rendering.markdown", str(SECONDS)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # so Ctrl-C reaches only the grader
            )
        return self._process

    def _read(self, process: subprocess.Popen[bytes], size: int) -> bytes:
        """Read this many bytes. Raises EOFError if the process ends, or is silent for too long, before that."""
        assert process.stdout is not None
        pieces, left = [], size
        while left:
            if not select.select([process.stdout], [], [], WAIT_SECONDS)[0]:
                raise EOFError
            piece = os.read(process.stdout.fileno(), left)
            if not piece:
                raise EOFError
            pieces.append(piece)
            left -= len(piece)
        return b"".join(pieces)


@functools.cache
def _get_renderer() -> _Renderer:
    renderer = _Renderer()
    atexit.register(renderer.close)
    return renderer


_LOCK = threading.Lock()
CACHE: dict[str, RenderedText] = {}  # by text: the course's own texts are on every student's page
