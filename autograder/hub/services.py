"""The services of a hub: the exchange, and for each course a watch and the place of its teachers."""

from __future__ import annotations

import os
import sys
from typing import Any

from autograder.hub.settings import Hub, HubCourse
from labkit.start import build_jupyter_environment

EXCHANGE = "exchange"  # the service's name
JUPYTER = ("JUPYTER_PATH", "JUPYTER_CONFIG_PATH")
# For what grades: a sandbox needs files that its own users can read. The course's folder keeps others out.
COMMON_UMASK = ("/bin/sh", "-c", 'umask 022 && exec "$@"', "sh")


def get_teaching_service(course: str) -> str:
    """Return the name of the service in which a course's teachers work."""
    return f"teach-{course}"


def get_internal_address(hub: Hub, number: int) -> str:
    """Return the address of the hub (0), its proxy (1), the exchange (2) or another service, on this machine."""
    return f"http://127.0.0.1:{hub.internal_port + number}"


def build_services(hub: Hub) -> list[dict[str, Any]]:
    """Build what c.JupyterHub.services holds."""
    names = [course.name for course in hub.courses]
    exchange = [sys.executable, "-m", "autograder.hub.exchange_service", str(hub.exchange), *names]
    services = [
        {"name": EXCHANGE, "url": get_internal_address(hub, 2), "command": exchange, "display": False},
    ]
    for number, course in enumerate(hub.courses, start=3):
        services.append(_build_teaching_service(hub, course, get_internal_address(hub, number)))
        watch = ["-m", "autograder.hub.watch_service", str(course.folder), str(hub.exchange / course.name)]
        command = [*COMMON_UMASK, sys.executable, *watch]
        services.append({"name": f"watch-{course.name}", "command": command, "cwd": str(course.folder)})
    if not hub.is_demo and hub.containers is None:  # a container has a user of its own
        for service in services:
            service["user"] = hub.courses[0].folder.owner()
    return services


def _build_teaching_service(hub: Hub, course: HubCourse, address: str) -> dict[str, Any]:
    """Build the service in which teachers work in the course's folder: JupyterLab, the desk and the formgrader."""
    variables = build_jupyter_environment(course.folder, instructor=True)
    return {
        "name": get_teaching_service(course.name),
        "url": address,
        "command": [
            *COMMON_UMASK,
            *(sys.executable, "-m", "jupyterhub.singleuser", f"--ServerApp.root_dir={course.folder}"),
            *(["--allow-root"] if hub.is_demo and os.geteuid() == 0 else []),
        ],
        "cwd": str(course.folder),
        "environment": {name: variables[name] for name in JUPYTER},
        "oauth_no_confirm": True,
    }
