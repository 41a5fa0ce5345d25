"""The exchange as a service of a JupyterHub: `python -m autograder.hub.exchange_service FOLDER...`."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from jupyterhub.services.auth import HubAuth
from tornado.httpserver import HTTPServer
from tornado.log import enable_pretty_logging

from autograder.hub.exchange_folder import ExchangeFolder
from autograder.hub.exchange_handlers import build_application

BODY_SECONDS = 600.0  # for one request's body
CACHE_SECONDS = 10  # until a user who has left a group is refused


async def serve_exchange(paths: Sequence[Path]) -> None:
    """Serve these courses until the hub ends the process.

    Args:
        paths: A folder for each course, with the course's name.
    """
    os.umask(0o077)
    folders = {path.name: ExchangeFolder(path) for path in paths}
    for folder in folders.values():
        folder.prepare()
    address = urlsplit(os.environ["JUPYTERHUB_SERVICE_URL"])
    hub_auth = HubAuth(cache_max_age=CACHE_SECONDS)
    application = build_application(os.environ["JUPYTERHUB_SERVICE_PREFIX"], hub_auth, folders)
    server = HTTPServer(application, body_timeout=BODY_SECONDS)
    server.listen(address.port or 80, address.hostname or "127.0.0.1")
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await stop.wait()


if __name__ == "__main__":
    enable_pretty_logging()
    asyncio.run(serve_exchange([Path(name) for name in sys.argv[1:]]))
