"""NumPy arrays, alone and beside tensors that share their memory."""

from __future__ import annotations

import numpy as np
import torch

from tests.examiner.program import program


@program(f=lambda a: a * 2)
def an_array(f):
    a = np.arange(6.0).reshape(2, 3)
    return f(a), a


@program(f=lambda a: a)
def the_array_itself(f):
    a = np.arange(3)
    return f(a), a


@program(f=lambda a: (a, a.astype(a.dtype.newbyteorder("="))))
def big_endian(f):
    return f(np.array([1, 2, 300], dtype=">i4")), f(np.array([1.5], dtype=">f8"))


@program(f=lambda n: np.arange(n, dtype=">u2"))
def a_big_endian_result(f):
    return f(4)


@program(f=lambda a: (a.copy(), a[::-1]))
def negative_strides(f):
    a = np.arange(5)[::-1]
    return f(a), a


@program(f=lambda a: a[::-1, ::2])
def a_view_with_negative_strides(f):
    a = np.arange(12).reshape(3, 4)
    return f(a), a


def _write(a):
    a[0] = 9


@program(f=_write)
def in_place(f):
    a = np.zeros(3)
    return f(a), a


@program(f=_write)
def in_place_through_a_reversed_view(f):
    a = np.zeros(3)
    return f(a[::-1]), a


@program(f=_write)
def a_read_only_array(f):
    a = np.zeros(3)
    a.flags.writeable = False
    try:
        f(a)
    except ValueError as error:
        return type(error), a
    return a


@program(f=lambda a: a + 1)
def an_array_over_immutable_memory(f):
    a = np.frombuffer(b"abc", np.uint8)
    return f(a), a


@program(f=lambda a: (a, a + 1, a.shape))
def zero_dimensions(f):
    return f(np.array(3.5)), f(np.array(7))


@program(f=lambda a: (a.sum(), a.max(), a.mean()))
def scalars_as_results(f):
    return f(np.arange(4, dtype=np.int16)), f(np.ones(2, np.float32))


@program(f=lambda v: (v, v * 2, type(v).__name__))
def scalars_as_arguments(f):
    return [f(v) for v in (np.float32(1.5), np.int8(3), np.bool_(True), np.complex64(1j), np.float64(2.5))]


@program(f=lambda a: (a, a.shape, a.sum()))
def empty(f):
    return f(np.empty((0, 3))), f(np.empty(0, np.int32))


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


@program(f=lambda x, a: a.__setitem__(0, 5.0) or x[0].item())
def a_tensor_and_an_array_over_the_same_memory(f):
    a = np.zeros(3)
    x = torch.from_numpy(a)
    return f(x, a), x, a


@program(f=lambda a: a.T.copy(order="F"))
def fortran_order(f):
    a = np.asfortranarray(np.arange(6).reshape(2, 3))
    return f(a), a


@program(f=lambda a: (a[:, 1], a[1]))
def views_of_an_argument(f):
    a = np.arange(6).reshape(2, 3)
    column, row = f(a)
    column[0] = 50
    return column, row, a, np.shares_memory(column, a)


@program(f=lambda a: a.copy())
def a_copy_owns_its_memory(f):
    a = np.arange(3.0)
    b = f(a)
    return b.flags.owndata, b.base is None, np.shares_memory(a, b)


@program(f=lambda a: np.broadcast_to(a, (3, 2)))
def broadcast(f):
    return f(np.arange(2.0)).tolist()


@program(f=lambda a: (a.dtype, a.real, a.imag))
def complex_arrays(f):
    return f(np.array([1 + 2j, 3j]))


@program(f=lambda dtype: np.zeros(2, dtype))
def dtypes_as_arguments(f):
    return f(np.dtype("int16")), f(np.float32), f("uint8")


@program(f=lambda a: a.dtype)
def a_dtype_as_result(f):
    return f(np.zeros(1, np.float16)), f(np.zeros(1, ">i2"))


@program(f=lambda a: (a > 1, a[a > 1]))
def boolean_masks(f):
    return f(np.arange(4))


@program(f=lambda a, b: (a.__iadd__(1), b.sum()))
def overlapping_arguments(f):
    a = np.zeros(6)
    return f(a[:4], a[2:]), a


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


@program(f=lambda items: [np.asarray(v).dtype for v in items])
def arrays_in_containers(f):
    return f([np.zeros(1, np.int8), (1.5,), {"a": 1}["a"]])
