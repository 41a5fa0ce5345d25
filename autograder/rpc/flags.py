"""Torch's flags for the process or thread: whether it records a graph, and how it computes."""

from __future__ import annotations

import functools
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import torch

from autograder.rpc.fields import check_list
from autograder.rpc.frames import ProtocolError, WireValue
from autograder.rpc.tensors import DTYPE_NAMES, DTYPES


class Flags(NamedTuple):
    """The state that decides how torch computes, except for the random states."""

    grad: bool
    inference: bool
    autocast_cache: bool
    autocast: bool
    autocast_dtype: torch.dtype
    autocast_cuda: bool
    autocast_cuda_dtype: torch.dtype
    dtype: torch.dtype
    deterministic: bool
    warn_only: bool
    cudnn_deterministic: bool
    cudnn_benchmark: bool


KINDS = [torch.dtype if "dtype" in name else bool for name in Flags._fields]


def read_torch_flags() -> Flags:
    """Read the flags of this process."""
    return Flags(
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        torch.is_autocast_cache_enabled(),
        torch.is_autocast_enabled("cpu"),
        torch.get_autocast_dtype("cpu"),
        torch.is_autocast_enabled("cuda"),
        torch.get_autocast_dtype("cuda"),
        torch.get_default_dtype(),
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
        torch._C._get_cudnn_deterministic(),
        torch._C._get_cudnn_benchmark(),
    )


def set_flags(flags: Flags, now: Flags) -> None:
    """Set the flags of this process, except inference mode, if they differ from `now`."""
    if flags == now:
        return
    torch.set_grad_enabled(flags.grad)
    torch.set_autocast_cache_enabled(flags.autocast_cache)
    torch.set_autocast_enabled("cpu", flags.autocast)
    torch.set_autocast_dtype("cpu", flags.autocast_dtype)
    torch.set_autocast_enabled("cuda", flags.autocast_cuda)
    torch.set_autocast_dtype("cuda", flags.autocast_cuda_dtype)
    if flags.dtype != now.dtype:
        torch.set_default_dtype(flags.dtype)
    # The public function imports inductor's configuration, which takes a second in each new process.
    torch._C._set_deterministic_algorithms(flags.deterministic, warn_only=flags.warn_only)
    torch._C._set_cudnn_deterministic(flags.cudnn_deterministic)
    torch._C._set_cudnn_benchmark(flags.cudnn_benchmark)


def use_inference_mode(mode: bool) -> AbstractContextManager[Any]:
    """Return a context manager that sets inference mode. It's free if the mode is already set."""
    same = torch.is_inference_mode_enabled() == mode
    return nullcontext() if same else torch.inference_mode(mode)


@functools.lru_cache(maxsize=64)
def pack_flags(flags: Flags) -> WireValue:
    return [DTYPE_NAMES[flag] if isinstance(flag, torch.dtype) else flag for flag in flags]


def unpack_flags(packed: WireValue) -> Flags:
    """Unpack flags. Raises ProtocolError if they are malformed."""
    try:
        return _check_flags(*check_list(packed))
    except TypeError:
        raise ProtocolError("malformed global state") from None


@functools.lru_cache(maxsize=64)
def _check_flags(*packed: WireValue) -> Flags:
    if len(packed) != len(KINDS):
        raise ProtocolError("malformed global state")
    flags: list[Any] = [DTYPES.get(flag) if isinstance(flag, str) else flag for flag in packed]
    if any(type(flag) is not kind for flag, kind in zip(flags, KINDS, strict=True)):
        raise ProtocolError("malformed global state")
    return Flags(*flags)
