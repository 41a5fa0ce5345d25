"""Becomes another program that ends with the hub: `python -m autograder.hub.bound_process COMMAND...`.

A hub that is killed would leave its services running. They would keep their ports, and their tokens would be void.
"""

from __future__ import annotations

import os
import signal
import sys

from autograder.sandbox.system import PR_SET_PDEATHSIG, prctl


def main() -> None:
    """Replace this process. The kernel keeps the signal that it sends when the parent ends."""
    prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
