"""The course inside JupyterLab: its extension for the browser, below share/, and for the server, this package.

Nothing here imports a grader: `Mark my work` starts the one that is there.
"""

from __future__ import annotations

from typing import Any


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": "labext"}]


def _load_jupyter_server_extension(server: Any) -> None:
    from labext.handlers import add_handlers

    add_handlers(server.web_app, server.contents_manager.root_dir)
