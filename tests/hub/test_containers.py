"""What configure() sets if a hub's parts run in containers."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from dockerspawner import DockerSpawner
from traitlets.config import Config

from autograder.base.errors import GradlabError
from autograder.cli.app import app
from autograder.hub import configure
from autograder.hub.containers import get_token_variable
from autograder.hub.service_names import CULLER

HUB = """
address = "https://hub.example.edu"
[containers]
{containers}
[courses.{course}]
folder = "/course"
students = ["ana", "ben"]
teachers = ["prof"]
"""
DOCKER = 'spawner = "docker"\nmemory = "3G"\nnetwork = "class"'
# A chart's configuration, as far as configure() could damage it.
CHART: dict[str, dict[str, Any]] = {
    "JupyterHub": {
        "spawner_class": "kubespawner.KubeSpawner",
        "db_url": "sqlite:///jupyterhub.sqlite",
        "hub_bind_url": "http://:8081",
        "hub_connect_url": "http://hub:8081",
        "services": [
            {"name": "jupyterhub-idle-culler", "command": ["culler"]},
            {"name": "exchange", "api_token": "of-the-exchange"},
            {"name": "teach-physics", "api_token": "of-the-teachers"},
        ],
        "load_roles": [{"name": "jupyterhub-idle-culler", "services": ["jupyterhub-idle-culler"]}],
    },
    "ConfigurableHTTPProxy": {"api_url": "http://proxy-api:8001", "should_start": False},
    "KubeSpawner": {"environment": {"OWN": "1"}, "image": "student"},
}


def read_configuration(
    folder: Path, containers: str, course: str = "physics", chart: dict[str, dict[str, Any]] | None = None
) -> Config:
    path = folder / "hub.toml"
    path.write_text(HUB.format(containers=containers, course=course))
    config = Config({name: Config(section) for name, section in (chart or {}).items()})
    configure(config, str(path))
    return config


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    for service in ("exchange", "teach-physics"):
        monkeypatch.setenv(get_token_variable(service), f"token-of-{service}")
    return read_configuration(tmp_path, DOCKER)


def test_the_hub_starts_no_part_of_a_course_but_knows_each_by_its_token(docker: Config) -> None:
    services = {service["name"]: service for service in docker.JupyterHub.services if "url" in service}
    assert {name: (service["url"], service["api_token"]) for name, service in services.items()} == {
        "exchange": ("http://exchange:8090", "token-of-exchange"),
        "teach-physics": ("http://teach-physics:8090", "token-of-teach-physics"),
    }
    assert not [each for each in services.values() if {"command", "user", "cwd", "environment"} & each.keys()]
    assert services["teach-physics"]["oauth_no_confirm"] is True
    roles = {role["name"]: role for role in docker.JupyterHub.load_roles}
    assert roles["teach-physics"]["groups"] == ["formgrade-physics"]


def test_idle_servers_are_stopped_by_the_hub_itself(docker: Config) -> None:
    (culler,) = [each for each in docker.JupyterHub.services if each["name"] == CULLER]
    assert culler["command"] and "user" not in culler
    assert CULLER in [role["name"] for role in docker.JupyterHub.load_roles]


def test_a_students_server_has_its_own_volume_and_limits(docker: Config) -> None:
    assert docker.JupyterHub.spawner_class == "docker"
    known = set(DockerSpawner.class_trait_names(config=True))
    assert known >= {*docker.DockerSpawner, *docker.Spawner}
    spawner = DockerSpawner(config=docker, user=SimpleNamespace(name="ana@example.edu"))
    assert (spawner.mem_limit, spawner.network_name, spawner.image) == (3 * 2**30, "class", "gradlab-student")
    (volume,) = spawner.volume_binds
    assert volume.startswith("gradlab-home-ana") and spawner.volume_binds[volume]["bind"] == "/home/student"
    host = spawner.extra_host_config
    assert host["cap_drop"] == ["ALL"] and host["security_opt"] == ["no-new-privileges"] and host["pids_limit"]


def test_a_students_server_finds_the_exchange_and_no_path_of_the_hub(docker: Config) -> None:
    variables = docker.Spawner.environment
    assert variables["GRADLAB_EXCHANGE"] == "http://exchange:8090/services/exchange/"
    assert set(variables) == {"GRADLAB_EXCHANGE", "GRADLAB_COURSE"}
    assert docker.Spawner.server_token_scopes[-1] == "access:services!service=exchange"


def test_a_service_without_a_token_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(get_token_variable("exchange"), raising=False)
    with pytest.raises(GradlabError, match=r"exchange has no token\n.*set GRADLAB_TOKEN_EXCHANGE for the hub"):
        read_configuration(tmp_path, DOCKER)
    with pytest.raises(GradlabError, match=r"add hub\.services\.exchange"):
        read_configuration(tmp_path, 'spawner = "kubernetes"')


def test_on_kubernetes_the_charts_settings_stay(tmp_path: Path) -> None:
    config = read_configuration(tmp_path, 'spawner = "kubernetes"', chart=CHART)
    hub = config.JupyterHub
    changed = {"services", "load_roles"}
    assert {name: hub[name] for name in CHART["JupyterHub"] if name not in changed} == {
        name: value for name, value in CHART["JupyterHub"].items() if name not in changed
    }
    assert config.ConfigurableHTTPProxy.api_url == "http://proxy-api:8001"
    assert config.ConfigurableHTTPProxy.should_start is False
    assert not {"bind_url", "cookie_secret_file", "concurrent_spawn_limit"} & hub.keys()
    assert [service["name"] for service in hub.services] == ["jupyterhub-idle-culler", "exchange", "teach-physics"]
    assert [each.get("api_token") for each in hub.services] == [None, "of-the-exchange", "of-the-teachers"]
    assert [role["name"] for role in hub.load_roles] == ["jupyterhub-idle-culler", "teach-physics", "exchange"]
    assert config.KubeSpawner.environment["OWN"] == "1"
    assert config.KubeSpawner.environment["GRADLAB_EXCHANGE"] == "http://exchange:8090/services/exchange/"
    assert config.KubeSpawner.image == "student" and "DockerSpawner" not in config


@pytest.mark.parametrize(
    ("containers", "course", "problem"),
    [
        ('spawner = "docker"\nvolume = "homes"', "physics", "write {username} in it"),
        ('spawner = "docker"\nmemory = "much"', "physics", "containers.memory"),
        ('spawner = "kubernetes"\nimage = "own"', "physics", "image: on Kubernetes, the chart's values set this"),
        ('spawner = "podman"', "physics", "containers.spawner"),
        ('spawner = "docker"', "Physics_1", "courses.Physics_1: this can't be part of a container's name"),
    ],
)
def test_a_mistake_in_the_table_is_reported(tmp_path: Path, containers: str, course: str, problem: str) -> None:
    with pytest.raises(GradlabError) as refusal:
        read_configuration(tmp_path, containers, course)
    assert problem in str(refusal.value)


@pytest.mark.parametrize("argument", [[], ["check"]])
def test_gradlab_hub_does_not_start_parts_that_containers_run(tmp_path: Path, argument: list[str]) -> None:
    (tmp_path / "hub.toml").write_text(HUB.format(containers=DOCKER, course="physics"))
    with pytest.raises(GradlabError, match="run in containers"):
        app(["hub", *argument, "--folder", str(tmp_path)], standalone_mode=False)
