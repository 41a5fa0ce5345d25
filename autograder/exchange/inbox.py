"""What students hand in through nbgrader's exchange, while it arrives: exchange/COURSE/inbound/STUDENT+LAB+TIME."""

from __future__ import annotations

import contextlib
import itertools
import os
import pwd
import re
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

from nbgrader.exchange import ExchangeFactory
from nbgrader.exchange.default import Exchange, ExchangeCollect
from nbgrader.utils import notebook_hash

from autograder.base.errors import GradlabError
from autograder.base.text import join_names, make_readable
from autograder.base.timestamps import SECRET, convert_file_time, get_utc_now, parse_time, read_small_text
from autograder.exchange.inbox_memory import InboxMemory, Incomplete, Owner
from autograder.gradebook.nbgrader_course import NbgraderCourse
from autograder.intake.copying import open_folder
from autograder.model.arrivals import NEVER, Arrival, describe_uncounted
from autograder.model.assignments import list_assignments
from autograder.reports.unmarked_page import HEAD_BYTES, is_unmarked

MAX_SECRET = 4096  # bytes
MAX_EACH = 1000  # submissions of one student for a lab
MAX_TIMED = 2_000  # files of one submission whose times are looked at
MAX_OPENED = 20  # of them that are opened again in one look; the others wait for the next
TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[^+]*"
HANDING_IN = timedelta(minutes=1)  # in which files that cannot be read may become so: `nbgrader submit` sets that last


@dataclass(frozen=True)
class Inbox:
    """The exchange of one course. owned: a submission counts only where its folder belongs to who it names.

    zone: of times in words, which nbgrader's own have, too.
    """

    inbound: Path
    outbound: Path
    feedback: Path
    owned: bool
    zone: tzinfo = UTC

    def iter_arrivals(
        self, labs: Sequence[str], memory: InboxMemory | None = None, now: datetime | None = None
    ) -> Iterator[Arrival]:
        """List every submission of these labs, whole or not.

        Args:
            labs: The same at each look with one memory.
            memory: What earlier looks found. A look opens only folders that are new, and a few of each owner that
                changed or are still being copied: what strangers leave there costs later looks little but its names.
            now: UTC without a zone.
        """
        memory, now = memory or InboxMemory(), now or get_utc_now()
        form, opened, present = _compile_name_pattern(labs), Counter[Owner](), set[str]()
        with os.scandir(self.inbound) as entries:
            for entry in entries:
                present.add(entry.name)
                if entry.name in memory.skipped:
                    continue
                arrival = memory.known.get(entry.name)
                if arrival is None and (found := form.fullmatch(entry.name)):
                    arrival = self._look_at(Path(entry.path), found, memory, opened, now)
                if arrival is None:
                    memory.skipped.add(entry.name)
                else:
                    yield arrival
        memory.forget_vanished(present)

    def describe_unplaced(self, labs: Iterable[str]) -> list[str]:
        """What in inbound/ is a submission of none of these labs, in a line."""
        form = _compile_name_pattern(labs)
        names = sorted(make_readable(name) for name in os.listdir(self.inbound) if not form.fullmatch(name))
        what = "is no submission of a lab of this course: one is a folder STUDENT+LAB+TIME, which nbgrader submit makes"
        return [f"in {self.inbound}, and {what}: {join_names(names)}"] if names else []

    def _look_at(
        self, folder: Path, found: re.Match[str], memory: InboxMemory, opened: Counter[Owner], now: datetime
    ) -> Arrival | None:
        """Look at a folder that isn't known yet; None if its owner has too many of them.

        Args:
            folder: The submission's.
            found: Its name in parts: student, lab, time.
            memory: Where the result is kept.
            opened: How many folders of each owner were opened again in this look.
            now: UTC without a zone.
        """
        student, lab, said = found.groups()
        unseen, before = Arrival(student, lab, NEVER, folder), memory.incomplete.get(folder.name)
        try:
            status = folder.lstat()
        except OSError as error:
            return replace(unseen, wrong=f"it cannot be read: {error.strerror}", comes=True)
        whose = lab, status.st_uid if self.owned else student
        if before is None:
            if memory.counts[whose] > MAX_EACH:
                return None
            memory.counts[whose] += 1
            if memory.counts[whose] > MAX_EACH:  # the first beyond it stands for all of them
                wrong = f"there are {MAX_EACH} submissions of this student already"
                memory.known[folder.name] = replace(unseen, owner=status.st_uid, wrong=wrong)
                return memory.known[folder.name]
        elif (before.given_up and before.changed == status.st_ctime_ns) or opened[whose] >= MAX_OPENED:
            return before.arrival
        else:
            opened[whose] += 1
        coming = now - convert_file_time(status.st_ctime) <= HANDING_IN
        arrival = self._read_arrival(folder, status, student, lab, said)
        if isinstance(arrival, Arrival):
            memory.incomplete.pop(folder.name, None)
            memory.known[folder.name] = arrival
            return arrival
        partial = replace(unseen, owner=status.st_uid, wrong=arrival, comes=coming)
        memory.incomplete[folder.name] = Incomplete(partial, status.st_ctime_ns, given_up=not coming)
        return partial

    def _read_arrival(self, folder: Path, status: os.stat_result, student: str, lab: str, said: str) -> Arrival | str:
        """What is missing if it hasn't arrived yet. What is taken from it here is not read again: its writer may
        change it.
        """
        if stat.S_ISLNK(status.st_mode):
            return Arrival(student, lab, NEVER, folder, owner=status.st_uid, wrong="its folder is a link")
        try:
            with open_folder(folder) as descriptor:
                secret = read_small_text(SECRET, MAX_SECRET, descriptor)
                if not secret:
                    return f"it has no {SECRET} that can be read, which nbgrader submit writes last"
                owner = os.fstat(descriptor).st_uid
                changed = find_newest_change(descriptor)
        except OSError as error:
            return f"it cannot be read: {error.strerror}"
        when, written = parse_time(said), convert_file_time(changed)
        name = get_user_name(owner)
        if not student.isprintable() or student.startswith(".") or "+" in student:
            wrong = "its name names no student"
        elif when is None:
            wrong = "its name says no time"
        elif self.owned and name != student:
            wrong = f"its folder is {name}'s (c.ExchangeCollect.check_owner = False takes it)"
        else:
            wrong = ""
        return Arrival(student, lab, when or NEVER, folder, secret, written, owner, wrong)

    def get_page_path(self, arrival: Arrival, notebook: str) -> Path:
        """Where `nbgrader fetch_feedback` looks for the page of this submission."""
        return self.feedback / f"{notebook_hash(secret=arrival.secret, notebook_id=notebook)}.html"

    def has_page(self, arrival: Arrival, notebook: str) -> bool:
        """Whether the page of its mark is there; one that says why there is none does not count."""
        try:
            with self.get_page_path(arrival, notebook).open("rb") as page:
                return not is_unmarked(page.read(HEAD_BYTES))
        except FileNotFoundError:
            return False

    def release(self, arrival: Arrival, pages: Sequence[Path]) -> None:
        """Give these pages to the student."""
        for page in pages:
            self.put(arrival, page.stem, page.read_bytes())

    def put(self, arrival: Arrival, notebook: str, page: bytes) -> None:
        """Give this page to the student, whole or not at all."""
        self.feedback.mkdir(mode=0o711, parents=True, exist_ok=True)  # as nbgrader: who knows a page's name reads it
        target = self.get_page_path(arrival, notebook)
        new = target.with_name(f"{target.stem}-tmp.html")
        new.write_bytes(page)
        os.chmod(new, 0o644)
        os.replace(new, target)


