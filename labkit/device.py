"""The device that a lab works on."""

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
