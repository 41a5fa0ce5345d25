"""Near misses: the reference with one common mistake that naive checks don't notice.

These mistakes occurred in answers written from only the notebook: a smaller dtype on the way, a batch left out,
state kept between calls, an alias instead of a copy or the reverse, a second run over the same data.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map

from autograder.proving.spoiled_results import Args, Function, Kwargs, Spoiler


def get_near_misses() -> dict[str, Spoiler]:
    """Return the near misses as spoilers, by description."""
    lists = {
        "the first item of a list left out": lambda items: items[1:],
        "the last item of a list left out": lambda items: items[:-1],
        "empty tensors of a list left out": lambda items: [i for i in items if not _is_empty(i)],
        "a list of empty tensors treated as an empty list": lambda items: (
            [] if items and all(map(_is_empty, items)) else items
        ),
    }
    return {
        "float64 and int64 results through float32": functools.partial(_change_result, _round_to_float32),
        "results through the default dtype": functools.partial(_change_result, _cast_to_default),
        "float64 arguments cast to float32": functools.partial(_change_arguments, _cast_to_float32),
        "integers beyond 2**24 rounded": functools.partial(_change_result, _round_integer),
        **{label: functools.partial(_call_with_changed_lists, change) for label, change in lists.items()},
        "remembers its results by the identity of its first argument": _ResultCache(lambda a: id(a[0]) if a else None),
        "remembers its results by the shapes of its arguments": _ResultCache(_get_shapes),
        "an argument that equals the result returned instead of it": _return_equal_argument,
        "copies of results that share memory with an argument": _copy_shared,
        "called twice, where a call changes its arguments": _call_twice,
        "arguments left as they were": _restore_arguments,
        "changes of arguments by a new .data": _replace_data,
    }


def _change_result(change: Callable[[Any], Any], function: Function, args: Args, kwargs: Kwargs) -> tuple[Any, bool]:
    result = function(*args, **kwargs)
    changed = tree_map(change, result)
    return changed, any(new is not old for new, old in zip(tree_leaves(changed), tree_leaves(result), strict=True))


def _round_to_float32(value: Any) -> Any:
    if isinstance(value, Tensor) and value.dtype in (torch.float64, torch.int64):
        return value.float().to(value.dtype)
    return float(torch.tensor(value, dtype=torch.float32)) if type(value) is float else value


def _cast_to_default(value: Any) -> Any:
    if isinstance(value, Tensor) and value.is_floating_point() and value.dtype != torch.get_default_dtype():
        return value.to(torch.get_default_dtype())
    return value


def _round_integer(value: Any) -> Any:
    if type(value) is int and abs(value) > 2**24:
        return int(torch.tensor(float(value), dtype=torch.float32))
    return value


def _cast_to_float32(value: Any) -> Any:
    return value.float() if isinstance(value, Tensor) and value.dtype == torch.float64 else value


def _change_arguments(change: Callable[[Any], Any], function: Function, args: Args, kwargs: Kwargs) -> tuple[Any, bool]:
    changed = tree_map(change, args)
    differs = any(new is not old for new, old in zip(tree_leaves(changed), tree_leaves(args), strict=True))
    return function(*changed, **kwargs) if differs else function(*args, **kwargs), differs


def _call_with_changed_lists(
    change: Callable[[list[Any]], list[Any]], function: Function, args: Args, kwargs: Kwargs
) -> Any:
    changed = tuple(change(value) if isinstance(value, list) else value for value in args)
    differs = any(isinstance(old, list) and len(new) != len(old) for new, old in zip(changed, args, strict=True))
    return (function(*changed, **kwargs), True) if differs else (function(*args, **kwargs), False)


def _is_empty(value: Any) -> bool:
    return any(isinstance(t, Tensor) and t.numel() == 0 for t in tree_leaves(value))


class _ResultCache:
    """Returns the same result for equal keys."""

    def __init__(self, key: Callable[[Args], Any]) -> None:
        self.key = key
        self.results: dict[Any, Any] = {}
        self.arguments: list[Args] = []  # kept alive, so no other object gets the same id

    def __call__(self, function: Function, args: Args, kwargs: Kwargs) -> tuple[Any, bool]:
        key = self.key(args)
        if key is not None and key in self.results:
            return self.results[key], True
        result = function(*args, **kwargs)
        self.results[key] = result
        self.arguments.append(args)
        return result, False


def _get_shapes(args: Args) -> Any:
    return tuple((tuple(t.shape), t.dtype) for t in tree_leaves(args) if isinstance(t, Tensor)) or None


def _iter_tensors(args: Args, kwargs: Kwargs) -> Iterator[Tensor]:
    return (t for t in tree_leaves((args, kwargs)) if isinstance(t, Tensor))


def _return_equal_argument(function: Function, args: Args, kwargs: Kwargs) -> tuple[Any, bool]:
    result = function(*args, **kwargs)
    for t in _iter_tensors(args, kwargs):
        if isinstance(result, Tensor) and result is not t and result.dtype == t.dtype and torch.equal(result, t):
            return t, True
    return result, False


def _copy_shared(function: Function, args: Args, kwargs: Kwargs) -> tuple[Any, bool]:
    result = function(*args, **kwargs)
    memory = {t.untyped_storage().data_ptr() for t in _iter_tensors(args, kwargs)}
    shared = [t for t in _iter_tensors((result,), {}) if t.numel() and t.untyped_storage().data_ptr() in memory]
    if not shared:
        return result, False
    return tree_map(lambda v: v.clone() if any(v is t for t in shared) else v, result), True


def _call_twice(function: Function, args: Args, kwargs: Kwargs) -> tuple[Any, bool]:
    before = [(t, t.detach().clone()) for t in _iter_tensors(args, kwargs)]
    result = function(*args, **kwargs)
    if not any(_has_changed(t, old) for t, old in before):
        return result, False
    return function(*args, **kwargs), True


def _restore_arguments(function: Function, args: Args, kwargs: Kwargs) -> tuple[Any, bool]:
    """Restore the arguments after the call, even if the reference must change them."""
    before = [(t, t.detach().clone()) for t in _iter_tensors(args, kwargs)]
    result = function(*args, **kwargs)
    differs = False
    with torch.no_grad():
        for t, old in before:
            if _has_changed(t, old):
                t.detach().copy_(old)
                differs = True
    return result, differs


def _replace_data(function: Function, args: Args, kwargs: Kwargs) -> tuple[Any, bool]:
    before = [(t, t.detach().clone()) for t in _iter_tensors(args, kwargs)]
    result = function(*args, **kwargs)
    differs = False
    for t, old in before:
        if _has_changed(t, old):
            new = t.detach().clone()
            with torch.no_grad():
                t.detach().copy_(old)
            t.data = new
            differs = True
    return result, differs


def _has_changed(t: Tensor, old: Tensor) -> bool:
    """Return whether the values changed. NaN equals NaN."""
    new = t.detach()
    return new.shape == old.shape and not bool(((new == old) | ((new != new) & (old != old))).all())
