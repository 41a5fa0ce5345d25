"""JupyterHub's configuration for the classes of a hub.toml: login, groups and roles, servers and services."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import labext
from autograder.hub.account_checks import ADD_USER
from autograder.hub.containers import configure_servers, connect_services
from autograder.hub.first_page import TEMPLATES, choose_first_page, list_course_pages
from autograder.hub.group_members import has_assistants, list_members
from autograder.hub.groups import (
    get_assistant_group,
    get_student_group,
    get_teacher_group,
)
from autograder.hub.logs import configure_log
from autograder.hub.lti_configuration import build_grades_services, configure_lti_login
from autograder.hub.patient_start import has_timeout, wait_for_services
from autograder.hub.programs import find_node, find_proxy
from autograder.hub.service_names import CULLER, EXCHANGE, ROSTER, get_desk_service, get_teaching_service
from autograder.hub.services import (
    COMMAND_PATH,
    JUPYTER,
    PROXY_PID,
    PYTHON,
    bind_to_hub,
    build_services,
    get_internal_address,
    has_culler,
    has_roster_service,
)
from autograder.hub.settings import Hub, Interface
from labext.exchange_client import URL
from labkit.start import build_jupyter_environment

PASSWORD = "GRADLAB_HUB_PASSWORD"  # environment variable: a demo's password
COURSE = "GRADLAB_COURSE"  # as in labext.exchange_plugins, which imports nbgrader
STUDENT_CONFIG = Path(str(labext.__file__)).parent / "etc" / "hub"
FIRST_PAGES = {Interface.LAB: "/lab", Interface.NOTEBOOK: "/tree"}
START_SECONDS = 300  # a class starts its servers at the same time


def configure_hub(c: Any, hub: Hub) -> None:
    """Configure a JupyterHub. Students' servers and the hub itself create files that only their user can read."""
    os.umask(0o077)
    configure_log(c, hub)
    _configure_pages(c, hub)
    if hub.containers is None:
        _configure_places(c, hub)
    _configure_login(c, hub)
    _configure_students(c, hub)
    _configure_groups(c, hub)
    if hub.containers is None:
        services = build_services(hub)
        for service in services:
            if "url" in service and has_timeout():
                service["timeout"] = START_SECONDS
        c.JupyterHub.services = services
        if not has_timeout():
            wait_for_services()
    else:
        configure_servers(c, hub.containers)
        known = c.JupyterHub.get("services", [])
        c.JupyterHub.services = connect_services(hub.containers, build_services(hub), known)
    if hub.lti:
        configure_lti_login(c, hub)
        c.JupyterHub.services += build_grades_services(hub)


def _configure_places(c: Any, hub: Hub) -> None:
    c.JupyterHub.bind_url = hub.address
    if hub.tls:
        c.JupyterHub.ssl_cert, c.JupyterHub.ssl_key = str(hub.tls.certificate), str(hub.tls.key)
    c.JupyterHub.hub_bind_url = get_internal_address(hub, 0)
    c.JupyterHub.db_url = f"sqlite:///{hub.folder / 'jupyterhub.sqlite'}"
    c.JupyterHub.cookie_secret_file = str(hub.folder / "jupyterhub_cookie_secret")
    c.ConfigurableHTTPProxy.api_url = get_internal_address(hub, 1)
    c.ConfigurableHTTPProxy.pid_file = str(hub.folder / PROXY_PID)


def _configure_pages(c: Any, hub: Hub) -> None:
    """Configure the first pages, and the proxy through which browsers get all of them."""
    names = [course.name for course in hub.courses]
    c.JupyterHub.default_url = lambda handler: choose_first_page(handler.current_user, names)
    c.JupyterHub.template_paths = [*c.JupyterHub.get("template_paths", []), str(TEMPLATES)]
    c.JupyterHub.template_vars = {
        **c.JupyterHub.get("template_vars", {}),
        "course_pages": lambda user: list_course_pages(user, names),
    }
    node, proxy = find_node(), find_proxy(hub.proxy)
    if node and proxy:
        c.ConfigurableHTTPProxy.command = bind_to_hub(str(node), str(proxy))


def _configure_login(c: Any, hub: Hub) -> None:
    c.Authenticator.allowed_users = set(hub.users)
    if hub.is_demo:
        c.JupyterHub.authenticator_class = "shared-password"
        c.SharedPasswordAuthenticator.user_password = os.environ.get(PASSWORD)
    else:
        c.LocalAuthenticator.create_system_users = hub.creates_accounts
        c.LocalAuthenticator.add_user_cmd = list(ADD_USER)


def _configure_students(c: Any, hub: Hub) -> None:
    """Configure everyone's own server: JupyterLab with the course panel and the exchange over HTTP."""
    c.Spawner.cmd = [*PYTHON, "-m", "jupyterhub.singleuser"]
    c.Spawner.default_url = FIRST_PAGES[hub.interface]
    c.Spawner.start_timeout = c.Spawner.http_timeout = START_SECONDS
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
        URL: f"{get_internal_address(hub, 2)}/services/{EXCHANGE}/",
        COURSE: lambda spawner: _choose_course(names, {group.name for group in spawner.user.groups}),
    }
    if hub.containers is None:
        c.Spawner.environment["PATH"] = COMMAND_PATH
    if hub.is_demo:
        c.JupyterHub.spawner_class = "simple"
        c.SimpleLocalProcessSpawner.home_dir_template = str(hub.folder / "homes" / "{username}")
        c.Spawner.args = ["--allow-root"] if os.geteuid() == 0 else []


def _choose_course(courses: set[str], groups: set[str]) -> str:
    """Return the only course that a user of these groups is in; empty if there are several."""
    own = [name for name in courses if groups & {get_student_group(name), get_teacher_group(name)}]
    return own[0] if len(own) == 1 else ""


def _configure_groups(c: Any, hub: Hub) -> None:
    groups, roles = list_members(hub), []
    for course in hub.courses:
        students, teachers = get_student_group(course.name), get_teacher_group(course.name)
        roles.append(_build_role(get_teaching_service(course.name), [teachers], f"read:groups!group={students}"))
        if has_assistants(hub, course):
            assistants = get_assistant_group(course.name)
            roles.append(_build_role(get_desk_service(course.name), [teachers, assistants]))
    members = [group for each in hub.courses for group in (get_student_group(each.name), get_teacher_group(each.name))]
    roles.append({"name": EXCHANGE, "groups": members, "scopes": [f"access:services!service={EXCHANGE}"]})
    if has_culler(hub):
        scopes = ["list:users", "read:users:activity", "read:servers", "delete:servers"]
        roles.append({"name": CULLER, "services": [CULLER], "scopes": scopes})
    if has_roster_service(hub):
        scopes = ["admin:users", *(f"groups!group={group}" for group in groups)]
        roles.append({"name": ROSTER, "services": [ROSTER], "scopes": scopes})
    c.JupyterHub.load_groups = {group: {"users": list(names)} for group, names in groups.items()}
    c.JupyterHub.load_roles = [*c.JupyterHub.get("load_roles", []), *roles]  # the chart for Kubernetes has its own


def _build_role(service: str, groups: list[str], *scopes: str) -> dict[str, Any]:
    """Build the role of those who may open a service."""
    own = [f"access:services!service={service}", f"read:services!service={service}", "list:services"]
    return {"name": service, "groups": groups, "scopes": [*own, *scopes]}
