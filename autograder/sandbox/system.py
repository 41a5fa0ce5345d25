"""System calls that Python doesn't offer, as functions that raise OSError. Not a layer."""

from __future__ import annotations

import ctypes
import errno
import os
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)

CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = (
    0x00020000,
    0x08000000,
    0x10000000,
    0x20000000,
    0x40000000,
)
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_CAPBSET_DROP = 1, 4, 22, 24
PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 36, 38, 47
PR_CAP_AMBIENT_CLEAR_ALL = 4
CAP_SETUID, CAP_SYS_ADMIN, CAP_SETFCAP = 7, 21, 31
MS_NOSUID, MS_NODEV, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 4096, 16384, 1 << 18


def _convert_argument(value: object) -> object:
    # A variadic C function reads a whole register, but ctypes fills only an int.
    return ctypes.c_long(value) if isinstance(value, int) else value


def call(name: str, *arguments: object, about: str = "") -> int:
    """Call a function of libc. Raises OSError with its errno and the name of the call."""
    result = int(getattr(LIBC, name)(*map(_convert_argument, arguments)))
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}", about or None)
    return result


def syscall(number: int, *arguments: object, about: str = "") -> int:
    return call("syscall", number, *arguments, about=about or f"system call {number}")


def prctl(option: int, first: object = 0, second: object = 0) -> int:
    return call("prctl", option, first, second, 0, 0, about=f"prctl {option}")


def unshare(flags: int) -> None:
    call("unshare", flags, about=f"flags {flags:#x}")


def mount(source: str, target: Path, kind: str = "", flags: int = 0, options: str = "") -> None:
    """Mount a file system, or change a mount, as mount(2) does.

    Args:
        kind: The type of file system, such as tmpfs; empty to bind or change a mount.
        options: Options for the file system, such as "size=1m".
    """
    path = os.fsencode(target)
    call("mount", source.encode(), path, kind.encode(), flags, options.encode(), about=f"{target} {kind}")


def read_status(pid: int | str = "self") -> dict[str, str]:
    """Read /proc/PID/status as a mapping; empty if the process has ended."""
    try:
        text = Path(f"/proc/{pid}/status").read_text(errors="replace")
    except OSError:
        return {}
    return dict(line.split(":", 1) for line in text.splitlines() if ":" in line)


def has_capability(capability: int) -> bool:
    return bool(int(read_status().get("CapEff", "0"), 16) >> capability & 1)


def become_user(uid: int) -> None:
    """Become that user irrevocably, without other groups or a saved id. /proc/self still belongs to root."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def wait(pid: int) -> int:
    """Return the wait status of a child, and wait again after a signal."""
    while True:
        try:
            return os.waitpid(pid, 0)[1]
        except OSError as error:
            if error.errno != errno.EINTR:
                raise
