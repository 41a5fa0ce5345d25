"""Limits on nbgrader's formgrader in the server that an instructor is logged in to, and links that work there."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.utils import url_path_join
from markupsafe import escape
from tornado import web

from labext.served_pages import POLICY, refuse_parts_of_pages
from labext.workspace import CONFIG, Workspace, can_configure

VIEWS = ("/notebooks/", "/edit/", "/tree/")  # of the script, for the classic notebook
LAB_VIEW = "/lab/tree/"
LINK = "prefix + path"  # of the script, which escapes nothing and doubles a slash
ESCAPED_LINK = 'prefix + path.split("/").filter(Boolean).map(encodeURIComponent).join("/")'


class LinksHandler(JupyterHandler):
    """GET: nbgrader's script that links to files. Its own links leave out the prefix that a server has on a hub.

    The pages' own `base_url` can't complete them: it's the server's on most pages, the formgrader's on a submission's.
    """

    @web.authenticated
    def get(self) -> None:
        from nbgrader.server_extensions.formgrader.handlers import static_path

        script = Path(static_path, "js", "utils.js").read_text(encoding="utf-8").replace(LINK, ESCAPED_LINK)
        shows_notebooks = self.settings["default_url"].startswith(f"{self.base_url}tree")
        for view in VIEWS:
            link = url_path_join(self.base_url, view if shows_notebooks else LAB_VIEW)
            script = script.replace(f'"{view}"', json.dumps(link))
        self.set_header("Content-Type", "text/javascript; charset=utf-8")
        self.finish(script)


def add_links(app: Any) -> None:
    """Answer for the script before nbgrader does, whose extension is loaded later."""
    path = url_path_join(app.settings["base_url"], "formgrader", "static", "js", "utils.js")
    app.add_handlers(".*$", [(path, LinksHandler)])


def protect_formgrader(workspace: Workspace) -> None:
    """Make the formgrader serve files without scripts, escape names, and run only trusted configurations.

    It serves the files next to a notebook, HTML and SVG included, from the origin that the instructor is logged in to.
    It puts students' names into pages unescaped. And it runs `nbgrader_config.py` of any folder that a URL names, which
    a link or a picture in a submission can do.

    Args:
        workspace: Its owner decides what may run.
    """
    with contextlib.suppress(ImportError):
        from nbgrader.server_extensions.formgrader.base import BaseHandler
        from nbgrader.server_extensions.formgrader.handlers import FormgraderHandler, SubmissionFilesHandler

        BaseHandler.exporter = property(lambda handler: EscapingExporter(handler.settings["nbgrader_exporter"]))
        render = BaseHandler.render
        BaseHandler.render = lambda handler, name, **names: render(handler, name, **escape_names(names))
        SubmissionFilesHandler.content_security_policy = property(lambda handler: POLICY)
        get = FormgraderHandler.get

        def get_trusted(handler: Any) -> Any:
            path = handler.get_argument("path", "")
            if path:
                refuse_parts_of_pages(handler)
            if path and not can_configure(path, workspace):
                raise web.HTTPError(403, f"{path} isn't one of this server's courses, so its {CONFIG} isn't run")
            return get(handler)

        FormgraderHandler.get = get_trusted


@dataclass(frozen=True)
class EscapingExporter:
    """A wrapper for an nbconvert exporter whose template doesn't escape its resources."""

    exporter: Any

    def from_filename(self, filename: str, resources: dict[str, Any]) -> Any:
        """Export this notebook with the texts in `resources` escaped."""
        return self.exporter.from_filename(filename, resources=escape_texts(resources))


def escape_texts(values: dict[str, Any]) -> dict[str, Any]:
    """Escape the texts in a dictionary for HTML."""
    return {name: str(escape(value)) if isinstance(value, str) else value for name, value in values.items()}


def escape_names(values: dict[str, Any]) -> dict[str, Any]:
    """Escape the names in a page's values: those of students, and those from a URL."""
    names = {name: value for name, value in values.items() if name.endswith("_id") or name == "filename"}
    resources = {"resources": escape_texts(values["resources"])} if "resources" in values else {}
    return values | escape_texts(names) | resources
