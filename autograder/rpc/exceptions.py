"""Packs exceptions into messages as the names of their types and simple arguments, and unpacks them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from autograder.rpc import allowed_names
from autograder.rpc.frames import ProtocolError, WireValue
from autograder.rpc.packing import SIMPLE

MAX_TEXT = 2_000  # characters of one argument
MAX_ARGS = 10
MAX_TYPES = 20


def pack_exception(error: BaseException) -> WireValue:
    """Return [type names, arguments]. If an argument isn't a simple value, the exception's text replaces them."""
    try:
        args = list(error.args[:MAX_ARGS])
        if not all(type(a) in SIMPLE or (type(a) is int and abs(a) < 2**63) for a in args):
            args = [str(error)]
    except Exception:
        args = []
    return [
        allowed_names.list_type_names(type(error)),
        [a[:MAX_TEXT] if isinstance(a, str | bytes) else a for a in args],
    ]


def unpack_exception(raised: WireValue, given: Mapping[str, Any]) -> Exception:
    """Build an exception of the raised type, if that's built-in, torch's, NumPy's or given. Raises ProtocolError."""
    if not isinstance(raised, list) or len(raised) != 2:
        raise ProtocolError("malformed exception")
    kinds, args = raised
    if not isinstance(kinds, list) or not isinstance(args, list) or not all(type(a) in (*SIMPLE, int) for a in args):
        raise ProtocolError("malformed exception")
    kind: Any = allowed_names.find_exception_type([str(k) for k in kinds[:MAX_TYPES]], given)
    try:
        error: Exception = kind(*args)
    except Exception:
        error = RuntimeError(*args)
    return error
