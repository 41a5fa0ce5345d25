"""Times: those that students write, which aren't trusted, and those that Gradlab writes."""

from __future__ import annotations

import re
from datetime import UTC, datetime, tzinfo
from pathlib import Path

from nbgrader.utils import parse_utc

from autograder.base.submission_files import TIMESTAMP, read_small_text
from autograder.base.text import format_count

MAX_TIME = 100  # bytes of a timestamp
YEARS = range(1971, 10_000)  # in which a calendar can name a time, in any zone
UNITS = ((86_400, "day"), (3600, "hour"), (60, "minute"))  # seconds
PATH = re.compile(r"(^|[\s:])/|\.\.")  # given as a time zone, which dateutil would open


def read_time(folder: Path) -> datetime | None:
    """Read the timestamp of the submission in this folder, in naive UTC."""
    return parse_time(read_small_text(folder / TIMESTAMP, MAX_TIME) or "")


def parse_time(text: str) -> datetime | None:
    """Parse an untrusted time, as naive UTC; None if it isn't a time."""
    if len(text) > MAX_TIME or PATH.search(text) or not text.strip().isprintable():
        return None
    try:
        time: datetime | None = parse_utc(text.strip() or None)
    except Exception:  # whatever the parser raises on an untrusted text, it isn't a time
        return None
    return time if time is None or time.year in YEARS else None


def get_utc_now() -> datetime:
    """Return the time in naive UTC, as nbgrader keeps times."""
    return datetime.now(UTC).replace(tzinfo=None)


def convert_file_time(seconds: float) -> datetime:
    """Convert a time of the file system to naive UTC."""
    return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)


def format_time(time: datetime, zone: tzinfo = UTC) -> str:
    """Format a time in naive UTC to the minute, with its zone."""
    return f"{time.replace(tzinfo=UTC).astimezone(zone):%Y-%m-%d %H:%M %Z}"


def format_age(seconds: float) -> str:
    """Say how long ago something was, in the largest unit that fits."""
    for unit, name in UNITS:
        if seconds >= unit:
            return f"{format_count(int(seconds // unit), name)} ago"
    return "just now"
