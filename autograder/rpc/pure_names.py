"""The names of callables that a student process may return: functions that only use their arguments, and value types.

The examiner may call them, for instance as a hook. None of these writes to a file or an argument, draws a random
number, changes a setting, registers anything or starts anything.
"""

from __future__ import annotations

BUILTINS = """
    abs len max min sum sorted round float int bool str list tuple dict set complex Exception ArithmeticError
    AssertionError AttributeError BufferError EOFError FloatingPointError ImportError IndexError KeyError
    LookupError MemoryError NameError NotImplementedError OSError OverflowError RecursionError ReferenceError
    RuntimeError StopIteration TimeoutError TypeError UnboundLocalError ValueError ZeroDivisionError
"""
MATH = """
    acos acosh asin asinh atan atan2 atanh ceil copysign cos cosh degrees dist erf erfc exp expm1 fabs floor fmod
    fsum gamma hypot isclose isfinite isinf isnan ldexp lgamma log log10 log1p log2 pow prod radians remainder sin
    sinh sqrt tan tanh trunc
"""
OPERATOR = """
    abs add and_ concat contains eq floordiv ge getitem gt index inv invert le lt matmul mod mul ne neg not_ or_ pos
    pow sub truediv truth xor
"""
POINTWISE = """
    abs absolute acos acosh add addcdiv addcmul arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh atan
    atan2 atanh bitwise_and bitwise_not bitwise_or bitwise_xor ceil clamp clip clone conj copysign cos cosh deg2rad
    detach div divide eq erf erfc erfinv exp exp2 expm1 floor floor_divide fmod frac ge greater gt heaviside hypot
    isclose isfinite isinf isnan ldexp le lerp less lgamma log log10 log1p log2 logaddexp logical_and logical_not
    logical_or logical_xor logit lt maximum minimum mul multiply nan_to_num ne neg negative pow positive rad2deg
    real reciprocal relu remainder round rsqrt sgn sigmoid sign sin sinc sinh sqrt square sub subtract tan tanh
    true_divide trunc where xlogy zeros_like ones_like
"""
REDUCTIONS = """
    all amax amin any argmax argmin argsort count_nonzero cumprod cumsum log_softmax logsumexp max mean median min
    nanmean nansum norm numel prod softmax sort std sum topk unique var
"""
SHAPES = """
    atleast_1d atleast_2d broadcast_to cat chunk concat diag diagonal dstack expand_as flatten flip fliplr flipud
    gather hsplit hstack index_select masked_select movedim moveaxis narrow permute ravel reshape roll rot90 scatter
    select split squeeze stack swapaxes swapdims t take tile transpose tril triu unbind unflatten unsqueeze view_as
    vstack
"""
ALGEBRA = "addmm baddbmm bmm cdist cross dot einsum inner kron matmul mm mv outer tensordot trace"
FUNCTIONAL = """
    binary_cross_entropy binary_cross_entropy_with_logits celu cosine_similarity cross_entropy elu gelu glu
    hardsigmoid hardswish hardtanh huber_loss kl_div l1_loss layer_norm leaky_relu linear log_softmax logsigmoid
    mish mse_loss nll_loss normalize one_hot pad pairwise_distance relu relu6 selu sigmoid silu smooth_l1_loss
    softmax softmin softplus softsign tanh tanhshrink threshold
"""
TABLE = {
    "builtins": BUILTINS,
    "math": MATH,
    "operator": OPERATOR,
    "torch": POINTWISE + REDUCTIONS + SHAPES + ALGEBRA,
    "torch.Tensor": POINTWISE + REDUCTIONS + SHAPES + ALGEBRA,
    "torch.TensorBase": POINTWISE + REDUCTIONS + SHAPES + ALGEBRA,
    "torch.nn.functional": FUNCTIONAL,
    "torch.special": POINTWISE + "digamma entr expit i0 log_ndtr log_softmax logsumexp ndtr softmax zeta",
    "torch.linalg": "cross det eigvals eigvalsh inv matmul matrix_norm norm solve vector_norm",
    "numpy": POINTWISE + "float16 float32 float64 int8 int16 int32 int64 uint8 bool_ complex64 complex128",
}
TENSORS = ("torch", "torch.Tensor", "torch.TensorBase")
# Their results have the shape of their argument: a hook that enlarges a gradient could fill terabytes.
HOOKS = frozenset(f"{owner}.{name}" for owner in TENSORS for name in POINTWISE.split())
NAMES = frozenset(f"{owner}.{name}" for owner, names in TABLE.items() for name in names.split())


def is_pure_name(name: str) -> bool:
    return name in NAMES
