"""A keeper: a trusted process between grader and run. Stops orphans from leaving the run's process tree.

So even without a uid, a run can be measured and killed as a whole, and its other processes die with it.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
from typing import NoReturn

from autograder.sandbox.descriptors import close_all_but
from autograder.sandbox.kill import adopt_orphans, kill
from autograder.sandbox.plan import EntryState, Layer, Stage
from autograder.sandbox.privileges import make_undumpable, set_death_signal
from autograder.sandbox.processes import find_descendants
from autograder.sandbox.system import CLONE_NEWPID


def fork_below(parent: int, pid_namespace: bool) -> int:
    """Fork a child below a keeper. Only the child returns, with a pipe that is closed when the keeper ends.

    The child waits until its keeper is ready: both are in one mount namespace, and the keeper opens a file there, which
    doesn't exist for a moment while the child builds its own file tree.
    """
    reading, writing = os.pipe()
    adopt_orphans()
    child = os.fork()
    if child == 0:
        os.close(writing)
        if not os.read(reading, 1):
            os._exit(1)  # its keeper has ended
        return reading
    status = 0x100
    with contextlib.suppress(BaseException):
        close_all_but({writing})
        make_undumpable()
        set_death_signal(parent)
        os.write(writing, b"r")
        status = _wait_for_all(child, pid_namespace)
    _end_like(status)


def _wait_for_all(child: int, pid_namespace: bool) -> int:
    """Wait for the child, kill and reap all that it left, and return its wait status."""
    status = None
    while True:
        try:
            pid, pid_status = os.waitpid(-1, 0 if status is None else os.WNOHANG)
        except ChildProcessError:
            return 0x100 if status is None else status
        if pid == child:
            status = pid_status
        # With a pid namespace the kernel kills them all, and /proc may be that namespace's by now.
        if status is not None and not pid_namespace:
            for descendant in find_descendants(os.getpid()):
                kill(descendant)


def _end_like(status: int) -> NoReturn:
    """End as the child did, so the parent that waits for the keeper learns how the run ended."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        resource.setrlimit(resource.RLIMIT_CORE, (1, 1))
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _enter(entry: EntryState) -> None:
    pid_namespace = any(layer.namespace == CLONE_NEWPID for layer in entry.plan.layers)
    entry.keeper_pipe = fork_below(entry.parent, pid_namespace)
    os.setsid()


KEEPER = Layer("keeper", Stage.FORK, _enter)
