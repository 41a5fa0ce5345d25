"""Layers that keep a run from the network and from other programs' sockets."""

import ctypes
import errno
import socket

import pytest

from autograder.sandbox import landlock
from autograder.sandbox.layers import IPC, LANDLOCK, NETWORK, SECCOMP
from autograder.sandbox.plan import Network
from tests.sandbox import acts
from tests.sandbox.attempts import IDENTITIES, ROOT, Act, World, assert_stopped, attempt
from tests.sandbox.conftest import Needs

SOCK_DCCP, AF_ALG, AF_VSOCK, AF_PACKET = 6, 38, 40, 17


@pytest.mark.parametrize("identity", IDENTITIES)
@pytest.mark.parametrize("act", [acts.connect_tcp, acts.send_udp, acts.connect_abstract])
def test_a_network_namespace_reaches_no_one(act: Act, identity: str, needs: Needs) -> None:
    needs(NETWORK, identity=identity)
    assert_stopped(act, NETWORK, identity=identity, by=(errno.ECONNREFUSED,))


@pytest.mark.parametrize("identity", IDENTITIES)
def test_a_network_namespace_has_only_loopback(identity: str, needs: Needs) -> None:
    needs(NETWORK, identity=identity)

    def talk(_: World) -> list[str]:
        with socket.socket() as server, socket.socket() as client:
            server.bind(("127.0.0.1", 0))
            server.listen()
            client.connect(server.getsockname())
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one, pytest.raises(OSError):
            one.connect(("192.0.2.1", 9))
        return acts.list_interface_names()

    names = attempt(talk, NETWORK, identity=identity).value
    # Some kernels give every network namespace the fallback devices of tunnels; they are down.
    assert "lo" in names and not {"eth0", "ens3"} & set(names)


@pytest.mark.parametrize("identity", IDENTITIES)
def test_an_ipc_namespace_has_no_memory_of_others(identity: str, needs: Needs) -> None:
    needs(IPC, identity=identity)
    key, size = 0x6772_6400 + IDENTITIES.index(identity), 4096
    segment = acts.call("shmget", key, size, 0o1666)
    try:
        assert_stopped(lambda _: acts.call("shmget", key, size, 0), IPC, identity=identity, by=(errno.ENOENT,))
    finally:
        acts.call("shmctl", segment, 0, None)


@pytest.mark.parametrize("identity", IDENTITIES)
@pytest.mark.parametrize("act", [acts.connect_tcp, acts.bind_tcp])
def test_landlock_has_no_tcp(act: Act, identity: str, needs: Needs) -> None:
    needs(LANDLOCK, identity=identity)
    if landlock.read_abi() < 4:
        pytest.skip(f"Landlock of ABI {landlock.read_abi()} has no rules for TCP")
    assert_stopped(act, LANDLOCK, identity=identity, by=(errno.EACCES,))


@pytest.mark.parametrize("identity", IDENTITIES)
def test_landlock_scopes_abstract_sockets(identity: str, needs: Needs) -> None:
    needs(LANDLOCK, identity=identity)
    if landlock.read_abi() < 6:
        pytest.skip(f"Landlock of ABI {landlock.read_abi()} has no scopes")
    assert_stopped(acts.connect_abstract, LANDLOCK, identity=identity, by=(errno.EPERM,))


def make_opening_act(family: int, kind: int = socket.SOCK_STREAM, protocol: int = 0) -> Act:
    def act(_: World) -> None:
        socket.socket(family, kind, protocol).close()

    return act


FORBIDDEN: dict[Network, list[Act]] = {
    "local": [
        make_opening_act(socket.AF_INET),
        make_opening_act(socket.AF_INET, socket.SOCK_DGRAM),
        make_opening_act(socket.AF_INET6),
        make_opening_act(socket.AF_NETLINK, socket.SOCK_RAW),
        acts.connect_tcp,
        acts.send_udp,
    ],
    "pairs": [
        make_opening_act(socket.AF_UNIX),
        acts.connect_unix,
        acts.connect_abstract,
        make_opening_act(socket.AF_INET),
    ],
    "gloo": [
        make_opening_act(socket.AF_INET, socket.SOCK_DGRAM),
        make_opening_act(socket.AF_NETLINK, socket.SOCK_RAW, 15),
        acts.send_udp,
    ],
}


