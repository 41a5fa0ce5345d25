"""Tries layers in forked children: one alone, or all of a plan together in a run that is watched and ended."""

from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from autograder.base.errors import GradlabError
from autograder.sandbox.entry import enter
from autograder.sandbox.home import create_scratch
from autograder.sandbox.keeper import KEEPER
from autograder.sandbox.kill import kill_run
from autograder.sandbox.memory_watch import can_measure_exactly
from autograder.sandbox.plan import Layer, Plan
from autograder.sandbox.processes import Run, find_run_processes
from autograder.sandbox.system import wait
from autograder.sandbox.uid import UID, claim_uid

MAX_REPLY = 1 << 14


def explain_unavailable_layer(layer: Layer) -> str:
    """Return why this machine can't have a layer, if that's known without trying it; else ""."""
    try:
        layer.prepare(Plan(Path("/"), frozenset({layer})))
    except GradlabError as error:
        return str(error)
    return ""


def try_alone(layer: Layer, uid: int) -> str:
    """Take a layer with only those that it needs, and return why that fails, or ""."""
    path = Path(tempfile.mkdtemp(prefix="gradlab-doctor-"))
    try:
        plan = Plan(path, frozenset({layer, *layer.needs()}), uid=uid if layer is UID else None)
        reading, child = _fork(plan, dict)
        with os.fdopen(reading, "rb") as pipe:
            reply = _parse_reply(pipe.read())
        status = wait(child)  # of a keeper, which ends with 1 if it notices its child's end late
        return "" if isinstance(reply, dict) else _explain_failure(reply, status, layer)
    finally:
        shutil.rmtree(path, ignore_errors=True)


def try_together(layers: frozenset[Layer]) -> tuple[str, dict[Layer, str]]:
    """Start a run with these layers, watch it and kill it, as for a submission.

    Returns:
        Why the run fails, or "", and the layers that have no effect in it, with the reason.
    """

    def run_probes() -> dict[str, str]:
        return {layer.name: reason for layer in layers if (reason := layer.explain_ineffective())}

    with ExitStack() as stack:
        try:
            uid = stack.enter_context(claim_uid()) if UID in layers else None
            plan = Plan(stack.enter_context(create_scratch(uid)), layers, uid=uid)
            reading, child = _fork(plan, run_probes, stays=True)
            with os.fdopen(reading, "rb", buffering=0) as pipe:
                reply = _parse_reply(pipe.read(MAX_REPLY))
                if not isinstance(reply, dict):
                    return _explain_failure(reply, wait(child)), {}
                ineffective = {layer: reply[layer.name] for layer in layers if layer.name in reply}
                return _watch_and_end(Run(child, uid), has_keeper=KEEPER in layers), ineffective
        except (OSError, GradlabError) as error:
            return str(error), {}


def _watch_and_end(run: Run, has_keeper: bool) -> str:
    """Return what the grader can't do to the run, or ""."""
    try:
        os.kill(run.pid, 0)
        pids = {pid for pid in find_run_processes(run) if run.uid is not None or not has_keeper or pid != run.pid}
        if not pids or not all(map(can_measure_exactly, pids)):
            return "a run's memory can't be watched: /proc doesn't show it"
    except PermissionError:
        return "a run can't be killed: CAP_KILL is missing"
    finally:
        kill_run(run)
        wait(run.pid)
    return ""


def _fork(plan: Plan, act: Callable[[], dict[str, str]], stays: bool = False) -> tuple[int, int]:
    """Fork a child that enters, and writes the result of act() to a pipe, or the type and text of an error.

    Returns:
        The pipe and the child's pid.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        return reading, child
    reply: Any = None
    try:
        enter(replace(plan, open_descriptors=(writing,)))
        reply = act()
    except BaseException as error:
        reply, stays = [type(error).__name__, str(error)[:1000]], False
    finally:
        os.write(writing, json.dumps(reply).encode()[:MAX_REPLY])
        while stays:
            signal.pause()
        os._exit(0)


def _parse_reply(reply: bytes) -> Any:
    """Decode what the child wrote. If it died before, that's an error without a type and text."""
    return json.loads(reply) if reply else ["", ""]


def _explain_failure(reply: tuple[str, str], status: int, layer: Layer | None = None) -> str:
    kind, text = reply
    if kind == "PermissionError" and layer and (refusal := layer.refusal()):
        return refusal
    return text or kind or f"the process that tried it ended with status {status}"
