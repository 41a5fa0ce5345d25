"""JupyterHub's configuration. Edit hub.toml instead, or add settings of JupyterHub's own below."""

from pathlib import Path

from autograder.hub import configure

c = get_config()  # noqa: F821 - given by JupyterHub
configure(c, str(Path(__file__).with_name("hub.toml")))
