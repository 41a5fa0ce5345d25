"""deploy/compose.yaml agrees with the code, and gives each container no more than it needs."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from autograder.hub.container_settings import ContainerSettings
from autograder.hub.containers import HUB_ADDRESS, PORT, PROXY_PORT, get_token_variable
from autograder.hub.course_part import PREPARE
from autograder.hub.hub_folder import CONFIG
from autograder.hub.service_names import EXCHANGE
from tests.deploy.hub_services import DEPLOY, SETTINGS, is_course_user, list_part_names, read_hub, read_part

COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
PARTS = sorted(SERVICES.keys() - {"hub"})


@pytest.fixture
def containers(tmp_path: Path) -> ContainerSettings:
    (tmp_path / "compose").mkdir()
    settings = read_hub(tmp_path / "compose").containers
    assert settings is not None and settings.spawner == "docker"
    return settings


def list_targets(service: str) -> dict[str, str]:
    """mount point -> the volume or folder."""
    return {each.split(":")[-1 if each.count(":") == 1 else -2]: each for each in SERVICES[service]["volumes"]}


def test_every_service_of_the_hub_has_a_container_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "compose").mkdir()
    hub = read_hub(tmp_path / "compose")
    assert set(PARTS) == {PREPARE, *list_part_names(hub)}
    for name in PARTS:
        assert read_part(SERVICES[name]["command"]) == (name, PORT)


def test_each_token_is_given_to_the_hub_and_to_its_service(tmp_path: Path) -> None:
    (tmp_path / "compose").mkdir()
    listening = list_part_names(read_hub(tmp_path / "compose"), with_address=True)
    variables = SERVICES["hub"]["environment"]
    assert {get_token_variable(name) for name in listening} == {name for name in variables if "TOKEN" in name}
    for name in PARTS:
        token = SERVICES[name].get("environment", {}).get("JUPYTERHUB_API_TOKEN")
        assert token == (variables[get_token_variable(name)] if name in listening else None)


def test_the_hub_reads_its_settings_and_is_reached_on_this_machine_only() -> None:
    assert (DEPLOY / "compose" / "jupyterhub_config.py").read_text() == CONFIG
    assert SERVICES["hub"]["ports"] == [f"127.0.0.1:{PROXY_PORT}:{PROXY_PORT}"]
    assert HUB_ADDRESS.startswith("http://hub:")
    for service in SERVICES:
        assert list_targets(service)[str(SETTINGS.parent)] == f"./compose:{SETTINGS.parent}:ro"


def test_students_reach_the_hub_and_the_exchange_only(containers: ContainerSettings) -> None:
    (network,) = [name for name, each in COMPOSE["networks"].items() if (each or {}).get("name") == containers.network]
    assert COMPOSE["networks"][network]["internal"] is True
    assert {name for name, each in SERVICES.items() if network in each.get("networks", [])} == {"hub", EXCHANGE}
    assert {name for name, each in SERVICES.items() if "ports" in each} == {"hub"}
    assert all(each.get("networks") or each.get("network_mode") == "none" for each in SERVICES.values())


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_a_container_has_no_privileges(name: str) -> None:
    service = SERVICES[name]
    assert int(service["user"].split(":")[0]) > 0 and service["cap_drop"] == ["ALL"] and service["read_only"] is True
    assert "no-new-privileges" in service["security_opt"]
    relaxed = {option for option in service["security_opt"] if "unconfined" in option}
    assert relaxed == ({"seccomp=unconfined", "systempaths=unconfined"} if name.startswith("watch-") else set())
    assert any("docker.sock" in volume for volume in service["volumes"]) is (name == "hub")


@pytest.mark.parametrize("name", PARTS)
def test_only_the_courses_user_has_the_course(name: str, containers: ContainerSettings) -> None:
    targets = list_targets(name)
    assert str(containers.exchanges) in targets
    assert ("/course" in targets) is is_course_user(name)
    exchange, own = SERVICES[EXCHANGE]["user"], SERVICES[name]["user"]
    assert (own == exchange) is not is_course_user(name)
    assert (SERVICES[name].get("group_add") == [exchange.split(":")[1]]) is is_course_user(name)
