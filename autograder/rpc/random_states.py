"""The random states of torch, Python and NumPy. Reading one in full is slow, so its memory is compared first."""

from __future__ import annotations

import ctypes
import random
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.random  # else each fork imports it when it first reads the state
import torch

from autograder.rpc.frames import ProtocolError, WireValue
from autograder.rpc.tensors import unpack_generator_state

TORCH_BEGIN = struct.Struct("<QiiQ")
NUMPY_END = struct.Struct("<iid")
PYTHON_END = struct.Struct("<i?d")
WORDS = 624  # of the Mersenne Twister


def seed_all() -> None:
    """Seed every source with 0, as a student process, the checks and their proof begin."""
    for seed in (torch.manual_seed, random.seed, np.random.seed):
        seed(0)


def set_torch_state(packed: WireValue) -> None:
    """Set torch's random state. Raises an exception of any type."""
    apply_torch_state(torch.default_generator, unpack_generator_state(packed))


def apply_torch_state(generator: torch.Generator, state: torch.Tensor) -> None:
    """Set a generator's state. Raises ProtocolError for one that would make torch read outside its memory.

    A state on the CPU begins with the seed (8 bytes), how many words are left and whether it was seeded (4 each), and
    the index of the next word (8): ATen/CPUGeneratorImpl.cpp.
    """
    if generator.device.type == "cpu":
        _, left, _, index = TORCH_BEGIN.unpack_from(bytes(state.numpy()))
        if not (0 <= index <= WORDS and 0 < left <= WORDS) or (left != 1 and left + index != WORDS + 1):
            raise ProtocolError("malformed random state")
    generator.set_state(state)


class _TorchState:
    """Reads torch's random state on the CPU. Reading takes 4 µs; comparing the memory takes 1 µs.

    The words are somewhere in the generator's memory. If they can't be found there, the state is always read in full.
    """

    MARGIN = 24  # bytes after the words: the second Gaussian numbers, as float and as double
    REACH = 256  # bytes in which the words begin

    def __init__(self) -> None:
        self._memory, self._state = b"", _copy_torch_state()
        words = np.frombuffer(self._state[24 : 24 + 8 * WORDS], "<u8").astype("<u4").tobytes()
        generator: Any = torch.default_generator
        self._address = generator._cdata + 16  # after its type and the number of references to it
        begin = ctypes.string_at(self._address, self.REACH + len(words)).find(words)
        self._size = begin + len(words) + self.MARGIN if begin >= 0 else 0

    def __call__(self) -> bytes:
        memory = ctypes.string_at(self._address, self._size)
        if memory != self._memory or not memory:
            self._memory, self._state = memory, _copy_torch_state()
        return self._state


def _copy_torch_state() -> bytes:
    state = torch.default_generator.get_state()
    return ctypes.string_at(state.data_ptr(), state.nbytes)


class _PythonState:
    """Reads Python's random state. Reading takes 15 µs and comparing it 8 µs; comparing the memory takes 1 µs.

    The memory is that of CPython's `RandomObject`: an index and the words. If not, the state is always read in full.
    """

    def __init__(self) -> None:
        self._memory: Any = None
        self._state: Any = random.getstate()
        numbers = np.array([self._state[1][-1], *self._state[1][:-1]], "<u4")
        memory = ctypes.string_at(id(_get_generator()) + object.__basicsize__, numbers.nbytes)
        self._is_readable = memory == numbers.tobytes()

    def __call__(self) -> Any:
        generator: Any = _get_generator()
        if not self._is_readable or type(generator) is not random.Random:
            return random.getstate()
        address = id(generator) + object.__basicsize__
        memory = ctypes.string_at(address, 4 * WORDS + 4), vars(generator)["gauss_next"]
        if memory != self._memory:
            self._memory, self._state = memory, random.getstate()
        return self._state


def _get_generator() -> Any:
    """Return the generator behind the functions of the random module."""
    return getattr(random.getstate, "__self__", None)


def _pack_python(state: Any) -> bytes:
    version, numbers, gauss = state
    return np.array(numbers, "<u4").tobytes() + PYTHON_END.pack(version, gauss is not None, gauss or 0.0)


def _set_python_state(packed: bytes) -> None:
    numbers = np.frombuffer(packed[: -PYTHON_END.size], "<u4").tolist()
    version, has_gauss, gauss = PYTHON_END.unpack(packed[-PYTHON_END.size :])
    random.setstate((version, tuple(numbers), gauss if has_gauss else None))


class _NumpyState:
    """Reads NumPy's random state. Reading takes 30 µs; comparing the memory takes 2 µs.

    The words are in the bit generator, a second Gaussian number in the memory of the object behind the functions.
    """

    def __init__(self) -> None:
        self._memory: Any = None
        self._state: Any = (b"", 0, 1, 0.0)
        self._bits: Any = None
        self._address = 0
        self._generator: Any = np.random.get_state.__self__  # type: ignore[attr-defined]
        self._size = type(self._generator).__basicsize__ - object.__basicsize__

    def __call__(self) -> Any:
        bits = np.random.get_bit_generator()  # type: ignore[attr-defined]
        if not isinstance(bits, np.random.MT19937):
            return self._state
        if bits is not self._bits:
            self._bits, self._address = bits, bits.ctypes.state_address
        gauss = ctypes.string_at(id(self._generator) + object.__basicsize__, self._size)
        memory = ctypes.string_at(self._address, 4 * WORDS + 4), gauss
        if memory != self._memory:
            self._memory, self._state = memory, _read_numpy_state()
        return self._state


def _read_numpy_state() -> Any:
    _, keys, position, has_gauss, gauss = np.random.get_state()
    return np.asarray(keys).tobytes(), int(position), int(has_gauss), float(gauss)


def _pack_numpy(state: Any) -> bytes:
    keys, position, has_gauss, gauss = state
    packed: bytes = keys + NUMPY_END.pack(position, has_gauss, gauss)
    return packed


def _set_numpy_state(packed: bytes) -> None:
    keys = np.frombuffer(packed[: -NUMPY_END.size], np.uint32)
    position, has_gauss, gauss = NUMPY_END.unpack(packed[-NUMPY_END.size :])
    if len(keys) != WORDS or not 0 <= position <= WORDS:  # NumPy doesn't check, and would read outside its memory
        raise ProtocolError("malformed random state")
    np.random.set_state(("MT19937", keys, position, has_gauss, gauss))


class RandomSource(NamedTuple):
    """A source of random numbers."""

    read: Callable[[], Any]
    """Returns its state."""
    pack: Callable[[Any], bytes]
    set: Callable[[bytes], None]
    """Sets its state to a packed one, or raises an exception."""


read_torch_state = _TorchState()
SOURCES = (
    RandomSource(read_torch_state, bytes, set_torch_state),
    RandomSource(_PythonState(), _pack_python, _set_python_state),
    RandomSource(_NumpyState(), _pack_numpy, _set_numpy_state),
)
