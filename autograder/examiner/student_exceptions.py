"""Rebuilds exceptions that the student's code raised."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from autograder.rpc.exceptions import unpack_exception
from autograder.rpc.frames import WireValue
from autograder.rpc.limit_errors import describe_limit
from labkit.cause import StopReason


def rebuild_exception(raised: WireValue, given: Mapping[str, Any]) -> Exception:
    """Build an exception of the type that the student's code raised, if that is built-in, torch's, NumPy's or given.

    Raises ProtocolError.
    """
    error = unpack_exception(raised, given)
    error.from_student = True  # type: ignore[attr-defined]
    if message := describe_limit(error):
        error.reason = StopReason(message)  # type: ignore[attr-defined]
    return error
