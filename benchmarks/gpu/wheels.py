"""`python -m benchmarks.gpu.wheels FOLDER`: download the wheels that a machine with PyTorch but no Jupyter needs.

docs/gpu.md says how to install them there.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from packaging.requirements import Requirement

# What is already installed there, with what it needs, and what isn't imported when grading.
LEFT_OUT = {
    *("torch", "numpy", "scipy", "scikit-learn", "matplotlib", "sympy", "networkx", "setuptools", "pip"),
    *("jupyterlab", "jupyterlab-server", "jupyter-lsp", "widgetsnbextension", "jupyterlab-widgets", "debugpy", "jedi"),
    *("psycopg", "psycopg-binary", "hypothesis", "babel"),
}
GLIBC_MINORS = (17, 24, 26, 27, 28, 31, 34)  # in manylinux tags, which pip matches exactly
MAX_BYTES = 60_000_000


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu.wheels", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--python", default="3.12", help="the version on the machine with the GPU")
    options = parser.parse_args(arguments)
    names = [f"{name}=={version(name)}" for name in sorted(collect_requirements("gradlab") - {"gradlab"} | {"psutil"})]
    platforms = [f"--platform=manylinux_2_{minor}_x86_64" for minor in GLIBC_MINORS]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    target = [f"--python-version={options.python}", "--platform=manylinux2014_x86_64", *platforms]
    options.folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([*command, *target, "-d", str(options.folder), *names], check=True)
    size = sum(path.stat().st_size for path in options.folder.glob("*.whl"))
    print(f"{len(names)} wheels, {size / 1e6:.1f} MB, in {options.folder}")
    return int(size > MAX_BYTES)


def collect_requirements(name: str, extras: Sequence[str] = (), initial: frozenset[str] = frozenset()) -> set[str]:
    """Collect a package and everything that it requires here, except what is in LEFT_OUT.

    Args:
        extras: The package's extras to include.
        initial: The names that are already collected.
    """
    names = {name, *initial}
    for line in _read_requirements(name):
        required = re.sub(r"[-_.]+", "-", line.name).lower()
        wanted = line.marker is None or any(line.marker.evaluate({"extra": extra}) for extra in ("", *extras))
        if wanted and required not in LEFT_OUT and (line.extras or required not in names):
            names |= collect_requirements(required, sorted(line.extras), frozenset(names))
    return names


def _read_requirements(name: str) -> list[Requirement]:
    try:
        return [Requirement(line) for line in requires(name) or []]
    except PackageNotFoundError:
        return []


if __name__ == "__main__":
    sys.exit(main())
