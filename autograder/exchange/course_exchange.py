"""Finds a course's exchange by its nbgrader_config.py, and reads what is in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

from nbgrader.exchange import ExchangeFactory
from nbgrader.exchange.default import Exchange as NbgraderExchange
from nbgrader.exchange.default import ExchangeCollect

from autograder.base.errors import GradlabError
from autograder.base.timestamps import get_utc_now
from autograder.exchange.inbox import Inbox
from autograder.gradebook.nbgrader_course import NbgraderCourse
from autograder.model.arrivals import Arrival, describe_uncounted
from autograder.model.assignments import list_assignments

UTC_NAME = "UTC"  # nbgrader's default


def open_inbox(nbgrader: NbgraderCourse) -> Inbox:
    """Open the course's inbox. Raises GradlabError if there is no exchange folder of nbgrader's own kind."""
    inbox = _find_inbox(nbgrader)
    if isinstance(inbox, str):
        raise GradlabError(inbox)
    return inbox


def read_exchange(nbgrader: NbgraderCourse, labs: Sequence[str]) -> tuple[list[Arrival], list[str]]:
    """Read the submissions of these labs in the exchange; none if there is no exchange.

    Returns:
        The submissions, and lines about what counts for no one.

    Raises:
        GradlabError: If the folder can't be read.
    """
    inbox, now = _find_inbox(nbgrader), get_utc_now()
    if isinstance(inbox, str):
        return [], []
    try:
        arrivals = list(inbox.iter_arrivals(labs, now=now))
        return arrivals, describe_uncounted(arrivals, now) + inbox.describe_unplaced_entries(
            list_assignments(nbgrader.root)
        )
    except OSError as error:
        raise GradlabError(f"{inbox.inbound} can't be read: {error.strerror}", fix="check c.Exchange.root") from None


def list_released(nbgrader: NbgraderCourse) -> list[str]:
    """List the labs that students can fetch. Raises GradlabError if there are none."""
    inbox, course = open_inbox(nbgrader), nbgrader.root
    labs = sorted(p.name for p in inbox.outbound.glob("*") if (course / "source" / p.name).is_dir())
    if not labs:
        raise GradlabError(
            f"no lab of this course is in {inbox.outbound}", fix="run nbgrader release_assignment LAB first"
        )
    return labs


def has_released_lab(nbgrader: NbgraderCourse, labs: Iterable[str]) -> bool:
    """Return whether students can fetch one of these labs; True if there is no exchange that would show it."""
    exchange = nbgrader.build_exchange(NbgraderExchange)
    _, outbound, _ = _list_folders(nbgrader, exchange)
    return not Path(exchange.root).is_dir() or any((outbound / lab).is_dir() for lab in labs)


def _find_inbox(nbgrader: NbgraderCourse) -> Inbox | str:
    """Find the course's inbox, or return why there is none."""
    exchange = nbgrader.build_exchange(NbgraderExchange)
    folders = _list_folders(nbgrader, exchange)
    if missing := _describe_missing(nbgrader, folders[0]):
        return missing
    collect = nbgrader.build_exchange(ExchangeCollect)
    return Inbox(*folders, bool(collect.check_owner), parse_timezone(exchange.timezone))


def _list_folders(nbgrader: NbgraderCourse, exchange: NbgraderExchange) -> tuple[Path, Path, Path]:
    """List the course's folders: what students submit, what they fetch, and their feedback pages."""
    folder = Path(exchange.root) / nbgrader.course_id
    return folder / "inbound", folder / "outbound", folder / "feedback"


def _describe_missing(nbgrader: NbgraderCourse, inbound: Path) -> str:
    """Say what this course lacks for an exchange with this inbox; empty if nothing."""
    kind = ExchangeFactory(config=nbgrader.config).collect
    if not issubclass(kind, ExchangeCollect):
        return f"gradlab watch needs nbgrader's exchange folder, but this course uses {kind.__name__}"
    if not nbgrader.course_id:
        return "gradlab watch needs c.CourseDirectory.course_id in nbgrader_config.py"
    if not inbound.is_dir():
        return f"there is no {inbound}: set c.Exchange.root in nbgrader_config.py, and run nbgrader release_assignment"
    return ""


def parse_timezone(name: str) -> tzinfo:
    """Return the time zone with this name. Raises GradlabError if there's none."""
    try:
        return UTC if name == UTC_NAME else ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        raise GradlabError(
            f"c.Exchange.timezone in nbgrader_config.py isn't a time zone: {name!r}",
            fix="write a name such as 'Europe/Berlin', or 'UTC'",
        ) from None
