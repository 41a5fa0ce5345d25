"""The run's own file tree. Stops a run from seeing any path outside its plan, and from filling the disk or /dev/shm.

The course, the gradebook, other runs and sockets such as /run/docker.sock don't exist in it, and readable paths can't
be written. With its own /proc, a run doesn't see other processes, their command lines, users, times and networks.
Without it, other layers must close their memory, environment, maps and descriptors.
"""

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
OLD_ROOT = Path("/.old")
TMP, SHM, PROC_PATH = Path("/tmp"), Path("/dev/shm"), Path("/proc")


def set_attributes(target: Path, attributes: int, recursive: bool = True) -> None:
    """Set attributes of a mount, in addition to those that it has.

    Args:
        attributes: The bits of mount_setattr(2), such as ATTR_RDONLY.
        recursive: Whether to set them for all mounts below it, too.
    """
    argument = (ctypes.c_uint64 * 4)(attributes, 0, 0, 0)
    flags, size = AT_RECURSIVE if recursive else 0, ctypes.sizeof(argument)
    syscall(SYS_MOUNT_SETATTR, AT_FDCWD, os.fsencode(target), flags, argument, size, about=str(target))


def build_file_tree(plan: Plan) -> None:
    """Build a file tree of only the plan's paths. Called inside the run's own mount namespace, as its root."""
    # Opened while symbolic links still lead where they led when the plan was made.
    paths = sorted({*plan.readable, *DEVICES, *plan.devices})  # a folder before what is in it
    sources = {path: os.open(path, os.O_PATH) for path in paths}
    mount("none", Path("/"), flags=MS_REC | MS_PRIVATE)
    before = os.umask(0o022)  # the run's own uid enters the folders that root makes here
    base = Path("/tmp")
    mount("tmpfs", base, "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,mode=0755")
    os.chdir(base)
    os.mkdir(OLD_ROOT.name)
    call("pivot_root", b".", os.fsencode(OLD_ROOT.name), about=str(base))
    os.chdir("/")

    covered = [path for path in sources if any(path.is_relative_to(folder) for folder in (TMP, SHM, plan.scratch))]
    _bind_all({path: source for path, source in sources.items() if path not in covered}, plan)
    _mount_proc(plan)
    _mount_scratch(plan)
    _bind_all({path: sources[path] for path in covered}, plan)  # for instance a Python in /tmp, over the run's own /tmp
    for name, target in {"fd": "fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"}.items():
        os.symlink(f"/proc/self/{target}", f"/dev/{name}")

    call("umount2", os.fsencode(OLD_ROOT), MNT_DETACH, about="the old root")
    os.rmdir(OLD_ROOT)
    os.umask(before)
    set_attributes(Path("/"), ATTR_RDONLY, recursive=False)


def _bind_all(sources: Mapping[Path, int], plan: Plan) -> None:
    for path, source in sources.items():
        _bind(source, path)
        os.close(source)
    for path in sources:
        if path in plan.readable:
            set_attributes(path, ATTR_RDONLY | ATTR_NOSUID | ATTR_NODEV)


def _bind(source: int, path: Path) -> None:
    """Bind the file opened as `source` to `path` in the new tree."""
    if stat.S_ISDIR(os.fstat(source).st_mode):
        path.mkdir(parents=True, exist_ok=True)
    elif not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    mount(f"{OLD_ROOT}/proc/self/fd/{source}", path, flags=MS_BIND | MS_REC)


def _mount_proc(plan: Plan) -> None:
    """Mount the run's own /proc, or else the machine's.

    In a user namespace, its own is possible only with a pid namespace, and if no part of the machine's is masked.
    """
    PROC_PATH.mkdir()
    if PROC in plan.layers:
        options = "" if PID in plan.layers else "hidepid=invisible"
        mount("proc", PROC_PATH, "proc", MS_NOSUID | MS_NODEV, options)
    else:
        mount(f"{OLD_ROOT}/proc", PROC_PATH, flags=MS_BIND | MS_REC)


def _mount_scratch(plan: Plan) -> None:
    """Mount one tmpfs, so one limit applies to files, temporary files and shared memory together."""
    uid, tmpfs = os.geteuid() if plan.uid is None else plan.uid, Path("/.scratch")
    tmpfs.mkdir()
    options = f"size={plan.limits.disk},nr_inodes={plan.limits.files},mode=0711"
    mount("tmpfs", tmpfs, "tmpfs", MS_NOSUID | MS_NODEV, options)
    # In this order, since the scratch directory may be in /tmp.
    for name, target in {"tmp": TMP, "shm": SHM, "own": plan.scratch}.items():
        (tmpfs / name).mkdir(0o700)
        os.chown(tmpfs / name, uid, -1)
        target.mkdir(parents=True, exist_ok=True)
        mount(str(tmpfs / name), target, flags=MS_BIND)
    call("umount2", os.fsencode(tmpfs), MNT_DETACH, about=str(tmpfs))
    tmpfs.rmdir()


def _explain_masked_proc() -> str:
    return (
        "the kernel refuses: parts of this container's /proc are masked, unless it's started with "
        "systempaths=unconfined, or its profile forbids mounts"
    )


def _list_proc_needs() -> tuple[Layer, ...]:
    return (MOUNTS,) if has_capability(CAP_SYS_ADMIN) else (MOUNTS, PID, KEEPER)


MOUNTS = Layer(
    "mount namespace",
    Stage.BUILD,
    lambda entry: build_file_tree(entry.plan),
    namespace=CLONE_NEWNS,
    refusal=explain_refusal,
)
# build_file_tree() mounts it.
PROC = Layer("own /proc", Stage.BUILD, needs=_list_proc_needs, refusal=_explain_masked_proc)
