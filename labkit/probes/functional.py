"""torch.func over a student's function: the transforms look inside a call, and so run where the function is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from labkit.probes.dispatch import ProbeError, probe

TRANSFORMS: dict[str, Callable[..., Any]] = {
    name: getattr(torch.func, name) for name in ("vmap", "grad", "grad_and_value", "jacrev", "jacfwd", "hessian")
}


@probe
def transformed(f: Callable[..., Any], args: tuple[Any, ...], *transforms: str | tuple[str, dict[str, Any]]) -> Any:
    """The transforms of f, the first one innermost, called with args.

    transforms: "vmap", "grad", "grad_and_value", "jacrev", "jacfwd" or "hessian", or such a name with its options:
    transformed(f, (w, x), "grad", ("vmap", {"in_dims": (None, 0)})) is vmap(grad(f), in_dims=(None, 0))(w, x).
    """
    for transform in transforms:
        name, options = (transform, {}) if isinstance(transform, str) else transform
        if name not in TRANSFORMS:
            raise ProbeError(f"no transform {name!r}: there are {', '.join(TRANSFORMS)}")
        f = TRANSFORMS[name](f, **options)
    return f(*args)


@probe
def vmap(f: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """torch.func.vmap(f, **options)(*args). options: in_dims, out_dims, randomness, chunk_size."""
    return torch.func.vmap(f, **options)(*args)


@probe
def grad(f: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """torch.func.grad(f, **options)(*args). options: argnums, has_aux."""
    return torch.func.grad(f, **options)(*args)


@probe
def jacrev(f: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """torch.func.jacrev(f, **options)(*args). options: argnums, has_aux, chunk_size."""
    return torch.func.jacrev(f, **options)(*args)


@probe
def jvp(f: Callable[..., Any], primals: tuple[Tensor, ...], tangents: tuple[Tensor, ...]) -> Any:
    """(f(*primals), its derivative in the direction of the tangents)."""
    return torch.func.jvp(f, tuple(primals), tuple(tangents))


@probe
def vjp(f: Callable[..., Any], primals: tuple[Tensor, ...], cotangents: Any) -> Any:
    """(f(*primals), the gradients of the primals for these cotangents of the result)."""
    result, back = torch.func.vjp(f, *primals)[:2]
    return result, back(cotangents)


@probe
def functional_call(model: nn.Module, parameters: Mapping[str, Tensor], *args: Any, **kwargs: Any) -> Any:
    """model(*args, **kwargs) with these parameters and buffers in place of its own."""
    return torch.func.functional_call(model, dict(parameters), args, kwargs)
