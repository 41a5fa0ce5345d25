"""Exceptions of the student's code, as exceptions here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from autograder.examiner.link import expect
from autograder.wire import names
from autograder.wire.frames import Plain, WireError
from autograder.wire.limits import limit_hit

SIMPLE = (type(None), bool, int, float, str, bytes)


def exception(raised: Plain, given: Mapping[str, Any]) -> Exception:
    """An exception of the type that the student's code raised, if that is built-in, torch's, NumPy's or given."""
    kinds, args = expect(raised, 2)
    if not isinstance(kinds, list) or not isinstance(args, list) or not all(type(a) in SIMPLE for a in args):
        raise WireError("malformed exception")
    kind = names.exception_type([str(k) for k in kinds[:20]], given)
    try:
        error = kind(*args)
    except Exception:
        error = RuntimeError(*args)
    error.from_student = True  # type: ignore[attr-defined]
    error.reason = limit_hit(error)  # type: ignore[attr-defined]
    return error
