"""The device for the examiner's checks, which labkit.device() returns in them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from autograder.base.device import Device

VARIABLE = "GRADLAB_DEVICE"


@contextlib.contextmanager
def use_examiner_device(device: Device) -> Iterator[None]:
    """Make labkit.device() return this device meanwhile. The supervisor sets it for student processes."""
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = device.value
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(VARIABLE, None)
        else:
            os.environ[VARIABLE] = before
