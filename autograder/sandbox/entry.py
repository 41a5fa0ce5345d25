"""enter(plan): a forked child's first act. Each layer in its turn, so that none takes from a later one what that one
needs. Stops nothing by itself; the layers' files say what they stop."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable

from autograder.base.errors import GradlabError
from autograder.sandbox import namespaces
from autograder.sandbox.layers import sort_layers
from autograder.sandbox.namespaces import NETWORK
from autograder.sandbox.plan import Entry, Plan
from autograder.sandbox.privileges import die_with_pipe, show
from autograder.sandbox.processes import Run
from autograder.sandbox.uid import UID

NOT_ENTERED = 97  # exit status of a run that a layer failed for; what failed is on its standard error


def prepare(plan: Plan) -> None:
    """What a fork server does once, before it forks: the checks, and the parts that cost time."""
    if (UID in plan.layers) != (plan.uid is not None):
        raise GradlabError("A sandbox plan names a uid if, and only if, it has the layer uid.")
    if plan.network == "gloo" and NETWORK not in plan.layers and not namespaces.has_only_loopback():
        raise GradlabError("gloo needs a network namespace, or a container without a network.")
    for layer in sort_layers(plan.layers):
        if absent := [needed for needed in layer.needs() if needed not in plan.layers]:
            raise GradlabError(f"A sandbox plan with the layer {layer} needs the layer {absent[0]}.")
        layer.prepare(plan)


def launch(plan: Plan, act: Callable[[], None]) -> Run:
    """Fork a run that enters its sandbox, acts and ends; whatever goes wrong, it never returns to its parent's code."""
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
    """Leave everything but the plan's own. Returns in the run; the caller's fork() gave the keeper's pid, if any.

    The run dies with the thread that forked it. It has one thread, and nothing parallel ran before the fork.
    """
    prepare(plan)
    if len(os.listdir("/proc/self/task")) != 1:
        raise GradlabError("enter() needs a process of one thread: layers hold for the thread that takes them.")
    entry = Entry(plan, parent=os.getppid())
    if os.getsid(0) != os.getpid():
        os.setsid()
    show()
    entry.user_namespace = namespaces.separate(plan.layers, plan.uid)
    for layer in sort_layers(plan.layers):
        layer.enter(entry)
    if entry.alive >= 0:
        die_with_pipe(entry.alive)  # a change of user, on the way here, would have undone it
