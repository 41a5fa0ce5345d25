"""What a hub's services print: lines in the hub's output, each with the time and the service's name."""

from __future__ import annotations

import logging
from collections.abc import Iterable

log = logging.getLogger(__name__)


def configure_output(service: str) -> None:
    """Let this process's messages begin with the time and the service's name."""
    logging.basicConfig(level=logging.INFO, format=f"[%(levelname)s %(asctime)s {service}] %(message)s")


def print_output(lines: Iterable[str]) -> None:
    """Print what another program prints, as messages of this process."""
    for line in lines:
        log.info("%s", line.rstrip())
