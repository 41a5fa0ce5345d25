"""The fork server: forks a sandboxed student process for each submission, and watches it from outside.

It has imported what labs import, and holds no secret. Run it as `python -P -m autograder.forkserver.server GROUPS
DESCRIPTOR...`, with a socket for each client: forks of the first process serve the second and later ones. It runs no
parallel operation and no CUDA call before a fork. GROUPS, joined by commas, are imported in advance, see
student_process/imports.py.
"""

from __future__ import annotations

import gc
import importlib
import os
import select
import shutil
import socket
import sys
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.base.errors import GradlabError
from autograder.base.fork_memory import make_forks_cheap
from autograder.forkserver.orders import Order, OrderKind, read_order, read_server_settings
from autograder.forkserver.supervisor import Supervisor
from autograder.rpc.frames import ConnectionClosed, WireValue, receive, send
from autograder.sandbox import (
    adopt_orphans,
    choose_network,
    find_layers,
    find_runtime_paths,
    list_layer_names,
    select_required_layers,
)
from autograder.student_process.imports import EVERYTHING, FIGURES, LABKIT, import_groups

if TYPE_CHECKING:
    from autograder.student_process.kernel import Kernel

POLL_SECONDS = 0.05


def main(descriptors: Sequence[int], groups: Collection[str]) -> None:
    """Receive ServerSettings, answer [error, layers], and take orders.

    The libraries are imported while the settings haven't arrived, or else after the answer.
    """
    gc.disable()  # imports create no garbage, and looking for it takes a tenth of their time
    home = os.getcwd()
    clients = [socket.socket(fileno=descriptor) for descriptor in descriptors]
    states = find_layers()  # before torch is loaded, while the forks that try the layers are cheap
    has_settings, _, _ = select.select(clients[:1], [], [], 0)
    serve = None if has_settings else _make_server_function(groups)
    try:
        settings = read_server_settings(receive(clients[0]))
    except ConnectionClosed:
        return  # there was nothing to grade
    try:
        layers = select_required_layers(settings.isolation, states)
    except GradlabError as error:
        send(clients[0], [str(error), []])
        return
    send(clients[0], ["", list_layer_names(layers)])
    serve = serve or _make_server_function(groups)
    if settings.compile_cache:
        importlib.import_module("torch._inductor.compile_fx")
        make_forks_cheap()
    order_socket = _fork_for_each(clients)
    adopt_orphans()
    paths = (*find_runtime_paths(), *map(Path, settings.readable))
    supervisor = Supervisor(
        layers,
        settings.limits,
        paths,
        choose_network(layers),
        settings.device,
        lambda control: serve(control, settings.compile_cache),
    )
    try:
        _serve(order_socket, supervisor)
    except ConnectionClosed:
        return
    finally:
        supervisor.stop_all()
        if order_socket is clients[0]:
            shutil.rmtree(home, ignore_errors=True)


def _fork_for_each(clients: Sequence[socket.socket]) -> socket.socket:
    """Fork a process for each client but the first. Returns, in each process, the socket that it serves."""
    served = clients[0]
    for client in clients[1:]:
        if os.fork() == 0:
            served = client
            break
    for client in clients:
        if client is not served:
            client.close()
    return served


def _serve(order_socket: socket.socket, supervisor: Supervisor) -> None:
    last_poll = time.monotonic()
    while True:
        ready, _, _ = select.select([order_socket], [], [], POLL_SECONDS if supervisor.running else None)
        if ready:
            send(order_socket, _carry_out(read_order(receive(order_socket)), order_socket, supervisor))
        if time.monotonic() - last_poll > POLL_SECONDS:
            supervisor.poll()
            last_poll = time.monotonic()


def _make_server_function(groups: Collection[str]) -> Callable[[int, str], None]:
    """Import torch and the rest.

    Returns:
        The function that a student process calls in its sandbox, with its socket and a cache of torch.compile or "".
    """
    from autograder.student_process.main import become_student_process, prepare_course_names

    kernel = create_warm_kernel(groups)
    course = prepare_course_names(kernel)
    make_forks_cheap()  # now, while the client is busy with its own imports
    return lambda control, compile_cache: become_student_process(control, kernel, course, compile_cache)


def create_warm_kernel(groups: Collection[str] = EVERYTHING) -> Kernel:
    """Create a kernel to fork, after imports and other work that each fork would otherwise repeat."""
    import torch

    from autograder.student_process.figures import draw_once
    from autograder.student_process.kernel import Kernel
    from autograder.student_process.shell import raise_once

    torch.set_num_threads(1)
    import_groups(groups)
    if LABKIT in groups:
        labkit = importlib.import_module("labkit")
        for name in labkit.__all__:
            getattr(labkit, name)  # pictures are imported when they are first used
    kernel = Kernel()
    if FIGURES in groups:
        draw_once()
    raise_once(kernel.shell)
    return kernel


def _carry_out(order: Order, order_socket: socket.socket, supervisor: Supervisor) -> WireValue:
    """Carry out an order and return the answer, None if there's nothing to say."""
    match order.kind:
        case OrderKind.START:
            _, descriptors, _, _ = socket.recv_fds(order_socket, 1, 1)
            if not descriptors:
                raise ConnectionClosed("the client ended within an order")
            return supervisor.start(descriptors[0])
        case OrderKind.ADOPT:
            supervisor.adopt(order.pid, order.group)
        case OrderKind.KILL_GROUP:
            supervisor.kill_group(order.pid, order.group)
        case OrderKind.CHECK_STATUS:
            return supervisor.check_status(order.pid)
        case OrderKind.MEASURE_TIMES:
            return supervisor.measure_times(order.pid)
        case OrderKind.STOP:
            supervisor.stop(order.pid)
    return None


if __name__ == "__main__":
    main([int(argument) for argument in sys.argv[2:]], [group for group in sys.argv[1].split(",") if group])
    os._exit(0)  # a regular exit with torch takes most of a second
