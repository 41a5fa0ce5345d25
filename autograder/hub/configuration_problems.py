"""Problems of jupyterhub_config.py, in which administrators add settings of JupyterHub's own.

It's Python, so a process looks that ends afterwards: `python -m autograder.hub.configuration_problems FILE HUB_FILE`.
"""

from __future__ import annotations

import re
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
from autograder.hub.groups import get_student_group
from autograder.hub.settings import HUB_FILE, Hub, read_settings

try:
    from jupyterhub.authenticators.shared import SharedPasswordAuthenticator
except ImportError:  # before JupyterHub 5.3
    SharedPasswordAuthenticator = DummyAuthenticator

NAMED: dict[str, Any] = {"services": [], "load_roles": [], "load_groups": {}}  # of c.JupyterHub, whose items have names
ADDRESSES = ("bind_url", "ip", "port", "hub_bind_url", "hub_ip", "hub_port")
# Scopes that reach other users, unless they're limited to oneself.
POWER = re.compile(r"(admin|access|servers|users|groups|tokens|delete|add)\b(?!.*!(user|server)$)")
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
    yield from _check_addresses(path, wanted, config)
    yield from _check_logins(path, wanted, config, set(hub.users))
    yield from _check_rights(path, wanted, config, hub)
    if not hub.is_demo:
        yield from _check_classes(path, config)


def _check_addresses(path: Path, wanted: Config, config: Config) -> Iterator[Finding]:
    """Check that hub.toml alone decides where the hub listens: whether that's safe is judged by its address."""
    changed = [key for key in ADDRESSES if config.JupyterHub.get(key) != wanted.JupyterHub.get(key)]
    if changed:
        yield Finding(
            f"{path} sets {join_names([f'c.JupyterHub.{key}' for key in changed])}, so the hub doesn't listen where "
            f"{HUB_FILE} says",
            f"remove each, and set address and internal_port in {HUB_FILE}",
        )


def _check_logins(path: Path, wanted: Config, config: Config, users: set[str]) -> Iterator[Finding]:
    """Check that people become the user whose name they log in with, and that no others log in."""
    for name, user in config.Authenticator.get("username_map", {}).items():
        if {name, user} & users and name != user:
            yield Finding(f"{path} lets {name} log in as {user}, by c.Authenticator.username_map", "remove this entry")
    if config.Authenticator.get("allow_all") is True and wanted.Authenticator.get("allow_all") is not True:
        yield Finding(
            f"{path} sets c.Authenticator.allow_all, so users who aren't in {HUB_FILE} get a server, too",
            f"remove this line, and name the users in {HUB_FILE}",
            blocks=False,
        )


def _check_rights(path: Path, wanted: Config, config: Config, hub: Hub) -> Iterator[Finding]:
    """Check that no student is an administrator, or has rights that belong to teachers and to the hub."""
    students = {name for course in hub.courses for name in course.students}
    groups = {get_student_group(course.name) for course in hub.courses}
    known = _list_names(wanted, "load_roles", [])
    for role in _get(config.JupyterHub, "load_roles", []):
        powers = [scope for scope in role.get("scopes", ()) if POWER.match(scope)]
        theirs = sorted(({*role.get("users", ())} & students) | ({*role.get("groups", ())} & groups))
        if role.get("name") not in known and powers and theirs:
            yield Finding(
                f"{path} gives students rights over others ({join_names(powers)}): {join_names(theirs)}",
                f"remove them from the role {role.get('name')!r} in c.JupyterHub.load_roles",
            )
    if both := sorted({*_get(config.Authenticator, "admin_users", set())} & students):
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


def _get(section: Config, key: str, empty: Any) -> Any:
    """Return a list, set or table, also if the file only adds to it, as with append()."""
    value = section.get(key, empty)
    return value.get_value(empty) if isinstance(value, LazyConfigValue) else value


def _list_names(config: Config, key: str, empty: Any) -> set[str]:
    """List the names of the items of a setting of c.JupyterHub; of a table, its keys."""
    items = _get(config.JupyterHub, key, empty)
    return set(items) if isinstance(items, dict) else {item.get("name", "") for item in items}


if __name__ == "__main__":
    print_findings(find_problems(Path(sys.argv[1]), Path(sys.argv[2])))
