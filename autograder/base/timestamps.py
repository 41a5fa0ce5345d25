"""The time and the secret that nbgrader puts beside a submission. A student can write both: a stranger's text."""

from __future__ import annotations

import os
import re
import stat
from datetime import UTC, datetime, tzinfo
from pathlib import Path

from nbgrader.utils import parse_utc

TIMESTAMP = "timestamp.txt"
SECRET = "submission_secret.txt"  # what `nbgrader submit` writes last
MAX_TIME = 100  # bytes of a text that says a time
COLLECT = "gradlab watch {lab} --once --newest (from the exchange), or gradlab collect {lab} ZIP (from an LMS)"
YEARS = range(1971, 10_000)  # in which a calendar can name a time, in any zone
A_PATH = re.compile(r"(^|[\s:])/|\.\.")  # as a time zone, which dateutil would open


def read_time(folder: Path) -> datetime | None:
    """What the timestamp of the submission in this folder says, UTC without a zone."""
    return parse_time(read_small_text(folder / TIMESTAMP, MAX_TIME) or "")


def parse_time(text: str) -> datetime | None:
    """The time that a stranger's text says, UTC without a zone."""
    if len(text) > MAX_TIME or A_PATH.search(text) or not text.strip().isprintable():
        return None
    try:
        time: datetime | None = parse_utc(text.strip() or None)
    except Exception:  # a parser of a stranger's text: whatever it raises, there is no time
        return None
    return time if time is None or time.year in YEARS else None


def read_small_text(path: str | Path, most: int = MAX_TIME, within: int | None = None) -> str | None:
    """The text of a small regular file that a stranger wrote; None where it is none, or cannot be read now.

    within: a descriptor of the folder that it lies in.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=within)
        with os.fdopen(descriptor, "rb") as file:
            is_regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
            content = file.read(most + 1) if is_regular else None
        return None if content is None or len(content) > most else content.decode()
    except (OSError, ValueError):
        return None


def get_utc_now() -> datetime:
    """UTC without a zone, as nbgrader keeps times."""
    return datetime.now(UTC).replace(tzinfo=None)


def convert_file_time(seconds: float) -> datetime:
    """The same, of a time of the file system."""
    return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)


def format_time(time: datetime, zone: tzinfo = UTC) -> str:
    """A time of these as a person reads it, to the minute, with its zone."""
    return f"{time.replace(tzinfo=UTC).astimezone(zone):%Y-%m-%d %H:%M %Z}"
