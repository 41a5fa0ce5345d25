"""A simulated second device: what a student's code puts on which device, and which operations mix devices.

PyTorch's device `meta` exists on every machine. Its tensors have a shape and a dtype, but no values. Inside
`TwoDevices` they have values too, and an operation that mixes devices raises the error that it would on an accelerator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

from labkit.probes.probe_definition import probe

aten = torch.ops.aten
SECOND = torch.device("meta")
# These may read from one device and write to another.
CROSSING = {aten._to_copy, aten.copy_, aten.copy}
MAKING = {torch.tensor, torch.as_tensor, torch.asarray, Tensor.new_tensor}
# A tensor on the second device may be indexed with tensors on the CPU.
INDEXING = {aten.index, aten.index_put, aten.index_put_, aten._index_put_impl_, aten._unsafe_index}


class PlacedTensor(Tensor):
    """A tensor on the second device. `held` holds its values."""

    held: Tensor

    @staticmethod
    def __new__(cls, held: Tensor) -> PlacedTensor:
        tensor: PlacedTensor = torch.Tensor._make_wrapper_subclass(
            cls,
            held.size(),
            strides=held.stride(),
            storage_offset=held.storage_offset(),
            dtype=held.dtype,
            layout=held.layout,
            device=SECOND,
        )
        tensor.held = held
        return tensor

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # type: ignore[override]
        return _run(func, args, kwargs or {}, [])

    def __repr__(self, **_: Any) -> str:  # type: ignore[override]
        return f"{repr(self.held)[:-1]}, device='{SECOND}')"

    def __format__(self, form: str) -> str:
        return format(self.held.item(), form) if self.dim() == 0 else format(repr(self), form)

    def tolist(self) -> Any:
        return self.held.tolist()


class TwoDevices(TorchDispatchMode):
    """`with TwoDevices() as second:` provides the second device. Tensors made there are usable only inside the block.

    Attributes:
        mixed: The operations that were given tensors of both devices. Each raised a RuntimeError.
    """

    def __init__(self) -> None:
        super().__init__()
        self.mixed: list[str] = []
        self._maker = _TensorMaker()

    def __enter__(self) -> torch.device:
        self._maker.__enter__()
        super().__enter__()
        return SECOND

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self._maker.__exit__(*error)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _run(func, args, kwargs or {}, self.mixed)


class _TensorMaker(TorchFunctionMode):
    """Makes torch.tensor and similar functions create tensors on the CPU, and then moves them.

    On `meta` they would create an empty tensor without asking any dispatch mode.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func not in MAKING:
            return func(*args, **kwargs)
        device = kwargs.pop("device", None)
        if func is Tensor.new_tensor:
            device, args, func = device or args[0].device, args[1:], torch.tensor
        elif device is None and not isinstance(args[0], Tensor):
            device = torch.get_default_device()
        if device is None or torch.device(device).type != SECOND.type:
            placement: dict[str, Any] = {} if device is None else {"device": device}
            return func(*args, **kwargs, **placement)
        requires_grad = kwargs.pop("requires_grad", False)
        return func(*args, **kwargs, device="cpu").to(SECOND).requires_grad_(requires_grad)


@probe
def on_second_device(
    f: Callable[..., Any], *args: Any, move: Sequence[int] | None = None, **kwargs: Any
) -> dict[str, Any]:
    """Run f(*args, **kwargs) as if the machine had a second device, called `meta`.

    Returns {"result": what f returned, with all tensors on the CPU, "devices": the same with "cpu" or "meta" for each
    tensor, "mixed": the operations that were given tensors of both devices}. Such an operation raises a RuntimeError in
    f. The devices are the student's word, so a check that relies on them is observed.

    Args:
        f: A function or a Module. A Module is moved to the device, and back afterwards.
        move: The positions of the arguments whose tensors are moved to the device; by default, all. Lists and dicts
            among the arguments are copied.
    """
    mode = TwoDevices()
    with mode as second:
        positions = range(len(args)) if move is None else move
        # tree_map copies containers: what f would leave in the caller's isn't usable outside the block.
        args = tuple(tree_map(lambda v: _move(v, second) if i in positions else v, a) for i, a in enumerate(args))
        modules = [v for v in (f, *args) if isinstance(v, nn.Module)]
        try:
            if isinstance(f, nn.Module):
                f.to(second)
            result = f(*args, **kwargs)
        finally:
            for module in modules:
                module.to("cpu")
    return {
        "result": tree_map(_copy_held, result),
        "devices": tree_map(lambda v: v.device.type if isinstance(v, Tensor) else v, result),
        "mixed": mode.mixed,
    }


def _run(func: Any, args: Any, kwargs: dict[str, Any], mixed: list[str]) -> Any:
    """Run the operation on the values, and put its results where an accelerator would."""
    flat, _ = tree_flatten((args, kwargs))
    tensors = [v for v in flat if isinstance(v, Tensor)]
    if _is_mixing_devices(func.overloadpacket, args, tensors):
        mixed.append(str(func.overloadpacket))
        raise RuntimeError(
            f"Expected all tensors to be on the same device, but found at least two devices, {SECOND} and cpu! "
            f"(in {func.overloadpacket})"
        )
    wrappers = {id(v.held): v for v in tensors if isinstance(v, PlacedTensor)}
    device = kwargs.get("device")
    if device is not None:
        on_second = torch.device(device).type == SECOND.type
        kwargs = {**kwargs, "device": torch.device("cpu") if on_second else device}
    else:
        on_second = bool(wrappers) and not (func.overloadpacket is aten.copy and not isinstance(args[0], PlacedTensor))
    args, kwargs = tree_map(_get_held, (args, kwargs))
    result = func(*args, **kwargs)

    def place(value: Any) -> Any:
        if not isinstance(value, Tensor) or isinstance(value, PlacedTensor):
            return value
        if id(value) in wrappers:  # an in-place operation returns its argument
            return wrappers[id(value)]
        if any(value is v for v in tensors):
            return value
        return PlacedTensor(value) if on_second else value

    return tree_map(place, result)


def _is_mixing_devices(operation: Any, args: Any, tensors: list[Tensor]) -> bool:
    if operation in CROSSING:
        return False
    if operation in INDEXING:
        indices = [v for v in args[1] if isinstance(v, Tensor)]
        others = [args[0], *[v for v in args[2:] if isinstance(v, Tensor)]]
        if isinstance(args[0], PlacedTensor):
            return _has_both_devices(others)
        return _has_both_devices(others) or any(isinstance(v, PlacedTensor) for v in indices)
    return _has_both_devices(tensors)


def _has_both_devices(tensors: Sequence[Tensor]) -> bool:
    """Return whether the tensors are on both devices. A 0-dim tensor on the CPU fits with either."""
    return any(isinstance(t, PlacedTensor) for t in tensors) and any(
        not isinstance(t, PlacedTensor) and t.dim() for t in tensors
    )


def _move(value: Any, device: torch.device) -> Any:
    return value.to(device) if isinstance(value, Tensor | nn.Module) else value


def _get_held(value: Any) -> Any:
    return value.held if isinstance(value, PlacedTensor) else value


def _copy_held(value: Any) -> Any:
    return value.held.detach().clone() if isinstance(value, PlacedTensor) else value
