"""Builds and runs the images without a Docker engine: Debian's buildah, podman and runc, on a base that debootstrap
makes. As root."""

import ast
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT

TOOLS = ("buildah", "podman", "runc", "debootstrap")
CLASS_TOOLS = ("docker-compose", "catatonit", "netavark", "aardvark-dns", "iptables")  # networks between containers
BASE = "debian:bookworm-slim"
LISTS = ("extra-index-url", "find-links", "trusted-host")  # settings of pip that accumulate


def call(*command: str | Path, check: bool = True, seconds: float = 1800) -> subprocess.CompletedProcess[str]:
    process = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=seconds)
    if check and process.returncode:
        line = " ".join(map(str, command))
        pytest.fail(
            f"{line}\nended with {process.returncode}\n{process.stdout[-4000:]}\n{process.stderr[-8000:]}",
            pytrace=False,
        )
    return process


def find_missing(names: Sequence[str]) -> list[str]:
    """The packages among these whose program isn't installed."""
    return [name for name in names if shutil.which(name) is None and not Path("/usr/lib/podman", name).exists()]


def require_tools(names: Sequence[str] = TOOLS) -> None:
    """Install missing tools if that's allowed; otherwise skip, which under CI=true is an error."""
    missing = find_missing(names)
    root = os.getuid() == 0
    if missing and root and shutil.which("apt-get"):
        call("apt-get", "update", "-qq")
        call("apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing)
        missing = find_missing(names)
    if missing or not root:
        lacking = "root" if not root else " ".join(missing)
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(f"images cannot be built without {lacking}")


def import_base_image(scratch: Path) -> None:
    """Put Debian into podman's store under the name of its slim image."""
    if call("podman", "image", "exists", f"localhost/{BASE}", check=False).returncode == 0:
        return
    tree = scratch / "debian"
    call("debootstrap", "--variant=minbase", "--include=ca-certificates", "bookworm", tree)
    shutil.rmtree(tree / "var/cache/apt/archives")
    archive = scratch / "debian.tar"
    call("tar", "-C", tree, "-cf", archive, ".")
    shutil.rmtree(tree)
    call("podman", "import", archive, f"localhost/{BASE}")
    archive.unlink()


def build_npm_options(scratch: Path) -> list[str]:
    """This machine's settings of npm as a secret of the build, with the certificates that they name."""
    if shutil.which("npm") is None:
        return []
    settings = {name: call("npm", "config", "get", name).stdout.strip() for name in ("registry", "cafile")}
    config, mounts = scratch / "npmrc", []
    if Path(settings["cafile"]).is_file():
        mounts = [f"--volume={settings['cafile']}:/run/npm/ca.crt:ro"]
        settings["cafile"] = "/run/npm/ca.crt"
    else:
        del settings["cafile"]
    config.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    return [f"--secret=id=npm,src={config}", *mounts]


def build_pip_options(scratch: Path) -> list[str]:
    """This machine's settings of pip as a secret of the build; files and folders that they name are mounted for it."""
    settings: dict[str, str] = {}
    for line in call(sys.executable, "-m", "pip", "config", "list").stdout.splitlines():
        key, _, value = line.partition("=")
        name = key.rpartition(".")[2]
        text = " ".join(str(ast.literal_eval(value)).split())
        settings[name] = f"{settings[name]} {text}" if name in LISTS and name in settings else text
    volumes: dict[Path, str] = {}

    def placed(word: str) -> str:
        """The word with its path as the build sees it: another one, because the build may write to the same path."""
        scheme = "file://" if word.startswith("file://") else ""
        path = Path(word.removeprefix(scheme))
        if not path.is_absolute() or not path.exists():
            return word
        folder = path.parent if scheme else path  # the pages of an index point to files next to it
        place = Path(volumes.setdefault(folder, f"/run/pip/{len(volumes)}"))
        return f"{scheme}{place / path.relative_to(folder)}"

    settings = {name: " ".join(map(placed, text.split())) for name, text in settings.items()}
    config = scratch / "pip.conf"
    config.write_text("[global]\n" + "".join(f"{name} = {text}\n" for name, text in settings.items()))
    mounts = [f"--volume={path}:{place}:ro" for path, place in volumes.items()]
    return [f"--secret=id=pip,src={config}", *mounts]


def build(target: str, scratch: Path, *options: str, file: Path = ROOT / "Dockerfile") -> str:
    """The name of the image that was built from the checkout as it is."""
    name = f"localhost/gradlab-{target}"
    line = ["buildah", "bud", "--isolation=chroot", "--pull-never", "--layers", "--format=docker", f"--tag={name}"]
    settings = [*build_pip_options(scratch), *build_npm_options(scratch)]
    call(*line, f"--file={file}", *settings, *options, ROOT, seconds=3600)
    return name


def inspect_image(image: str) -> dict[str, Any]:
    (facts,) = json.loads(call("podman", "image", "inspect", image).stdout)
    return dict(facts)


@contextmanager
def mount_image(image: str) -> Iterator[Path]:
    """Mount the image, and yield the folder of its files."""
    place = call("podman", "image", "mount", image).stdout.strip()
    try:
        yield Path(place)
    finally:
        call("podman", "image", "unmount", image)


# podman would ask for higher limits than every machine gives. A health check needs systemd to run on its own: the tests
# run its command.
LIMITS = ("--ulimit=nofile=4096:4096", "--ulimit=nproc=4096:4096")
RUN = ("podman", "--runtime=runc", "run", "--rm", "--no-healthcheck", "--network=none", *LIMITS)


def run(image: str, *command: str, options: tuple[str, ...] = (), check: bool = True, seconds: float = 1800) -> str:
    """The output of a container, stdout and stderr."""
    process = call(*RUN, *options, image, *command, check=check, seconds=seconds)
    return process.stdout + process.stderr


@contextmanager
def run_container(image: str, options: tuple[str, ...] = ()) -> Iterator[str]:
    """Run the image's own command in a container, and yield its id."""
    container = call(*RUN, "--detach", *options, image).stdout.strip()
    try:
        yield container
    finally:
        call("podman", "rm", "--force", "--volumes", "--time=0", container, check=False)


def run_inside(container: str, *command: str, check: bool = True, seconds: float = 1800) -> str:
    process = call("podman", "--runtime=runc", "exec", container, *command, check=check, seconds=seconds)
    return process.stdout + process.stderr
