"""The immutable values of the protocol that aren't tensors: numbers, dtypes, slices, records. Each is a tagged list."""

from __future__ import annotations

import collections
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from autograder.rpc.fields import check_bytes, check_float, check_int, check_length, check_list, check_text
from autograder.rpc.frames import MAX_ITEMS, ProtocolError, WireValue
from autograder.rpc.tensors import DTYPES

NAMELESS = "Record"
SENT: set[str] = set()  # names of the named tuples that this process has sent
KINDS = "biufc?"  # of NumPy's dtypes
TORCH_CONSTANTS = {
    str(value): value for value in vars(torch).values() if isinstance(value, torch.layout | torch.memory_format)
}
MAX_FROZEN = 1_000  # members: any number of tuples can be made to collide
MAX_INT = 2**14  # bytes
Recurse = Callable[[Any], WireValue]  # packs what is inside a value


def pack(value: Any, item: Recurse) -> WireValue:
    """Pack a value; return None for one of another type. `item` packs what is inside it."""
    if isinstance(value, torch.dtype):
        return ["dtype", str(value).removeprefix("torch.")]
    if isinstance(value, torch.device):
        return ["device", str(value)]
    if isinstance(value, slice):
        return ["slice", *[item(v) for v in (value.start, value.stop, value.step)]]
    if isinstance(value, range):
        return ["range", value.start, value.stop, value.step]
    if value is Ellipsis:
        return ["ellipsis"]
    if isinstance(value, frozenset):
        return ["frozenset", *[item(v) for v in value]]
    if isinstance(value, np.generic) and value.dtype.kind in KINDS:
        return ["scalar", value.dtype.str, value.tobytes()]
    if isinstance(value, complex):
        return ["complex", value.real, value.imag]
    if isinstance(value, bool | int | float | str | bytes):  # a subclass counts as its value
        return item(next(base(value) for base in (int, float, str, bytes) if isinstance(value, base)))  # type: ignore[arg-type]
    if isinstance(value, np.dtype) and value.kind in KINDS:
        return ["numpy dtype", value.str]
    if isinstance(value, torch.layout | torch.memory_format):
        return ["constant", str(value)]
    return None


def pack_int(value: int) -> list[WireValue]:
    size = value.bit_length() // 8 + 1
    return [value.to_bytes(size, "big", signed=True) if size <= MAX_INT else _refuse("a huge integer")]


def pack_tuple(value: tuple[Any, ...], item: Recurse) -> WireValue:
    kind, items = type(value), [item(v) for v in value]
    fields = getattr(kind, "_fields", None)
    if kind is torch.Size:
        return ["size", *items]
    if is_torch_record(kind):
        return ["torch record", kind.__name__, *items]
    if isinstance(fields, tuple) and len(fields) == len(items) and all(isinstance(f, str) for f in fields):
        SENT.update((kind.__name__, *fields))
        return ["record", f"{kind.__module__}.{kind.__qualname__}", list(fields), *items]
    return ["tuple", *items]


def unpack(tag: WireValue, rest: list[WireValue], item: Callable[[WireValue], Any]) -> Any:
    """Unpack a value and check its fields. Raises an exception of any type.

    Args:
        rest: The packed value without its tag.
        item: Unpacks a value inside this one.
    """
    match tag:
        case "size":
            return torch.Size([check_int(n) for n in rest])
        case "torch record":
            kind = vars(torch.return_types)[check_text(rest[0])]
            if not is_torch_record(kind):
                _refuse("not a record of torch's")
            return kind(item(v) for v in rest[1:])
        case "record":
            fields = tuple(check_text(field) for field in check_list(rest[1]))
            return _create_record_type(check_text(rest[0]), fields)(*[item(v) for v in rest[2:]])
        case "int":
            digits = check_bytes(rest[0])
            return int.from_bytes(digits, "big", signed=True) if len(digits) <= MAX_INT else _refuse("a huge integer")
        case "dtype":
            return DTYPES[check_text(rest[0])]
        case "device":
            return torch.device(check_text(rest[0]))
        case "complex":
            return complex(check_float(rest[0]), check_float(rest[1]))
        case "range":
            start, stop, step = (check_int(n) for n in check_length(rest, 3))
            numbers = range(start, stop, step)
            return numbers if len(numbers) <= MAX_ITEMS else _refuse("a range of too many numbers")
        case "slice":
            return slice(*[item(v) for v in rest])
        case "ellipsis":
            return Ellipsis
        case "frozenset":
            members = [item(v) for v in rest]
            if len(members) > MAX_FROZEN or any(isinstance(m, int) and abs(m) >= 2**63 for m in members):
                raise ProtocolError("a frozenset that is too large")
            return frozenset(members)
        case "numpy dtype":
            return parse_numpy_dtype(rest[0])
        case "constant":
            return TORCH_CONSTANTS[check_text(rest[0])]
        case "scalar":
            dtype = parse_numpy_dtype(rest[0])
            content = check_bytes(rest[1])
            if len(content) != dtype.itemsize:
                raise ProtocolError("malformed scalar")
            return np.frombuffer(content, dtype)[0]
    raise ProtocolError(f"unknown value {str(tag)[:20]!r}")


def parse_numpy_dtype(name: WireValue) -> np.dtype[Any]:
    dtype = np.dtype(name) if isinstance(name, str) and len(name) < 8 else None
    if dtype is None or dtype.kind not in KINDS:
        raise ProtocolError("malformed dtype")
    return dtype


@functools.lru_cache(maxsize=256)
def _create_record_type(name: str, fields: tuple[object, ...]) -> Any:
    """Create a named tuple type like the sender's. namedtuple() accepts only identifiers, so it runs no code."""
    names = [field for field in fields if isinstance(field, str) and len(field) < 100]
    if len(fields) > 255 or len(names) < len(fields):
        raise ProtocolError("malformed record")
    module, _, last = name.rpartition(".")
    last = last if last.isidentifier() and len(last) < 100 else "Record"
    return collections.namedtuple(last, names, module=module[:100] or None)


def is_torch_record(kind: Any) -> bool:
    """Return whether this is a named tuple type of torch, compared by identity: any type can claim the name."""
    return isinstance(kind, type) and issubclass(kind, tuple) and vars(torch.return_types).get(kind.__name__) is kind


def strip_names(value: Any) -> Any:
    """Replace the names in a student's named tuple, which a message could quote, by neutral ones.

    Names that this process has sent there before are kept. Other values stay as they are.
    """
    kind = type(value)
    if not (isinstance(value, tuple) and hasattr(kind, "_fields")) or is_torch_record(kind):
        return value
    name = kind.__name__ if kind.__name__ in SENT else NAMELESS
    fields = tuple(f if f in SENT else f"field{n}" for n, f in enumerate(kind._fields))
    return _create_record_type(name, fields)(*value)


def _refuse(message: str) -> Any:
    raise ProtocolError(message)
