"""The services of a hub: the exchange, and for each course a watch and the places of its teachers and assistants."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import labext
from autograder.base.event_log import PLACE
from autograder.base.file_owner import get_owner_name
from autograder.desk import EXCHANGE_HEALTH
from autograder.hub.group_members import has_assistants
from autograder.hub.logs import get_event_log
from autograder.hub.service_names import (
    CULLER,
    EXCHANGE,
    ROSTER,
    get_desk_service,
    get_teaching_service,
    get_watch_service,
)
from autograder.hub.settings import HUB_FILE, Hub, HubCourse
from labkit.start import build_jupyter_environment

PROXY_PID = "jupyterhub-proxy.pid"  # in the hub's folder
NOBODY = "nobody"  # the system user of what needs nothing but its token
CULL_SECONDS = 300  # how often it looks; less if a server may be idle for less
PYTHON = (sys.executable, "-P")  # imports this environment's packages, whatever a course's or student's folder contains
TEACHER_CONFIG = Path(str(labext.__file__)).parent / "etc" / "teacher"
JUPYTER = ("JUPYTER_PATH", "JUPYTER_CONFIG_PATH")
# Commands of this environment come first, and folders that only root can read don't come at all.
COMMAND_PATH = os.pathsep.join([str(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin", "/bin"])
# The course's user may have no shell, and a login shell would set another PATH.
TERMINALS = {"shell_command": ["/bin/bash"]}
# Pages that a teacher releases are read by the exchange's user. The course's folder keeps others out.
COMMON_UMASK = ("/bin/sh", "-c", 'umask 022 && exec "$@"', "sh")


def has_culler(hub: Hub) -> bool:
    """Return whether the hub itself stops idle servers. On Kubernetes, the chart has a service for it."""
    return hub.idle_minutes > 0 and not (hub.containers and hub.containers.spawner == "kubernetes")


def has_roster_service(hub: Hub) -> bool:
    """Return whether hub.toml says who the users are, and the hub's processes see it change."""
    return hub.lti is None and hub.containers is None


def bind_to_hub(*command: str) -> list[str]:
    """Return a command that does the same, and ends with this process, which is the hub."""
    return [*PYTHON, "-m", "autograder.hub.bound_process", str(os.getpid()), *command]


def get_internal_address(hub: Hub, number: int) -> str:
    """Return the address of the hub (0), its proxy (1), the exchange (2) or another service, on this machine."""
    return f"http://127.0.0.1:{hub.internal_port + number}"


def list_ports(hub: Hub) -> list[int]:
    """List the ports on which a hub and its parts listen, the one for browsers first."""
    own = urlsplit(hub.address)
    addresses = [str(service["url"]) for service in build_services(hub) if "url" in service]
    internal = [get_internal_address(hub, 0), get_internal_address(hub, 1), *addresses]
    return [own.port or (443 if own.scheme == "https" else 80), *(urlsplit(each).port or 0 for each in internal)]


def _build_health_environment(hub: Hub) -> dict[str, str]:
    """Build the variable by which the desk finds the exchange's health. Containers may not reach each other."""
    return {} if hub.containers else {EXCHANGE_HEALTH: f"{get_internal_address(hub, 2)}/services/{EXCHANGE}/health"}


def build_services(hub: Hub) -> list[dict[str, Any]]:
    """Build what c.JupyterHub.services holds."""
    services, port = [_build_exchange(hub)], 3
    for course in hub.courses:
        services.append(_build_teaching_service(hub, course, get_internal_address(hub, port)))
        port += 1
        if has_assistants(hub, course):
            services.append(_build_desk_service(hub, course, get_internal_address(hub, port)))
            port += 1
        services.append(_build_watch(hub, course))
    if has_culler(hub):
        services.append(_build_culler(hub))
    if has_roster_service(hub):
        command = [*PYTHON, "-m", "autograder.hub.roster_service", str(hub.folder / HUB_FILE)]
        services.append({"name": ROSTER, "command": command})  # as the hub's own user, who alone reads the file
    return [connect_process(hub, service) for service in services]


def connect_process(hub: Hub, service: dict[str, Any]) -> dict[str, Any]:
    """Give a service its log, and let it end with the hub."""
    log = get_event_log(hub, service["name"])
    connected = {**service, "environment": {**service.get("environment", {}), PLACE: log}}
    if hub.containers is None:
        connected["environment"]["PATH"] = COMMAND_PATH
        connected["command"] = bind_to_hub(*service["command"])
    return connected


def _build_exchange(hub: Hub) -> dict[str, Any]:
    folders = [str(course.exchange_folder) for course in hub.courses]
    return {
        "name": EXCHANGE,
        "url": get_internal_address(hub, 2),
        "command": [*PYTHON, "-m", "autograder.hub.exchange_service", *folders],
        "display": False,
        **_choose_user(hub, hub.exchange_user),
    }


def _build_watch(hub: Hub, course: HubCourse) -> dict[str, Any]:
    watch = ["-m", "autograder.hub.watch_service", str(course.folder), str(course.exchange_folder)]
    return {
        "name": get_watch_service(course.name),
        "command": [*PYTHON, *watch],
        "cwd": str(course.folder),
        **_choose_user(hub, course),
    }


def _build_teaching_service(hub: Hub, course: HubCourse, address: str) -> dict[str, Any]:
    """Build the service in which teachers work in the course's folder: JupyterLab, the desk and the formgrader."""
    variables = build_jupyter_environment(course.folder, instructor=True)
    variables["JUPYTER_CONFIG_PATH"] = os.pathsep.join([str(TEACHER_CONFIG), variables["JUPYTER_CONFIG_PATH"]])
    return {
        "name": get_teaching_service(course.name),
        "url": address,
        "command": [
            *COMMON_UMASK,
            *(*PYTHON, "-m", "jupyterhub.singleuser", f"--ServerApp.root_dir={course.folder}"),
            f"--ServerApp.terminado_settings={TERMINALS}",
            *(["--allow-root"] if hub.is_demo and os.geteuid() == 0 else []),
        ],
        "cwd": str(course.folder),
        "environment": {name: variables[name] for name in JUPYTER} | _build_health_environment(hub),
        "oauth_no_confirm": True,
        **_choose_user(hub, course),
    }


def _build_desk_service(hub: Hub, course: HubCourse, address: str) -> dict[str, Any]:
    """Build the service that has the desk's pages and nothing else."""
    return {
        "name": get_desk_service(course.name),
        "url": address,
        "command": [
            *(*PYTHON, "-m", "autograder.hub.desk_service"),
            *(["--allow-root"] if hub.is_demo and os.geteuid() == 0 else []),
        ],
        "cwd": str(course.folder),
        "environment": _build_health_environment(hub),
        "oauth_no_confirm": True,
        **_choose_user(hub, course),
    }


def _build_culler(hub: Hub) -> dict[str, Any]:
    seconds = hub.idle_minutes * 60
    options = [f"--timeout={seconds}", f"--cull-every={min(seconds, CULL_SECONDS)}"]
    return {
        "name": CULLER,
        "command": [*PYTHON, "-m", "jupyterhub_idle_culler", *options],
        **_choose_user(hub, NOBODY),
    }


def _choose_user(hub: Hub, user: HubCourse | str) -> dict[str, str]:
    """Return the key `user`: this one, or who owns the course. In a demo and in a container there's one user only."""
    if hub.is_demo or hub.containers:
        return {}
    return {"user": user if isinstance(user, str) else get_owner_name(user.folder)}
