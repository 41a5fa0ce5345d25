"""The hub's image: JupyterHub and its proxy run, and no course is in it."""

from pathlib import Path

from autograder.lms.learning_system import load_systems
from tests.images.engine import inspect_image, mount_image, run, run_container, run_inside
from tests.waiting import wait_until

VOLUME = "--volume=/srv/jupyterhub"  # writable, with the image's owner


def test_the_image_holds_no_course(hub: str) -> None:
    with mount_image(hub) as tree:
        folders = {path.name for path in (tree / "opt/gradlab").iterdir() if path.is_dir()}
        assert folders - {"gradlab.egg-info"} == {"autograder", "labext", "labkit"}
        assert not (tree / "course").exists()
    assert run(hub, "id", "-u").strip() == "1000"
    assert "No module named 'torch'" in run(hub, "python", "-c", "import torch", check=False)


def test_the_hub_reads_the_roster_of_every_lms(hub: str) -> None:
    script = "from autograder.lms.learning_system import load_systems; print(len(load_systems()))"
    assert run(hub, "python", "-c", script).strip() == str(len(load_systems()))


def test_the_hub_starts_with_its_proxy_and_is_healthy(hub: str, tmp_path: Path) -> None:
    config = tmp_path / "jupyterhub_config.py"
    config.write_text(
        "c = get_config()\n"
        "from autograder.hub.programs import find_node, find_proxy\n"
        "c.ConfigurableHTTPProxy.command = [str(find_node()), str(find_proxy(''))]\n"
        "c.JupyterHub.spawner_class = 'docker'\n"
        "c.JupyterHub.authenticator_class = 'null'\n"
    )
    tmp_path.chmod(0o755)
    health = inspect_image(hub)["Healthcheck"]["Test"]
    with run_container(hub, (f"--volume={tmp_path}:/srv/hub:ro", "--read-only", "--tmpfs=/tmp", VOLUME)) as container:
        wait_until(lambda: not run_inside(container, *health[1:], check=False), "the container is healthy")
        ask = "from urllib.request import urlopen; print(urlopen('http://127.0.0.1:8000/hub/api').read())"
        wait_until(
            lambda: "version" in run_inside(container, "python", "-c", ask, check=False), "the proxy has a route"
        )
