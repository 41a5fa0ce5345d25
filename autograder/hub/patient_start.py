"""Lets JupyterHub 5 wait for services that start slowly.

It gives each one ten seconds, and ends if one takes longer, as on a busy machine. JupyterHub 6 has a setting for this.
"""

from __future__ import annotations

import contextlib
from typing import Any

from jupyterhub.app import JupyterHub
from jupyterhub.objects import Server
from jupyterhub.services.service import Service
from jupyterhub.utils import AnyTimeoutError

LOOK_SECONDS = 1  # between two looks at whether the process still runs


def has_timeout() -> bool:
    """Return whether this JupyterHub lets a service say how long it may take."""
    return "timeout" in Service.class_traits()


def wait_for_services() -> None:
    """Let this process's hub wait for each service until it answers or ends."""
    start = JupyterHub.start_service

    async def start_service(hub: JupyterHub, name: str, service: Service, ssl_context: Any = None) -> bool:
        if not (service.managed and service.url):
            return bool(await start(hub, name, service, ssl_context))
        hub.log.info("Starting managed service %s at %s", name, service.url)
        await service.start()
        server = Server.from_orm(service.orm.server)
        while (status := await service.spawner.poll()) is None:
            with contextlib.suppress(AnyTimeoutError):
                await server.wait_up(http=True, timeout=LOOK_SECONDS, ssl_context=ssl_context)
                return True
        hub.log.critical("Service %s exited with status %s", name, status)
        return False

    JupyterHub.start_service = start_service
