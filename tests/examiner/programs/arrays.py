"""NumPy arrays, on their own and with tensors that share their memory."""

import numpy as np
import torch

from tests.examiner.program import program


def _write(a):
    a[0] = 9


@program(f=_write)
def a_read_only_array(f):
    a = np.zeros(3)
    a.flags.writeable = False
    try:
        f(a)
    except ValueError as error:
        return type(error), a
    return a


@program(f=lambda x: x.numpy())
def an_array_over_an_argument(f):
    x = torch.arange(4.0)
    a = f(x)
    a[0] = 9
    return a.tolist(), x, np.shares_memory(a, x.numpy())


@program(f=lambda a: torch.from_numpy(a))
def a_tensor_over_an_argument(f):
    a = np.arange(4.0)
    t = f(a)
    t[0] = 9
    return t.tolist(), a, np.shares_memory(t.numpy(), a)


@program(f=lambda a: (a[:, 1], a[1]))
def views_of_an_argument(f):
    a = np.arange(6).reshape(2, 3)
    column, row = f(a)
    column[0] = 50
    return column, row, a, np.shares_memory(column, a)


@program(f=lambda a: a.flags.writeable)
def read_only_is_seen(f):
    a = np.zeros(2)
    a.flags.writeable = False
    return f(a), f(np.zeros(2))


@program(f=lambda a: torch.tensor(a))
def a_tensor_of_a_copy(f):
    a = np.arange(3, dtype=np.float32)
    t = f(a)
    t[0] = 5
    return t, a


an_array = program(f=lambda a: a * 2)(lambda f: (f(a := np.arange(6.0).reshape(2, 3)), a))
the_array_itself = program(f=lambda a: a)(lambda f: (f(a := np.arange(3)), a))
big_endian = program(f=lambda a: (a, a.astype(a.dtype.newbyteorder("="))))(
    lambda f: (f(np.array([1, 2, 300], dtype=">i4")), f(np.array([1.5], dtype=">f8")))
)
a_big_endian_result = program(f=lambda n: np.arange(n, dtype=">u2"))(lambda f: f(4))
negative_strides = program(f=lambda a: (a.copy(), a[::-1]))(lambda f: (f(a := np.arange(5)[::-1]), a))
a_view_with_negative_strides = program(f=lambda a: a[::-1, ::2])(lambda f: (f(a := np.arange(12).reshape(3, 4)), a))
in_place = program(f=_write)(lambda f: (f(a := np.zeros(3)), a))
in_place_through_a_reversed_view = program(f=_write)(lambda f: (f((a := np.zeros(3))[::-1]), a))
an_array_over_immutable_memory = program(f=lambda a: a + 1)(lambda f: (f(a := np.frombuffer(b"abc", np.uint8)), a))
zero_dimensions = program(f=lambda a: (a, a + 1, a.shape))(lambda f: (f(np.array(3.5)), f(np.array(7))))
scalars_as_results = program(f=lambda a: (a.sum(), a.max(), a.mean()))(
    lambda f: (f(np.arange(4, dtype=np.int16)), f(np.ones(2, np.float32)))
)
scalars_as_arguments = program(f=lambda v: (v, v * 2, type(v).__name__))(
    lambda f: [f(v) for v in (np.float32(1.5), np.int8(3), np.bool_(True), np.complex64(1j), np.float64(2.5))]
)
empty = program(f=lambda a: (a, a.shape, a.sum()))(lambda f: (f(np.empty((0, 3))), f(np.empty(0, np.int32))))
a_tensor_and_an_array_over_the_same_memory = program(f=lambda x, a: a.__setitem__(0, 5.0) or x[0].item())(
    lambda f: (f(x := torch.from_numpy(a := np.zeros(3)), a), x, a)
)
fortran_order = program(f=lambda a: a.T.copy(order="F"))(
    lambda f: (f(a := np.asfortranarray(np.arange(6).reshape(2, 3))), a)
)
a_copy_owns_its_memory = program(f=lambda a: a.copy())(
    lambda f: ((b := f(a := np.arange(3.0))).flags.owndata, b.base is None, np.shares_memory(a, b))
)
broadcast = program(f=lambda a: np.broadcast_to(a, (3, 2)))(lambda f: f(np.arange(2.0)).tolist())
complex_arrays = program(f=lambda a: (a.dtype, a.real, a.imag))(lambda f: f(np.array([1 + 2j, 3j])))
dtypes_as_arguments = program(f=lambda dtype: np.zeros(2, dtype))(
    lambda f: (f(np.dtype("int16")), f(np.float32), f("uint8"))
)
a_dtype_as_result = program(f=lambda a: a.dtype)(lambda f: (f(np.zeros(1, np.float16)), f(np.zeros(1, ">i2"))))
boolean_masks = program(f=lambda a: (a > 1, a[a > 1]))(lambda f: f(np.arange(4)))
overlapping_arguments = program(f=lambda a, b: (a.__iadd__(1), b.sum()))(
    lambda f: (f((a := np.zeros(6))[:4], a[2:]), a)
)
arrays_in_containers = program(f=lambda items: [np.asarray(v).dtype for v in items])(
    lambda f: f([np.zeros(1, np.int8), (1.5,), {"a": 1}["a"]])
)
