"""deploy/kubernetes/ is valid for Kubernetes, agrees with the code, and gives each container no more than it needs."""

from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from traitlets.config import Config

from autograder.hub import configure
from autograder.hub.containers import HOME, PORT, get_service_address
from autograder.hub.course_part import PREPARE
from autograder.hub.service_names import EXCHANGE
from autograder.hub.settings import Hub
from tests.deploy.hub_services import DEPLOY, SETTINGS, is_course_user, list_part_names, read_hub, read_part

OLDEST = "1.33"  # user namespaces are on by default from here
DOCUMENTS: list[dict[str, Any]] = list(yaml.safe_load_all((DEPLOY / "kubernetes" / "course.yaml").read_text()))
VALUES: dict[str, Any] = yaml.safe_load((DEPLOY / "kubernetes" / "values.yaml").read_text())
(STATEFUL_SET,) = (each for each in DOCUMENTS if each["kind"] == "StatefulSet")
(POLICY,) = (each for each in DOCUMENTS if each["kind"] == "NetworkPolicy")
POD: dict[str, Any] = STATEFUL_SET["spec"]["template"]["spec"]
LABELS: dict[str, str] = STATEFUL_SET["spec"]["template"]["metadata"]["labels"]
CONTAINERS: dict[str, dict[str, Any]] = {each["name"]: each for each in POD["containers"]}
EVERY: list[dict[str, Any]] = [*POD["initContainers"], *POD["containers"]]


@pytest.fixture
def hub(tmp_path: Path) -> Hub:
    (tmp_path / "kubernetes").mkdir()
    return read_hub(tmp_path / "kubernetes")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda each: f"{each['kind']}-{each['metadata']['name']}")
@pytest.mark.parametrize("version", [OLDEST, kubernetes_validate.latest_version()])
def test_every_document_is_valid(document: dict[str, Any], version: str) -> None:
    kubernetes_validate.validate(document, version, strict=True)


def list_parts() -> dict[str, dict[str, Any]]:
    """service -> its container, with those that prepare the volumes."""
    parts = {}
    for container in EVERY:
        if container["name"] != "copy":
            service, port = read_part(container["command"])
            parts[service] = container
            assert [each["containerPort"] for each in container.get("ports", [])] in ([], [port])
    return parts


def test_every_service_of_the_hub_has_a_container(hub: Hub) -> None:
    assert list_parts().keys() == {PREPARE, *list_part_names(hub)}
    ports = [each["containerPort"] for container in EVERY for each in container.get("ports", [])]
    assert len(ports) == len(set(ports)), "containers of a pod share its ports"


def test_the_hub_finds_each_service_by_its_name(hub: Hub) -> None:
    services = {each["metadata"]["name"]: each["spec"] for each in DOCUMENTS if each["kind"] == "Service"}
    assert services.keys() == list_part_names(hub, with_address=True)
    for name, spec in services.items():
        (port,) = spec["ports"]
        assert get_service_address(name) == f"http://{name}:{port['port']}"
        assert spec["selector"].items() <= LABELS.items()
        assert port["targetPort"] in [each["name"] for each in list_parts()[name]["ports"]]


def test_each_token_is_the_charts(hub: Hub) -> None:
    """The chart makes a token for each of hub.services, under this key of its secret."""
    listening = list_part_names(hub, with_address=True)
    assert VALUES["hub"]["services"] == {name: {} for name in listening}
    for name, container in list_parts().items():
        sources = [each["valueFrom"] for each in container.get("env", []) if each["name"] == "JUPYTERHUB_API_TOKEN"]
        expected = {"secretKeyRef": {"name": "hub", "key": f"hub.services.{name}.apiToken"}}
        assert sources == ([expected] if name in listening else [])


