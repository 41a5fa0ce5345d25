"""Finds submissions as they arrive in nbgrader's exchange, as folders exchange/COURSE/inbound/STUDENT+LAB+TIME."""

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

from nbgrader.utils import notebook_hash

from autograder.base.submission_files import SECRET, read_small_text
from autograder.base.text import join_names, make_readable
from autograder.base.timestamps import convert_file_time, get_utc_now, parse_time
from autograder.exchange.inbox_memory import InboxMemory, IncompleteArrival, Owner
from autograder.intake.copying import open_folder
from autograder.model.arrivals import NEVER, Arrival
from autograder.reports.notice_page import HEAD_BYTES, is_notice_page

MAX_SECRET = 4096  # bytes
MAX_EACH = 1000  # submissions of one student for a lab
MAX_TIMED = 2_000  # files of one submission whose times are checked
MAX_OPENED = 20  # incomplete submissions of one student that are opened again in one look; others wait for the next
TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[^+]*"
SUBMIT_GRACE = timedelta(
    minutes=1
)  # until then, unreadable files may become readable: `nbgrader submit` sets that last


@dataclass(frozen=True)
class Inbox:
    """The exchange of one course."""

    inbound: Path
    outbound: Path
    feedback: Path
    check_owner: bool
    """Whether a submission counts only if its folder belongs to the student that it names."""
    zone: tzinfo = UTC
    """The time zone for times in messages, as in nbgrader's own."""

    def iter_arrivals(
        self, labs: Sequence[str], memory: InboxMemory | None = None, now: datetime | None = None
    ) -> Iterator[Arrival]:
        """Yield every submission of these labs, complete or not.

        Args:
            labs: Must be the same for all looks with one memory.
            memory: What earlier looks found. A look opens only new folders, and for each owner a few that changed or
                are still being copied. So whatever anyone leaves there costs later looks little more than its name.
            now: The time, in naive UTC.
        """
        memory, now = memory or InboxMemory(), now or get_utc_now()
        pattern, opened, present = _compile_name_pattern(labs), Counter[Owner](), set[str]()
        with os.scandir(self.inbound) as entries:
            for entry in entries:
                present.add(entry.name)
                if entry.name in memory.skipped:
                    continue
                arrival = memory.arrivals.get(entry.name)
                if arrival is None and (match := pattern.fullmatch(entry.name)):
                    arrival = self._inspect_folder(Path(entry.path), match, memory, opened, now)
                if arrival is None:
                    memory.skipped.add(entry.name)
                else:
                    yield arrival
        memory.forget_vanished(present)

    def describe_unplaced_entries(self, labs: Iterable[str]) -> list[str]:
        """Return a line about what in inbound/ isn't a submission of any of these labs; none if there is nothing."""
        pattern = _compile_name_pattern(labs)
        names = sorted(make_readable(name) for name in os.listdir(self.inbound) if not pattern.fullmatch(name))
        problem = "isn't a submission of a lab of this course (nbgrader submit makes a folder STUDENT+LAB+TIME)"
        return [f"in {self.inbound}, but {problem}: {join_names(names)}"] if names else []

    def _inspect_folder(
        self, folder: Path, match: re.Match[str], memory: InboxMemory, opened: Counter[Owner], now: datetime
    ) -> Arrival | None:
        """Inspect a folder that no earlier look settled; None if its owner has too many of them.

        Args:
            folder: The submission's folder.
            match: Its name, split into student, lab and time.
            memory: Keeps the result.
            opened: How many folders of each owner were opened again in this look.
            now: The time, in naive UTC.
        """
        student, lab, time_text = match.groups()
        unseen, before = Arrival(student, lab, NEVER, folder), memory.incomplete.get(folder.name)
        try:
            status = folder.lstat()
        except OSError as error:
            return replace(unseen, problem=f"it can't be read: {error.strerror}", in_transit=True)
        owner = lab, status.st_uid if self.check_owner else student
        if before is None:
            if memory.counts[owner] > MAX_EACH:
                return None
            memory.counts[owner] += 1
            if memory.counts[owner] > MAX_EACH:  # report only the first one beyond the limit
                problem = f"there are already {MAX_EACH} submissions of this student"
                memory.arrivals[folder.name] = replace(unseen, owner=status.st_uid, problem=problem)
                return memory.arrivals[folder.name]
        elif (before.is_abandoned and before.change_time == status.st_ctime_ns) or opened[owner] >= MAX_OPENED:
            return before.arrival
        else:
            opened[owner] += 1
        in_transit = now - convert_file_time(status.st_ctime) <= SUBMIT_GRACE
        arrival = self._read_arrival(folder, status, student, lab, time_text)
        if isinstance(arrival, Arrival):
            memory.incomplete.pop(folder.name, None)
            memory.arrivals[folder.name] = arrival
            return arrival
        partial = replace(unseen, owner=status.st_uid, problem=arrival, in_transit=in_transit)
        memory.incomplete[folder.name] = IncompleteArrival(partial, status.st_ctime_ns, is_abandoned=not in_transit)
        return partial

    def _read_arrival(
        self, folder: Path, status: os.stat_result, student: str, lab: str, time_text: str
    ) -> Arrival | str:
        """Read the submission, or return what is missing if it hasn't arrived completely.

        What is read here isn't read again, since its writer may change it.
        """
        if stat.S_ISLNK(status.st_mode):
            return Arrival(student, lab, NEVER, folder, owner=status.st_uid, problem="its folder is a link")
        try:
            with open_folder(folder) as descriptor:
                secret = read_small_text(SECRET, MAX_SECRET, descriptor)
                if not secret:
                    return f"it has no readable {SECRET}, which nbgrader submit writes last"
                owner = os.fstat(descriptor).st_uid
                changed = find_newest_change(descriptor)
        except OSError as error:
            return f"it can't be read: {error.strerror}"
        when, changed_at = parse_time(time_text), convert_file_time(changed)
        user = get_user_name(owner)
        if not student.isprintable() or student.startswith(".") or "+" in student:
            problem = "its name has no valid student"
        elif when is None:
            problem = "its name has no valid time"
        elif self.check_owner and user != student:
            problem = f"its folder belongs to {user} (c.ExchangeCollect.check_owner = False accepts it)"
        else:
            problem = ""
        return Arrival(student, lab, when or NEVER, folder, secret, changed_at, owner, problem)

    def get_page_path(self, arrival: Arrival, notebook: str) -> Path:
        """Return where `nbgrader fetch_feedback` looks for the page of this submission."""
        return self.feedback / f"{notebook_hash(secret=arrival.secret, notebook_id=notebook)}.html"

    def has_page(self, arrival: Arrival, notebook: str) -> bool:
        """Return whether the page with its mark exists; a page that says why there is no mark doesn't count."""
        try:
            with self.get_page_path(arrival, notebook).open("rb") as page:
                return not is_notice_page(page.read(HEAD_BYTES))
        except FileNotFoundError:
            return False

    def release_pages(self, arrival: Arrival, pages: Sequence[Path]) -> None:
        """Give these pages to the student."""
        for page in pages:
            self.write_page(arrival, page.stem, page.read_bytes())

    def write_page(self, arrival: Arrival, notebook: str, page: bytes) -> None:
        """Give this page to the student, completely or not at all."""
        # As in nbgrader, anyone who knows a page's name can read it.
        if not self.feedback.is_dir():
            self.feedback.mkdir(parents=True, exist_ok=True)
            self.feedback.chmod(0o711)
        target = self.get_page_path(arrival, notebook)
        new = target.with_name(f"{target.stem}-tmp.html")
        new.write_bytes(page)
        os.chmod(new, 0o644)
        os.replace(new, target)


def _compile_name_pattern(labs: Iterable[str]) -> re.Pattern[str]:
    """Compile the pattern of a submission's folder name; its groups are student, lab and time."""
    return re.compile(rf"(.+?)\+({'|'.join(map(re.escape, labs))})\+({TIME})(?:\+.*)?", re.ASCII | re.DOTALL)


def find_newest_change(folder: int) -> float:
    """Return when this folder or an entry of it last changed, by the file system's clock, which no student sets."""
    times = [os.fstat(folder).st_ctime]
    with os.scandir(folder) as entries:
        for entry in itertools.islice(entries, MAX_TIMED):
            with contextlib.suppress(FileNotFoundError):  # its writer may remove it meanwhile
                times.append(entry.stat(follow_symlinks=False).st_ctime)
    return max(times)


def get_user_name(uid: int) -> str:
    with contextlib.suppress(KeyError):
        return pwd.getpwuid(uid).pw_name
    return f"user {uid}"
