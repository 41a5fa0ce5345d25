"""How long `gradlab watch` takes from a submission to its page, one at a time, and for many at the same time.

A submission is in the exchange as `nbgrader submit` leaves it. The clock starts when its last file is there, and stops
when its page is where `nbgrader fetch_feedback` looks for it.
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
from benchmarks.classroom import copy_course, create_course, iter_submissions, submit_class
from benchmarks.command_cost import Cost, compute_submission_cost, measure_command
from benchmarks.graders import JOBS, run_gradlab

SINGLES = 12  # submissions of a lab, one after the other; the first one warms up
BURST = 500
DISTINCT = 24  # notebooks of a burst, which are repeated
LABS = ("light_lab", "05_inplace")  # the second one costs about as much as the median lab
WAIT_SECONDS = 600.0


def run(labs: Sequence[str] = LABS, burst: int = BURST) -> str:
    """Return two Markdown tables.

    Args:
        labs: The names of the labs for single submissions. The first one is also that of the burst.
        burst: The number of submissions that wait at the same time.
    """
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        labs_by_name = {lab.name: lab for lab in create_course(base / "course", labs)}
        singles = [_measure_singles(base, labs_by_name[name]) for name in labs]
        burst_row = _measure_burst(base, labs_by_name[labs[0]], burst)
    return (
        "# How long a watch takes\n\n"
        f"At most {JOBS} at a time. Seconds from the last file of a submission to its released page, for "
        f"{SINGLES - 1} submissions one after the other. Python {platform.python_version()}, "
        f"torch {torch.__version__}, {os.cpu_count()} cores.\n\n"
        "| lab | median | longest |\n|---|---|---|\n"
        + "".join(
            f"| {name} | {median(seconds):.2f} | {max(seconds):.2f} |\n"
            for name, seconds in zip(labs, singles, strict=True)
        )
        + f"\n{burst} submissions of the light lab that wait at the same time, wall-clock seconds per submission.\n\n"
        "| `gradlab grade`, without start-up | `gradlab feedback`, without start-up | `gradlab watch`, which does "
        "both and releases | relative to both |\n|---|---|---|---|\n" + burst_row
    )


def _measure_singles(base: Path, lab: Lab) -> list[float]:
    """Measure the seconds of each submission, without the first one."""
    course = _create_course(base, lab.name, f"one_{lab.name}")
    seconds = []
    with _start_watch(course, lab.name) as process:
        for student, notebook in iter_submissions(lab, SINGLES):
            page = _submit_notebook(course, lab.name, student, notebook)
            seconds.append(_wait_for_pages(process, [page]))
    return seconds[1:]


def _measure_burst(base: Path, lab: Lab, count: int) -> str:
    """Measure many submissions, and return a row that compares the watch with the class's commands."""
    large = copy_course(base / "course", lab.name, base / "graded")
    submit_class(large, lab, count, DISTINCT)
    small = copy_course(base / "course", lab.name, base / "few")
    submit_class(small, lab, JOBS, DISTINCT)
    grade = compute_submission_cost(run_gradlab(large, lab.name), count, run_gradlab(small, lab.name), JOBS).wall
    feedback = compute_submission_cost(
        _write_feedback(large, lab.name), count, _write_feedback(small, lab.name), JOBS
    ).wall
    course = _create_course(base, lab.name, "burst")
    with _start_watch(course, lab.name) as process:
        first_page = _submit_notebook(course, lab.name, "first", next(iter_submissions(lab, 1))[1])
        _wait_for_pages(process, [first_page])
        process.send_signal(signal.SIGSTOP)  # until all of them are there
        pages = [_submit_notebook(course, lab.name, *each) for each in iter_submissions(lab, count, DISTINCT)]
        process.send_signal(signal.SIGCONT)
        watch = _wait_for_pages(process, pages) / count
    ratio = watch / (grade + feedback)
    return f"| {grade:.3f} | {feedback:.3f} | {watch:.3f} | {ratio:.2f} |\n"


def _write_feedback(course: Path, lab: str) -> Cost:
    return measure_command([sys.executable, "-m", "autograder.cli", "feedback", lab], course)


def _create_course(base: Path, lab: str, name: str) -> Path:
    """Create a course with an exchange in its folder."""
    course = base / name
    copy_course(base / "course", lab, course)
    for folder in ("inbound", f"outbound/{lab}"):
        (course / "exchange" / "gradlab" / folder).mkdir(parents=True)
    with (course / "nbgrader_config.py").open("a") as config:
        config.write(f"\nc.Exchange.root = {str(course / 'exchange')!r}\nc.ExchangeCollect.check_owner = False\n")
    return course


@contextmanager
def _start_watch(course: Path, lab: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-u", "-m", "autograder.cli", "watch", lab, "--jobs", str(JOBS)]
    with subprocess.Popen(command, cwd=course, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()  # it prints a line when it begins to watch
        try:
            yield process
        finally:
            process.send_signal(signal.SIGINT)


def _submit_notebook(course: Path, lab: str, student: str, notebook: bytes) -> Path:
    """Submit a notebook to the exchange, and return the path where its page will be."""
    timestamp = time.strftime("%Y-%m-%d %H:%M:%S.000000 UTC", time.gmtime())
    new = course / "exchange" / "new"
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir()
    (new / f"{lab}.ipynb").write_bytes(notebook)
    (new / "timestamp.txt").write_text(timestamp)
    (new / "submission_secret.txt").write_text(f"{student} {timestamp}")
    os.replace(new, course / "exchange" / "gradlab" / "inbound" / f"{student}+{lab}+{timestamp}+x")
    secret = notebook_hash(secret=f"{student} {timestamp}", notebook_id=lab)
    return course / "exchange" / "gradlab" / "feedback" / f"{secret}.html"


def _wait_for_pages(process: subprocess.Popen[str], pages: Sequence[Path]) -> float:
    """Wait until all pages are there, and return the seconds that it took.

    Raises:
        SystemExit: If the watch ends, or takes longer than WAIT_SECONDS.
    """
    start = time.monotonic()
    while not all(page.exists() for page in reversed(pages)):
        if process.poll() is not None or time.monotonic() - start > WAIT_SECONDS:
            raise SystemExit("the watch ended, or left a submission without its page")
        time.sleep(0.01)
    return time.monotonic() - start


if __name__ == "__main__":
    print(run())
