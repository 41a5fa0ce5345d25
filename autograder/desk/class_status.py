"""The state of what marks a class: the exchange, the watch, what waits, and the disk. Each is a line with a sign."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import urllib.error
import urllib.request
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from autograder.base.errors import GradlabError
from autograder.base.text import format_count
from autograder.base.timestamps import format_age, format_time, get_utc_now
from autograder.desk import EXCHANGE_HEALTH
from autograder.exchange.course_exchange import open_inbox
from autograder.gradebook.nbgrader_course import NbgraderCourse, open_course
from autograder.watch.watch_presence import WatchSigns, read_watch_signs
from autograder.watch.watch_queue import WatchQueue, read_queue

ANSWER_SECONDS = 5.0  # for which the page waits for the exchange
HANGS_SECONDS = 120.0  # a watch looks every few seconds, also while it grades
LATE_SECONDS = 600.0  # a submission that has waited so long may need a person
LOW_BYTES = 5_000_000_000
GOOD, ATTENTION, BAD = "ready", "later", "fail"  # names of signs


@dataclass(frozen=True)
class StatusLine:
    """The state of one part."""

    part: str
    sign: str
    words: str


def read_status(course: Path) -> list[StatusLine]:
    """Read the state of each part of this course."""
    nbgrader, now = open_course(course), get_utc_now()
    lines = [_check_exchange(url)] if (url := os.environ.get(EXCHANGE_HEALTH)) else []
    signs = read_watch_signs(course)
    try:
        queue = read_queue(nbgrader)
    except (GradlabError, OSError) as error:
        lines.append(StatusLine("Submissions", ATTENTION, str(error)))
    else:
        lines += [check_watch(signs, queue, now), check_waiting(queue, now), _check_last_mark(queue, now)]
    return [*lines, *_check_disks(nbgrader)]


def _check_exchange(url: str) -> StatusLine:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=ANSWER_SECONDS):
            return StatusLine("Exchange", GOOD, "runs")
    except urllib.error.HTTPError as error:
        try:
            reason = str(json.loads(error.read(1000))["status"])
        except (ValueError, KeyError, TypeError):
            reason = f"it answers with the status {error.code}"
        return StatusLine("Exchange", BAD, f"no one can submit: {reason}")
    except OSError:
        return StatusLine("Exchange", BAD, "doesn't answer, so no one can fetch or submit a lab")


def check_watch(signs: WatchSigns, queue: WatchQueue, now: datetime) -> StatusLine:
    """Say whether the watch runs, and whether it still looks for submissions."""
    age = "" if signs.last_look is None else format_age((now - signs.last_look).total_seconds())
    if not signs.is_running:
        words = f"doesn't run; it last looked {age}" if age else "hasn't run yet"
        return StatusLine("Watch", BAD if queue.waiting else ATTENTION, words)
    if signs.last_look and (now - signs.last_look).total_seconds() > HANGS_SECONDS:
        return StatusLine("Watch", BAD, f"runs, but last looked for submissions {age}")
    if signs.problem:
        return StatusLine("Watch", BAD, f"runs, but couldn't mark a submission, and tries again: {signs.problem}")
    return StatusLine("Watch", GOOD, "runs")


def check_waiting(queue: WatchQueue, now: datetime) -> StatusLine:
    """Say how many submissions wait, and for how long."""
    held = f"; {queue.held} more {'waits' if queue.held == 1 else 'wait'} as term.toml asks" if queue.held else ""
    if queue.oldest is None:
        return StatusLine("Waiting", GOOD, f"no submission{held}")
    seconds = (now - queue.oldest).total_seconds()
    words = f"{format_count(queue.waiting, 'submission')}, the first submitted {format_age(seconds)}{held}"
    return StatusLine("Waiting", ATTENTION if seconds > LATE_SECONDS else GOOD, words)


def _check_last_mark(queue: WatchQueue, now: datetime) -> StatusLine:
    if queue.last_mark is None:
        return StatusLine("Last mark", GOOD, "none yet")
    age = format_age((now - queue.last_mark).total_seconds())
    return StatusLine("Last mark", GOOD, f"{age}, at {format_time(queue.last_mark)}")


def _check_disks(nbgrader: NbgraderCourse) -> list[StatusLine]:
    places = {"course": nbgrader.root}
    with contextlib.suppress(GradlabError):  # there is no exchange
        places["exchange"] = open_inbox(nbgrader).inbound
    names: dict[int, list[str]] = {}
    for name, path in places.items():
        names.setdefault(path.stat().st_dev, []).append(name)
    lines = []
    for parts in names.values():
        free = shutil.disk_usage(places[parts[0]]).free
        sign = GOOD if free > LOW_BYTES else BAD
        lines.append(StatusLine("Disk", sign, f"{free / 1e9:,.1f} GB free for the {' and the '.join(parts)}"))
    return lines
