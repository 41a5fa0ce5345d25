"""Enters a sandbox: a forked child takes each layer in an order in which none removes what a later one needs.

It stops nothing on its own. Each layer's file says what that layer stops.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable

from autograder.base.errors import GradlabError
from autograder.sandbox import namespaces
from autograder.sandbox.layers import sort_layers
from autograder.sandbox.namespaces import NETWORK
from autograder.sandbox.plan import EntryState, Plan
from autograder.sandbox.privileges import make_dumpable, set_death_signal_by_pipe
from autograder.sandbox.processes import Run
from autograder.sandbox.uid import UID

NOT_ENTERED = 97  # exit status of a run in which a layer failed; its standard error says which


def prepare(plan: Plan) -> None:
    """Check a plan and do the slow parts, once in a fork server before it forks."""
    if (UID in plan.layers) != (plan.uid is not None):
        raise ValueError("A sandbox plan needs a uid if, and only if, it has the layer uid.")
    if plan.network == "gloo" and NETWORK not in plan.layers and not namespaces.has_only_loopback():
        raise GradlabError(
            "gloo needs a network namespace, or a container without a network",
            fix="gradlab doctor says what this machine lacks",
        )
    for layer in sort_layers(plan.layers):
        if missing := [required for required in layer.needs() if required not in plan.layers]:
            raise ValueError(f"A sandbox plan with the layer {layer} needs the layer {missing[0]}.")
        layer.prepare(plan)


def launch(plan: Plan, act: Callable[[], None]) -> Run:
    """Fork a run that enters its sandbox, calls act() and ends. Even if it fails, it never returns to this code."""
    prepare(plan)
    pid = os.fork()
    if pid:
        return Run(pid, plan.uid)
    status = NOT_ENTERED
    try:
        enter(plan)
        status = 1
        act()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def enter(plan: Plan) -> None:
    """Enter the sandbox. Returns in the run; if there's a keeper, the caller's fork() returned the keeper's pid.

    The run dies with the thread that forked it. It must have one thread, and nothing parallel may run before the fork.
    """
    prepare(plan)
    if len(os.listdir("/proc/self/task")) != 1:
        raise RuntimeError("enter() needs a process with one thread: a layer only affects the thread that takes it.")
    entry = EntryState(plan, parent=os.getppid())
    if os.getsid(0) != os.getpid():
        os.setsid()
    make_dumpable()
    entry.user_namespace = namespaces.separate(plan.layers, plan.uid)
    for layer in sort_layers(plan.layers):
        layer.enter(entry)
    if entry.keeper_pipe >= 0:
        set_death_signal_by_pipe(entry.keeper_pipe)  # last, since a change of user would undo it
