"""Grades many submissions on the workers of a dask cluster, which `dask worker` has started: see docs/cluster.md."""

from __future__ import annotations

import contextlib
import itertools
import logging
import pickle
import time
import uuid
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Queue
from threading import Event
from typing import TYPE_CHECKING, Any

from autograder.base.errors import GradlabError
from autograder.model.fingerprint import describe_environment
from autograder.submission.lab_submission import GradedSubmission
from autograder.submission.task import Settings, Task
from autograder.workers.cluster_process import describe_difference, grade_on_worker, inspect_worker
from autograder.workers.executors import choose_device
from autograder.workers.worker import STUCK_SECONDS, Failure, plan_next_try

if TYPE_CHECKING:
    from distributed import Client, Future

WAIT_SECONDS = 60.0
LOOK_SECONDS = 1.0
FETCH_SECONDS = 30.0  # for the bytes of one outcome, from a worker that may be lost meanwhile
AHEAD = 2  # submissions on the cluster for each of its threads, so that none waits for the next one


@dataclass(frozen=True)
class DaskExecutor:
    """An executor that grades on a dask cluster."""

    address: str
    """The scheduler's address."""
    wait: float = WAIT_SECONDS
    """Seconds without a worker that raise an error."""
    device: str = "cpu"

    def choose_device(self) -> str:
        return choose_device("auto") if self.device == "auto" else self.device

    def find_layers(self, settings: Settings, secret: Iterable[Path]) -> list[str]:
        """The layers that its workers put between a submission and the grader. Raises GradlabError as grade() does."""
        with _connect_client(self.address, self.wait) as client:
            places = _wait_for_places(client, self.address, settings, self.wait, Event())
            layers = _require_same_environment(client, places, settings, [str(path) for path in secret])["the sandbox"]
            return layers.split(", ") if layers else []

    def grade(
        self, tasks: Iterator[Task | None], settings: Settings, secret: Iterable[Path], stop: Event
    ) -> Iterator[tuple[Task, GradedSubmission | Failure]]:
        """Grade the tasks, of which it takes only as many at a time as keep the cluster busy, up to the first None.

        Args:
            tasks: The submissions to grade.
            settings: What all of them are graded with.
            secret: Folders that must not exist for student processes.
            stop: Set to send no more and return; workers finish on their own what they have begun.

        Raises:
            GradlabError: If no worker can grade for `wait` seconds, or one doesn't grade as this machine does.
        """
        waiting, folders = iter(tasks.__next__, None), [str(path) for path in secret]
        with _connect_client(self.address, self.wait) as client:
            places = _wait_for_places(client, self.address, settings, self.wait, stop)
            if not places:
                return
            expected = _require_same_environment(client, places, settings, folders)
            back: Queue[Future[bytes | str]] = Queue()
            sent: dict[Future[bytes | str], tuple[Task, int]] = {}

            def send(task: Task, tries: int) -> None:
                future = _submit(client, task, folders, expected)
                sent[future] = task, tries
                future.add_done_callback(back.put)

            looked = able = time.monotonic()
            while not stop.is_set():
                room = max(AHEAD * sum(places.values()) - len(sent), 0 if sent else 1)  # none sent means none is left
                for task in itertools.islice(waiting, room):
                    send(task, 0)
                if not sent:
                    return
                if (future := _wait_for_next(back)) is not None:
                    came = _read_outcome(future, self.address)
                    if came is None:
                        future.add_done_callback(back.put)
                        continue
                    task, tries = sent.pop(future)
                    outcome = plan_next_try(task, tries + 1, came) if isinstance(came, str) else came
                    if isinstance(outcome, Task):
                        send(outcome, tries + 1)
                    else:
                        yield task, outcome
                if time.monotonic() - looked > LOOK_SECONDS:
                    looked, places = time.monotonic(), _count_places(client, self.address, settings)
                    able = looked if places else able
                    if looked - able > self.wait:
                        raise _make_no_worker_error(client, self.address, settings, self.wait)


@contextlib.contextmanager
def _connect_client(address: str, wait: float) -> Iterator[Client]:
    """A client of the scheduler. TLS and everything else follow dask's own configuration."""
    try:
        from distributed import Client, Security
    except ImportError:
        raise GradlabError("--cluster needs dask.distributed\n    fix: pip install 'gradlab[cluster]'") from None
    logging.getLogger("distributed.client").setLevel(
        logging.CRITICAL
    )  # a problem is reported once, without a traceback
    if address.startswith("tls:") and Security().get_connection_args("client")["ssl_context"] is None:
        raise GradlabError(f"{address} needs certificates that dask does not know\n    fix: see TLS in docs/cluster.md")
    try:
        client = Client(address, timeout=wait, set_as_default=False)
    except (OSError, ValueError) as error:
        words = f"no scheduler answers at {address} within {wait:g} s ({error})"
        raise GradlabError(f"{words}\n    fix: start one with dask scheduler, or check the address") from None
    with client:
        yield client


