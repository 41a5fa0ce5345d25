"""The run's own uid, from a pool that graders share. Stops a run from reaching other processes and private files.

That includes memory, ptrace, /proc files and signals of another process, files that aren't world-readable, becoming
root again, and sharing a uid with another or an earlier run. RLIMIT_NPROC counts only the run. Needs root.
"""

from __future__ import annotations

import fcntl
import grp
import os
import pwd
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from autograder.base.errors import GradlabError
from autograder.sandbox.kill import has_processes, kill_uid
from autograder.sandbox.plan import EntryState, Layer, Plan, Stage
from autograder.sandbox.privileges import make_dumpable
from autograder.sandbox.processes import find_uid_processes
from autograder.sandbox.system import CAP_SETUID, become_user, call, has_capability, read_status

# Not used by people, systemd's dynamic users or subordinate ids, and within a container's 65536 ids.
POOL = range(60_706, 61_184)
LOCKS = Path("/run/gradlab")


def rotate_pool(pool: Sequence[int], namespace: int) -> list[int]:
    """Rotate the pool by an amount that depends on the pid namespace.

    Graders in other containers may use the same uids, and their locks and processes can't be seen.
    """
    start = zlib.crc32(str(namespace).encode()) % len(pool)
    return [*pool[start:], *pool[:start]]


def is_in_container(uid: int) -> bool:
    """Return whether that user has a process in a pid namespace below: another grader's, which must not be killed."""
    return has_processes(uid) and any(
        len(read_status(pid).get("NSpid", "").split()) > 1 for pid in find_uid_processes(uid)
    )


def is_taken(uid: int) -> bool:
    """Return whether a person, a service or a group of this machine has that number."""
    for lookup in (pwd.getpwuid, grp.getgrgid):
        try:
            lookup(uid)
        except KeyError:
            continue
        return True
    return False


@contextmanager
def claim_uid(pool: Iterable[int] | None = None, locks: Path = LOCKS) -> Iterator[int]:
    """Claim a uid of the pool that no other grader on this machine uses, without processes before and afterwards."""
    locks.mkdir(mode=0o700, parents=True, exist_ok=True)
    for uid in rotate_pool(POOL, os.stat("/proc/self/ns/pid").st_ino) if pool is None else pool:
        if uid <= 0 or is_taken(uid):
            continue
        descriptor = os.open(locks / f"uid-{uid}", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            if is_in_container(uid):
                continue
            kill_uid(uid)
            sweep(uid)
            try:
                yield uid
            finally:
                kill_uid(uid)
                sweep(uid)
            return
        finally:
            os.close(descriptor)
    raise GradlabError("every uid for student processes is in use", fix="wait, or grade as an ordinary user")


def sweep(uid: int) -> None:
    """Remove that user's files in /dev/shm, which remain if no mount namespace gave a run its own."""
    try:
        entries = list(os.scandir("/dev/shm"))
    except OSError:
        return
    for entry in entries:
        try:
            if entry.stat(follow_symlinks=False).st_uid == uid:
                os.rmdir(entry.path) if entry.is_dir(follow_symlinks=False) else os.unlink(entry.path)
        except OSError:
            continue


@contextmanager
def read_as_user(uid: int) -> Iterator[None]:
    """Open files as that user, without being in reach of its signals, as a helper with its uid would be.

    Afterwards this thread gets no signal when its parent dies, and its memory is closed to its own user.
    """
    call("setfsgid", uid)
    call("setfsuid", uid)
    try:
        yield
    finally:
        call("setfsuid", os.geteuid())
        call("setfsgid", os.getegid())


def _prepare(_: Plan) -> None:
    if not has_capability(CAP_SETUID):
        raise GradlabError("it needs root: run gradlab as root to give each run its own uid")


def _enter(entry: EntryState) -> None:
    assert entry.plan.uid is not None  # checked by prepare()
    become_user(entry.plan.uid)
    make_dumpable()


UID = Layer("uid", Stage.BECOME, _enter, prepare=_prepare, note=lambda: f"as uid {POOL[-1]}")
