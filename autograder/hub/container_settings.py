"""The table `[containers]` of hub.toml: how servers of students start if the hub's parts run in containers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from autograder.model.strict_model import StrictModel

PART_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")  # of a container in a network, and of a Kubernetes service


def _check_volume(volume: str) -> str:
    if "{username}" not in volume:
        raise ValueError("write {username} in it, or students share their home")
    return volume


class ContainerSettings(StrictModel):
    """The whole table."""

    spawner: Literal["docker", "kubernetes"]
    """What starts students' servers: DockerSpawner, or KubeSpawner as the chart for Kubernetes configures it."""
    exchanges: Path = Path("/exchange")
    """The folder with the courses' exchanges, in the containers of courses."""
    image: str = "gradlab-student"
    """The image of students' servers. This key and those below are for Docker only."""
    network: str = "gradlab-students"
    """The network in which students' servers reach the hub and the exchange."""
    volume: Annotated[str, AfterValidator(_check_volume)] = "gradlab-home-{username}"
    """The volume with a student's home."""
    memory: str = Field(default="2G", pattern=r"^[1-9][0-9]*[MGT]$")
    """What a student's server may use."""
    cpus: float = Field(default=2, gt=0)
    """The same for processors."""

    @model_validator(mode="after")
    def _refuse_docker_keys(self) -> ContainerSettings:
        if self.spawner == "kubernetes" and (others := self.model_fields_set - {"spawner", "exchanges"}):
            raise ValueError(f"{', '.join(sorted(others))}: on Kubernetes, the chart's values set this")
        return self
