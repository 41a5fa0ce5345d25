"""Grading on a dask cluster, whose workers were started with `dask worker`: see docs/cluster.md."""

from __future__ import annotations

import contextlib
import logging
import pickle
import time
import uuid
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Queue
from typing import TYPE_CHECKING, Any

from autograder.base.device import Device, DeviceChoice
from autograder.base.errors import GradlabError
from autograder.base.stop_request import StopRequest
from autograder.grading.task import GradingSettings, Task
from autograder.model.fingerprint import Environment, collect_environment
from autograder.workers.cluster_worker import describe_difference, grade_on_worker, inspect_worker
from autograder.workers.executors import choose_device
from autograder.workers.task_grading import STUCK_SECONDS, GradingFailure, TaskResult, plan_next_try, take_tasks

if TYPE_CHECKING:
    from distributed import Client, Future

WAIT_SECONDS = 60.0
POLL_SECONDS = 1.0
FETCH_SECONDS = 30.0  # for the bytes of one outcome, from a worker that may be lost meanwhile
TASKS_PER_SLOT = 2  # submissions on the cluster for each of its threads, so no thread waits for the next one


@dataclass(frozen=True)
class DaskExecutor:
    """An executor that grades on a dask cluster."""

    address: str
    """The scheduler's address."""
    wait: float = WAIT_SECONDS
    """Seconds without a worker after which grading fails."""
    device: DeviceChoice = DeviceChoice.CPU

    def choose_device(self) -> Device:
        return choose_device(self.device) if self.device is DeviceChoice.AUTO else Device(self.device)

    def list_layer_names(self, settings: GradingSettings, secret_folders: Iterable[Path]) -> list[str]:
        """Find the layers between a submission and the grader on its workers. Raises GradlabError like grade()."""
        with connect_client(self.address, self.wait) as client:
            slots = wait_for_slots(client, self.address, settings, self.wait, StopRequest())
            environment = _require_same_environment(client, slots, settings, [str(path) for path in secret_folders])
            return list(environment.layers or ())

    def grade(
        self, tasks: Iterator[Task | None], settings: GradingSettings, secret_folders: Iterable[Path], stop: StopRequest
    ) -> Iterator[tuple[Task, TaskResult]]:
        """Grade the tasks, taking only as many at a time as keep the cluster busy.

        Args:
            tasks: The tasks, and None; see Executor.
            settings: The settings for all of them.
            secret_folders: Folders that student processes must not see.
            stop: Set it to send no more and return. Workers finish on their own what they have begun.

        Raises:
            GradlabError: If no worker can grade for `wait` seconds, or one doesn't grade like this machine.
        """
        folders = [str(path) for path in secret_folders]
        with connect_client(self.address, self.wait) as client:
            slots = wait_for_slots(client, self.address, settings, self.wait, stop)
            if not slots:
                return
            expected = _require_same_environment(client, slots, settings, folders)
            finished: Queue[Future[bytes | str]] = Queue()
            running: dict[Future[bytes | str], tuple[Task, int]] = {}

            def send(task: Task, tries: int) -> None:
                future = _submit(client, task, folders, expected)
                running[future] = task, tries
                future.add_done_callback(finished.put)

            last_check = last_able = time.monotonic()
            while not stop.is_set():
                room = max(TASKS_PER_SLOT * sum(slots.values()) - len(running), 0 if running else 1)
                for task in take_tasks(tasks, room):
                    send(task, 0)
                if not running:  # there was room for one, so there is no task now
                    return
                if (future := _wait_for_next(finished)) is not None:
                    reply = _read_outcome(future, self.address)
                    if reply is None:
                        future.add_done_callback(finished.put)
                        continue
                    task, tries = running.pop(future)
                    outcome = plan_next_try(task, tries + 1, reply) if isinstance(reply, str) else reply
                    if isinstance(outcome, Task):
                        send(outcome, tries + 1)
                    else:
                        yield task, outcome
                if time.monotonic() - last_check > POLL_SECONDS:
                    last_check, slots = time.monotonic(), count_slots(client, self.address, settings)
                    last_able = last_check if slots else last_able
                    if last_check - last_able > self.wait:
                        raise _make_no_worker_error(client, self.address, settings, self.wait)


@contextlib.contextmanager
def connect_client(address: str, wait: float) -> Iterator[Client]:
    """Connect a client to the scheduler. TLS and everything else follow dask's own configuration."""
    try:
        from distributed import Client, Security
    except ImportError:
        raise GradlabError("--cluster needs dask.distributed", fix="pip install -e '.[cluster]'") from None
    # Problems are reported once, without a traceback.
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
    if address.startswith("tls:") and Security().get_connection_args("client")["ssl_context"] is None:
        raise GradlabError(f"{address} needs certificates that dask doesn't know", fix="see TLS in docs/cluster.md")
    try:
        client = Client(address, timeout=wait, set_as_default=False)
    except (OSError, ValueError) as error:
        message = f"no scheduler answers at {address} within {wait:g} s ({error})"
        raise GradlabError(message, fix="start one with dask scheduler, or check the address") from None
    with client:
        yield client


