"""`gradlab watch` as a service of a hub: `python -m autograder.hub.watch_service COURSE EXCHANGE`.

It waits until a lab is released, and starts the watch again when another one is. It also gives students the course's
own pages and the due dates, since the exchange's user can't read the course.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path

from autograder.base.event_log import record_event
from autograder.base.stop_request import StopRequest
from autograder.hub.course_pages import DUE_DATES, publish_pages
from autograder.hub.exchange_folder import ExchangeFolder
from autograder.hub.service_names import get_watch_service
from autograder.hub.service_output import configure_output, print_output
from autograder.workers.death_signal import end_with_parent

LOOK_SECONDS = 2.0
PAUSE_SECONDS = 30.0  # after a watch that has failed, so a broken course doesn't use up the machine


def run_watches(course: Path, exchange: Path, stop: StopRequest) -> None:
    """Run a watch for the released labs until stopped.

    Args:
        course: The course's folder.
        exchange: The course's part of the exchange.
        stop: Set to end.
    """
    folder = ExchangeFolder(exchange)
    known = folder.list_release_times()
    record_event("start", labs=", ".join(known))
    due_dates = threading.Thread(target=_follow_due_dates, args=[course, folder.pages / DUE_DATES, stop], daemon=True)
    while not stop.is_set():
        publish_pages(course, folder.pages)
        labs, known = _list_labs(course, folder), _record_releases(known, folder.list_release_times())
        if not labs:
            stop.wait(LOOK_SECONDS)
            continue
        if not due_dates.is_alive():  # the gradebook exists once a lab is released
            due_dates.start()
        watch = _start_process("autograder.cli", "watch", *labs, "--course", str(course))
        while watch.poll() is None and not stop.is_set() and _list_labs(course, folder) == labs:
            stop.wait(LOOK_SECONDS)
            publish_pages(course, folder.pages)
            known = _record_releases(known, folder.list_release_times())
        if watch.poll() is None:
            watch.send_signal(signal.SIGINT)
            watch.wait()
        elif watch.returncode:
            stop.wait(PAUSE_SECONDS)


def _start_process(module: str, *arguments: str) -> subprocess.Popen[str]:
    """Start one of Gradlab's own programs, and print what it prints."""
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", module, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        # A killed service leaves no watch to which the next one would have to give way.
        preexec_fn=lambda: end_with_parent(signal.SIGINT),
    )
    threading.Thread(target=print_output, args=[process.stdout], daemon=True).start()
    return process


def _follow_due_dates(course: Path, file: Path, stop: StopRequest) -> None:
    """Keep the due dates in the exchange as the gradebook and term.toml have them, until stopped."""
    while not stop.is_set():
        process = _start_process("autograder.hub.course_process", str(course), "due", str(file))
        while process.poll() is None and not stop.is_set():
            stop.wait(LOOK_SECONDS)
        assert process.stdin is not None
        process.stdin.close()  # which ends it
        if process.wait():
            stop.wait(PAUSE_SECONDS)


def _list_labs(course: Path, exchange: ExchangeFolder) -> list[str]:
    """List the released labs that the course can mark."""
    return [lab for lab in exchange.list_labs() if (course / "source" / lab).is_dir()]


def _record_releases(before: dict[str, int], now: dict[str, int]) -> dict[str, int]:
    """Record which labs were released, again or for the first time, and which were withdrawn. Returns `now`."""
    for lab, time in now.items():
        if before.get(lab) != time:
            record_event("release", lab=lab)
    for lab in before.keys() - now.keys():
        record_event("withdrawal", lab=lab)
    return now


def main() -> None:
    """Run the service until the hub ends it."""
    stop = StopRequest()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    course, exchange = map(Path, sys.argv[1:])
    configure_output(get_watch_service(exchange.name))
    run_watches(course, exchange, stop)


if __name__ == "__main__":
    main()
