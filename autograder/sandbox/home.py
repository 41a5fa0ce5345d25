"""A scratch home. Stops a run from reading secrets in the environment, and from sharing files with other runs.

Caches (of torch.compile, of matplotlib) and temporary files are its own. A fork server must be started with such an
environment too, since a fork has all that the server read before.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from autograder.sandbox.plan import Layer, Plan, Stage

INHERITED = ("LANG", "LC_ALL", "TZ", "CUDA_VISIBLE_DEVICES", "LD_LIBRARY_PATH", "MPLBACKEND")
PATH = f"{sys.prefix}/bin:/usr/local/bin:/usr/bin:/bin"
DIRECTORIES = {
    "HOME": "home",
    "TMPDIR": "tmp",
    "TORCHINDUCTOR_CACHE_DIR": "inductor",
    "TRITON_CACHE_DIR": "triton",
    "MPLCONFIGDIR": "matplotlib",
    "XDG_CACHE_HOME": "cache",
    "IPYTHONDIR": "ipython",
}


def build_process_environment(scratch: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the whole environment of a run, and of the process that it's forked from."""
    names = {name: os.environ[name] for name in INHERITED if name in os.environ}
    names |= {name: str(scratch / directory) for name, directory in DIRECTORIES.items()}
    # The uid has no entry in /etc/passwd: getpass and torch use these first.
    names |= {"USER": "student", "LOGNAME": "student", "PATH": PATH, "LANG": names.get("LANG", "C.UTF-8")}
    # Inductor's own workers hang after a fork; gloo must not look up the machine's host name.
    names |= {"TORCHINDUCTOR_COMPILE_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo", "PYTHONDONTWRITEBYTECODE": "1"}
    return names | dict(extra or {})


def build_home(plan: Plan) -> None:
    """Create the directories, set the environment and go home. Before the uid changes, since it gives away files."""
    os.umask(0o077)
    owner = os.geteuid() if plan.uid is None else plan.uid
    for directory in DIRECTORIES.values():
        path = plan.scratch / directory
        path.mkdir(exist_ok=True)
        os.chown(path, owner, -1, follow_symlinks=False)
    names = build_process_environment(plan.scratch, plan.environment)
    os.environ.clear()
    os.environ.update(names)
    tempfile.tempdir = None
    os.chdir(plan.scratch / "home")


HOME = Layer("scratch home", Stage.BUILD, lambda entry: build_home(entry.plan), always=True)


@contextmanager
def create_scratch(uid: int | None = None, base: Path | None = None) -> Iterator[Path]:
    """Create an empty directory for one run, and remove it afterwards. The run's uid must be able to enter `base`."""
    path = Path(tempfile.mkdtemp(prefix="gradlab-", dir=base))
    if uid is not None:
        os.chown(path, uid, uid)
    try:
        yield path
    finally:
        remove(path)


def remove(path: Path) -> None:
    """Remove a run's directory tree, with rm: a run can nest deeper than Python 3.11's recursive rmtree can."""
    try:
        path.rmdir()
    except OSError:
        subprocess.run(["rm", "-rf", "--one-file-system", "--", str(path)], check=False, capture_output=True)
