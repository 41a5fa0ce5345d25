"""The state around a call that torch keeps for the whole process: it travels with every call, both ways."""

from __future__ import annotations

import ctypes
import random
import struct
from typing import Any

import numpy as np
import numpy.random  # else the first look at its state imports it, in each fork
import torch

from autograder.rpc.frames import Plain, ProtocolError
from autograder.rpc.tensors import DTYPES, from_packed

DEVICES = ("cpu", "cuda")
NUMPY_END = struct.Struct("<iid")
PYTHON_END = struct.Struct("<i?d")
WORDS = 624  # of the Mersenne Twister


class GlobalState:
    """One end's view of the state. A random state goes out only where it is not what the ends last told each other.

    The two ends of a connection have one GlobalState each: one to a new process starts with a new one. Between reading
    and applying, an end runs nothing that draws random numbers.
    """

    def __init__(self) -> None:
        self._told: list[Any] = [None] * len(RANDOM)

    def read(self) -> Plain:
        """[grad mode, inference mode, autocast, default dtype, determinism, random states]."""
        return [*read_flags(), [self._read_random(n) for n in range(len(RANDOM))]]

    def apply(self, state: Plain) -> None:
        """Make this process' state the given one, but for inference mode, which only a block can switch."""
        try:
            *flags, states = state
            apply_flags(flags)
            for n, packed in enumerate(states):
                self._apply_random(n, packed)
        except ProtocolError:
            raise
        except Exception as error:
            raise ProtocolError(f"malformed global state: {type(error).__name__}") from None

    def _read_random(self, n: int) -> bytes | None:
        get, pack, _ = RANDOM[n]
        state = get()
        if state == self._told[n]:
            return None
        self._told[n] = state
        return bytes(pack(state))

    def _apply_random(self, n: int, packed: bytes | None) -> None:
        get, _, put = RANDOM[n]
        if packed is not None:
            put(packed)
            self._told[n] = get()
        elif self._told[n] is None:
            raise ProtocolError("a random state that was never told")


def read_flags() -> list[Plain]:
    """[grad mode, inference mode, autocast, default dtype, determinism] of this process."""
    return [
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        [
            torch.is_autocast_cache_enabled(),
            *[[d, torch.is_autocast_enabled(d), _name(torch.get_autocast_dtype(d))] for d in DEVICES],
        ],
        _name(torch.get_default_dtype()),
        [torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()],
    ]


def apply_flags(state: list[Plain]) -> None:
    """Make these, but for inference mode, this process' own. Raises ProtocolError, or anything."""
    grad, _, (cache, *autocast), dtype, (deterministic, warn_only) = state
    flags = [grad, cache, deterministic, warn_only, *[enabled for _, enabled, _ in autocast]]
    if not all(isinstance(flag, bool) for flag in flags) or [d for d, _, _ in autocast] != list(DEVICES):
        raise ProtocolError("malformed global state")
    torch.set_grad_enabled(grad)
    torch.set_autocast_cache_enabled(cache)
    for device, enabled, kind in autocast:
        torch.set_autocast_enabled(device, enabled)
        torch.set_autocast_dtype(device, DTYPES[kind])
    if DTYPES[dtype] != torch.get_default_dtype():
        torch.set_default_dtype(DTYPES[dtype])
    # The public function imports inductor's configuration, which takes a second in each new process.
    torch._C._set_deterministic_algorithms(deterministic, warn_only=warn_only)


def inference(state: Plain) -> bool:
    return state[1] is True


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def torch_state() -> bytes:
    """The state of torch's random numbers on the CPU."""
    state: bytes = torch.get_rng_state().numpy().tobytes()
    return state


def _set_torch_state(packed: bytes) -> None:
    torch.set_rng_state(from_packed(packed))


class _PythonState:
    """Python's state, which takes 15 microseconds to give and 8 to compare; a look at its memory takes one.

    The memory is that of CPython's `RandomObject`, an index and the words. Where it is another, every look is full.
    """

    def __init__(self) -> None:
        self._memory: Any = None
        self._state: Any = random.getstate()
        numbers = np.array([self._state[1][-1], *self._state[1][:-1]], "<u4")
        self._known = ctypes.string_at(id(_generator()) + object.__basicsize__, numbers.nbytes) == numbers.tobytes()

    def __call__(self) -> Any:
        generator: Any = _generator()
        if not self._known or type(generator) is not random.Random:
            return random.getstate()
        address = id(generator) + object.__basicsize__
        memory = ctypes.string_at(address, 4 * WORDS + 4), vars(generator)["gauss_next"]
        if memory != self._memory:
            self._memory, self._state = memory, random.getstate()
        return self._state


def _generator() -> Any:
    """Behind the functions of the module."""
    return getattr(random.getstate, "__self__", None)


def _pack_python(state: Any) -> bytes:
    version, numbers, gauss = state
    return np.array(numbers, "<u4").tobytes() + PYTHON_END.pack(version, gauss is not None, gauss or 0.0)


def _set_python_state(packed: bytes) -> None:
    numbers = np.frombuffer(packed[: -PYTHON_END.size], "<u4").tolist()
    version, has_gauss, gauss = PYTHON_END.unpack(packed[-PYTHON_END.size :])
    random.setstate((version, tuple(numbers), gauss if has_gauss else None))


class _NumpyState:
    """NumPy's state. A full look at it takes 30 microseconds, a look at its memory two."""

    def __init__(self) -> None:
        self._memory: Any = None
        self._state: Any = (b"", 0, 1, 0.0)

    def __call__(self) -> Any:
        bits = np.random.get_bit_generator()  # type: ignore[attr-defined]
        if not isinstance(bits, np.random.MT19937):
            return self._state
        address = bits.ctypes.state_address
        memory = address, ctypes.string_at(address, 4 * WORDS + 4)
        # Only where a second Gaussian number is kept, the next draw can leave this memory as it is.
        if memory != self._memory or self._state[2]:
            self._memory, self._state = memory, _full_numpy_state()
        return self._state


def _full_numpy_state() -> Any:
    _, keys, position, has_gauss, gauss = np.random.get_state()
    return np.asarray(keys).tobytes(), int(position), int(has_gauss), float(gauss)  # type: ignore[arg-type]


def _pack_numpy(state: Any) -> bytes:
    keys, position, has_gauss, gauss = state
    packed: bytes = keys + NUMPY_END.pack(position, has_gauss, gauss)
    return packed


def _set_numpy_state(packed: bytes) -> None:
    keys = np.frombuffer(packed[: -NUMPY_END.size], np.uint32)
    position, has_gauss, gauss = NUMPY_END.unpack(packed[-NUMPY_END.size :])
    if len(keys) != WORDS or not 0 <= position <= WORDS:  # NumPy does not look, and would read outside its memory
        raise ProtocolError("malformed random state")
    np.random.set_state(("MT19937", keys, position, has_gauss, gauss))


# (read, pack, apply) of each source of random numbers.
RANDOM: list[Any] = [
    (torch_state, bytes, _set_torch_state),
    (_PythonState(), _pack_python, _set_python_state),
    (_NumpyState(), _pack_numpy, _set_numpy_state),
]
