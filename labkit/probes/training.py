"""Training: what a student's model, step or loop makes of weights. A check trains a model of its own to compare."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from labkit.probes.dispatch import ProbeError, probe

Record = dict[str, Any]


def state_of(model: nn.Module) -> dict[str, Tensor]:
    """A copy of the model's parameters and buffers, by name. It stays as it is while the model is trained on."""
    return {name: t.detach().clone() for name, t in model.state_dict().items()}


def gradients_of(model: nn.Module) -> dict[str, Tensor | None]:
    """A copy of each parameter's .grad, by name; None where there is none."""
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
    """Train the student's model by the usual loop: one step for each batch (*inputs, target).

    model: a Module, or what makes one when it is called. start: the weights to start from, by name, or a list of all
    parameters in their order. options: of the optimizer, for instance lr=0.1.
    Returns {"before", "state": parameters and buffers by name, "losses": one float a step, "training": bool}.
    A check that takes the same steps with a model of its own says where both start: "before" is the student's word, and
    from weights that are not finite every model learns the same.
    """
    model = _build_model(model)
    if start is not None:
        _begin(model, start)
    steps = _build_optimizer(optimizer, model, options)
    before, losses = state_of(model), []
    for *inputs, target in batches:
        steps.zero_grad()
        value = loss(model(*inputs), target)
        value.backward()  # type: ignore[no-untyped-call]
        steps.step()
        losses.append(value.item())
    return {"before": before, "state": state_of(model), "losses": losses, "training": model.training}


def _begin(model: nn.Module, start: Mapping[str, Tensor] | Sequence[Tensor]) -> None:
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
        raise TypeError(f"a {type(model).__name__} is no nn.Module")
    return model


def _build_optimizer(make: Callable[..., Any], model: nn.Module, options: dict[str, Any]) -> torch.optim.Optimizer:
    parameters = list(model.parameters())
    if not parameters:
        raise ValueError("the model has no parameters")
    try:
        made = make(parameters, **options)
    except TypeError as error:
        raise ProbeError(f"the optimizer does not take these options: {error}") from None
    if not isinstance(made, torch.optim.Optimizer):
        raise ProbeError(f"a {type(made).__name__} is no optimizer")
    return made
