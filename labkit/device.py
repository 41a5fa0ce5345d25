"""The device that a lab works on, and how to make it the default for new tensors."""

from __future__ import annotations

import os

import torch


def device() -> torch.device:
    """Return the best device available: CUDA, else Apple's MPS, else the CPU.

    The environment variable GRADLAB_DEVICE ("cpu", "cuda", "cuda:1", "mps") overrides this. If that device isn't
    available, RuntimeError is raised here rather than later by the first operation.
    """
    name = os.environ.get("GRADLAB_DEVICE", "")
    available = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if not name:
        return torch.device(next(kind for kind, is_available in available.items() if is_available))
    chosen = torch.device(name)
    if not available.get(chosen.type, False):
        raise RuntimeError(f"GRADLAB_DEVICE is {name}, but this machine has no {chosen.type}: unset it, or set cpu")
    return chosen


def use_device() -> torch.device:
    """Make device() the default for torch.zeros and other functions that create tensors, and return it.

    If device() is Apple's MPS, which has no float64, it's the CPU. torch.from_numpy still returns tensors on the CPU,
    and a generator needs its device: torch.Generator(use_device()).
    """
    default = device()
    if default.type == "mps":
        default = torch.device("cpu")
    if default.type != "cpu":  # the CPU is the default already, and setting one slows every torch call
        torch.set_default_device(default)
    return default
