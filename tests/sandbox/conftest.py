"""Which layers this machine offers to which identity. A missing layer skips its tests with the reason; under CI=true it
fails them, unless the kernel itself rules it out (`is_known_impossible`)."""

import os
import platform
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from autograder.base.errors import GradlabError
from autograder.sandbox import seccomp
from autograder.sandbox.layers import LANDLOCK, NAMESPACES, PROC, UID
from autograder.sandbox.plan import Layer
from autograder.sandbox.system import CAP_SETUID, CAP_SYS_ADMIN, has_capability, read_status
from autograder.sandbox.trial import explain_unavailable_layer, try_alone
from tests.sandbox.attempts import ROOT, STUDENT, attempt

Needs = Callable[..., None]
MOUNTINFO = "/proc/self/mountinfo"


def pytest_make_parametrize_id(val: object) -> str | None:
    return val.name if isinstance(val, Layer) else None


@pytest.fixture(scope="session", autouse=True)
def compiled_filters() -> None:
    """As a fork server does: a user who can't read the interpreter couldn't import pyseccomp after the fork."""
    try:
        for network in ("local", "pairs", "gloo"):
            seccomp.build_filter(network)
    except GradlabError:
        return  # the tests of seccomp report it


@pytest.fixture
def needs() -> Needs:
    """needs(layer, ..., identity=...): skip or fail if this machine doesn't offer them."""

    def check(*layers: Layer, identity: str = "root") -> None:
        for layer in layers:
            if not (reason := find_obstacle(layer, identity)):
                continue
            impossible = is_known_impossible(layer, identity)
            if os.environ.get("CI") == "true" and not impossible:
                pytest.fail(f"{layer} is missing for {identity} and should be here: {reason}")
            pytest.skip(f"{layer} for {identity}: {impossible or reason}")

    return check


@cache
def find_obstacle(layer: Layer, identity: str) -> str:
    """Why that identity can't take the layer; empty if it can."""
    if identity == "root":
        return explain_unavailable_layer(layer) or try_alone(layer, STUDENT)
    outcome = attempt(lambda _: explain_unavailable_layer(layer) or try_alone(layer, STUDENT), identity=identity)
    return str(outcome.value if not outcome.stopped else outcome)


def is_known_impossible(layer: Layer, identity: str) -> str:
    """Whether the kernel itself rules the layer out; a missing library is no reason."""
    filtered = read_status().get("Seccomp", "0").strip() == "2"
    if layer is UID:
        return "" if ROOT and has_capability(CAP_SETUID) else "only root can change its uid"
    if layer is LANDLOCK:
        version = tuple(int(part) for part in platform.release().split(".")[:2])
        modules = _read("/sys/kernel/security/lsm")
        if version < (5, 13):
            return f"Linux {platform.release()} has no Landlock"
        if modules and "landlock" not in modules:
            return f"this kernel starts without Landlock: {modules}"
        return "" if not filtered else "this container's seccomp profile may refuse it"
    if layer in {*NAMESPACES, PROC} and (identity != "root" or not has_capability(CAP_SYS_ADMIN)):
        if filtered:
            return "this container's seccomp profile refuses unshare"
        if _read("/proc/sys/user/max_user_namespaces") == "0":
            return "user.max_user_namespaces is 0"
        if _read("/proc/sys/kernel/unprivileged_userns_clone") == "0":
            return "kernel.unprivileged_userns_clone is 0"
        if _read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1":
            return "AppArmor restricts user namespaces of ordinary users"
        if layer is PROC and any(line.split()[4].startswith("/proc/") for line in _read(MOUNTINFO).splitlines()):
            return "mounts cover parts of /proc"
    return ""


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""
