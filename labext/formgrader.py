"""What nbgrader's formgrader may not do in the server that an instructor is logged in to."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

from markupsafe import escape
from tornado import web

from labext.served_pages import POLICY, refuse_parts_of_pages
from labext.workspace import CONFIG, Workspace, can_configure


def protect_formgrader(workspace: Workspace) -> None:
    """Have the formgrader serve files as files, show names as text, and read configurations that the server trusts.

    It serves what is beside a notebook, HTML and SVG included, from the address the instructor is logged in at. It puts
    students' names into pages as they are. And it runs `nbgrader_config.py` of whatever folder an address names: a link
    or a picture in a submission can name one.

    Args:
        workspace: Whose owner may decide what is run.
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
                raise web.HTTPError(403, f"{path} is no course of this server's, so its {CONFIG} is not run")
            return get(handler)

        FormgraderHandler.get = get_trusted


@dataclass(frozen=True)
class EscapingExporter:
    """An exporter whose template doesn't escape what it is given.

    Attributes:
        exporter: nbconvert's.
    """

    exporter: Any

    def from_filename(self, filename: str, resources: dict[str, Any]) -> Any:
        """The page of this notebook, with every text in `resources` as text."""
        return self.exporter.from_filename(filename, resources=escape_texts(resources))


def escape_texts(values: dict[str, Any]) -> dict[str, Any]:
    """The same dictionary with its texts as HTML."""
    return {name: str(escape(value)) if isinstance(value, str) else value for name, value in values.items()}


def escape_names(values: dict[str, Any]) -> dict[str, Any]:
    """What a page is made of, with the names in it as HTML: those of students, and those that an address brings."""
    names = {name: value for name, value in values.items() if name.endswith("_id") or name == "filename"}
    resources = {"resources": escape_texts(values["resources"])} if "resources" in values else {}
    return values | escape_texts(names) | resources
