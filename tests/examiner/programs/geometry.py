"""dtypes, shapes, strides, offsets."""

import torch

from tests.examiner.program import program

FLOATS = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
EIGHT_BITS = [
    d for name in "e4m3fn e5m2 e4m3fnuz e5m2fnuz e8m0fnu".split() if (d := getattr(torch, f"float8_{name}", None))
]
INTEGERS = [torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.uint16, torch.uint32, torch.uint64]
COMPLEX = [torch.complex64, torch.complex128]


@program(f=lambda z: (z.conj().imag, z.imag, z.real))
def negative_views(f):
    z = torch.tensor([1 + 2j, 3 - 4j])
    return [t.tolist() for t in f(z)], [t.is_neg() for t in f(z)], f(z)[2].stride()


@program(f=lambda x: (type(x).__name__, isinstance(x, torch.nn.Parameter), x.is_leaf, x.requires_grad))
def the_geometry_of_an_argument_inside(f):
    p = torch.nn.Parameter(torch.ones(2))
    frozen = torch.nn.Parameter(torch.ones(2), requires_grad=False)
    return [f(t) for t in (p, frozen, p * 2, torch.ones(2), p.detach(), torch.ones(2, requires_grad=True))]


@program(f=lambda x: (x.dtype, x.shape, x.stride(), x.storage_offset(), x.is_contiguous()))
def the_geometry_that_the_student_sees(f):
    x = torch.arange(24, dtype=torch.int16).reshape(2, 3, 4)
    return [f(t) for t in (x, x[1], x.mT, x[:, 1:, ::2], x.expand(2, 3, 4), x[:0])]


every_real_float = program(f=lambda x: (x, x.clone(), x.dtype))(
    lambda f: [f(torch.tensor([1.5, -2.0, float("inf"), float("nan")], dtype=d)) for d in FLOATS]
)
every_float_of_eight_bits = program(f=lambda x: (x, x.clone(), x.dtype))(
    lambda f: [f(torch.tensor([1.5, 2.0, 4.0]).to(d)) for d in EIGHT_BITS]
)
every_integer = program(f=lambda x: (x, x.clone(), x.dtype))(
    lambda f: [f(torch.tensor([0, 1, 100], dtype=d)) for d in INTEGERS]
)
every_complex = program(f=lambda x: (x, x * 2, x.dtype))(
    lambda f: [f(torch.tensor([1 + 2j, -1j], dtype=d)) for d in COMPLEX]
)
complex_of_half_floats = program(f=lambda x: (x, x.clone()))(
    lambda f: f(torch.complex(torch.ones(2).half(), torch.zeros(2).half()))
)
booleans = program(f=lambda x: (~x, x.any(), x.sum()))(lambda f: f(torch.tensor([True, False, True])))
a_dtype_as_argument = program(f=lambda dtype: torch.ones(2, dtype=dtype))(
    lambda f: [f(d) for d in (torch.int16, torch.bfloat16, torch.bool)]
)
zero_dimensions = program(f=lambda x: (x, x + 1, x.shape, x.item()))(
    lambda f: (f(torch.tensor(3.5)), f(torch.tensor(7)), f(torch.tensor(True)))
)
empty_tensors = program(f=lambda x: (x, x.sum(), x.reshape(-1), x.shape))(
    lambda f: (f(torch.empty(0)), f(torch.empty(2, 0, 3)), f(torch.empty(0, 4, dtype=torch.int64)))
)
an_empty_view_of_something = program(f=lambda x: x[2:2])(lambda f: (f(x := torch.arange(4.0)).shape, x))
an_empty_result_with_strides = program(f=lambda: torch.empty(0, 3).T)(lambda f: f())
not_contiguous = program(f=lambda x: (x, x.stride(), x.is_contiguous(), x.contiguous()))(
    lambda f: (f((x := torch.arange(24).reshape(2, 3, 4)).permute(2, 0, 1)), f(x[:, ::2, 1:]), f(x[..., 2]))
)
expanded = program(f=lambda x: (x, x + 0))(
    lambda f: (f(torch.arange(3.0).expand(4, 3)), f(torch.tensor(1).expand(2, 2)))
)
an_expanded_result = program(f=lambda x: torch.tensor([5.0]).expand(2, 3))(lambda f: f(None))
overlapping_windows = program(f=lambda x: x.as_strided((3, 3), (1, 1)))(lambda f: (f(x := torch.arange(5.0)), x))
an_offset_into_the_storage = program(f=lambda x: x.as_strided((2,), (2,), 1))(
    lambda f: (f(x := torch.arange(6.0)[1:]), x)
)
a_new_view_keeps_its_offset = program(f=lambda x: torch.arange(10)[3:7])(
    lambda f: ((y := f(None)).storage_offset(), y.untyped_storage().nbytes(), y.stride(), y.tolist())
)
conjugate_views = program(f=lambda x: (x.is_conj(), x, x.conj(), x.resolve_conj()))(
    lambda f: (f((z := torch.tensor([1 + 2j, 3 - 4j])).conj()), z)
)
a_negative_view_as_argument = program(f=lambda x: x * 2)(lambda f: f(torch.tensor([1 + 2j, 3 - 4j]).conj().imag))
channels_last = program(f=lambda x: x.to(memory_format=torch.channels_last))(
    lambda f: f(torch.arange(16.0).reshape(1, 2, 2, 4))
)
a_memory_format_as_argument = program(f=lambda x, fmt: x.contiguous(memory_format=fmt))(
    lambda f: f(torch.arange(16.0).reshape(1, 2, 2, 4), torch.channels_last)
)
views_in_many_forms = program(f=lambda x: (x.T, x.mT, x.flatten(), x.unfold(0, 2, 1)))(
    lambda f: (f(x := torch.arange(6.0).reshape(2, 3)), x)
)
sizes_as_results = program(f=lambda *shape: torch.zeros(*shape).shape)(lambda f: (f(2, 3), type(f(2, 3)).__name__, f()))
a_size_as_argument = program(f=lambda size: torch.ones(size))(lambda f: f(torch.zeros(2, 3).shape))


zero_dimensions_with_gradient = program(f=lambda x: x * 2)(
    lambda f: (f(x := torch.tensor(3.0, requires_grad=True)).backward(), x)
)
an_empty_tensor_with_gradient = program(f=lambda x: x.reshape(0, 5))(
    lambda f: ((y := f(x := torch.empty(0, requires_grad=True))).sum().backward(), x, y)
)
a_conjugate_argument_with_gradient = program(f=lambda z: z * 1j)(
    lambda f: (f((z := torch.tensor([1 + 2j, 3 - 4j], requires_grad=True)).conj() * 2).abs().sum().backward(), z)
)
