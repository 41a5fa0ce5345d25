"""Problems of jupyterhub_config.py, in which administrators add settings of JupyterHub's own.

It's Python, so a process looks that ends afterwards: `python -m autograder.hub.configuration_problems FILE HUB_FILE`.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from jupyterhub.auth import DummyAuthenticator
from jupyterhub.spawner import SimpleLocalProcessSpawner
from traitlets.config import Config
from traitlets.config.loader import LazyConfigValue, PyFileConfigLoader
from traitlets.utils.importstring import import_item

from autograder.base.text import join_names
from autograder.hub import configure
from autograder.hub.finding import Finding, print_findings
from autograder.hub.settings import read_settings

try:
    from jupyterhub.authenticators.shared import SharedPasswordAuthenticator
except ImportError:  # before JupyterHub 5.3
    SharedPasswordAuthenticator = DummyAuthenticator

NAMED: dict[str, Any] = {"services": [], "load_roles": [], "load_groups": {}}  # of c.JupyterHub, whose items have names
ENTRIES = {"authenticator_class": "jupyterhub.authenticators", "spawner_class": "jupyterhub.spawners"}


def find_problems(path: Path, hub_file: Path) -> Iterator[Finding]:
    """Find problems of this jupyterhub_config.py for the hub of this hub.toml."""
    wanted = Config()
    configure(wanted, str(hub_file))
    try:
        config = PyFileConfigLoader(path.name, path=str(path.parent)).load_config()
    except Exception as error:  # whatever the administrator's code raises
        yield Finding(f"{path}{_find_line(error, path)}: {type(error).__name__}: {error}", "correct it")
        return
    for key, empty in NAMED.items():
        if lost := _list_names(wanted, key, empty) - _list_names(config, key, empty):
            yield Finding(
                f"after {path}, c.JupyterHub.{key} lacks what the hub needs: {join_names(sorted(lost))}",
                f'call configure(c, "{hub_file}") there; below it, add to this setting instead of replacing it',
            )
    hub = read_settings(hub_file)
    yield from _check_administrators(path, config, {name for course in hub.courses for name in course.students})
    if not hub.is_demo:
        yield from _check_classes(path, config)


def _check_administrators(path: Path, config: Config, students: set[str]) -> Iterator[Finding]:
    names = config.Authenticator.get("admin_users", set())
    if isinstance(names, LazyConfigValue):
        names = names.get_value(set())
    if both := sorted({*names} & students):
        yield Finding(
            f"{path} makes students administrators of the hub, so they can join the teachers: {join_names(both)}",
            "remove them from c.Authenticator.admin_users",
        )


def _check_classes(path: Path, config: Config) -> Iterator[Finding]:
    """Check that people log in, and that their servers run, as themselves."""
    for key, kinds, problem in (
        ("authenticator_class", (DummyAuthenticator,), "anyone can log in as any user, without a password"),
        ("authenticator_class", (SharedPasswordAuthenticator,), "all users log in with the same password"),
        ("spawner_class", (SimpleLocalProcessSpawner,), "all students' servers run as the hub's own user, root"),
    ):
        value = config.JupyterHub.get(key, "default")
        try:
            chosen = _find_class(value, ENTRIES[key])
        except ImportError as error:
            yield Finding(f"{path}: c.JupyterHub.{key} can't be imported: {error}", "install it, or correct the name")
            return
        if issubclass(chosen, kinds):
            yield Finding(f"{path} sets c.JupyterHub.{key} = {value!r}, so {problem}", "remove this line")
            return


def _find_class(value: Any, group: str) -> type:
    """Find the class that JupyterHub would use: this one, or the one with this name. Raises ImportError."""
    if isinstance(value, type):
        return value
    found = entry_points(group=group, name=str(value).lower())
    chosen: type = next(iter(found)).load() if found else import_item(str(value))
    return chosen


def _find_line(error: Exception, path: Path) -> str:
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return f":{error.lineno}"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return f":{lines[-1]}" if lines else ""


def _list_names(config: Config, key: str, empty: Any) -> set[str]:
    """List the names of the items of a setting of c.JupyterHub; of a table, its keys."""
    items = config.JupyterHub.get(key, empty)
    if isinstance(items, LazyConfigValue):  # only added to, as with append()
        items = items.get_value(empty)
    return set(items) if isinstance(items, dict) else {item.get("name", "") for item in items}


if __name__ == "__main__":
    print_findings(find_problems(Path(sys.argv[1]), Path(sys.argv[2])))
