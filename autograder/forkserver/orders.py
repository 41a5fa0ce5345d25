"""The orders that a client gives to a fork server, as lists of their fields, and the replies."""

from __future__ import annotations

from dataclasses import astuple, fields
from enum import StrEnum
from typing import NamedTuple

from autograder.base.device import Device
from autograder.rpc.fields import check_int, check_length, check_list, check_number, check_text
from autograder.rpc.frames import ProtocolError, WireValue
from autograder.sandbox import Isolation, Limits


class ServerSettings(NamedTuple):
    """The settings of all student processes of a fork server: its first order."""

    isolation: Isolation
    limits: Limits
    readable: tuple[str, ...]
    """Paths that student processes can read, besides Python's own."""
    device: Device
    compile_cache: str
    """The path of a cache of torch.compile, or ""."""

    def to_message(self) -> WireValue:
        return [self.isolation.value, astuple(self.limits), self.readable, self.device.value, self.compile_cache]


class OrderKind(StrEnum):
    """What to do, by the method of Supervisor that does it."""

    START = "start"
    """A socket follows."""
    ADOPT = "adopt"
    KILL_GROUP = "kill_group"
    CHECK_STATUS = "check_status"
    MEASURE_TIMES = "measure_times"
    STOP = "stop"


class ReachedLimit(StrEnum):
    """The memory limit that ended a run or its fork, as messages call it."""

    NONE = ""
    MEMORY = "memory"
    GPU_MEMORY = "GPU memory"


class Order(NamedTuple):
    """An order about one run."""

    kind: OrderKind
    pid: int = 0
    """The run's; 0 if it's only to be started."""
    group: str = ""
    """A group of its processes."""


def read_server_settings(received: WireValue) -> ServerSettings:
    """Return what ServerSettings.to_message() described. Raises ProtocolError."""
    isolation, limits, readable, device, compile_cache = check_length(received, 5)
    numbers = [None if limit is None else check_int(limit) for limit in check_length(limits, len(fields(Limits)))]
    if isolation not in list(Isolation) or device not in list(Device):
        raise ProtocolError("no such level of isolation or device")
    return ServerSettings(
        Isolation(check_text(isolation)),
        Limits(*numbers),  # type: ignore[arg-type]
        tuple(check_text(path) for path in check_list(readable)),
        Device(check_text(device)),
        check_text(compile_cache),
    )


def read_order(received: WireValue) -> Order:
    """Return the order in a frame. Raises ProtocolError."""
    kind, pid, group = check_length(received, 3)
    if kind not in list(OrderKind):
        raise ProtocolError("no such order")
    return Order(OrderKind(check_text(kind)), check_number(pid), check_text(group))


def read_layers(reply: WireValue) -> tuple[str, list[str]]:
    """Return why the settings are refused, or "", and the sandbox's layers. Raises ProtocolError."""
    refusal, layers = check_length(reply, 2)
    return check_text(refusal), [check_text(layer) for layer in check_list(layers)]


def read_start(reply: WireValue) -> tuple[int, str]:
    """Return the pid of a run, or 0 and why it wasn't started. Raises ProtocolError."""
    pid, error = check_length(reply, 2)
    return check_number(pid), check_text(error)


def read_status(reply: WireValue) -> tuple[ReachedLimit, int | None]:
    """Return the limit that a run reached, and its wait status if it ended. Raises ProtocolError."""
    limit, status = check_length(reply, 2)
    if limit not in list(ReachedLimit):
        raise ProtocolError("no such limit")
    return ReachedLimit(check_text(limit)), None if status is None else check_number(status)
