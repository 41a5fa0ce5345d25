"""A kill that reaches every process. Stops processes from outliving the run.

It reaches those that left the run's session, were orphaned, ignore signals, or fork faster than they are found.
"""

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
from autograder.sandbox.system import PR_SET_CHILD_SUBREAPER, become_user, prctl

# Seconds of this process's own time: on a busy machine it runs as rarely as the process that it waits for.
KILL_SECONDS = 5.0  # until a kill counts as impossible
EXIT_SECONDS = 0.05  # for a child to end on its own: a thousand looks at it
END_MILLISECONDS = 100  # to wait for the kernel's notice; after that, processes are searched


def adopt_orphans() -> None:
    """Make this process the parent of orphans below it, so a supervisor can reap them."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)


def kill_run(run: Run) -> None:
    """Kill every process of the run. The caller must still wait for run.pid."""
    if run.uid is not None:
        kill_uid(run.uid, run.pid)
    else:
        kill_tree(run.pid)


def kill_uid(uid: int, child: int | None = None) -> None:
    """Kill every process of that user. `child`, our own, may remain a zombie to wait for."""
    deadline = time.process_time() + KILL_SECONDS
    while has_processes(uid):
        _kill_all_as(uid)
        # Before reaping: a process that died in between would remain a zombie.
        alive = find_uid_processes(uid)
        _reap_orphans(uid, child)
        if not alive:
            return
        if time.process_time() > deadline:
            raise GradlabError(
                f"processes of uid {uid} can't be killed", fix=f"look at ps -u {uid}, and end them as root"
            )


def has_processes(uid: int) -> bool:
    """Return whether that user has a process, even a zombie. A single system call, so no fork can escape it."""
    try:
        os.getpriority(os.PRIO_USER, uid)
    except ProcessLookupError:
        return False
    return True


def _kill_all_as(uid: int) -> None:
    """Call kill(-1) with that user's rights. The kernel blocks forks meanwhile, so no process escapes."""
    helper = os.fork()
    if helper == 0:
        try:
            become_user(uid)
            os.kill(-1, signal.SIGKILL)
        finally:
            os._exit(0)
    # For an instant the helper has the run's uid, so the run may stop it; then it's killed, and another one is sent.
    if not _wait_for_child(helper):
        kill(helper)
    os.waitpid(helper, 0)


def _reap_orphans(uid: int, child: int | None) -> None:
    """Wait for orphans that this process adopted. The caller waits for other children."""
    for pid in list_pids():
        fields = read_stat_fields(pid)
        if pid != child and fields and fields[0] == "Z" and int(fields[1]) == os.getpid() and read_real_uid(pid) == uid:
            os.waitpid(pid, os.WNOHANG)


def kill_tree(keeper: int) -> None:
    """Kill all descendants of a run's keeper. The keeper then ends on its own, or is killed too."""
    deadline = time.process_time() + KILL_SECONDS
    while (descendants := find_descendants(keeper)) and time.process_time() < deadline:
        for pid in descendants:
            kill(pid)
    if not _wait_for_child(keeper):
        kill(keeper)


def _wait_for_child(child: int) -> bool:
    """Wait for EXIT_SECONDS for a child to end, without reaping it.

    It doesn't use /proc, which may hide other users' processes.

    Returns:
        Whether it has ended: False if it was stopped or still runs.
    """
    deadline = time.process_time() + EXIT_SECONDS
    while time.process_time() < deadline:
        try:
            state = os.waitid(os.P_PID, child, os.WEXITED | os.WSTOPPED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return False
        if state is not None:
            return state.si_code not in (os.CLD_STOPPED, os.CLD_TRAPPED)
        time.sleep(0.0005)
    return False


def kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def open_pidfd(pid: int) -> int | None:
    """Open a descriptor that shows when this process ends. None if it has ended already, or before Linux 5.3."""
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None


def has_ended(pidfd: int) -> bool:
    """Wait for END_MILLISECONDS for a killed process to end, close its descriptor, and return whether it ended."""
    poller = select.poll()  # select() can't handle descriptors above 1023
    poller.register(pidfd, select.POLLIN)
    ended = bool(poller.poll(END_MILLISECONDS))
    os.close(pidfd)
    return ended