def _count_places(client: Client, address: str, settings: Settings) -> dict[str, int]:
    """How many submissions each worker that can grade with these settings grades at a time."""
    try:
        workers: dict[str, Any] = client.sync(_fetch_workers, client)
    except OSError:
        raise _make_lost_error(address) from None
    found = {name: int(worker["nthreads"]) for name, worker in workers.items()}
    for resource, amount in _get_resources(settings).items():
        offers = {name: worker.get("resources", {}).get(resource, 0) // amount for name, worker in workers.items()}
        found = {name: min(threads, int(offers[name])) for name, threads in found.items()}
    return {name: places for name, places in found.items() if places}


async def _fetch_workers(client: Client) -> dict[str, Any]:
    """What the scheduler says of its workers. Client.scheduler_info() can give its timer's answer, which has none."""
    if client.scheduler is None:
        raise OSError("the client is not connected")
    return dict((await client.scheduler.identity(n_workers=-1))["workers"])


def _get_resources(settings: Settings) -> dict[str, float]:
    return {} if settings.device == "cpu" else {"CUDA": 1}


def _wait_for_places(client: Client, address: str, settings: Settings, wait: float, stop: Event) -> dict[str, int]:
    until = time.monotonic() + wait
    while not (places := _count_places(client, address, settings)) and not stop.wait(min(wait, 0.2)):
        if time.monotonic() > until:
            raise _make_no_worker_error(client, address, settings, wait)
    return places


def _make_no_worker_error(client: Client, address: str, settings: Settings, wait: float) -> GradlabError:
    count, resources = len(client.nthreads()), _get_resources(settings)
    lacking = f"a worker with the resource {', '.join(resources)} ({count} without it)" if resources else "a worker"
    options = "".join(f" --resources {name}={amount:g}" for name, amount in resources.items())
    return GradlabError(
        f"the cluster at {address} has not had {lacking} for {wait:g} s\n"
        f"    fix: start one with dask worker {address}{options}"
    )


def _require_same_environment(
    client: Client, workers: Iterable[str], settings: Settings, secret: Sequence[str]
) -> dict[str, str]:
    """What all of the workers, and this machine, grade with. Raises GradlabError if they differ."""
    expected = describe_environment(())
    del expected["the sandbox"]  # this machine may have none: it runs no submission
    said = client.run(
        inspect_worker, settings.isolation, secret, dict(expected), workers=list(workers), on_error="return"
    )
    for worker, found in said.items():
        if isinstance(found, OSError):
            continue  # it ended just now
        if not isinstance(found, dict):
            raise GradlabError(f"the worker {worker} cannot grade: {found}")
        if trouble := describe_difference(found, expected):
            raise GradlabError(f"the worker {worker} is refused: {trouble}")
        expected["the sandbox"] = found["the sandbox"]
    if "the sandbox" not in expected:
        raise GradlabError("every worker of the cluster ended while it was looked at: their logs have more")
    return expected


def _submit(client: Client, task: Task, secret: Sequence[str], expected: dict[str, str]) -> Future[bytes | str]:
    settings = task.settings
    seconds = settings.timeouts.submission + STUCK_SECONDS
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sending large graph")  # scattered data would be lost with its worker
        return client.submit(
            grade_on_worker,
            pickle.dumps(task),
            settings.isolation,
            secret,
            expected,
            seconds,
            key=f"gradlab-{uuid.uuid4()}",
            resources=_get_resources(settings) or None,
            retries=0,  # the scheduler replaces a worker that dies, plan_next_try() a grader process that ends
            pure=False,
        )


def _wait_for_next(back: Queue[Future[bytes | str]]) -> Future[bytes | str] | None:
    try:
        return back.get(timeout=LOOK_SECONDS)
    except Empty:
        return None


def _read_outcome(future: Future[bytes | str], address: str) -> GradedSubmission | Failure | str | None:
    """What a worker returned: an outcome, or how its grader process ended. None if it was lost with its worker."""
    from distributed import KilledWorker

    if future.status == "cancelled":
        raise _make_lost_error(address)
    try:
        came = future.result(timeout=FETCH_SECONDS)
    except TimeoutError:
        return None
    except KilledWorker as error:
        return Failure(f"every worker that had it died: {error}")
    except Exception as error:
        raise GradlabError(f"a worker of the cluster at {address} cannot grade: {error}") from None
    if isinstance(came, str):
        return came
    outcome: GradedSubmission | Failure = pickle.loads(came)
    return outcome


def _make_lost_error(address: str) -> GradlabError:
    return GradlabError(f"the scheduler at {address} is lost\n    fix: start it and its workers, and run this again")
