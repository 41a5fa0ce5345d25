"""Where submissions are graded: by processes of this machine, or by the workers of a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from autograder.forkserver.server_process import ServerProcess

if TYPE_CHECKING:
    from autograder.workers.pool import Pool


@dataclass(frozen=True)
class LocalExecutor:
    """jobs: submissions that are graded at a time. device: what labkit.device() gives: "cpu", "cuda", or "auto" for
    cuda where this machine has it. ahead: a fork server that waits, see start_ahead(). pool: workers that stay.
    """

    jobs: int = 1
    device: str = "cpu"
    ahead: ServerProcess | None = None
    pool: Pool | None = None


@dataclass(frozen=True)
class DaskExecutor:
    """address: of a dask scheduler. wait: seconds without a worker after which that is an error. device: as above."""

    address: str
    wait: float = 60.0
    device: str = "cpu"


Backend = LocalExecutor | DaskExecutor
