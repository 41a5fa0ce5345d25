"""Protection against saving a notebook to any file but the one it was opened from."""

from __future__ import annotations

from typing import Any

FOLLOWS_METADATA = "jupytext"  # its contents manager writes to paths that a notebook's metadata names


def protect_contents(server: Any) -> None:
    """Replace jupytext's contents manager, if active, with the one it extends.

    A student's notebook could name the course's source, and JupyterLab saves even unchanged notebooks.

    Args:
        server: The ServerApp.
    """
    kind = type(server.contents_manager)
    plain = next(base for base in kind.__mro__ if base.__module__.partition(".")[0] != FOLLOWS_METADATA)
    if plain is kind:
        return
    server.log.warning("Gradlab has turned off jupytext here, because it writes to paths that a notebook names.")
    manager = plain(parent=server, log=server.log)
    server.contents_manager = server.session_manager.contents_manager = manager
    server.web_app.settings["contents_manager"] = manager
