"""No privileges. Stops: gaining rights by execve (setuid programs, file capabilities), capabilities left from root or a
user namespace, runs that outlive the grader, and (hide) reading the grader's memory as its own user."""

from __future__ import annotations

import ctypes
import os
import select
import signal

from autograder.sandbox.plan import Entry, Layer, Stage
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


def hide() -> None:
    """Make this process's memory, environment and descriptors root's. For the grader; its forks are hidden as well."""
    prctl(PR_SET_DUMPABLE, 0)


def show() -> None:
    """Undo hide() in a child: what it needs of /proc/self (its descriptors, its user namespace's maps) is its own."""
    prctl(PR_SET_DUMPABLE, 1)


def forbid_new_privileges() -> None:
    prctl(PR_SET_NO_NEW_PRIVS, 1)


def die_with(parent: int) -> None:
    """Die when the thread that forked this process ends; at once where `parent`, its pid, has ended already."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def die_with_pipe(alive: int) -> None:
    """die_with() for a pid namespace's first process, which sees no parent: `alive` reads as ended where it has."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if select.select([alive], [], [], 0)[0]:
        os._exit(1)
    os.close(alive)


def drop_capabilities() -> None:
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    for capability in range(64):
        try:
            prctl(PR_CAPBSET_DROP, capability)
        except OSError:
            break  # past the last one, or not allowed, as for an ordinary user, who has none
    call("capset", (ctypes.c_uint32 * 2)(LINUX_CAPABILITY_VERSION_3, 0), (ctypes.c_uint32 * 6)(), about="drop all")


def _enter(entry: Entry) -> None:
    if entry.alive < 0:
        die_with(entry.parent)
    drop_capabilities()
    forbid_new_privileges()


PRIVILEGES = Layer("no privileges", Stage.GIVE_UP, _enter, always=True)
