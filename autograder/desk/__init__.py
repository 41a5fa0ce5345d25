"""Marking answers by hand: pages inside Jupyter Server that write marks and comments to nbgrader's gradebook.

`gradlab desk` starts a server with this extension. To add it to your own server, set
c.ServerApp.jpserver_extensions = {"autograder.desk": True} in jupyter_server_config.py; c.GradlabDesk.course names the
course if it isn't the server's folder.
"""

from __future__ import annotations

from typing import Any

EXCHANGE_HEALTH = "GRADLAB_EXCHANGE_HEALTH"  # environment variable: where the exchange of a hub says how it is


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": "autograder.desk"}]


def _load_jupyter_server_extension(server: Any) -> None:
    from autograder.desk.desk_handlers import add_handlers

    add_handlers(server)
