"""A kill that reaches escapees. Stops: processes that left the run's session, were orphaned, ignore signals, or fork
faster than they are found, from outliving the run."""

from __future__ import annotations

import os
import select
import signal
import time

from autograder.base.errors import GradlabError
from autograder.sandbox.processes import (
    Run,
    find_descendants,
    find_uid_processes,
    list_pids,
    read_real_uid,
    read_stat_fields,
)
from autograder.sandbox.system import PR_SET_CHILD_SUBREAPER, become, prctl

# Seconds of this process's own: on a busy machine it gets its turns as rarely as what it waits for.
PATIENCE = 5.0  # until a kill is given up as impossible
GOODWILL = 0.05  # for a child to end by itself: a thousand looks at it
END_MILLISECONDS = 100  # for which the kernel is waited for; beyond that a process is looked for


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
    until = time.process_time() + PATIENCE
    while has_processes(uid):
        _kill_all_as(uid)
        # Asked before the dead are waited for: one that died in between would stay a zombie.
        alive = find_uid_processes(uid)
        _reap_orphans(uid, child)
        if not alive:
            return
        if time.process_time() > until:
            raise GradlabError(f"Processes of uid {uid} cannot be killed; see `ps -u {uid}`.")


def has_processes(uid: int) -> bool:
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
    if not _wait_for_child(helper):
        kill(helper)
    os.waitpid(helper, 0)


def _reap_orphans(uid: int, child: int | None) -> None:
    """Wait for those that came to us because we are a subreaper; other children are the caller's to wait for."""
    for pid in list_pids():
        fields = read_stat_fields(pid)
        if pid != child and fields and fields[0] == "Z" and int(fields[1]) == os.getpid() and read_real_uid(pid) == uid:
            os.waitpid(pid, os.WNOHANG)


def kill_tree(keeper: int) -> None:
    """Kill all that descends from a run's keeper; the keeper then ends by itself, or else is killed too."""
    until = time.process_time() + PATIENCE
    while (found := find_descendants(keeper)) and time.process_time() < until:
        for pid in found:
            kill(pid)
    if not _wait_for_child(keeper):
        kill(keeper)


def _wait_for_child(child: int) -> bool:
    """Wait for the end of a child, which stays to be waited for. Not from /proc, where another's may be hidden.

    Returns:
        Whether it has ended: False for one that was stopped, or has had its chance.
    """
    until = time.process_time() + GOODWILL
    while time.process_time() < until:
        try:
            seen = os.waitid(os.P_PID, child, os.WEXITED | os.WSTOPPED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return False
        if seen is not None:
            return seen.si_code not in (os.CLD_STOPPED, os.CLD_TRAPPED)
        time.sleep(0.0005)
    return False


def kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def open_pidfd(pid: int) -> int | None:
    """A descriptor by which the kernel tells the end of this process; None where it came, or before Linux 5.3."""
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None


def has_ended(end: int) -> bool:
    """Wait for the end of a process that was killed, and close its descriptor. Whether it came in time to be seen."""
    poller = select.poll()  # select() knows no descriptor above 1023
    poller.register(end, select.POLLIN)
    ended = bool(poller.poll(END_MILLISECONDS))
    os.close(end)
    return ended
