"""Keeps the server from writing a notebook anywhere but to the file it was opened from."""

from __future__ import annotations

from typing import Any

FOLLOWS_METADATA = "jupytext"  # the package whose contents manager writes to paths that a notebook's metadata names


def protect_contents(server: Any) -> None:
    """Use the plain contents manager under jupytext's, if that is installed and on.

    A student's notebook could name the course's source, and JupyterLab saves a notebook that nobody has changed.

    Args:
        server: The ServerApp.
    """
    kind = type(server.contents_manager)
    plain = next(base for base in kind.__mro__ if base.__module__.partition(".")[0] != FOLLOWS_METADATA)
    if plain is kind:
        return
    server.log.warning("Gradlab turns off jupytext here: it writes where the notebook that is opened says.")
    manager = plain(parent=server, log=server.log)
    server.contents_manager = server.session_manager.contents_manager = manager
    server.web_app.settings["contents_manager"] = manager
