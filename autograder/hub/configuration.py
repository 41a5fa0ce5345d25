"""JupyterHub's configuration for the classes of a hub.toml: login, groups and roles, servers and services."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import labext
from autograder.base.processors import count_processors
from autograder.hub.groups import get_student_group, get_teacher_group
from autograder.hub.programs import find_node, find_proxy
from autograder.hub.settings import Hub, HubCourse
from labext.exchange_client import URL
from labkit.start import build_jupyter_environment

EXCHANGE = "exchange"  # the service's name
PASSWORD = "GRADLAB_HUB_PASSWORD"  # environment variable: a demo's password
COURSE = "GRADLAB_COURSE"  # as in labext.exchange_plugins, which imports nbgrader
STUDENT_CONFIG = Path(str(labext.__file__)).parent / "etc" / "hub"
START_SECONDS = 300  # a class starts its servers at the same time
JUPYTER = ("JUPYTER_PATH", "JUPYTER_CONFIG_PATH")
# For what grades: a sandbox needs files that its own users can read. The course's folder keeps others out.
COMMON_UMASK = ("/bin/sh", "-c", 'umask 022 && exec "$@"', "sh")


def configure_hub(c: Any, hub: Hub) -> None:
    """Configure a JupyterHub. Students' servers and the hub itself create files that only their user can read."""
    os.umask(0o077)
    _configure_places(c, hub)
    _configure_login(c, hub)
    _configure_students(c, hub)
    _configure_groups(c, hub)
    c.JupyterHub.services = _build_services(hub)


def get_teaching_service(course: str) -> str:
    """Return the name of the service in which a course's teachers work."""
    return f"teach-{course}"


def _get_internal_address(hub: Hub, number: int) -> str:
    return f"http://127.0.0.1:{hub.internal_port + number}"


def _configure_places(c: Any, hub: Hub) -> None:
    c.JupyterHub.bind_url = hub.address
    c.JupyterHub.hub_bind_url = _get_internal_address(hub, 0)
    c.JupyterHub.db_url = f"sqlite:///{hub.folder / 'jupyterhub.sqlite'}"
    c.JupyterHub.cookie_secret_file = str(hub.folder / "jupyterhub_cookie_secret")
    teaching = {get_teacher_group(course.name): get_teaching_service(course.name) for course in hub.courses}
    c.JupyterHub.default_url = lambda handler: _choose_first_page(handler.current_user, teaching)
    c.ConfigurableHTTPProxy.api_url = _get_internal_address(hub, 1)
    c.ConfigurableHTTPProxy.pid_file = str(hub.folder / "jupyterhub-proxy.pid")
    node, proxy = find_node(), find_proxy(hub.proxy)
    if node and proxy:
        c.ConfigurableHTTPProxy.command = [str(node), str(proxy)]


def _choose_first_page(user: Any, teaching: Mapping[str, str]) -> str:
    """Return the page that a user sees after login: a teacher's is in the course. Empty for the user's own server.

    Args:
        user: The hub's; None before login.
        teaching: The teaching service by its group of teachers.
    """
    groups = [group.name for group in user.groups] if user else []
    return next((f"/services/{teaching[name]}/lab" for name in groups if name in teaching), "")


def _configure_login(c: Any, hub: Hub) -> None:
    c.Authenticator.allowed_users = set(hub.users)
    if hub.is_demo:
        c.JupyterHub.authenticator_class = "shared-password"
        c.SharedPasswordAuthenticator.user_password = os.environ.get(PASSWORD)


def _configure_students(c: Any, hub: Hub) -> None:
    """Configure everyone's own server: JupyterLab with the course panel and the exchange over HTTP."""
    c.Spawner.cmd = [sys.executable, "-m", "jupyterhub.singleuser"]
    c.Spawner.default_url = "/lab"
    c.Spawner.start_timeout = c.Spawner.http_timeout = START_SECONDS
    c.JupyterHub.concurrent_spawn_limit = count_processors()
    # This scope and no other, so the token in a student's server does nothing else on the hub.
    c.Spawner.server_token_scopes = [
        "users:activity!user",
        "access:servers!user",
        f"access:services!service={EXCHANGE}",
    ]
    variables = build_jupyter_environment(STUDENT_CONFIG)  # its configuration names an exchange
    variables["JUPYTER_CONFIG_PATH"] = os.pathsep.join([str(STUDENT_CONFIG), variables["JUPYTER_CONFIG_PATH"]])
    names = {course.name for course in hub.courses}
    c.Spawner.environment = {name: variables[name] for name in JUPYTER} | {
        URL: f"{_get_internal_address(hub, 2)}/services/{EXCHANGE}/",
        COURSE: lambda spawner: _choose_course(names, {group.name for group in spawner.user.groups}),
    }
    if hub.is_demo:
        c.JupyterHub.spawner_class = "simple"
        c.SimpleLocalProcessSpawner.home_dir_template = str(hub.folder / "homes" / "{username}")
        c.Spawner.args = ["--allow-root"] if os.geteuid() == 0 else []


def _choose_course(courses: set[str], groups: set[str]) -> str:
    """Return the only course that a user of these groups is in; empty if there are several."""
    own = [name for name in courses if groups & {get_student_group(name), get_teacher_group(name)}]
    return own[0] if len(own) == 1 else ""


def _configure_groups(c: Any, hub: Hub) -> None:
    groups, roles = {}, []
    for course in hub.courses:
        students, teachers = get_student_group(course.name), get_teacher_group(course.name)
        groups[students], groups[teachers] = {"users": list(course.students)}, {"users": list(course.teachers)}
        service = get_teaching_service(course.name)
        roles.append(
            {
                "name": service,
                "groups": [teachers],
                "scopes": [
                    f"access:services!service={service}",
                    f"read:services!service={service}",
                    "list:services",
                    f"read:groups!group={students}",
                ],
            }
        )
    roles.append({"name": EXCHANGE, "groups": list(groups), "scopes": [f"access:services!service={EXCHANGE}"]})
    c.JupyterHub.load_groups, c.JupyterHub.load_roles = groups, roles


def _build_services(hub: Hub) -> list[dict[str, Any]]:
    names = [course.name for course in hub.courses]
    exchange = [sys.executable, "-m", "autograder.hub.exchange_service", str(hub.exchange), *names]
    services = [
        {"name": EXCHANGE, "url": _get_internal_address(hub, 2), "command": exchange, "display": False},
    ]
    for number, course in enumerate(hub.courses, start=3):
        services.append(_build_teaching_service(hub, course, _get_internal_address(hub, number)))
        watch = ["-m", "autograder.hub.watch_service", str(course.folder), str(hub.exchange / course.name)]
        command = [*COMMON_UMASK, sys.executable, *watch]
        services.append({"name": f"watch-{course.name}", "command": command, "cwd": str(course.folder)})
    if not hub.is_demo:
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
