"""The class of deploy/compose.yaml, on podman instead of Docker: its service answers like Docker's."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

from autograder.hub.containers import PROXY_PORT, get_token_variable
from tests.conftest import ROOT
from tests.hub.hub_process import RunningHub
from tests.images import engine
from tests.waiting import wait_until

COURSE = "gradlab"
USERS = ("ana", "ben")
# Podman chooses its networks when it's first used, perhaps before netavark was installed, and CNI's have no DNS.
PODMAN = """[containers]
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
[network]
network_backend = "netavark"
"""


def find_container(service: str) -> str:
    """The id of a container of compose.yaml."""
    label = f"--filter=label=com.docker.compose.service={service}"
    return engine.call("podman", "ps", "--quiet", label).stdout.strip()


@contextlib.contextmanager
def run_class(folder: Path) -> Iterator[RunningHub]:
    """Run all containers, with an address and secrets of their own."""
    engine.require_tools(engine.CLASS_TOOLS)
    port, password = 20_000 + secrets.randbelow(10_000), secrets.token_urlsafe(9)
    deploy = Path(shutil.copytree(ROOT / "deploy", folder / "deploy"))
    for path in (folder, deploy, deploy / "compose"):
        path.chmod(0o755)
    replace_text(deploy / "compose.yaml", f"127.0.0.1:{PROXY_PORT}:", f"127.0.0.1:{port}:")
    replace_text(deploy / "compose" / "hub.toml", f"127.0.0.1:{PROXY_PORT}", f"127.0.0.1:{port}")
    variables = {
        "COMPOSE_PROJECT_NAME": f"gradlab-{port}",
        "SOCKET": str(folder / "podman.sock"),
        "SOCKET_GROUP": "0",
        "GRADLAB_HUB_PASSWORD": password,
        **{get_token_variable(name): secrets.token_hex(32) for name in ("exchange", f"teach-{COURSE}")},
    }
    with _run_service(folder) as service:
        environment = os.environ | variables | {"DOCKER_HOST": f"unix://{variables['SOCKET']}"}
        compose = ["docker-compose", "--file", str(deploy / "compose.yaml")]
        try:
            subprocess.run([*compose, "up", "--detach"], env=environment, check=True)
            yield RunningHub(f"http://127.0.0.1:{port}", password, deploy, Path("/course"), service)
        finally:
            for user in USERS:
                engine.call("podman", "rm", "--force", "--time=0", f"jupyter-{user}", check=False)
            subprocess.run([*compose, "down", "--volumes", "--timeout=1"], env=environment)
            for user in USERS:
                engine.call("podman", "volume", "rm", f"gradlab-home-{user}", check=False)


def replace_text(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@contextlib.contextmanager
def _run_service(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run podman's service on a socket that only root and its group may use."""
    config, socket = folder / "containers.conf", folder / "podman.sock"
    config.write_text(PODMAN)
    command = ["podman", "system", "service", "--time=0", f"unix://{socket}"]
    with patch.dict(os.environ, CONTAINERS_CONF=str(config)):
        with (folder / "podman.log").open("wb") as log:
            service = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            wait_until(socket.exists, "podman's service listens")
            socket.chmod(0o660)
            yield service
        finally:
            service.terminate()
            service.wait()
