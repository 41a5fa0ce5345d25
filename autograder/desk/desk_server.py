"""A Jupyter Server with the desk as its only extension. It prints its address, and after that only errors."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jupyter_server.serverapp import ServerApp
from jupyter_server.utils import url_path_join
from tornado.httputil import url_concat
from traitlets.config import Config


class DeskServer(ServerApp):
    """The server. Its `settings` override Jupyter's configuration files, and options override both."""

    settings = Config()

    def load_config_file(self, suppress_errors: bool = True) -> None:  # type: ignore[override]
        super().load_config_file(suppress_errors)
        self.update_config(self.settings)

    def init_signal(self) -> None:
        """Let Ctrl-C end the server without a question, since saved marks are in the gradebook."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: self.stop(from_signal=True))

    def start_app(self) -> None:
        self.identity_provider.token_generated = False  # otherwise Jupyter prints its address as an error
        super().start_app()
        message = f"Reading answers: {self.address}\nStop with Ctrl-C. Saved marks are in the gradebook."
        self.io_loop.add_callback(print, message, flush=True)  # by then it listens

    @property
    def address(self) -> str:
        """The page's address, with the token that logs a browser in."""
        page: str = url_path_join(self.connection_url, "gradlab", "desk", "/")
        token = self.identity_provider.token
        return url_concat(page, {"token": token}) if token else page


def serve_desk(course: Path, port: int, open_browser: bool, options: Sequence[str] = ()) -> None:
    """Run the server until it's stopped.

    Args:
        options: Command-line options of Jupyter Server.
    """
    settings: dict[str, Any] = {
        "ip": "127.0.0.1",
        "port": port,
        "root_dir": str(course),
        "base_url": "/",
        "default_url": "/gradlab/desk/",
        "open_browser": open_browser,
        "jpserver_extensions": {"autograder.desk": True},
        "terminals_enabled": False,
        "allow_root": os.geteuid() == 0,  # as in `make lab`: in a container every user is root
        "log_level": "ERROR",
    }
    server = DeskServer.instance()
    server.settings = Config(ServerApp=settings)
    # Loading the extensions that a machine has enabled takes a second, and the desk needs none of them.
    server.initialize(list(options), find_extensions=False)
    server.start()
