"""The desk as a service of a JupyterHub: `python -m autograder.hub.desk_service`, in a course's folder.

A course's assistants read and mark answers here. The server has no files, kernels or terminals, so they can neither
read nor change anything else in the course.
"""

from __future__ import annotations

from typing import Any

from jupyter_server.serverapp import ServerApp
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager
from jupyterhub.singleuser.extension import JupyterHubSingleUser

from autograder.desk.desk_handlers import add_handlers


class ClosedFiles(AsyncLargeFileManager):
    """The course's files, to which no request leads."""

    def get_extra_handlers(self) -> list[Any]:
        """Add nothing. Jupyter's own class serves all files below /files."""
        return []


class DeskOnlyServer(ServerApp):
    """A Jupyter Server without Jupyter's own services."""

    default_services = ("auth",)  # type: ignore[assignment]


class DeskService(JupyterHubSingleUser):  # type: ignore[misc]
    """The hub's login, and the desk."""

    serverapp_class = DeskOnlyServer
    load_other_extensions = False
    serverapp_config = {  # noqa: RUF012 - as in the base
        "terminals_enabled": False,
        "default_url": "/gradlab/desk/",
        "contents_manager_class": ClosedFiles,
    }

    @classmethod
    def get_extension_package(cls) -> str:
        return __name__

    def initialize(self, args: Any = None) -> None:
        super().initialize(args)
        add_handlers(self.serverapp)


def _jupyter_server_extension_points() -> list[dict[str, Any]]:
    return [{"module": "autograder.hub.desk_service", "app": DeskService}]


if __name__ == "__main__":
    # This module again, by its own name, since the server looks for the extension in it.
    from autograder.hub import desk_service

    desk_service.DeskService.launch_instance()
