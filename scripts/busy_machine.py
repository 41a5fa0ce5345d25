"""Runs a command while other programs take the processors: python -m scripts.busy_machine COUNT COMMAND..."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

# It ends with this process, however that ends.
LOOP = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"


def main(count: int, command: Sequence[str]) -> int:
    """Run it beside so many endless loops, which end after it.

    Returns:
        Its exit status.
    """
    loops = [subprocess.Popen([sys.executable, "-S", "-c", LOOP]) for _ in range(count)]
    try:
        return subprocess.run(command).returncode
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
