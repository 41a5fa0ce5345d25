"""Wrong answers for an exercise with a domain: the reference, wrong at one edge of its arguments."""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map

from autograder.proving.call_recorder import digest_value
from autograder.proving.spoiled_results import Function
from labkit.domain import Domain
from labkit.trial import compute_cases

WRONG_AT = "wrong at an edge"


def digest_arguments(args: Sequence[Any]) -> str:
    """Return a digest of a call's arguments, the same in the process that draws them and in the student process."""
    return digest_value(["callable" if callable(leaf) else leaf for leaf in tree_leaves(list(args))])


def find_digests(domain: Domain, edge: str) -> set[str]:
    """Return the digests of the arguments that the reference, a function, gets with this edge."""
    digests: set[str] = set()

    def note(*args: Any, **kwargs: Any) -> Any:
        digests.add(digest_arguments((*args, *kwargs.values())))
        return domain.reference.function(*args, **kwargs)

    compute_cases(note, [case.drawn for case in domain.list_cases(edge)], domain.call, ())
    return digests


def spoil_edge(
    digests: Container[str], function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, bool]:
    """Return the function's result and False, or for arguments at this edge, another result and True."""
    is_edge = digest_arguments((*args, *kwargs.values())) in digests
    try:
        result = function(*args, **kwargs)
    except Exception:
        if not is_edge:
            raise
        return None, True
    return (spoil_result(result, args), True) if is_edge else (result, False)


def spoil_result(result: Any, args: tuple[Any, ...]) -> Any:
    """Return another result for these arguments, or change them if the function returns None."""
    tensors = [leaf for leaf in tree_leaves(args) if isinstance(leaf, Tensor)]
    if result is None and not tensors:
        return True
    if result is None:
        for t in tensors:
            with torch.no_grad():
                t.add_(1)
        return None
    if not tree_leaves(result):  # an empty tuple, list or dict
        return [None]
    return tree_map(lambda value: _shift(value, any(value is t for t in tensors)), result)


def _shift(value: Any, is_argument: bool) -> Any:
    """Return another value of the same type. An argument is changed in place, so it's still returned itself."""
    if isinstance(value, Tensor | np.ndarray) and not np.prod(value.shape):
        return value[None]
    if isinstance(value, Tensor) and value.dtype == torch.bool:
        return value.logical_not_() if is_argument else value.logical_not()
    if isinstance(value, Tensor):
        with torch.no_grad():
            other = _move_out_of_tolerance(value.nan_to_num(0, 0, 0)) if value.is_floating_point() else value + 1
            return value.copy_(other) if is_argument else other
    if isinstance(value, bool):
        return not value
    if isinstance(value, float):
        return _move_out_of_tolerance(value) if math.isfinite(value) else 1.0
    if isinstance(value, int | complex | np.ndarray):
        return value + 1
    return f"{value}?" if isinstance(value, str | torch.dtype | torch.device) else value


def _move_out_of_tolerance(value: Any) -> Any:
    """Return a number that's outside any tolerance of this one."""
    return value + abs(value) + 1
