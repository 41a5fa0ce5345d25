"""Training a student's model, to compare the weights with those of a model that the check trains itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from labkit.probes.probe_definition import ProbeError, probe

Record = dict[str, Any]


def state_of(model: nn.Module) -> dict[str, Tensor]:
    """Copy the model's parameters and buffers, by name. Further training doesn't change the copy."""
    return {name: t.detach().clone() for name, t in model.state_dict().items()}


def gradients_of(model: nn.Module) -> dict[str, Tensor | None]:
    """Copy each parameter's .grad, by name; None for a parameter without one."""
    return {name: None if p.grad is None else p.grad.detach().clone() for name, p in model.named_parameters()}


@probe
def trained(
    model: Any,
    batches: Sequence[tuple[Any, ...]],
    *,
    start: Mapping[str, Tensor] | Sequence[Tensor] | None = None,
    loss: Callable[..., Tensor] = nn.functional.mse_loss,
    optimizer: Callable[..., torch.optim.Optimizer] = torch.optim.SGD,
    **options: Any,
) -> Record:
    """Train the student's model with the usual loop: one step for each batch (*inputs, target).

    Returns {"before", "state": parameters and buffers by name, "losses": one float per step, "training": bool}.
    A check that takes the same steps with its own model should set `start` for both: "before" is only the student's
    word, and from weights that aren't finite every model learns the same.

    Args:
        model: A Module, or a callable that returns one.
        start: The weights to start from, by name, or a list of all parameters in order.
        options: Options of the optimizer, such as lr=0.1.
    """
    model = _build_model(model)
    if start is not None:
        _load_weights(model, start)
    stepper = _build_optimizer(optimizer, model, options)
    before, losses = state_of(model), []
    for *inputs, target in batches:
        stepper.zero_grad()
        value = loss(model(*inputs), target)
        value.backward()
        stepper.step()
        losses.append(value.item())
    return {"before": before, "state": state_of(model), "losses": losses, "training": model.training}


def _load_weights(model: nn.Module, start: Mapping[str, Tensor] | Sequence[Tensor]) -> None:
    if isinstance(start, Mapping):
        model.load_state_dict(start)
        return
    parameters = list(model.parameters())
    if [p.shape for p in parameters] != [t.shape for t in start]:
        raise ValueError(f"the model's parameters have the shapes {[tuple(p.shape) for p in parameters]}")
    with torch.no_grad():
        for p, t in zip(parameters, start, strict=True):
            p.copy_(t)


def _build_model(model: Any) -> nn.Module:
    if not isinstance(model, nn.Module):
        model = model()
    if not isinstance(model, nn.Module):
        raise TypeError(f"a {type(model).__name__} isn't an nn.Module")
    return model


def _build_optimizer(make: Callable[..., Any], model: nn.Module, options: dict[str, Any]) -> torch.optim.Optimizer:
    parameters = list(model.parameters())
    if not parameters:
        raise ValueError("the model has no parameters")
    try:
        optimizer = make(parameters, **options)
    except TypeError as error:
        raise ProbeError(f"the optimizer doesn't take these options: {error}") from None
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise ProbeError(f"a {type(optimizer).__name__} isn't an optimizer")
    return optimizer
