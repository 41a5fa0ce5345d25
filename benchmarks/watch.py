"""What `gradlab watch` takes: from a submission to its page, one at a time, and a burst against the class's commands.

A submission lies in the exchange as `nbgrader submit` leaves it; the clock starts when its last file is there, and ends
when its page stands where `nbgrader fetch_feedback` looks.
"""

from __future__ import annotations

import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import torch
from nbgrader.utils import notebook_hash

from autograder.model.course import Lab
from benchmarks.classroom import copy_for, hand_in, members, new_course
from benchmarks.measure import Cost, cost_of, per_submission
from benchmarks.paths import JOBS, gradlab

SINGLE = 12  # submissions of a lab, one after the other; the first one warms up
BURST = 500
DIFFERENT = 24  # notebooks of a burst, which come again
LABS = ("light_lab", "05_inplace")  # the second one costs what the median of the labs does
WAIT_SECONDS = 600.0


def run(labs: Sequence[str] = LABS, burst: int = BURST) -> str:
    """Two Markdown tables."""
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        known = {lab.name: lab for lab in new_course(base / "course")}
        singles = [_single(base, known[name]) for name in labs]
        crowd = _burst(base, known[labs[0]], burst)
    return (
        "# What a watch takes\n\n"
        f"{JOBS} at a time. Seconds from the last file of a submission to its released page, {SINGLE - 1} "
        f"submissions one after the other. Python {platform.python_version()}, torch {torch.__version__}, "
        f"{os.cpu_count()} cores.\n\n"
        "| lab | median | longest |\n|---|---|---|\n"
        + "".join(
            f"| {name} | {median(took):.2f} | {max(took):.2f} |\n" for name, took in zip(labs, singles, strict=True)
        )
        + f"\n{burst} submissions of the light lab that lie there at once, seconds of wall time a submission.\n\n"
        "| `gradlab grade`, without its start | `gradlab feedback`, without its start | `gradlab watch`, which does "
        "both and releases | against both |\n|---|---|---|---|\n" + crowd
    )


def _single(base: Path, lab: Lab) -> list[float]:
    course = _course(base, lab.name, f"one_{lab.name}")
    took = []
    with _watching(course, lab.name) as running:
        for student, notebook in members(lab, SINGLE):
            page = _submit(course, lab.name, student, notebook)
            took.append(_wait(running, [page]))
    return took[1:]


def _burst(base: Path, lab: Lab, count: int) -> str:
    graded = copy_for(base / "course", lab.name, base / "graded")
    hand_in(graded, lab, count, DIFFERENT)
    few = copy_for(base / "course", lab.name, base / "few")
    hand_in(few, lab, JOBS, DIFFERENT)
    alone = per_submission(gradlab(graded, lab.name), count, gradlab(few, lab.name), JOBS).wall
    pages_alone = per_submission(_feedback(graded, lab.name), count, _feedback(few, lab.name), JOBS).wall
    course = _course(base, lab.name, "burst")
    pages = []
    with _watching(course, lab.name) as running:
        first = _submit(course, lab.name, "first", next(members(lab, 1))[1])
        _wait(running, [first])
        running.send_signal(signal.SIGSTOP)  # until all of them lie there
        pages = [_submit(course, lab.name, *each) for each in members(lab, count, DIFFERENT)]
        running.send_signal(signal.SIGCONT)
        watched = _wait(running, pages) / count
    ratio = watched / (alone + pages_alone)
    return f"| {alone:.3f} | {pages_alone:.3f} | {watched:.3f} | {ratio:.2f} |\n"


def _feedback(course: Path, lab: str) -> Cost:
    return cost_of([sys.executable, "-m", "autograder.cli", "feedback", lab], course)


def _course(base: Path, lab: str, name: str) -> Path:
    course = base / name
    copy_for(base / "course", lab, course)
    for folder in ("inbound", f"outbound/{lab}"):
        (course / "exchange" / "gradlab" / folder).mkdir(parents=True)
    with (course / "nbgrader_config.py").open("a") as config:
        config.write(f"\nc.Exchange.root = {str(course / 'exchange')!r}\nc.ExchangeCollect.check_owner = False\n")
    return course


@contextmanager
def _watching(course: Path, lab: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-u", "-m", "autograder.cli", "watch", lab, "--jobs", str(JOBS)]
    with subprocess.Popen(command, cwd=course, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        running.stdout.readline()  # it says that it watches
        try:
            yield running
        finally:
            running.send_signal(signal.SIGINT)


def _submit(course: Path, lab: str, student: str, notebook: bytes) -> Path:
    """Where its page will be."""
    when = time.strftime("%Y-%m-%d %H:%M:%S.000000 UTC", time.gmtime())
    new = course / "exchange" / "new"
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir()
    (new / f"{lab}.ipynb").write_bytes(notebook)
    (new / "timestamp.txt").write_text(when)
    (new / "submission_secret.txt").write_text(f"{student} {when}")
    os.replace(new, course / "exchange" / "gradlab" / "inbound" / f"{student}+{lab}+{when}+x")
    secret = notebook_hash(secret=f"{student} {when}", notebook_id=lab)
    return course / "exchange" / "gradlab" / "feedback" / f"{secret}.html"


def _wait(running: subprocess.Popen[str], pages: Sequence[Path]) -> float:
    """Seconds until all of them are there."""
    begun = time.monotonic()
    while not all(page.exists() for page in reversed(pages)):
        if running.poll() is not None or time.monotonic() - begun > WAIT_SECONDS:
            raise SystemExit("the watch ended, or left a submission without its page")
        time.sleep(0.01)
    return time.monotonic() - begun


if __name__ == "__main__":
    print(run())
