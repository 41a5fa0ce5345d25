"""A file tree of the run's own. Stops: seeing any path but those of the plan (the course, the gradebook, other runs,
sockets such as /run/docker.sock do not exist), writing to what is readable, filling the disk or /dev/shm. With a /proc
of its own: seeing the processes of others, their command lines, users, times and networks; without it, their memory,
environment, maps and descriptors are for other layers to close."""

from __future__ import annotations

import ctypes
import os
import stat
from collections.abc import Mapping
from pathlib import Path

from autograder.sandbox.keeper import KEEPER
from autograder.sandbox.namespaces import PID, explain_refusal
from autograder.sandbox.plan import Layer, Plan, Stage
from autograder.sandbox.system import (
    CAP_SYS_ADMIN,
    CLONE_NEWNS,
    MS_BIND,
    MS_NODEV,
    MS_NOSUID,
    MS_PRIVATE,
    MS_REC,
    call,
    has_capability,
    mount,
    syscall,
)

MNT_DETACH = 2
SYS_MOUNT_SETATTR = 442
AT_FDCWD, AT_RECURSIVE = -100, 0x8000
ATTR_RDONLY, ATTR_NOSUID, ATTR_NODEV = 1, 2, 4
DEVICES = tuple(Path("/dev") / name for name in ("null", "zero", "full", "random", "urandom"))
OLD = Path("/.old")
TMP, SHM, OF_PROCESSES = Path("/tmp"), Path("/dev/shm"), Path("/proc")


def set_attributes(target: Path, on: int, recursive: bool = True) -> None:
    attributes = (ctypes.c_uint64 * 4)(on, 0, 0, 0)
    flags, size = AT_RECURSIVE if recursive else 0, ctypes.sizeof(attributes)
    syscall(SYS_MOUNT_SETATTR, AT_FDCWD, os.fsencode(target), flags, attributes, size, about=str(target))


def build(plan: Plan) -> None:
    """Make the plan's paths all that there is. Called inside a mount namespace of the run's own, as its root."""
    # Opened while their names still mean what the plan's maker meant, symbolic links and all.
    paths = sorted({*plan.readable, *DEVICES, *plan.devices})  # what holds another comes before it
    sources = {path: os.open(path, os.O_PATH) for path in paths}
    mount("none", Path("/"), flags=MS_REC | MS_PRIVATE)
    base = Path("/tmp")
    mount("tmpfs", base, "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,mode=0755")
    os.chdir(base)
    os.mkdir(OLD.name)
    call("pivot_root", b".", os.fsencode(OLD.name), about=str(base))
    os.chdir("/")

    covered = [path for path in sources if any(path.is_relative_to(place) for place in (TMP, SHM, plan.scratch))]
    _bind_all({path: source for path, source in sources.items() if path not in covered}, plan)
    _show_processes(plan)
    _make_scratch(plan)
    _bind_all({path: sources[path] for path in covered}, plan)  # as a Python in /tmp is, where the run gets its own
    for name, target in {"fd": "fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"}.items():
        os.symlink(f"/proc/self/{target}", f"/dev/{name}")

    call("umount2", os.fsencode(OLD), MNT_DETACH, about="the old root")
    os.rmdir(OLD)
    set_attributes(Path("/"), ATTR_RDONLY, recursive=False)


def _bind_all(sources: Mapping[Path, int], plan: Plan) -> None:
    for path, source in sources.items():
        _bind(source, path)
        os.close(source)
    for path in sources:
        if path in plan.readable:
            set_attributes(path, ATTR_RDONLY | ATTR_NOSUID | ATTR_NODEV)


def _bind(source: int, path: Path) -> None:
    """Show what was opened as `source` at `path` of the new tree."""
    if stat.S_ISDIR(os.fstat(source).st_mode):
        path.mkdir(parents=True, exist_ok=True)
    elif not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    mount(f"{OLD}/proc/self/fd/{source}", path, flags=MS_BIND | MS_REC)


def _show_processes(plan: Plan) -> None:
    """Mount a /proc of the run's own, or else show the machine's.

    A user namespace gets one only with a pid namespace of its own, and where nothing covers parts of the machine's.
    """
    OF_PROCESSES.mkdir()
    if PROC in plan.layers:
        options = "" if PID in plan.layers else "hidepid=invisible"
        mount("proc", OF_PROCESSES, "proc", MS_NOSUID | MS_NODEV, options)
    else:
        mount(f"{OLD}/proc", OF_PROCESSES, flags=MS_BIND | MS_REC)


def _make_scratch(plan: Plan) -> None:
    """One tmpfs, so that one bound holds for files, temporary files and shared memory together."""
    uid, whole = os.geteuid() if plan.uid is None else plan.uid, Path("/.scratch")
    whole.mkdir()
    options = f"size={plan.limits.disk},nr_inodes={plan.limits.files},mode=0711"
    mount("tmpfs", whole, "tmpfs", MS_NOSUID | MS_NODEV, options)
    # In this order: the scratch directory may lie in /tmp.
    for name, shown in {"tmp": TMP, "shm": SHM, "own": plan.scratch}.items():
        (whole / name).mkdir(0o700)
        os.chown(whole / name, uid, -1)
        shown.mkdir(parents=True, exist_ok=True)
        mount(str(whole / name), shown, flags=MS_BIND)
    call("umount2", os.fsencode(whole), MNT_DETACH, about=str(whole))
    whole.rmdir()


def _explain_masked_proc() -> str:
    return (
        "the kernel refuses: parts of this container's /proc are masked, unless it is started with "
        "systempaths=unconfined; or its profile forbids mounts"
    )


def _list_proc_needs() -> tuple[Layer, ...]:
    return (MOUNTS,) if has_capability(CAP_SYS_ADMIN) else (MOUNTS, PID, KEEPER)


MOUNTS = Layer(
    "mount namespace", Stage.BUILD, lambda entry: build(entry.plan), namespace=CLONE_NEWNS, refused=explain_refusal
)
PROC = Layer("own /proc", Stage.BUILD, needs=_list_proc_needs, refused=_explain_masked_proc)  # build() mounts it
