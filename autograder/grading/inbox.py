"""What students hand in through nbgrader's exchange, while it arrives: exchange/COURSE/inbound/STUDENT+LAB+TIME."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from nbgrader.exchange import ExchangeFactory
from nbgrader.exchange.default import Exchange, ExchangeCollect
from nbgrader.utils import notebook_hash, parse_utc

from autograder.errors import GradlabError

SECRET = "submission_secret.txt"  # what `nbgrader submit` writes last
TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[^+]*"


@dataclass(frozen=True)
class Arrival:
    """A submission in the inbox. when: its time, UTC without a zone, as nbgrader keeps times."""

    student: str
    lab: str
    when: datetime
    folder: Path


@dataclass(frozen=True)
class Inbox:
    """The exchange of one course. owned: a submission counts only where its folder belongs to who it names."""

    inbound: Path
    outbound: Path
    feedback: Path
    owned: bool

    def arrivals(self, labs: Sequence[str], known: dict[str, Arrival]) -> Iterator[Arrival]:
        """Every submission of these labs that is whole. known: those of earlier looks by their folders' names."""
        form = re.compile(rf"(.+?)\+({'|'.join(map(re.escape, labs))})\+({TIME})(?:\+.*)?")
        with os.scandir(self.inbound) as entries:
            for entry in entries:
                if entry.name not in known:
                    found = form.fullmatch(entry.name)
                    if not found or not os.path.exists(os.path.join(entry.path, SECRET)):
                        continue
                    known[entry.name] = Arrival(found[1], found[2], parse_utc(found[3]), Path(entry.path))
                yield known[entry.name]

    def foreign(self, arrival: Arrival) -> str:
        """Whose folder it is, where it is another's than it says."""
        if not self.owned:
            return ""
        owner = arrival.folder.owner()
        return "" if owner == arrival.student else owner

    def page_of(self, arrival: Arrival, notebook: str) -> Path:
        """Where `nbgrader fetch_feedback` looks for the page of this submission."""
        secret = (arrival.folder / SECRET).read_text()
        return self.feedback / f"{notebook_hash(secret=secret, notebook_id=notebook)}.html"

    def release(self, arrival: Arrival, pages: Sequence[Path]) -> None:
        """Give these pages to the student, each whole or not at all."""
        self.feedback.mkdir(mode=0o755, parents=True, exist_ok=True)
        for page in pages:
            target = self.page_of(arrival, page.stem)
            new = target.with_name(f"{target.stem}-tmp.html")
            shutil.copy(page, new)
            os.replace(new, target)


def inbox_of(api: Any) -> Inbox:
    """Raises GradlabError where there is no exchange folder of nbgrader's own kind."""
    exchange = Exchange(coursedir=api.coursedir, config=api.config)
    kind = ExchangeFactory(config=api.config).collect
    if not issubclass(kind, ExchangeCollect):
        raise GradlabError(f"gradlab watch looks into nbgrader's exchange folder; this course uses {kind.__name__}")
    if not api.coursedir.course_id:
        raise GradlabError("gradlab watch needs c.CourseDirectory.course_id in nbgrader_config.py")
    folder = Path(exchange.root) / api.coursedir.course_id
    if not (folder / "inbound").is_dir():
        raise GradlabError(
            f"there is no {folder}/inbound: set c.Exchange.root in nbgrader_config.py, and nbgrader release_assignment"
        )
    collect = ExchangeCollect(coursedir=api.coursedir, config=api.config)
    return Inbox(folder / "inbound", folder / "outbound", folder / "feedback", bool(collect.check_owner))


def newest(arrivals: Iterator[Arrival]) -> list[Arrival]:
    """Of each student and lab the newest, in the order in which they came."""
    last: dict[tuple[str, str], Arrival] = {}
    for arrival in arrivals:
        key = arrival.student, arrival.lab
        if key not in last or arrival.when > last[key].when:
            last[key] = arrival
    return sorted(last.values(), key=lambda arrival: arrival.when)


def bring_in(arrival: Arrival, course: Path) -> None:
    """Copy it to submitted/STUDENT/LAB, in place of an older one, as `nbgrader collect --update` does."""
    target = course / "submitted" / arrival.student / arrival.lab
    if _time_in(target) == arrival.when:
        return
    new, old = (target.with_name(f".{arrival.lab}.{word}") for word in ("new", "old"))
    for left in (new, old):
        shutil.rmtree(left, ignore_errors=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(arrival.folder, new, symlinks=True)
    if target.exists():
        os.replace(target, old)
    os.replace(new, target)
    shutil.rmtree(old, ignore_errors=True)


def superseded(arrival: Arrival, course: Path) -> bool:
    """Whether a later submission lies in submitted/."""
    there = _time_in(course / "submitted" / arrival.student / arrival.lab)
    return there is not None and there > arrival.when


def _time_in(folder: Path) -> datetime | None:
    """What the timestamp of the submission in this folder says."""
    try:
        time: datetime | None = parse_utc((folder / "timestamp.txt").read_text().strip() or None)
        return time
    except (OSError, ValueError, OverflowError, TypeError):
        return None
