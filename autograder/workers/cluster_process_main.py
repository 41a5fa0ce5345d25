"""The process in which a cluster's worker has submissions graded: its main thread, as the examiner needs it.

Run as `python -P -m autograder.workers.cluster_process_main DESCRIPTOR ISOLATION SECRET...`, with a connection on which
it says what it grades with, or why it can't, and then answers tasks until the worker hangs up.
"""

from __future__ import annotations

import os
import select
import sys
import threading
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path

from autograder.base.errors import GradlabError
from autograder.sandbox import list_layer_names, require


def main(descriptor: int, isolation: str, secret: Sequence[Path]) -> None:
    connection = Connection(descriptor)
    try:
        layers = list_layer_names(
            require(isolation)
        )  # before torch is loaded, while the forks that try the layers are cheap
    except GradlabError as error:
        connection.send(str(error))
        return
    import torch

    from autograder.model.fingerprint import describe_environment
    from autograder.workers.worker import answer_tasks

    torch.set_num_threads(1)  # as in a pool: sums in another order would be other results
    threading.Thread(target=_exit_with_worker, args=(descriptor,), daemon=True).start()
    connection.send(describe_environment(layers))
    answer_tasks(connection, secret, {})


def _exit_with_worker(descriptor: int) -> None:
    """End this process, and with it the student's, as soon as the worker is gone, whatever is being graded."""
    look = select.poll()
    look.register(descriptor, 0)  # only for the other side's end
    look.poll()
    os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], [Path(folder) for folder in sys.argv[3:]])
