"""The device that a lab works on, and new tensors there by themselves."""

from __future__ import annotations

import os

import torch


def device() -> torch.device:
    """The best device here: CUDA, else Apple's MPS, else the CPU.

    The environment variable GRADLAB_DEVICE ("cpu", "cuda", "cuda:1", "mps") decides instead where it is set.
    Raises RuntimeError where that device is not available, rather than later in the first operation.
    """
    wanted = os.environ.get("GRADLAB_DEVICE", "")
    available = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if not wanted:
        return torch.device(next(kind for kind, there in available.items() if there))
    chosen = torch.device(wanted)
    if not available.get(chosen.type, False):
        raise RuntimeError(f"GRADLAB_DEVICE is {wanted}, and this machine has no {chosen.type}: unset it, or set cpu")
    return chosen


def use_device() -> torch.device:
    """device(), where torch.zeros and its like make new tensors from here on, without device=.

    It is the CPU where device() is Apple's MPS, which has no float64. torch.from_numpy still gives what lies on the
    CPU, and a generator is made for a device: torch.Generator(here).
    """
    here = device()
    if here.type == "mps":
        here = torch.device("cpu")
    if here.type != "cpu":  # the CPU is the default already, and a default that was set slows every call of torch
        torch.set_default_device(here)
    return here