def count_slots(client: Client, address: str, settings: GradingSettings) -> dict[str, int]:
    """Count how many submissions each worker can grade at a time with these settings; omit workers that can't."""
    try:
        workers: dict[str, Any] = client.sync(_fetch_workers, client)
    except OSError:
        raise _make_lost_error(address) from None
    slots = {name: int(worker["nthreads"]) for name, worker in workers.items()}
    for resource, amount in _get_resources(settings).items():
        offers = {name: worker.get("resources", {}).get(resource, 0) // amount for name, worker in workers.items()}
        slots = {name: min(count, int(offers[name])) for name, count in slots.items()}
    return {name: count for name, count in slots.items() if count}


async def _fetch_workers(client: Client) -> dict[str, Any]:
    """Fetch the scheduler's list of workers. Client.scheduler_info() may return its timer's reply, which has none."""
    if client.scheduler is None:
        raise OSError("the client is not connected")
    return dict((await client.scheduler.identity(n_workers=-1))["workers"])


def _get_resources(settings: GradingSettings) -> dict[str, float]:
    return {} if settings.device is Device.CPU else {"CUDA": 1}


def wait_for_slots(
    client: Client, address: str, settings: GradingSettings, wait: float, stop: StopRequest
) -> dict[str, int]:
    deadline = time.monotonic() + wait
    while not (slots := count_slots(client, address, settings)) and not stop.wait(min(wait, 0.2)):
        if time.monotonic() > deadline:
            raise _make_no_worker_error(client, address, settings, wait)
    return slots


def _make_no_worker_error(client: Client, address: str, settings: GradingSettings, wait: float) -> GradlabError:
    count, resources = len(client.nthreads()), _get_resources(settings)
    needed = f"a worker with the resource {', '.join(resources)} ({count} without it)" if resources else "a worker"
    options = "".join(f" --resources {name}={amount:g}" for name, amount in resources.items())
    return GradlabError(
        f"the cluster at {address} hasn't had {needed} for {wait:g} s",
        fix=f"start one with dask worker {address}{options}",
    )


def _require_same_environment(
    client: Client, workers: Iterable[str], settings: GradingSettings, secret_folders: Sequence[str]
) -> Environment:
    """Return the environment that all workers and this machine grade with. Raises GradlabError if they differ."""
    expected = collect_environment(None)
    replies = client.run(
        inspect_worker, settings.isolation, secret_folders, expected, workers=list(workers), on_error="return"
    )
    for worker, environment in replies.items():
        if isinstance(environment, OSError):
            continue  # it has just ended
        if not isinstance(environment, Environment):
            raise GradlabError(f"the worker {worker} can't grade: {environment}", fix=_suggest_fix(environment))
        if problem := describe_difference(environment, expected):
            raise GradlabError(f"the worker {worker} is refused: {problem}")
        expected = environment
    if expected.layers is None:
        raise GradlabError("every worker of the cluster ended during the inspection", fix="see the workers' logs")
    return expected


def _suggest_fix(reason: object) -> str:
    """Say what to do about an exception that doesn't say so itself."""
    return "" if isinstance(reason, str | GradlabError) else "look into the worker's log, and run this again"


def _submit(client: Client, task: Task, secret_folders: Sequence[str], expected: Environment) -> Future[bytes | str]:
    """Submit a task to the scheduler. The future returns what grade_on_worker() does."""
    settings = task.settings
    seconds = settings.timeouts.submission + STUCK_SECONDS
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sending large graph")  # scattered data would be lost with its worker
        return client.submit(
            grade_on_worker,
            pickle.dumps(task),
            settings.isolation,
            secret_folders,
            expected,
            seconds,
            key=f"gradlab-{uuid.uuid4()}",
            resources=_get_resources(settings) or None,
            retries=0,  # the scheduler retries if a worker dies, and plan_next_try() if a grader process ends
            pure=False,
        )


def _wait_for_next(finished: Queue[Future[bytes | str]]) -> Future[bytes | str] | None:
    try:
        return finished.get(timeout=POLL_SECONDS)
    except Empty:
        return None


def _read_outcome(future: Future[bytes | str], address: str) -> TaskResult | str | None:
    """Return a worker's outcome, or how its grader process ended; None if the reply was lost with its worker."""
    from distributed import KilledWorker

    if future.status == "cancelled":
        raise _make_lost_error(address)
    try:
        reply = future.result(timeout=FETCH_SECONDS)
    except TimeoutError:
        return None
    except KilledWorker as error:
        return GradingFailure(f"every worker that graded it died: {error}")
    except Exception as error:
        problem = f"a worker of the cluster at {address} can't grade: {error}"
        raise GradlabError(problem, fix=_suggest_fix(error)) from None
    if isinstance(reply, str):
        return reply
    outcome: TaskResult = pickle.loads(reply)
    return outcome


def _make_lost_error(address: str) -> GradlabError:
    return GradlabError(f"the scheduler at {address} is lost", fix="start it and its workers, and run this again")
