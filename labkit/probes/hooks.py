"""What passes through the parts of a student's model, forward and backward, as its hooks see it."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from labkit.probes.dispatch import ProbeError, probe


@probe
def hooked(model: nn.Module, *args: Any, upstream: Tensor | None = None, **kwargs: Any) -> dict[str, Any]:
    """Run model(*args, **kwargs), and backward from `upstream` where it is given.

    Returns {"result", "outputs": {submodule's name: [a copy of its output for each time it ran]}, "gradients": the same
    of the gradients that came to these outputs, the first to arrive first}. The model itself has the name "". Outputs
    that are no tensors are left out. No hook stays behind.
    """
    if not isinstance(model, nn.Module):
        raise TypeError(f"a {type(model).__name__} is no nn.Module")
    outputs: dict[str, list[Tensor]] = {}
    gradients: dict[str, list[Tensor]] = {}

    def record(name: str) -> Any:
        def record_output(module: nn.Module, inputs: Any, output: Any) -> None:
            if not isinstance(output, Tensor):
                return
            outputs.setdefault(name, []).append(output.detach().clone())
            if upstream is not None and output.requires_grad:
                output.register_hook(lambda grad: gradients.setdefault(name, []).append(grad.detach().clone()))

        return record_output

    hooks = [module.register_forward_hook(record(name)) for name, module in model.named_modules()]
    try:
        result = model(*args, **kwargs)
    finally:
        for hook in hooks:
            hook.remove()
    if upstream is not None:
        if not isinstance(result, Tensor):
            raise TypeError(f"backward from a {type(result).__name__}")
        if result.shape != upstream.shape:
            raise ProbeError(f"upstream has shape {tuple(upstream.shape)}, the result {tuple(result.shape)}")
        result.backward(upstream)  # type: ignore[no-untyped-call]
    shown = result.detach() if isinstance(result, Tensor) else result
    return {"result": shown, "outputs": outputs, "gradients": gradients}
