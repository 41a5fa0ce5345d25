"""A log of who did what, for what runs as a service: a line of JSON for each event, in files of bounded size.

One process writes to a file, since a second one would lose lines when the file is full and a new one begins.
"""

from __future__ import annotations

import functools
import json
import logging
import os
import sys
from datetime import UTC, datetime
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from typing import Any, cast

PLACE = "GRADLAB_EVENT_LOG"  # environment variable: the file's path, or OUTPUT
OUTPUT = "-"  # standard error, which a container's platform keeps
MAX_BYTES, MAX_OLD = 5_000_000, 9  # of a file, and how many full ones are kept


class _EventFormatter(logging.Formatter):
    """Formats events, and warnings of other programs' loggers, as JSON."""

    def format(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="seconds")
        known = isinstance(record.msg, dict)
        fields: Any = record.msg if known else {"event": record.levelname.lower(), "message": record.getMessage()}
        return json.dumps({"when": when, **fields}, ensure_ascii=False)


class _EventFile(RotatingFileHandler):
    """A log that only its user can read."""

    def _open(self) -> TextIOWrapper:
        file = open(  # noqa: SIM115 - the handler closes it
            self.baseFilename, self.mode, encoding=self.encoding, opener=lambda path, flags: os.open(path, flags, 0o600)
        )
        return cast(TextIOWrapper, file)

    def __deepcopy__(self, memo: dict[int, Any]) -> _EventFile:
        """Return itself, since traitlets copies the values of settings."""
        return self


@functools.cache
def open_event_log(place: str) -> logging.Handler:
    """Open the log, which is created with its first event. A file that can't be written stops no service."""
    handler: logging.Handler
    if place == OUTPUT:
        handler = logging.StreamHandler(sys.stderr)
    else:
        handler = _EventFile(place, maxBytes=MAX_BYTES, backupCount=MAX_OLD, encoding="utf-8", delay=True)
    handler.setFormatter(_EventFormatter())
    return handler


def record_event(event: str, place: str | None = None, /, **fields: str | int) -> None:
    """Record an event, unless there is no log.

    Args:
        place: As in the environment variable, which is read if it's None.
    """
    place = os.environ.get(PLACE, "") if place is None else place
    if place:
        message: Any = {"event": event, **fields}
        record = logging.LogRecord("gradlab", logging.INFO, "", 0, message, None, None)
        open_event_log(place).handle(record)
