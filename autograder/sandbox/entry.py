"""enter(plan): a forked child's first act. Each layer in the one order in which none takes from a later one what that
one needs. Stops nothing by itself; the layers' files say what they stop."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable

from autograder.errors import GradlabError
from autograder.sandbox import (
    descriptors,
    home,
    keeper,
    landlock,
    limits,
    mounts,
    namespaces,
    privileges,
    seccomp,
    uid,
)
from autograder.sandbox.plan import NAMESPACES, Layer, Plan
from autograder.sandbox.processes import Run
from autograder.sandbox.system import CAP_SYS_ADMIN, capable

NOT_ENTERED = 97  # exit status of a run that a layer failed for; what failed is on its standard error


def prepare(plan: Plan) -> None:
    """What a fork server does once, before it forks: the checks, and the parts that cost time."""
    layers = plan.layers
    if (Layer.UID in layers) != (plan.uid is not None):
        raise GradlabError("A sandbox plan names a uid if, and only if, it has the layer uid.")
    if Layer.PID in layers and Layer.KEEPER not in layers:
        raise GradlabError("A sandbox plan with a pid namespace needs the layer keeper.")
    if Layer.PROC in layers and Layer.MOUNTS not in layers:
        raise GradlabError("A sandbox plan with a /proc of its own needs the layer mount namespace.")
    if plan.network == "gloo" and Layer.NETWORK not in layers and not namespaces.only_loopback():
        raise GradlabError("gloo needs a network namespace, or a container without a network.")
    if Layer.SECCOMP in layers:
        seccomp.program(plan.network)


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
    layers, parent, alive = plan.layers, os.getppid(), -1
    user_namespace = bool(layers & NAMESPACES) and not capable(CAP_SYS_ADMIN)
    if os.getsid(0) != os.getpid():
        os.setsid()
    privileges.show()

    namespaces.separate(layers, plan.uid)
    if Layer.KEEPER in layers:
        alive = keeper.fork_below(parent, Layer.PID in layers)
        os.setsid()
    if Layer.MOUNTS in layers:
        mounts.build(plan)
    if Layer.HOME in layers:
        home.furnish(plan)
    if Layer.LIMITS in layers:
        counted_alone = plan.uid is not None or user_namespace
        limits.apply(plan.limits, 0 if counted_alone else limits.tasks_of(os.getuid()))
    if plan.uid is not None:
        uid.become(plan.uid)
        privileges.show()
    if Layer.DESCRIPTORS in layers:
        descriptors.close_all_but({*plan.keep} | ({alive} if alive >= 0 else set()))
    if alive >= 0:
        privileges.die_with_pipe(alive)
    elif Layer.PRIVILEGES in layers:
        privileges.die_with(parent)
    if Layer.PRIVILEGES in layers:
        privileges.drop_capabilities()
        privileges.no_new_privileges()
    if Layer.LANDLOCK in layers:
        landlock.restrict(plan)
    if Layer.SECCOMP in layers:
        seccomp.restrict(plan.network)