def test_the_charts_hub_is_configured_by_one_line(hub: Hub) -> None:
    """The line runs as the chart runs it, after the chart's own settings."""
    (line,) = VALUES["hub"]["extraConfig"].values()
    assert f'configure(c, "{SETTINGS}")' in line
    services = [{"name": name, "api_token": f"of-{name}", **each} for name, each in VALUES["hub"]["services"].items()]
    c = Config({"JupyterHub": Config({"services": services}), "KubeSpawner": Config({"environment": {}})})
    exec(line.replace(str(SETTINGS), str(hub.folder / "hub.toml")), {"c": c, "configure": configure})
    assert {each["name"]: each["api_token"] for each in c.JupyterHub.services} == {
        name: f"of-{name}" for name in list_part_names(hub, with_address=True)
    }
    (mount,) = VALUES["hub"]["extraVolumeMounts"]
    assert mount["mountPath"] == str(SETTINGS.parent) and mount["readOnly"] is True
    (volume,) = VALUES["hub"]["extraVolumes"]
    assert volume in POD["volumes"], "the hub and the course read the same secret"


def test_no_one_logs_in_before_a_login_was_chosen() -> None:
    assert VALUES["hub"]["config"]["JupyterHub"]["authenticator_class"] == "null"


def test_students_reach_the_exchange_and_no_other_port_of_the_course() -> None:
    policy = VALUES["singleuser"]["networkPolicy"]
    (rule,) = policy["egress"]
    assert rule["to"] == [{"podSelector": {"matchLabels": POLICY["spec"]["podSelector"]["matchLabels"]}}]
    assert [each["port"] for each in rule["ports"]] == [PORT]
    assert not [name for name, allowed in policy["egressAllowRules"].items() if allowed]
    students = {"podSelector": {"matchLabels": {"app.kubernetes.io/component": "singleuser-server"}}}
    ports = [rule["ports"] for rule in POLICY["spec"]["ingress"] if students in rule["from"]]
    assert ports == [[{"port": EXCHANGE}]]
    assert POLICY["spec"]["podSelector"]["matchLabels"].items() <= LABELS.items()
    assert set(POLICY["spec"]["policyTypes"]) == {"Ingress", "Egress"}


def test_a_students_server_has_a_home_shared_memory_and_a_limit() -> None:
    storage = VALUES["singleuser"]["storage"]
    assert storage["homeMountPath"] == HOME
    (mount,), (volume,) = storage["extraVolumeMounts"], storage["extraVolumes"]
    assert mount == {"name": volume["name"], "mountPath": "/dev/shm"} and volume["emptyDir"]["medium"] == "Memory"
    assert VALUES["singleuser"]["memory"]["limit"] and VALUES["cull"]["enabled"] is True


@pytest.mark.parametrize("container", EVERY, ids=lambda each: each["name"])
def test_a_container_has_no_privileges(container: dict[str, Any]) -> None:
    own = container["securityContext"]
    context = POD["securityContext"] | own
    assert context["runAsNonRoot"] is True and context["runAsUser"] > 0
    assert own["allowPrivilegeEscalation"] is False and own["readOnlyRootFilesystem"] is True
    assert own["capabilities"] == {"drop": ["ALL"]}
    relaxed = own.get("procMount") == "Unmasked", context["seccompProfile"]["type"] == "Unconfined"
    assert relaxed == ((True, True) if container["name"] == "watch" else (False, False))


def test_no_container_has_a_token_of_kubernetes_or_the_nodes_users() -> None:
    assert POD["automountServiceAccountToken"] is False
    assert POD["hostUsers"] is False, "without it, Kubernetes refuses an unmasked /proc"


def test_only_the_courses_user_has_the_course() -> None:
    exchange = list_parts()[EXCHANGE]["securityContext"]["runAsUser"]
    assert exchange == POD["securityContext"]["fsGroup"], "its group owns the volume"
    for name, container in list_parts().items():
        mounts = {each["mountPath"] for each in container["volumeMounts"]}
        assert {"/exchange", str(SETTINGS.parent)} <= mounts
        assert ("/course" in mounts) is is_course_user(name)
        user = container["securityContext"].get("runAsUser", POD["securityContext"]["runAsUser"])
        assert (user != exchange) is is_course_user(name)
