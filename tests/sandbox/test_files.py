"""Layers that keep a run from files: Landlock, mounts, a separate uid, closed descriptors, a scratch home."""

import errno
import os
from pathlib import Path

import pytest

from autograder.sandbox.layers import DESCRIPTORS, HOME, LANDLOCK, MOUNTS, UID
from autograder.sandbox.plan import MIB, Layer, Limits, find_runtime_paths
from tests.sandbox import acts
from tests.sandbox.attempts import IDENTITIES, ROOT, Act, World, assert_stopped, attempt
from tests.sandbox.conftest import Needs

OUTSIDE = [acts.read_secret, acts.append_to_secret, acts.write_next_to_secret, acts.list_outside]


@pytest.mark.parametrize("identity", IDENTITIES)
@pytest.mark.parametrize("act", OUTSIDE)
def test_landlock_opens_nothing_outside_the_plan(act: Act, identity: str, needs: Needs) -> None:
    needs(LANDLOCK, identity=identity)
    assert_stopped(act, LANDLOCK, identity=identity, by=(errno.EACCES,))


@pytest.mark.parametrize("identity", IDENTITIES)
@pytest.mark.parametrize("act", OUTSIDE)
def test_mounts_show_nothing_outside_the_plan(act: Act, identity: str, needs: Needs) -> None:
    needs(MOUNTS, identity=identity)
    assert_stopped(act, MOUNTS, identity=identity, by=(errno.ENOENT,))


@pytest.mark.skipif(not ROOT, reason="a separate uid needs root")
@pytest.mark.parametrize("act", [acts.read_secret, acts.append_to_secret, acts.write_next_to_secret, acts.be_root])
def test_a_uid_may_not_read_or_write_the_files_of_root(act: Act, needs: Needs) -> None:
    needs(UID)
    assert_stopped(act, UID, by=(errno.EACCES, errno.EPERM))


@pytest.mark.skipif(not ROOT, reason="only root could write there without the layer")
@pytest.mark.parametrize(("layer", "number"), [(MOUNTS, errno.EROFS), (LANDLOCK, errno.EACCES)])
def test_readable_is_not_writable(layer: Layer, number: int, needs: Needs) -> None:
    needs(layer)
    assert_stopped(acts.write_to_prefix, layer, by=(number,))


@pytest.mark.parametrize("identity", IDENTITIES)
@pytest.mark.parametrize("layer", [MOUNTS, LANDLOCK])
def test_the_plans_own_paths_are_there(layer: Layer, identity: str, needs: Needs) -> None:
    needs(layer, identity=identity)

    def use(world: World) -> str:
        (world.scratch / "mine").write_text("x")
        Path("/dev/shm/gradlab-test").write_text("shared")
        os.unlink("/dev/shm/gradlab-test")
        Path("/dev/null").write_text("gone")
        with open("/dev/urandom", "rb") as device:
            assert len(device.read(4)) == 4
        assert all(os.access(path, os.R_OK) for path in find_runtime_paths() if not str(path).startswith("/root"))
        return (world.scratch / "mine").read_text()

    assert attempt(use, layer, identity=identity).value == "x"


@pytest.mark.parametrize("identity", IDENTITIES)
def test_landlock_leaves_another_runs_scratch_alone(identity: str, needs: Needs) -> None:
    needs(LANDLOCK, identity=identity)

    def neighbor(world: World) -> list[str]:
        return [name for name in os.listdir(world.scratch.parent) if name.startswith("gradlab-test-")]

    assert_stopped(neighbor, LANDLOCK, identity=identity, by=(errno.EACCES,))


@pytest.mark.parametrize("identity", IDENTITIES)
def test_mounts_bound_the_disk_and_the_inodes(identity: str, needs: Needs) -> None:
    needs(MOUNTS, identity=identity)
    limits = Limits(disk=2 * MIB, files=100)

    def many_bytes(world: World) -> None:
        for number in range(4):
            acts.fill(world.scratch / str(number), MIB)

    def many_files(world: World) -> None:
        for number in range(200):
            (world.scratch / str(number)).touch()

    def shared_memory(world: World) -> None:
        path = Path("/dev/shm") / world.scratch.name
        try:
            acts.fill(path, 4 * MIB)
        finally:
            path.unlink()

    for act in (many_bytes, many_files, shared_memory):
        assert_stopped(act, MOUNTS, identity=identity, by=(errno.ENOSPC,), limits=limits)


@pytest.mark.parametrize("identity", IDENTITIES)
def test_mounts_hide_sockets_with_names(identity: str, needs: Needs) -> None:
    needs(MOUNTS, identity=identity)
    assert_stopped(acts.connect_unix, MOUNTS, identity=identity, by=(errno.ENOENT,))


@pytest.mark.parametrize("identity", IDENTITIES)
def test_no_descriptor_of_the_parent_stays_open(identity: str) -> None:
    def inherited(_: World) -> list[str]:
        targets = [os.readlink(f"/proc/self/fd/{name}") for name in ("0", "1", "2")]
        descriptors = {int(name) for name in os.listdir("/proc/self/fd")} - {0, 1, 2}
        alive = [number for number in descriptors if os.path.exists(f"/proc/self/fd/{number}")]
        sockets = [name for name in (os.readlink(f"/proc/self/fd/{n}") for n in alive) if name.startswith("socket")]
        if not sockets and targets == ["/dev/null"] * 3:
            raise OSError(errno.EBADF, "nothing but /dev/null and the result's pipe")
        return sockets

    assert_stopped(inherited, DESCRIPTORS, identity=identity, by=(errno.EBADF,))


@pytest.mark.parametrize("identity", IDENTITIES)
def test_kept_descriptors_stay(identity: str) -> None:
    first, second = os.pipe()
    try:
        outcome = attempt(
            lambda _: os.write(second, b"x"), DESCRIPTORS, identity=identity, open_descriptors=(second, 1)
        )
        assert outcome.value == 1
        assert attempt(lambda _: os.read(first, 1), DESCRIPTORS, identity=identity, open_descriptors=(second,)).by(
            errno.EBADF
        )
    finally:
        os.close(first)
        os.close(second)


@pytest.mark.parametrize("identity", IDENTITIES)
def test_the_environment_has_a_private_home_and_no_secret(
    identity: str, monkeypatch: pytest.MonkeyPatch, needs: Needs
) -> None:
    monkeypatch.setenv("GRADLAB_TEST_TOKEN", "secret")

    def read(_: World) -> str:
        return os.environ["GRADLAB_TEST_TOKEN"]

    assert_stopped(read, HOME, identity=identity)

    def places(world: World) -> bool:
        names = ("HOME", "TMPDIR", "TORCHINDUCTOR_CACHE_DIR", "MPLCONFIGDIR", "XDG_CACHE_HOME")
        inside = all(Path(os.environ[name]).is_relative_to(world.scratch) for name in names)
        return (
            inside and all(os.access(os.environ[name], os.W_OK) for name in names) and os.getcwd() == os.environ["HOME"]
        )

    assert attempt(places, HOME, identity=identity).value
