"""Discards what the student's code prints and warns during a check: it could reveal what the check passed in."""

from __future__ import annotations

import contextlib
import io
import sys
import warnings
from collections.abc import Iterator
from typing import Any


class _NullStream(io.TextIOBase):
    __slots__ = ()

    def write(self, text: str, /) -> int:
        return len(text)

    def writable(self) -> bool:
        return True

    def close(self) -> None:
        """Stay open for the next call."""


NULL_STREAM = _NullStream()
IGNORE: Any = ("ignore", None, Warning, None, 0)  # the filter that simplefilter("ignore") adds


@contextlib.contextmanager
def silence_output() -> Iterator[None]:
    """Discard what is printed and warned in a with block."""
    streams, filters, show = (sys.stdout, sys.stderr), warnings.filters, warnings.showwarning
    warnings.filters = [IGNORE, *filters]
    sys.stdout = sys.stderr = NULL_STREAM
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams
        warnings.filters, warnings.showwarning = filters, show
