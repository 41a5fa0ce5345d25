"""Damages messages: plain values at any depth, and their bytes."""

import random
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from autograder.rpc.frames import ProtocolError, decode_message, encode_message

MESSAGES = 10  # damaged messages for each example
WORK = 5.0  # seconds of processor time for one message, of which most take a thousandth
MORE_MEMORY = 512 * 2**20  # bytes that damaged messages may cost at most

TAGS = (
    "known tensor array list set dict ordered tuple generator slice frozenset int size dtype device complex range "
    "ellipsis scalar named handle record constant|torch record|numpy dtype"
)
JUNK: list[Any] = [
    *[None, True, False, 0, 1, -1, 2, 7, 255, 2**31, 2**40, 2**62, 2**63 - 1, -(2**63), 1.5, float("nan"), 1e300],
    *["", *"x cpu cuda:0 meta float32 int64 complex64 bool <f4 >i8 O V4 <U1000000000".split()],
    *["given f", "torch.load", "builtins.eval", "os.system", "torch.relu", "RuntimeError", "builtins.SystemExit"],
    *[b"", b"\0", b"\xff" * 4, b"\0" * 100, b"\0" * 5056],
    *[[], [[]], [[], []], [0], [0, 0], [2**62], [-1], [None] * 11, [[1, 1]], [["tuple"]], [1] * 70],
    *[[tag] for group in TAGS.split("|") for tag in ([group] if "record" in group[:13] else group.split())],
    ["known", 0],
    ["known", 1],
    ["tensor", 0, None, "float32", 0, [2**39, 2**39], [0, 0], 0, 0, None],
    ["tensor", 0, None, "float64", 0, [3], [-1], 0, 0, None],
    ["tensor", 0, ["known", 0], "float32", 2, [2], [1], 127, 5, None],
    ["tensor", -1, None, "float32", 0, [0], [1], 1, 0, ["known", 0]],
    ["array", 0, "<f8", 0, [100], [8], True, True],
    ["array", 0, "<f4", -4, [2], [4], True, False],
    ["array", 0, "|u1", 1, [2**40], [0], True, False],
    ["generator", "cpu", b"\1" * 5056],
    ["generator", "cpu", b""],
    ["record", "a.b", ["x", "x"], 1, 2],
    ["record", "a.b", ["__class__"], 1],
    ["record", "import os", ["x; y"], 1],
    ["range", 0, 2**62, 0],
    ["scalar", "<f8", b"\0"],
    ["int", b"\x7f" * 5000],
    ["handle", [3, ["torch.Tensor", "torch.nn.modules.module.Module"]]],
    ["handle", [0, ["torch.nn.parameter.Parameter"]]],
    ["torch record", "max", 1],
]


def damage(message: Any, rng: random.Random) -> Any:
    """The message with one to four places changed. Raises ProtocolError if not even its frame can be read."""
    if rng.random() < 0.3:
        return decode_message(_damage_bytes(encode_message(message), rng))
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        message = _change_value(message, rng)
    return decode_message(encode_message(message))


def iter_damaged(message: Any, seed: int) -> Iterator[Any]:
    """Yield damaged messages that can still be read."""
    for n in range(MESSAGES):
        try:
            yield damage(message, random.Random(seed * MESSAGES + n))
        except ProtocolError:
            continue


@contextmanager
def assert_memory_limit() -> Iterator[None]:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert (after - before) * 1024 < MORE_MEMORY


@contextmanager
def assert_work_limit() -> Iterator[None]:
    start = time.thread_time()
    yield
    assert time.thread_time() - start < WORK


def _damage_bytes(data: bytes, rng: random.Random) -> bytes:
    damaged_data = bytearray(data)
    for _ in range(rng.choice((1, 2, 8))):
        place = rng.randrange(len(damaged_data)) if damaged_data else 0
        kind = rng.randrange(4)
        if kind == 0:
            damaged_data[place : place + 1] = bytes([rng.randrange(256)])
        elif kind == 1:
            damaged_data[place : place + rng.randrange(9)] = b""
        elif kind == 2:
            damaged_data[place:place] = rng.randbytes(rng.randrange(1, 9))
        else:
            damaged_data[place : place + 1] = rng.choice(
                (b"\xdd\x00\x01\xff\xff", b"\xc6\x0f\xff\xff\xff", b"\xdc\xff\xff", b"\x91" * 600)
            )
    return bytes(damaged_data)


def _change_value(value: Any, rng: random.Random) -> Any:
    """The value with something in it replaced, removed, repeated or moved."""
    if not isinstance(value, list) or not value or rng.random() < 0.1:
        return _draw_other(value, rng)
    items = list(value)
    place = rng.randrange(len(items))
    kind = rng.randrange(12)
    if kind == 0:
        del items[place]
    elif kind == 1:
        items.insert(place, items[rng.randrange(len(items))])
    elif kind == 2:
        items[place] = rng.choice(JUNK)
    elif kind == 3:
        other = rng.randrange(len(items))
        items[place], items[other] = items[other], items[place]
    else:
        items[place] = _change_value(items[place], rng)
    return items


def _draw_other(value: Any, rng: random.Random) -> Any:
    if type(value) is int and rng.random() < 0.7:
        return value + rng.choice((-2, -1, 1, 2, 100, 2**32))
    if isinstance(value, bytes) and value and rng.random() < 0.7:
        return _damage_bytes(value, rng)
    return rng.choice(JUNK)