def _compile_name_pattern(labs: Iterable[str]) -> re.Pattern[str]:
    """Of a folder's name: (student, lab, time)."""
    return re.compile(rf"(.+?)\+({'|'.join(map(re.escape, labs))})\+({TIME})(?:\+.*)?", re.ASCII | re.DOTALL)


def open_inbox(api: NbgraderCourse) -> Inbox:
    """Raises GradlabError where there is no exchange folder of nbgrader's own kind."""
    found = _find_inbox(api)
    if isinstance(found, str):
        raise GradlabError(found)
    return found


def _find_inbox(api: NbgraderCourse) -> Inbox | str:
    exchange = api.build_exchange(Exchange)
    folder = Path(exchange.root) / api.course_id
    if missing := _describe_missing(api, folder):
        return missing
    collect = api.build_exchange(ExchangeCollect)
    return Inbox(
        folder / "inbound",
        folder / "outbound",
        folder / "feedback",
        bool(collect.check_owner),
        _parse_timezone(exchange.timezone),
    )


def read_exchange(api: NbgraderCourse, labs: Sequence[str]) -> tuple[list[Arrival], list[str]]:
    """(submissions of these labs in the exchange, what in it counts for nobody in lines); none where there is none.

    Raises GradlabError where the folder cannot be read.
    """
    inbox, now = _find_inbox(api), get_utc_now()
    if isinstance(inbox, str):
        return [], []
    try:
        found = list(inbox.iter_arrivals(labs, now=now))
        return found, describe_uncounted(found, now) + inbox.describe_unplaced(list_assignments(api.root))
    except OSError as error:
        raise GradlabError(f"{inbox.inbound} cannot be read: {error.strerror}") from None


def has_released_lab(api: NbgraderCourse, labs: Iterable[str]) -> bool:
    """Whether students can fetch one of these labs; also where there is no exchange to tell it."""
    root = Path(api.build_exchange(Exchange).root)
    return not root.is_dir() or any((root / api.course_id / "outbound" / lab).is_dir() for lab in labs)


def _describe_missing(api: NbgraderCourse, folder: Path) -> str:
    """What this course lacks of an exchange in this folder."""
    kind = ExchangeFactory(config=api.config).collect
    if not issubclass(kind, ExchangeCollect):
        return f"gradlab watch looks into nbgrader's exchange folder; this course uses {kind.__name__}"
    if not api.course_id:
        return "gradlab watch needs c.CourseDirectory.course_id in nbgrader_config.py"
    if not (folder / "inbound").is_dir():
        return (
            f"there is no {folder}/inbound: set c.Exchange.root in nbgrader_config.py, and nbgrader release_assignment"
        )
    return ""


def _parse_timezone(name: str) -> tzinfo:
    try:
        return UTC if name == "UTC" else ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        raise GradlabError(f"c.Exchange.timezone in nbgrader_config.py names no time zone: {name!r}") from None


def find_newest_change(folder: int) -> float:
    """When this folder, or what is directly in it, changed last by the file system's clock, which no student sets."""
    times = [os.fstat(folder).st_ctime]
    with os.scandir(folder) as entries:
        for entry in itertools.islice(entries, MAX_TIMED):
            with contextlib.suppress(FileNotFoundError):  # its writer may take it away meanwhile
                times.append(entry.stat(follow_symlinks=False).st_ctime)
    return max(times)


def get_user_name(uid: int) -> str:
    with contextlib.suppress(KeyError):
        return pwd.getpwuid(uid).pw_name
    return f"user {uid}"
