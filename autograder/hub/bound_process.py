"""Becomes another program that ends with the hub: `python -m autograder.hub.bound_process HUB COMMAND...`.

HUB is the hub's process ID. A hub that is killed, or that fails to start, would leave its services and its proxy
running. They would keep their ports, and their tokens would be void.

The program also ends at once when the hub interrupts it. A shell starts background commands with SIGINT ignored, and
programs inherit that: JupyterHub would wait half a minute for each service before it sends another signal.
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
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.execvp(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()
