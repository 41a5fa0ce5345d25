"""A hub whose parts run in containers: students' servers, and the services of courses that it doesn't start itself.

A service's container has the service's name in the network, so no address has to be configured.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from autograder.base.errors import GradlabError
from autograder.hub.container_settings import ContainerSettings
from autograder.hub.service_names import CULLER, EXCHANGE
from autograder.hub.services import JUPYTER
from labext.exchange_client import URL

PORT = 8090  # of each service in its container
HUB_PORT, PROXY_PORT = 8081, 8000
HUB_ADDRESS = f"http://hub:{HUB_PORT}"  # as other containers reach it
HOME = "/home/student"  # in the image of students' servers
PROCESSES = 1024  # of a student's server
SHARED_MEMORY = "1g"  # through which DataLoader's workers pass tensors
STARTED = ("command", "cwd", "environment", "user")  # keys of a service that the hub itself starts


def get_service_address(service: str) -> str:
    """Return where the hub's proxy and students' servers reach this service."""
    return f"http://{service}:{PORT}"


def get_token_variable(service: str) -> str:
    """Return the environment variable that brings the hub this service's token."""
    return f"GRADLAB_TOKEN_{service.upper().replace('-', '_')}"


def connect_services(
    settings: ContainerSettings, services: Sequence[dict[str, Any]], known: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Turn services that a hub starts itself into services that other containers run.

    Args:
        settings: The hub's.
        services: As build_services returns them.
        known: Services that are configured already. The chart for Kubernetes gives them tokens.

    Returns:
        All services of the hub.
    """
    tokens = {each["name"]: each.get("api_token") for each in known}
    connected = [each for each in known if each["name"] not in {service["name"] for service in services}]
    for service in services:
        name = service["name"]
        if "url" in service:
            token = tokens.get(name) or os.environ.get(get_token_variable(name))
            if not token:
                raise GradlabError(f"the service {name} has no token", fix=_describe_token(settings, name))
            kept = {key: value for key, value in service.items() if key not in STARTED}
            connected.append({**kept, "url": get_service_address(name), "api_token": token})
        elif name == CULLER:  # a process next to the hub
            connected.append(service)
    return connected


def _describe_token(settings: ContainerSettings, service: str) -> str:
    if settings.spawner == "kubernetes":
        return f"add hub.services.{service}, with an empty table, to the chart's values"
    return f"set {get_token_variable(service)} for the hub, and JUPYTERHUB_API_TOKEN in the service's container"


def configure_servers(c: Any, settings: ContainerSettings) -> None:
    """Configure students' servers, after what is the same for every spawner."""
    address = f"{get_service_address(EXCHANGE)}/services/{EXCHANGE}/"
    # The image itself says where Jupyter finds the course panel.
    variables = {name: value for name, value in c.Spawner.environment.items() if name not in JUPYTER}
    c.Spawner.environment = variables | {URL: address}
    c.Spawner.cmd, c.Spawner.args = ["jupyterhub-singleuser"], []
    if settings.spawner == "kubernetes":
        # KubeSpawner's own setting, which the chart fills from its values, hides the other one.
        c.KubeSpawner.environment = {**c.KubeSpawner.get("environment", {}), **c.Spawner.environment}
    else:
        _configure_docker(c, settings)


def _configure_docker(c: Any, settings: ContainerSettings) -> None:
    c.JupyterHub.spawner_class = "docker"
    c.JupyterHub.bind_url = f"http://:{PROXY_PORT}"
    c.JupyterHub.hub_bind_url = f"http://:{HUB_PORT}"
    c.JupyterHub.hub_connect_url = HUB_ADDRESS
    c.DockerSpawner.image, c.DockerSpawner.network_name = settings.image, settings.network
    c.DockerSpawner.mem_limit, c.DockerSpawner.cpu_limit = settings.memory, settings.cpus
    c.DockerSpawner.volumes, c.DockerSpawner.notebook_dir = {settings.volume: HOME}, HOME
    c.DockerSpawner.remove = True  # the home is in the volume
    c.DockerSpawner.extra_host_config = {
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges"],
        "pids_limit": PROCESSES,
        "shm_size": SHARED_MEMORY,
        "init": True,
    }
