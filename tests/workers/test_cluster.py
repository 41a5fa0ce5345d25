"""A class graded on a dask cluster: a real scheduler and workers, each in its own process."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import dask
import nbformat
import pytest

from autograder.base.device import Device
from autograder.base.errors import GradlabError
from autograder.base.stop_request import StopRequest
from autograder.classroom.grading_outcome import GradingOutcome
from autograder.classroom.open_class import grade_lab
from autograder.gradebook.nbgrader_course import open_course
from autograder.gradebook.result_documents import load_document
from autograder.grading.task import GradingSettings, NotebookFile, Task
from autograder.model.fingerprint import collect_environment
from autograder.sandbox import Isolation
from autograder.workers import cluster, cluster_worker
from autograder.workers.cluster import DaskExecutor
from autograder.workers.executors import LocalExecutor
from autograder.workers.task_grading import TRIES, GradingFailure, plan_next_try
from tests.classroom.graded_class import (
    FOR_EVER,
    LAB,
    SLOWLY,
    WRONG,
    be_patient,
    hand_in,
    read_gradebook_rows,
    read_written_files,
)
from tests.classroom.processes import list_children
from tests.conftest import ROOT
from tests.watch.watched_exchange import ONE, TWO, add_exchange, read_scores, start, submit

pytestmark = pytest.mark.slow  # schedulers, workers and graders are started, and each grader imports torch
STUDENTS = {f"student_{number}": WRONG if number % 3 == 0 else None for number in range(6)}
REACHES_OUT = """
import os, socket
try:
    socket.create_connection(("{host}", {port}), 3)
    print("reached the scheduler")
except OSError as error:
    print("refused:", type(error).__name__)
print("told:", [name for name, value in os.environ.items() if "DASK" in name or "{port}" in value])
"""


@pytest.fixture
def course(small_course: Path) -> Path:
    return add_exchange(small_course)


@contextlib.contextmanager
def run_dask(*arguments: str, environment: Mapping[str, str] | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """Run a stock dask command in its own process group, which is killed as if its machine lost power."""
    command = [str(Path(sys.executable).parent / "dask"), *arguments]
    with subprocess.Popen(
        command, env={**os.environ, **(environment or {})}, start_new_session=True, stderr=subprocess.DEVNULL
    ) as process:
        try:
            yield process
        finally:
            end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with run_scheduler(tmp_path_factory.mktemp("scheduler")) as address:
        yield address


@pytest.fixture(scope="module")
def standing_scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a scheduler with a worker that stays: each new worker's grader imports torch."""
    folder = tmp_path_factory.mktemp("standing")
    with run_scheduler(folder) as address, run_worker(address, folder):
        yield address


