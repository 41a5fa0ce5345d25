"""A kill that reaches escapees. Stops: processes that left the run's session, were orphaned, ignore signals, or fork
faster than they are found, from outliving the run."""

from __future__ import annotations

import os
import signal
import time

from autograder.errors import GradlabError
from autograder.sandbox.processes import Run, descendants, of_uid, pids, real_uid, stat_fields
from autograder.sandbox.system import PR_SET_CHILD_SUBREAPER, become, prctl

PATIENCE = 5.0  # seconds until a kill is given up as impossible


def adopt_orphans() -> None:
    """For a supervisor: what a run orphans comes to it to be waited for, and does not pile up as zombies."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)


def kill_run(run: Run) -> None:
    """Kill every process of the run. The caller still waits for run.pid."""
    if run.uid is not None:
        kill_uid(run.uid, run.pid)
    else:
        kill_tree(run.pid)


def kill_uid(uid: int, child: int | None = None) -> None:
    """Kill every process of that user, none excepted; `child`, our own, may be left as a zombie to wait for."""
    deadline = time.monotonic() + PATIENCE
    while anyone(uid):
        _kill_all_as(uid)
        # Asked before the dead are waited for: one that died in between would stay a zombie.
        alive = of_uid(uid)
        _reap_orphans(uid, child)
        if not alive:
            return
        if time.monotonic() > deadline:
            raise GradlabError(f"Processes of uid {uid} cannot be killed; see `ps -u {uid}`.")


def anyone(uid: int) -> bool:
    """Whether that user has a process, if only a zombie. One system call, from whose list a fork cannot run away."""
    try:
        os.getpriority(os.PRIO_USER, uid)
    except ProcessLookupError:
        return False
    return True


def _kill_all_as(uid: int) -> None:
    """One kill(-1) with that user's rights: the kernel holds off forks meanwhile, so that no process slips past."""
    helper = os.fork()
    if helper == 0:
        try:
            become(uid)
            os.kill(-1, signal.SIGKILL)
        finally:
            os._exit(0)
    # For an instant the helper is the run's own kind, which may stop it; it is then killed and sent again.
    deadline = time.monotonic() + 0.2
    while time.monotonic() < deadline:
        if os.waitpid(helper, os.WNOHANG)[0]:
            return
        time.sleep(0.0005)
    os.kill(helper, signal.SIGKILL)
    os.waitpid(helper, 0)


def _reap_orphans(uid: int, child: int | None) -> None:
    """Wait for those that came to us because we are a subreaper; other children are the caller's to wait for."""
    for pid in pids():
        fields = stat_fields(pid)
        if pid != child and fields and fields[0] == "Z" and int(fields[1]) == os.getpid() and real_uid(pid) == uid:
            os.waitpid(pid, os.WNOHANG)


def kill_tree(keeper: int) -> None:
    """Kill all that descends from a run's keeper; the keeper then ends by itself, or else is killed too."""
    deadline = time.monotonic() + PATIENCE
    while (found := descendants(keeper)) and time.monotonic() < deadline:
        for pid in found:
            kill(pid)
    timeouts = time.monotonic() + 0.1
    while time.monotonic() < timeouts:
        if _child_ended(keeper):
            return
        time.sleep(0.0005)
    kill(keeper)


def _child_ended(pid: int) -> bool:
    """Not from /proc, where another's processes may be hidden. The child stays to be waited for."""
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return False


def kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
