"""The grader process of a cluster's worker, which grades in its main thread, as the examiner requires.

Run as `python -P -m autograder.workers.cluster_grader_main DESCRIPTOR ISOLATION SECRET...`. On the connection it first
sends what it grades with, or why it can't grade, and then serves tasks until the worker hangs up.
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
from autograder.sandbox import Isolation, list_layer_names, select_required_layers


def main(descriptor: int, isolation: Isolation, secret_folders: Sequence[Path]) -> None:
    """Say what this process grades with, or why it can't, and then grade for the worker at the other end."""
    connection = Connection(descriptor)
    try:
        # Before torch is loaded, while the forks that try the layers are cheap.
        layers = list_layer_names(select_required_layers(isolation))
    except GradlabError as error:
        connection.send(str(error))
        return
    import torch

    from autograder.model.fingerprint import collect_environment
    from autograder.workers.task_grading import serve_tasks

    torch.set_num_threads(1)  # as in a pool: another order of summation would change results
    threading.Thread(target=_exit_with_worker, args=(descriptor,), daemon=True).start()
    connection.send(collect_environment(layers))
    serve_tasks(connection, secret_folders, {})


def _exit_with_worker(descriptor: int) -> None:
    """End this process and the student process as soon as the worker is gone, whatever is being graded."""
    poller = select.poll()
    poller.register(descriptor, 0)  # only for a hang-up
    poller.poll()
    os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]), Isolation(sys.argv[2]), [Path(folder) for folder in sys.argv[3:]])
