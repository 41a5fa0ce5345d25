"""A class online under load: many submissions in a minute, and many students' servers at the same time.

A demo hub runs with its exchange, its watch and its proxy. Submissions arrive as before a deadline: at random moments,
each by a client of its own, which gets an answer once the submission is on the disk.
"""

from __future__ import annotations

import csv
import os
import platform
import random
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median, quantiles

import psutil

from autograder.hub.course_connection import read_course_name
from autograder.hub.exchange_folder import ExchangeFolder
from benchmarks.classroom import LIGHT_LAB, create_course, iter_submissions
from labext.exchange_client import ExchangeClient
from tests.hub.hub_process import HubUser, RunningHub, release_lab, run_hub
from tests.waiting import wait_until

STUDENTS = 300
SERVERS = 30
SPREAD_SECONDS = 60.0  # in which all submissions arrive
CLIENTS = 32
SEED = 7
MEGABYTE = 1e6


def run(students: int = STUDENTS, servers: int = SERVERS) -> str:
    """Return a Markdown table."""
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        course = base / "course"
        (lab,) = create_course(course, [LIGHT_LAB])
        names = [f"student{number:03}" for number in range(students)]
        with (base / "roster.csv").open("w", newline="") as file:
            csv.writer(file).writerows([["id"], *([name] for name in names)])
        notebooks = [notebook for _, notebook in iter_submissions(lab, students, distinct=24)]
        with run_hub(course, base, roster=str(base / "roster.csv")) as hub:
            release_lab(course, LIGHT_LAB)
            rows = _measure_submissions(hub, names, notebooks) + _measure_servers(hub, names[:servers])
    lines = [f"| {name} | {value} |" for name, value in rows]
    title = f"Python {platform.python_version()}, {os.cpu_count()} cores, which the clients use as well."
    return "\n".join(["# A class online", "", title, "", "| | |", "|---|---|", *lines]) + "\n"


def _measure_submissions(hub: RunningHub, names: Sequence[str], notebooks: Sequence[bytes]) -> list[tuple[str, str]]:
    """Submit for all students within a minute, and wait for all pages."""
    course = read_course_name(hub.course)
    clients = [ExchangeClient(hub.exchange, hub.log_in(name).draw_token()) for name in names]
    moments = random.Random(SEED)
    delays = sorted(moments.uniform(0, SPREAD_SECONDS) for _ in names)
    start, seconds, lock = time.monotonic(), list[float](), threading.Lock()

    def submit(number: int) -> str:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, f"{LIGHT_LAB}.ipynb").write_bytes(notebooks[number])
            time.sleep(max(0.0, start + delays[number] - time.monotonic()))
            before = time.monotonic()
            receipt = clients[number].submit_folder(course, LIGHT_LAB, Path(folder))
            with lock:
                seconds.append(time.monotonic() - before)
            return receipt.timestamp

    with ThreadPoolExecutor(CLIENTS) as pool:
        receipts = list(pool.map(submit, range(len(names))))
    arrived = time.monotonic() - start
    inbound = ExchangeFolder(hub.folder / "exchange" / course / "nbgrader" / course).inbound
    stored = {tuple(name.split("+")[:3]) for name in os.listdir(inbound)}
    lost = sum((name, LIGHT_LAB, stamp) not in stored for name, stamp in zip(names, receipts, strict=True))
    feedback = inbound.parent / "feedback"
    wait_until(lambda: len(list(feedback.glob("*.html"))) >= len(names), "all submissions are marked")
    marked = time.monotonic() - start
    return [
        (f"{len(names)} submissions in {arrived:.0f} s: lost", f"{lost}"),
        ("a submission, from the click to the receipt: median, ms", f"{1000 * median(seconds):.0f}"),
        ("95th percentile, ms", f"{1000 * quantiles(seconds, n=20, method='inclusive')[-1]:.0f}"),
        ("longest, ms", f"{1000 * max(seconds):.0f}"),
        ("all of them marked, after the first one was sent, s", f"{marked:.0f}"),
    ]


def _measure_servers(hub: RunningHub, names: Sequence[str]) -> list[tuple[str, str]]:
    """Start servers at the same time, and measure them once all answer."""
    users = [hub.log_in(name) for name in names]
    start, waits, lock = time.monotonic(), list[float](), threading.Lock()

    def open_server(user: HubUser) -> None:
        user.open_server()
        with lock:
            waits.append(time.monotonic() - start)

    with ThreadPoolExecutor(len(users)) as pool:
        list(pool.map(open_server, users))
    memory = [_measure_memory(process) for process in _list_servers(hub, names)]
    parts = psutil.Process(hub.process.pid)
    return [
        (f"{len(names)} servers at the same time: failed", f"{len(names) - len(memory)}"),
        ("until a server answers: median, s", f"{median(waits):.0f}"),
        ("until all of them answer, s", f"{max(waits):.0f}"),
        ("private memory of a student's server: median, MB", f"{median(memory) / MEGABYTE:.0f}"),
        ("largest, MB", f"{max(memory) / MEGABYTE:.0f}"),
        ("private memory of the hub itself, MB", f"{_measure_memory(parts) / MEGABYTE:.0f}"),
    ]


def _list_servers(hub: RunningHub, names: Sequence[str]) -> list[psutil.Process]:
    """List the processes of these students' own servers."""
    homes = {str(hub.folder / "homes" / name) for name in names}
    children = psutil.Process(hub.process.pid).children()
    return [process for process in children if process.environ().get("HOME") in homes]


def _measure_memory(process: psutil.Process) -> int:
    """Measure what a process has in memory and shares with no other, in bytes."""
    return int(process.memory_full_info().uss)
