"""The cache of torch.compile for a lab: filled once by running the worked solution, and read by all submissions.

Run as `python -P -m autograder.workers.compile_cache NOTEBOOK`, which runs the cells of a source notebook without a
sandbox, since it's the course's own. The cache is outside all courses, in XDG_CACHE_HOME or ~/.cache.
"""

from __future__ import annotations

import fcntl
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import nbformat

from autograder.base.digest import digest
from autograder.sandbox import build_process_environment

SECONDS = 600.0
LOCKS = "locks"  # inductor's lock files, which each process must write


def prepare_compile_cache(source_notebook: bytes) -> Path | None:
    """Return the cache for this source notebook's lab, filling it if it's missing; None if the lab compiles nothing."""
    cells = [c.source for c in nbformat.reads(source_notebook.decode(), as_version=4).cells if c.cell_type == "code"]
    if not any("compile" in source for source in cells):
        return None
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gradlab" / "compiled"
    folder = root / digest(*cells, version("torch"), platform.python_version(), platform.processor())[:16]
    root.mkdir(parents=True, exist_ok=True)
    with (root / f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several workers may ask at once
        if not folder.exists():
            _compile(source_notebook, folder)
    return folder if any(folder.iterdir()) else None


def _compile(source_notebook: bytes, folder: Path) -> None:
    """Run the worked solution with an empty cache, and keep the cache only when it's complete."""
    with tempfile.TemporaryDirectory(prefix=".new-", dir=folder.parent) as home:
        notebook = Path(home, "notebook.ipynb")
        notebook.write_bytes(source_notebook)
        command = [sys.executable, "-P", "-m", "autograder.workers.compile_cache", str(notebook)]
        environment = build_process_environment(Path(home), {"OMP_NUM_THREADS": "1"})
        subprocess.run(
            command, env=environment, cwd=home, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS
        )
        cache = Path(environment["TORCHINDUCTOR_CACHE_DIR"])
        cache.mkdir(exist_ok=True)
        shutil.rmtree(cache / LOCKS, ignore_errors=True)
        for place, _, files in os.walk(cache):
            os.chmod(place, 0o755)
            for name in files:
                os.chmod(os.path.join(place, name), 0o644)
        os.replace(cache, folder)


def _run(notebook: Path) -> None:
    import torch

    from autograder.student_process.kernel import Kernel

    torch.set_num_threads(1)
    kernel = Kernel()
    for cell in nbformat.read(notebook, as_version=4).cells:
        if cell.cell_type == "code":
            kernel.run(cell.source)


if __name__ == "__main__":
    _run(Path(sys.argv[1]))
    os._exit(0)  # an orderly exit with torch loaded takes most of a second
