"""The closed set of operations that a captured graph may have: pure functions on the CPU or CUDA.

None writes to its arguments, draws random numbers, leaves memory uninitialized, or reads more than its arguments.
"""

from __future__ import annotations

import functools
import operator
import re
from typing import Any

import torch
from torch import Tensor

SHAPES = """
    view _unsafe_view reshape permute transpose t numpy_T unsqueeze squeeze expand expand_as view_as slice select narrow
    split split_with_sizes chunk unbind cat stack flip roll repeat tril triu diagonal constant_pad_nd clone alias detach
    contiguous _to_copy as_strided index_select gather index where masked_fill unfold flatten movedim lift_fresh_copy
    lift_fresh copy scatter scatter_add index_add index_put broadcast_tensors atleast_1d ravel
"""
POINTWISE = """
    add sub mul div neg abs exp expm1 exp2 log log1p log2 log10 sqrt rsqrt reciprocal sin cos tan tanh sinh cosh asin
    acos atan atan2 asinh acosh atanh sigmoid relu relu6 gelu silu elu selu celu hardtanh hardswish hardsigmoid
    leaky_relu softplus mish erf erfc pow square clamp clamp_min clamp_max maximum minimum sign sgn floor ceil round
    trunc fmod remainder floor_divide eq ne lt le gt ge logical_and logical_or logical_xor logical_not bitwise_and
    bitwise_or bitwise_xor bitwise_not isnan isinf isfinite lerp addcmul addcdiv hypot xlogy logaddexp rsub nan_to_num
    log_sigmoid log_sigmoid_forward logit threshold zeros_like ones_like full_like
"""
REDUCTIONS = """
    sum nansum mean amax amin max min argmax argmin prod var std var_mean any all cumsum cumprod logsumexp norm
    linalg_vector_norm topk sort softmax log_softmax _softmax _log_softmax count_nonzero _safe_softmax
"""
LAYERS = """
    mm bmm addmm baddbmm matmul mv dot outer linear convolution conv1d conv2d native_layer_norm layer_norm
    native_batch_norm _native_batch_norm_legit_no_training _native_batch_norm_legit native_group_norm nll_loss_forward
    embedding max_pool2d_with_indices avg_pool2d mse_loss
"""
CREATION = "full zeros ones arange scalar_tensor eye linspace new_zeros new_ones new_full"
SIZES = "sym_size sym_numel"
NUMBERS = {
    f"operator.{name}": getattr(operator, name)
    for name in "getitem add sub mul floordiv mod neg truediv eq ne lt le gt ge".split()
}


# The Python types allowed for each aten type. A number passed as a dtype would read invalid memory.
TYPES: dict[str, tuple[type, ...]] = {
    "Tensor": (Tensor,),
    "int": (int,),
    "float": (int, float),
    "number": (bool, int, float, complex),
    "bool": (bool,),
    "str": (str,),
    "ScalarType": (torch.dtype,),
    "MemoryFormat": (torch.memory_format,),
    "Layout": (),
    "Device": (),
}
TYPE = re.compile(r"(Optional\[)?(List\[)?(Optional\[)?(\w+)\]*")


@functools.cache
def collect_operations() -> dict[str, Any]:
    """Return the operations by name, without overloads that write to an argument or an `out`, or take only numbers."""
    operations: dict[str, Any] = dict(NUMBERS)
    creation = set(CREATION.split())
    for name in " ".join([SHAPES, POINTWISE, REDUCTIONS, LAYERS, CREATION, SIZES]).split():
        packet = getattr(torch.ops.aten, name)
        for overload in packet.overloads():
            operation = getattr(packet, overload)
            schema = operation._schema
            types = [str(a.real_type) for a in schema.arguments]
            if schema.is_mutable or any(a.is_out for a in schema.arguments):
                continue
            if all(_parse_type_name(t) in TYPES for t in types) and (
                name in creation or any("Tensor" in t for t in types[:2])
            ):
                operations[f"aten.{name}.{overload}"] = operation  # in aten.pow.Scalar(2, x), the tensor is second
    return operations


def has_valid_types(operation: Any, args: list[Any], kwargs: dict[str, Any]) -> bool:
    """Return whether each argument has the type that the operation declares."""
    declared = operation._schema.arguments
    by_name = {a.name: a for a in declared}
    if len(args) > len(declared) or not set(kwargs) <= set(by_name):
        return False
    pairs = [*zip(declared, args, strict=False), *[(by_name[k], v) for k, v in kwargs.items()]]
    # A number may replace one of two tensors, as in aten.add.Tensor(x, 1) and aten.div.Tensor(1, x).
    has_tensor = any(isinstance(value, Tensor) for value in args[:2])
    return all(
        _is_of_type(value, str(a.real_type))
        or (has_tensor and str(a.real_type) == "Tensor" and type(value) in TYPES["number"])
        for a, value in pairs
    )


def _is_of_type(value: Any, declared: str) -> bool:
    match = TYPE.fullmatch(declared)
    if match is None:
        return False
    optional, several, optional_items, kind = match.groups()
    if value is None:
        return optional is not None
    if several is None or (kind in ("int", "float") and not isinstance(value, list | tuple)):
        if kind in ("Tensor", "str"):
            return isinstance(value, TYPES[kind])
        return type(value) in TYPES[kind]  # so True isn't an int
    if not isinstance(value, list | tuple):
        return False
    return all((v is None and optional_items is not None) or _is_of_type(v, kind) for v in value)


def _parse_type_name(declared: str) -> str:
    match = TYPE.fullmatch(declared)
    return "" if match is None else match.group(4)
