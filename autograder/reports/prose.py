"""A student's text as HTML, rendered in a process of its own within a bound on time and memory, or shown as it is.

Markdown and formulas are read by libraries that a few hundred characters can keep busy for hours.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import select
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass

from markupsafe import Markup

Attachments = Mapping[str, Mapping[str, str]]  # a cell's: name -> type -> base64

LENGTH = struct.Struct("!I")  # in front of each message to the process that renders
ANSWER = struct.Struct("!IdQ")  # in front of each answer: its length, the seconds that it took, pixels of its pictures
MAX_TEXT = 10_000  # characters that are formatted; a longer text is shown as it is
MAX_SHOWN = 50_000  # characters of a text; the rest is cut off
SECONDS = 2.0  # of processor time for one text; a page of 10,000 characters takes a tenth of one
WAIT_SECONDS = 600.0  # by the clock, on a machine that is busy with other things
MAX_ANSWER = 2**24  # bytes of one text's HTML: a cell's pictures have 8 million characters together
LONG_PAGE = 5.0  # seconds for all texts of one page
LARGE_PAGE = 30_000_000  # characters of their HTML
PIXELS_OF_PAGE = 400_000_000  # of its pictures together: a browser takes four bytes for each
MOST_KEPT, LARGEST_KEPT = 1024, 20_000  # texts whose HTML is kept, and characters of it
ELEMENTS_OF_PAGE = 200_000  # of the HTML of its texts: a browser takes half a kilobyte for each


@dataclass
class Budget:
    """What is left for one page."""

    seconds: float = LONG_PAGE
    """Of processor time for its texts."""
    characters: int = LARGE_PAGE
    """Of their HTML."""
    elements: int = ELEMENTS_OF_PAGE
    """Of their HTML, begin and end counted."""
    pixels: int = PIXELS_OF_PAGE
    """Of its pictures."""

    @property
    def is_spent(self) -> bool:
        """Whether no more texts are rendered."""
        return self.seconds <= 0 or self.characters <= 0 or self.elements <= 0

    def takes(self, rendered: Rendered) -> bool:
        """Whether the page has room for this text, which is then taken. The time that it took counts in any case."""
        self.seconds -= rendered.seconds
        if rendered.html is None:
            return False
        self.characters -= len(rendered.html)
        self.elements -= rendered.html.count("<")
        self.pixels -= rendered.pixels
        return self.characters >= 0 and self.elements >= 0 and self.pixels >= 0


@dataclass(frozen=True)
class Rendered:
    """What the process that renders made of a text."""

    html: str | None = None
    """None: the text can't be rendered within the bounds."""
    seconds: float = SECONDS
    """Of processor time."""
    pixels: int = 0
    """Of its pictures together."""


_budget: ContextVar[Budget | None] = ContextVar("what is left for the texts of this page", default=None)


def render_prose(text: str, attachments: Attachments | None = None) -> Markup:
    """Show a text as HTML. HTML in it is shown as text, pictures are those of the cell's own attachments."""
    budget = _budget.get()
    if len(text) > MAX_TEXT or (budget is not None and budget.is_spent):
        return _render_unformatted(text)
    rendered = _render(text, attachments or {})
    if rendered.html is None or (budget is not None and not budget.takes(rendered)):
        return _render_unformatted(text)
    return Markup(rendered.html)


def take_pixels(count: int) -> bool:
    """Whether the page has room for a picture of so many pixels, which is then taken."""
    budget = _budget.get()
    if budget is None:
        return True
    budget.pixels -= count
    return budget.pixels >= 0


@contextlib.contextmanager
def bound_page(budget: Budget | None = None) -> Iterator[None]:
    """Bound what all texts of one page may take together; the texts after that are shown as they are.

    Args:
        budget: What is left for the page, if its texts are rendered in several parts.
    """
    token = _budget.set(budget or Budget())
    try:
        yield
    finally:
        _budget.reset(token)


def _render_unformatted(text: str) -> Markup:
    shown = text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}\n(cut off here)"
    return Markup('<pre class="plain">{}</pre>').format(shown)


def _render(text: str, attachments: Attachments) -> Rendered:
    with _LOCK:
        if attachments or text not in _KEPT:
            rendered = _get_renderer().render(text, attachments)
            if attachments or len(rendered.html or "") > LARGEST_KEPT:
                return rendered
            if len(_KEPT) == MOST_KEPT:
                del _KEPT[next(iter(_KEPT))]
            _KEPT[text] = rendered
        return _KEPT[text]


class _Renderer:
    """The process that renders. It ends when a text is too much for it, and the next text starts another."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def render(self, text: str, attachments: Attachments) -> Rendered:
        """Have a text rendered."""
        message = json.dumps([text, attachments]).encode()
        process = self._start()
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(LENGTH.pack(len(message)) + message)
            process.stdin.flush()
            length, seconds, pixels = ANSWER.unpack(self._read(process, ANSWER.size))
            if length > MAX_ANSWER:
                raise EOFError
            page = self._read(process, length)
        except (OSError, EOFError):
            self.close()
            return Rendered()
        return Rendered(page.decode() if page else None, seconds, pixels)

    def close(self) -> None:
        """End the process; the next text starts another."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _start(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "autograder.reports.markdown", str(SECONDS)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is the grader's
            )
        return self._process

    def _read(self, process: subprocess.Popen[bytes], size: int) -> bytes:
        """Read this many bytes. Raises EOFError when the process ends, or is silent for too long, before that."""
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
    found = _Renderer()
    atexit.register(found.close)
    return found


_LOCK = threading.Lock()
_KEPT: dict[str, Rendered] = {}  # by the text: a course's own is on every student's page
