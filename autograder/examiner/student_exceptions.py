"""Exceptions of the student's code, as exceptions here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from autograder.rpc.exceptions import unpack_exception
from autograder.rpc.frames import Plain
from autograder.rpc.limit_words import describe_limit


def rebuild_exception(raised: Plain, given: Mapping[str, Any]) -> Exception:
    """An exception of the type that the student's code raised, if that is built-in, torch's, NumPy's or given.

    Raises ProtocolError.
    """
    error = unpack_exception(raised, given)
    error.from_student = True  # type: ignore[attr-defined]
    error.reason = describe_limit(error)  # type: ignore[attr-defined]
    return error
