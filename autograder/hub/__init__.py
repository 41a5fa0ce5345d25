"""A class on a JupyterHub: its configuration, and the services that run next to it."""

from __future__ import annotations

from typing import Any


def configure(c: Any, path: str) -> None:
    """Configure a JupyterHub for the classes of this hub.toml. Call it from jupyterhub_config.py with `get_config()`.

    Raises GradlabError if the file isn't valid.
    """
    from autograder.hub.configuration import configure_hub
    from autograder.hub.settings import read_settings

    configure_hub(c, read_settings(path))