@contextlib.contextmanager
def run_scheduler(folder: Path, **environment: str) -> Iterator[str]:
    """Run a new scheduler, and yield its address."""
    path = folder / "scheduler.json"
    command = ["scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(path)]
    with run_dask(*command, environment=environment) as process:
        while not path.exists() or not path.read_text().strip():
            assert process.poll() is None
            time.sleep(0.05)
        yield json.loads(path.read_text())["address"]


def run_worker(
    scheduler: str, folder: Path, *options: str, environment: Mapping[str, str] | None = None
) -> contextlib.AbstractContextManager[subprocess.Popen[bytes]]:
    """Run a worker with its own folder and, as on a cluster, the scheduler's address in its environment."""
    place = folder / f"worker-{time.monotonic_ns()}"
    variables = {"DASK_SCHEDULER_ADDRESS": scheduler, **(environment or {})}
    command = ["worker", scheduler, "--nthreads", "1", "--no-dashboard", "--host", "127.0.0.1"]
    return run_dask(*command, "--local-directory", str(place), *options, environment=variables)


def list_descendants(process: subprocess.Popen[bytes], name: str = "cluster_grader_main") -> list[int]:
    """The processes of this name that descend from a dask command: graders, or warm ones, of which each grader has one."""
    return [pid for pid, command in list_children(process.pid, recursive=True) if name in command]


def grade_on_cluster(course: Path, cluster: str, wait: float = 1000) -> Iterator[GradingOutcome]:
    return grade_lab(open_course(course), LAB, DaskExecutor(cluster, wait))


def read_documents(course: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (course / "results" / LAB).glob("[!.]*.json")}


def read_worth(course: Path) -> dict[str, float]:
    results = (load_document(course, LAB, name.removesuffix(".json")) for name in read_documents(course))
    return {result.student: sum(cell.points for cell in result.cells) for result in results}


def test_a_cluster_grades_as_this_machine_does(
    small_course: Path, tmp_path: Path, standing_scheduler: str, two_graders: LocalExecutor
) -> None:
    """Marks, result documents and notebooks are the same, one submission tries to reach the scheduler, one is damaged."""
    hand_in(small_course, STUDENTS)
    host, port = standing_scheduler.removeprefix("tcp://").split(":")
    hand_in(small_course, {"reaches_out": None}, REACHES_OUT.format(host=host, port=port))
    hand_in(small_course, {"damaged": None})
    (small_course / "submitted" / "damaged" / LAB / f"{LAB}.ipynb").write_text("this is not JSON {")
    folder = tmp_path / "there"
    shutil.copytree(small_course, folder)
    assert not any(outcome.failure for outcome in grade_lab(open_course(small_course), LAB, two_graders))
    assert not any(outcome.failure for outcome in grade_on_cluster(folder, standing_scheduler))
    assert all(outcome.kept for outcome in grade_on_cluster(folder, standing_scheduler))
    assert len(read_documents(folder)) == 8
    assert read_documents(folder) == read_documents(small_course)
    assert read_written_files(folder) == read_written_files(small_course)
    assert read_gradebook_rows(folder) == read_gradebook_rows(small_course)

    notebook = nbformat.read(folder / "autograded" / "reaches_out" / LAB / f"{LAB}.ipynb", as_version=4)
    text = "".join(output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", ()))
    assert text.startswith("refused: ")
    assert "told: []" in text
    assert read_worth(folder)["reaches_out"] == 2


@pytest.mark.nightly
def test_submissions_of_a_lost_worker_and_of_a_lost_grader_are_graded(
    small_course: Path, tmp_path: Path, scheduler: str
) -> None:
    hand_in(small_course, STUDENTS | {"student_6": None, "student_7": None}, SLOWLY)
    pids: list[int] = []
    with run_worker(scheduler, tmp_path) as lost_worker, run_worker(scheduler, tmp_path) as other:
        for outcome in grade_on_cluster(small_course, scheduler):
            assert not outcome.failure
            if not pids and list_descendants(lost_worker) and list_descendants(other):
                pids = list_descendants(lost_worker)
                end(lost_worker)
                os.kill(list_descendants(other)[0], signal.SIGKILL)
        assert pids
        assert not [pid for pid in pids if Path(f"/proc/{pid}").exists() and pid not in list_descendants(other)]
    assert read_worth(small_course) == {f"student_{number}": 0 if number in (0, 3) else 2 for number in range(8)}


@pytest.mark.nightly
def test_a_moment_without_a_worker_loses_no_submission(
    small_course: Path, tmp_path: Path, scheduler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cluster is idle between submissions: here after each one, because no check finds another in time."""
    hand_in(small_course, STUDENTS)
    look, counts = cluster.count_slots, []

    def found_when_the_run_starts(*of: Any) -> dict[str, int]:
        places = look(*of) if len(counts) < 2 else {}  # once for the layers, once for the class
        counts.extend([places] if places else [])
        return places

    monkeypatch.setattr(cluster, "POLL_SECONDS", 0.0)
    monkeypatch.setattr(cluster, "count_slots", found_when_the_run_starts)
    with run_worker(scheduler, tmp_path):
        assert not any(outcome.failure for outcome in grade_on_cluster(small_course, scheduler))
    assert len(read_documents(small_course)) == len(STUDENTS)


@pytest.mark.nightly
def test_the_workers_are_seen_while_the_client_asks_for_something_else(tmp_path: Path, scheduler: str) -> None:
    """Dask's client also asks its scheduler for totals without workers: here all the time."""
    import distributed  # noqa: F401  what is set before its defaults are there takes them along when it ends

    settings = GradingSettings()
    with (
        dask.config.set({"distributed.client.scheduler-info-interval": "1ms"}),
        run_worker(scheduler, tmp_path),
        cluster.connect_client(scheduler, 1000) as client,
    ):
        places = cluster.wait_for_slots(client, scheduler, settings, 1000, StopRequest())
        assert all(cluster.count_slots(client, scheduler, settings) == places for _ in range(200))


@pytest.mark.nightly
def test_a_scheduler_that_dies_is_an_error_and_the_next_run_continues(
    small_course: Path, tmp_path: Path, standing_scheduler: str
) -> None:
    hand_in(small_course, STUDENTS, SLOWLY)
    with contextlib.ExitStack() as stack:
        address = stack.enter_context(run_scheduler(tmp_path))
        with run_worker(address, tmp_path), cluster.connect_client(address, 1000) as client:
            client.wait_for_workers(1)
            running = grade_on_cluster(small_course, address, wait=20)  # how long to look for a lost scheduler
            before = next(running)
            stack.close()
            with pytest.raises(GradlabError, match=f"the scheduler at {address} is lost\n    fix: "):
                list(running)
    after = list(grade_on_cluster(small_course, standing_scheduler))
    assert before.student in {outcome.student for outcome in after if outcome.kept}
    assert sorted(outcome.student for outcome in after if not outcome.failure) == sorted(STUDENTS)


@pytest.mark.nightly
def test_a_watch_marks_what_arrives_by_the_cluster(course: Path, standing_scheduler: str) -> None:
    pages = [submit(course, "ada", ONE), submit(course, "ben", TWO, WRONG)]
    output = start(course, "--once", "--cluster", standing_scheduler).communicate()[0]
    assert "2 submissions marked" in output and all(page.exists() for page in pages), output
    assert read_scores(course) == {"ada": 2, "ben": 0}


@pytest.mark.nightly
def test_a_submission_whose_workers_die_is_given_up(small_course: Path, tmp_path: Path) -> None:
    be_patient(small_course)
    hand_in(small_course, {"student": None}, FOR_EVER)
    with (
        run_scheduler(tmp_path, DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="1") as scheduler,
        ThreadPoolExecutor() as pool,
    ):
        grading = pool.submit(lambda: list(grade_on_cluster(small_course, scheduler)))
        for _ in range(2):
            with run_worker(scheduler, tmp_path) as lost_worker:
                while not list_descendants(lost_worker, "forkserver.server"):
                    assert not grading.done()
                    time.sleep(0.05)
        (outcome,) = grading.result()
    assert "every worker that graded it died" in outcome.failure


def find_refusal(address: str, device: Device, secret: Path) -> str:
    with pytest.raises(GradlabError) as refusal:
        DaskExecutor(address, 1).list_layer_names(GradingSettings(device=device), [secret])
    return str(refusal.value)


@pytest.mark.nightly
def test_a_cluster_without_a_worker_is_an_error_after_a_while(small_course: Path, scheduler: str) -> None:
    hand_in(small_course, {"student": None})
    command = [sys.executable, "-m", "autograder.cli", "grade", LAB, "--cluster", scheduler, "--wait", "1"]
    completed = subprocess.run(command, cwd=small_course, capture_output=True, text=True)
    assert completed.returncode == 1
    assert f"hasn't had a worker for 1 s\n    fix: start one with dask worker {scheduler}\n" in completed.stderr
    assert "Traceback" not in completed.stderr


@pytest.mark.nightly
def test_a_resource_that_no_worker_has_is_an_error_after_a_while(
    small_course: Path, tmp_path: Path, scheduler: str
) -> None:
    with run_worker(scheduler, tmp_path):
        assert "network namespace" in DaskExecutor(scheduler, 1000).list_layer_names(GradingSettings(), [small_course])
        assert f"fix: start one with dask worker {scheduler} --resources CUDA=1" in find_refusal(
            scheduler, Device.CUDA, small_course
        )
        with run_worker(scheduler, tmp_path, "--resources", "CUDA=1"):
            assert DaskExecutor(scheduler, 1000).list_layer_names(GradingSettings(device=Device.CUDA), [small_course])


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("tls://127.0.0.1:9", "needs certificates"),
        ("tcp://127.0.0.1:9", "no scheduler answers at tcp://127.0.0.1:9"),
    ],
)
def test_an_address_without_a_scheduler_is_refused(tmp_path: Path, address: str, words: str) -> None:
    assert words in find_refusal(address, Device.CPU, tmp_path)


@pytest.mark.nightly
def test_a_worker_with_other_code_is_refused(small_course: Path, tmp_path: Path, scheduler: str) -> None:
    hand_in(small_course, {"student": None})
    for package in ("autograder", "labkit"):
        shutil.copytree(ROOT / package, tmp_path / "other" / package, ignore=shutil.ignore_patterns("__pycache__"))
    with (tmp_path / "other" / "labkit" / "comparison.py").open("a") as file:
        file.write("ANOTHER = 1\n")
    with (
        run_worker(scheduler, tmp_path, environment={"PYTHONPATH": str(tmp_path / "other")}),
        pytest.raises(GradlabError, match=r"the worker tcp.* is refused.*Gradlab's code is \w{12} and must be \w{12}"),
    ):
        list(grade_on_cluster(small_course, scheduler))
    assert not read_documents(small_course)


@pytest.mark.nightly  # by day test_a_worker_with_other_code_is_refused
def test_a_worker_that_joins_later_is_checked_too() -> None:
    expected = replace(collect_environment(None), torch="0.1")
    with pytest.raises(GradlabError, match=r"torch is .* and must be 0.1"):
        cluster_worker.grade_on_worker(b"", Isolation.FULL, (), expected, 1.0)


def test_a_submission_that_ends_its_graders_is_given_up() -> None:
    task = Task(LAB, "student", (NotebookFile(LAB, b"{}"),), b"", GradingSettings())
    retry, blank_try, last_try = (plan_next_try(task, tries, "exit status -9") for tries in range(1, TRIES + 2))
    assert retry == replace(task, isolates_tests=True)
    assert not isinstance(blank_try, GradingFailure) and blank_try.notebooks[0].content is None
    assert "failed twice" in blank_try.notebooks[0].refusal
    assert isinstance(last_try, GradingFailure) and "exit status -9" in last_try.reason
