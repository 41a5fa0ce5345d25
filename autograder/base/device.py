"""The devices that labs run on."""

from __future__ import annotations

from enum import StrEnum


class Device(StrEnum):
    """What labkit.device() returns in a submission and in its checks."""

    CPU = "cpu"
    CUDA = "cuda"


class DeviceChoice(StrEnum):
    """What a person asks for."""

    CPU = "cpu"
    CUDA = "cuda"
    AUTO = "auto"
    """CUDA if there is a GPU, else the CPU."""
