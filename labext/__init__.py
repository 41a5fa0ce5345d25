"""The course inside JupyterLab: the browser extension in share/, and this package, the server extension.

Nothing here imports a grader. `Mark my work` starts the installed one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": "labext"}]


def _load_jupyter_server_extension(server: Any) -> None:
    """Limit what the server's contents, kernels and pages may do, and add the handlers of the course panel."""
    from labext.contents import protect_contents
    from labext.formgrader import add_links, protect_formgrader
    from labext.handlers import add_handlers
    from labext.kernels import protect_kernels
    from labext.served_pages import protect_pages
    from labext.workspace import find_workspace
    from labkit.notebook_progress import START

    protect_contents(server)
    folder = server.contents_manager.root_dir
    protect_kernels(server.kernel_spec_manager)
    workspace = find_workspace(Path(folder), server.config.Gradlab.get("courses", ()))
    protect_pages(workspace)
    protect_formgrader(workspace)
    add_links(server.web_app)
    add_handlers(server.web_app, workspace)
    # Jupyter Notebook doesn't open with the course panel, so it shows the start page instead of the file list.
    if server.default_url == f"{server.base_url}tree" and (Path(folder) / START).is_file():
        server.default_url = f"{server.base_url}notebooks/{START}"
