"""A service of a hub in a container of its own: `python -m autograder.hub.course_part HUB.TOML SERVICE`.

The container brings the service's token as JUPYTERHUB_API_TOKEN. With `prepare` instead of a service, the volumes of a
course are prepared.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

from autograder.base.errors import GradlabError
from autograder.hub.containers import HUB_ADDRESS, PORT
from autograder.hub.course_connection import connect_course
from autograder.hub.services import build_services
from autograder.hub.settings import Hub, HubCourse, read_settings

PREPARE = "prepare"


def build_environment(service: str, port: int, hub: str) -> dict[str, str]:
    """Build the variables that a hub sets for a service that it starts itself, apart from the token.

    Args:
        service: Its name.
        port: On which it listens, for other containers.
        hub: The hub's address.
    """
    prefix = f"/services/{service}/"
    return {
        "JUPYTERHUB_SERVICE_NAME": service,
        "JUPYTERHUB_SERVICE_PREFIX": prefix,
        "JUPYTERHUB_SERVICE_URL": f"http://0.0.0.0:{port}",
        "JUPYTERHUB_API_URL": f"{hub}/hub/api",
        "JUPYTERHUB_BASE_URL": "/",
        "JUPYTERHUB_CLIENT_ID": f"service-{service}",
        "JUPYTERHUB_OAUTH_CALLBACK_URL": f"{prefix}oauth_callback",
        "JUPYTERHUB_OAUTH_ACCESS_SCOPES": json.dumps([f"access:services!service={service}"]),
    }


def run_service(hub: Hub, name: str, port: int, address: str) -> None:
    """Replace this process by the service.

    Args:
        hub: The hub that knows it.
        name: The service's.
        port: On which it listens.
        address: The hub's, for other containers.
    """
    services = {each["name"]: each for each in build_services(hub)}
    if name not in services:
        raise GradlabError(f"this hub has no service {name}", fix=f"write one of {', '.join(services)}")
    service = services[name]
    variables = os.environ | service.get("environment", {})
    if "url" in service:
        variables |= build_environment(name, port, address)
    os.chdir(service.get("cwd", "/"))
    os.execvpe(service["command"][0], service["command"], variables)


def prepare_volumes(course: HubCourse) -> None:
    """Make the course's exchange as the course's user, and name it in the course.

    Neither the exchange's user nor the course's can replace what the other has written.
    """
    own = course.exchange_folder
    for folder, mode in (
        (course.gate, 0o2770),  # the group of both users owns the volume, and so all that is in it
        (course.exchange, 0o3777),  # nbgrader demands it; no other container has the volume
        (own, 0o3775),
        (own / "inbound", 0o3775),  # nbgrader demands that the course's user owns it
        (own / "outbound", 0o755),
        (own / "feedback", 0o755),
    ):
        if not folder.is_dir():
            folder.mkdir()
            folder.chmod(mode)
    connect_course(course.folder, course.exchange)


def build_parser() -> argparse.ArgumentParser:
    """Build the parser of the command line."""
    parser = argparse.ArgumentParser(prog="python -m autograder.hub.course_part", description=__doc__)
    parser.add_argument("settings", type=Path, metavar="HUB.TOML")
    parser.add_argument("service", metavar="SERVICE")
    parser.add_argument("--port", type=int, default=PORT)
    parser.add_argument("--hub", default=HUB_ADDRESS)
    return parser


def main() -> None:
    """Run a service, or prepare the volumes of all courses."""
    parser = build_parser()
    parsed = parser.parse_args()
    try:
        hub = read_settings(parsed.settings)
        if parsed.service != PREPARE:
            run_service(hub, parsed.service, parsed.port, parsed.hub)
        for course in hub.courses:
            prepare_volumes(course)
    except GradlabError as error:
        parser.exit(1, f"{error}\n")


if __name__ == "__main__":
    main()