@pytest.mark.parametrize("identity", IDENTITIES)
@pytest.mark.parametrize("network", FORBIDDEN)
def test_seccomp_opens_no_socket_of_these_kinds(network: Network, identity: str, needs: Needs) -> None:
    layers = (SECCOMP, NETWORK) if network == "gloo" else (SECCOMP,)
    needs(*layers, identity=identity)
    for act in FORBIDDEN[network]:
        assert_stopped(act, *layers, identity=identity, by=(errno.EPERM,), network=network)


@pytest.mark.skipif(not ROOT, reason="only root could open these without the layer")
@pytest.mark.parametrize(
    "act",
    [
        make_opening_act(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP),
        make_opening_act(AF_PACKET, socket.SOCK_RAW),
        acts.send_udp_raw,
    ],
)
def test_seccomp_opens_no_raw_socket(act: Act, needs: Needs) -> None:
    needs(SECCOMP, NETWORK)
    assert_stopped(act, SECCOMP, by=(errno.EPERM,))
    assert_stopped(act, SECCOMP, NETWORK, by=(errno.EPERM,), network="gloo")


@pytest.mark.parametrize("identity", IDENTITIES)
@pytest.mark.parametrize("network", ["local", "pairs", "gloo"])
def test_seccomp_cannot_be_fooled_by_bits_that_the_kernel_drops(network: Network, identity: str, needs: Needs) -> None:
    layers = (SECCOMP, NETWORK) if network == "gloo" else (SECCOMP,)
    needs(*layers, identity=identity)
    number, high = 41, 1 << 32
    if ctypes.sizeof(ctypes.c_void_p) != 8 or __import__("platform").machine() != "x86_64":
        pytest.skip("written for x86-64")

    def datagram(_: World) -> int:
        return acts.call_raw(number, socket.AF_INET | high, socket.SOCK_DGRAM | high, high)

    def inject(_: World) -> int:
        return acts.call_raw(16, 0, 0x5412 | high, 0)

    assert_stopped(datagram, *layers, identity=identity, by=(errno.EPERM,), network=network)
    assert attempt(inject, identity=identity).number not in (0, errno.EPERM)
    assert attempt(inject, *layers, identity=identity, network=network).by(errno.EPERM)


@pytest.mark.parametrize("identity", IDENTITIES)
def test_seccomp_leaves_what_each_variant_is_for(identity: str, needs: Needs) -> None:
    needs(SECCOMP, NETWORK, identity=identity)

    def pair(_: World) -> None:
        for end in socket.socketpair():
            end.close()

    for network in ("local", "pairs", "gloo"):
        layers = (SECCOMP, NETWORK)
        assert not attempt(pair, *layers, identity=identity, network=network).stopped
    for act in (
        make_opening_act(socket.AF_UNIX),
        make_opening_act(socket.AF_INET),
        make_opening_act(socket.AF_NETLINK, socket.SOCK_RAW),
        acts.bind_tcp,
    ):
        assert not attempt(act, *layers, identity=identity, network="gloo").stopped
    assert not attempt(make_opening_act(socket.AF_UNIX), *layers, identity=identity).stopped


@pytest.mark.parametrize("family", [socket.AF_NETLINK, AF_ALG, AF_VSOCK, AF_PACKET, 29, 36, 63, 64, 1000])
def test_seccomp_knows_no_other_family(family: int, needs: Needs) -> None:
    needs(SECCOMP)
    assert not attempt(make_opening_act(family, socket.SOCK_RAW)).by(errno.EPERM) or not ROOT
    assert attempt(make_opening_act(family, socket.SOCK_RAW), SECCOMP).by(errno.EPERM)
