"""No privileges. Stops a run from gaining rights by execve, from keeping capabilities, and from outliving the grader.

execve gives rights through setuid programs and file capabilities; capabilities remain from root or a user namespace.
make_undumpable() stops other processes of the grader's user from reading the grader's memory.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal

from autograder.sandbox.plan import EntryState, Layer, Stage
from autograder.sandbox.system import (
    PR_CAP_AMBIENT,
    PR_CAP_AMBIENT_CLEAR_ALL,
    PR_CAPBSET_DROP,
    PR_SET_DUMPABLE,
    PR_SET_NO_NEW_PRIVS,
    PR_SET_PDEATHSIG,
    call,
    prctl,
)

LINUX_CAPABILITY_VERSION_3 = 0x20080522


def make_undumpable() -> None:
    """Let only root read the memory, environment and descriptors of this process, the grader, and of its forks."""
    prctl(PR_SET_DUMPABLE, 0)


def make_dumpable() -> None:
    """Undo make_undumpable() in a child, which needs its own /proc/self: descriptors, its user namespace's maps."""
    prctl(PR_SET_DUMPABLE, 1)


def forbid_new_privileges() -> None:
    prctl(PR_SET_NO_NEW_PRIVS, 1)


def set_death_signal(parent: int) -> None:
    """Die when the thread that forked this process ends, at once if the process `parent` has ended already."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def set_death_signal_by_pipe(pipe: int) -> None:
    """Do the same for the first process of a pid namespace, which can't see its parent but shares a pipe."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if select.select([pipe], [], [], 0)[0]:
        os._exit(1)
    os.close(pipe)


def drop_capabilities() -> None:
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    for capability in range(64):
        try:
            prctl(PR_CAPBSET_DROP, capability)
        except OSError:
            break  # after the last one, or not allowed to an ordinary user, who has none
    call("capset", (ctypes.c_uint32 * 2)(LINUX_CAPABILITY_VERSION_3, 0), (ctypes.c_uint32 * 6)(), about="drop all")


def _enter(entry: EntryState) -> None:
    if entry.keeper_pipe < 0:
        set_death_signal(entry.parent)
    drop_capabilities()
    forbid_new_privileges()


PRIVILEGES = Layer("no privileges", Stage.GIVE_UP, _enter, always=True)
