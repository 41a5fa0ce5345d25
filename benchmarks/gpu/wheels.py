"""`python -m benchmarks.gpu.wheels FOLDER`: the wheels that a machine with PyTorch and no Jupyter needs for the parts.

There: `python3 -m pip install --no-index --no-deps FOLDER/*.whl`, and so `--no-build-isolation -e .`, then `make gpu`.
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

# There already, beside whatever they need themselves; or nothing that grades imports it.
LEFT_OUT = {
    *("torch", "numpy", "scipy", "scikit-learn", "matplotlib", "sympy", "networkx", "setuptools", "pip"),
    *("jupyterlab", "jupyterlab-server", "jupyter-lsp", "widgetsnbextension", "jupyterlab-widgets", "debugpy", "jedi"),
    *("psycopg", "psycopg-binary", "hypothesis", "babel"),
}
GLIBC = (17, 24, 26, 27, 28, 31, 34)  # of manylinux tags, which pip matches exactly
MOST = 60_000_000  # bytes


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu.wheels", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--python", default="3.12", help="of the machine with the GPU")
    parsed = parser.parse_args(arguments)
    names = [f"{name}=={version(name)}" for name in sorted(needed("gradlab") - {"gradlab"} | {"psutil"})]
    platforms = [f"--platform=manylinux_2_{minor}_x86_64" for minor in GLIBC]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    where = [f"--python-version={parsed.python}", "--platform=manylinux2014_x86_64", *platforms]
    parsed.folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([*command, *where, "-d", str(parsed.folder), *names], check=True)
    size = sum(path.stat().st_size for path in parsed.folder.glob("*.whl"))
    print(f"{len(names)} wheels, {size / 1e6:.1f} MB, in {parsed.folder}")
    return int(size > MOST)


def needed(name: str, extras: Sequence[str] = (), found: frozenset[str] = frozenset()) -> set[str]:
    """The package and all that it requires here, with these extras, without what is left out."""
    seen = {name, *found}
    for line in _requirements(name):
        required = re.sub(r"[-_.]+", "-", line.name).lower()
        wanted = line.marker is None or any(line.marker.evaluate({"extra": extra}) for extra in ("", *extras))
        if wanted and required not in LEFT_OUT and (line.extras or required not in seen):
            seen |= needed(required, sorted(line.extras), frozenset(seen))
    return seen


def _requirements(name: str) -> list[Requirement]:
    try:
        return [Requirement(line) for line in requires(name) or []]
    except PackageNotFoundError:
        return []


if __name__ == "__main__":
    sys.exit(main())
