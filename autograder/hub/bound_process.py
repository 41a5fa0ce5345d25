"""Becomes another program that ends with the hub: `python -m autograder.hub.bound_process HUB COMMAND...`.

HUB is the hub's process ID. A hub that is killed, or that fails to start, would leave its services and its proxy
running. They would keep their ports, and their tokens would be void.
"""

from __future__ import annotations

import os
import signal
import sys

from autograder.workers.death_signal import end_with_parent


def main() -> None:
    """Replace this process."""
    end_with_parent(signal.SIGTERM)
    if os.getppid() != int(sys.argv[1]):  # the hub has ended before the kernel knew
        sys.exit(1)
    os.execvp(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()
