"""Trying layers in forked children: one alone, or those of a plan together as a run that is then watched and ended."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from autograder.errors import GradlabError
from autograder.sandbox.entry import enter
from autograder.sandbox.home import scratch
from autograder.sandbox.kill import kill_run
from autograder.sandbox.memory import readable
from autograder.sandbox.plan import NAMESPACES, Layer, Plan
from autograder.sandbox.processes import Run, of_run
from autograder.sandbox.system import CAP_SETFCAP, CAP_SETUID, CAP_SYS_ADMIN, capable, wait
from autograder.sandbox.uids import claimed

NO_NAMESPACES = (
    "the kernel refuses: this is not root, and user namespaces are switched off; or a container's profile forbids them"
)
MASKED_PROC = (
    "the kernel refuses: parts of this container's /proc are masked, unless it is started with systempaths=unconfined; "
    "or its profile forbids mounts"
)
COUNTED, UNCOUNTED = "+", "-"


def hindrance(layer: Layer) -> str:
    """What is known without trying, said so that a person can act on it."""
    if layer is Layer.UID and not capable(CAP_SETUID):
        return "needs root"
    if layer is Layer.SECCOMP:
        from autograder.sandbox.seccomp import program

        try:
            program()
        except GradlabError as error:
            return str(error)
    return ""


def alone(layer: Layer, uid: int) -> str:
    """Why taking that layer, with no more than it rests on, fails; empty where it does not."""
    below = {Layer.PID: {Layer.KEEPER}, Layer.PROC: {Layer.MOUNTS}}.get(layer, set())
    if layer is Layer.PROC and not capable(CAP_SYS_ADMIN):
        below |= {Layer.PID, Layer.KEEPER}
    path = Path(tempfile.mkdtemp(prefix="gradlab-doctor-"))
    try:
        plan = Plan(path, frozenset({layer, *below}), uid=uid if layer is Layer.UID else None)
        reading, child = _fork(plan, lambda: COUNTED)
        with os.fdopen(reading, "rb") as pipe:
            answer = pipe.read().decode()
        status = wait(child)  # of a keeper, which ends with 1 where it sees its child's end late
        return "" if answer == COUNTED else _reason(answer, status, layer)
    finally:
        shutil.rmtree(path, ignore_errors=True)


def together(layers: frozenset[Layer]) -> tuple[str, bool]:
    """Why a run with these layers fails, empty where it does not; and whether a fork bomb in it would be bounded.

    The run must be there, be seen by the memory watch, and be gone when it is killed, as a submission's.
    """
    with ExitStack() as stack:
        try:
            uid = stack.enter_context(claimed()) if Layer.UID in layers else None
            plan = Plan(stack.enter_context(scratch(uid)), layers, uid=uid)
            reading, child = _fork(plan, _forks_are_counted, stay=True)
            with os.fdopen(reading, "rb", buffering=0) as pipe:
                answer = pipe.read(4096).decode()
                if answer not in (COUNTED, UNCOUNTED):
                    return _reason(answer, wait(child)), False
                return _watched_and_ended(Run(child, uid), keeper=Layer.KEEPER in layers), answer == COUNTED
        except (OSError, GradlabError) as error:
            return str(error), False


def _watched_and_ended(run: Run, keeper: bool) -> str:
    """What the grader could not do to it."""
    try:
        os.kill(run.pid, 0)
        seen = {pid for pid in of_run(run) if run.uid is not None or not keeper or pid != run.pid}
        if not seen or not all(map(readable, seen)):
            return "a run's memory cannot be watched: /proc does not show it"
    except PermissionError:
        return "a run cannot be killed: CAP_KILL is missing"
    finally:
        kill_run(run)
        wait(run.pid)
    return ""


def _fork(plan: Plan, act: Callable[[], str], stay: bool = False) -> tuple[int, int]:
    """A pipe and a child that enters, and writes what act() says there, or else the kind of an error and its text."""
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        return reading, child
    answer = ""
    try:
        enter(replace(plan, keep=(writing,)))
        answer = act()
    except BaseException as error:
        answer, stay = f"{type(error).__name__}: {error}", False
    finally:
        os.write(writing, answer.encode()[:4096])
        while stay:
            signal.pause()
        os._exit(0)


def _reason(answer: str, status: int, layer: Layer | None = None) -> str:
    kind, _, text = answer.partition(": ")
    if kind == "PermissionError" and layer in NAMESPACES:
        lacking = os.geteuid() == 0 and not capable(CAP_SYS_ADMIN) and not capable(CAP_SETFCAP)
        return "the kernel refuses: root needs CAP_SETFCAP or CAP_SYS_ADMIN for it" if lacking else NO_NAMESPACES
    if kind == "PermissionError" and layer is Layer.PROC:
        return MASKED_PROC
    return text or kind or f"the process that tried it ended with status {status}"


def _forks_are_counted() -> str:
    """Root's are not, nor are those of a user namespace's root that is the machine's."""
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    try:
        child = os.fork()
    except BlockingIOError:
        return COUNTED
    if child == 0:
        os._exit(0)
    wait(child)
    return UNCOUNTED
