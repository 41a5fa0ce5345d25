"""Exceptions of the student's code, by type."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.utils.checkpoint

from tests.examiner.program import program


def course_function(x):
    return x


class CourseError(ValueError):
    pass


class _Own(IndexError):
    pass


def _raise(kind, *args):
    raise kind(*args)


BUILTIN = (
    ValueError,
    TypeError,
    RuntimeError,
    KeyError,
    IndexError,
    AttributeError,
    NotImplementedError,
    ZeroDivisionError,
)
MORE = (AssertionError, StopIteration, OverflowError, NameError, LookupError, ArithmeticError, Exception, MemoryError)


def kind_of(function, *args):
    try:
        return function(*args)
    except Exception as error:
        return type(error), error.args


@program(f=_raise)
def builtin_types(f):
    return [kind_of(f, kind, "text", 3) for kind in BUILTIN]


@program(f=_raise)
def more_builtin_types(f):
    return [kind_of(f, kind) for kind in MORE]


@program(f=lambda: _raise(_Own, "mine"))
def a_class_of_the_students_counts_as_its_base(f):
    with pytest.raises(IndexError) as caught:
        f()
    return isinstance(caught.value, LookupError), str(caught.value)


@program(
    given={"CourseError": CourseError}, f=lambda: _raise(type("CourseError", (ValueError,), {"__module__": "__main__"}))
)
def a_given_class_counts_as_itself(f):
    try:
        f()
    except ValueError as error:
        return type(error).__name__


@program(f=lambda: torch.linalg.inv(torch.zeros(2, 2)))
def linear_algebra(f):
    return kind_of(f)[0] is torch.linalg.LinAlgError


@program(f=lambda: np.linalg.inv(np.zeros((2, 2))))
def linear_algebra_of_numpy(f):
    return kind_of(f)[0] is np.linalg.LinAlgError


@program(f=lambda: np.zeros(2).sum(axis=3))
def an_axis_of_numpy(f):
    return kind_of(f)[0]


@program(f=lambda: _raise(torch.OutOfMemoryError, "no"))
def out_of_memory(f):
    return kind_of(f)


@program(f=lambda: _raise(torch.utils.checkpoint.CheckpointError, "no"))
def a_checkpoint_that_recomputes_something_else(f):
    return kind_of(f)


@program(f=lambda a, b: a @ b)
def shapes_that_do_not_fit(f):
    return f(torch.ones(2, 3), torch.ones(2, 3))


@program(f=lambda x: x[5])
def an_index_out_of_range(f):
    return f(torch.ones(2))


@program(f=lambda x: x.nothing)
def an_unknown_attribute(f):
    return f(torch.ones(2))


@program(f=lambda d: d["k"])
def a_missing_key(f):
    return f({})


@program(f=lambda: {}[("a", 1)])
def a_key_that_is_no_simple_value(f):
    return kind_of(f)[0]


@program(f=lambda: undefined_name)  # noqa: F821
def an_undefined_name(f):
    return kind_of(f)[0]


def _deep(n):
    return _deep(n + 1)


@program(f=_deep)
def endless_recursion(f):
    return kind_of(f, 0)[0]


def _not_written():
    raise NotImplementedError()


@program(f=_not_written)
def not_implemented(f):
    return kind_of(f)


def _chained():
    try:
        int("x" * 0)
    except ValueError as error:
        raise LookupError("second") from error


@program(f=_chained)
def the_last_of_a_chain(f):
    return kind_of(f)


def _odd():
    error = ValueError("x")
    error.args = (torch.ones(1), object())
    raise error


@program(f=_odd)
def arguments_that_are_no_values(f):
    return kind_of(f)[0]


class _Liar(ValueError):
    def __str__(self):
        raise RuntimeError("no text")


@program(f=lambda: _raise(_Liar, object()))
def an_exception_that_cannot_be_shown(f):
    with pytest.raises(ValueError):
        f()


@program(f=lambda x: x.numpy())
def numpy_of_what_requires_grad(f):
    return f(torch.ones(1, requires_grad=True))


@program(f=lambda: torch.tensor(1.0).backward())
def backward_without_a_graph(f):
    return f()


@program(f=lambda x: torch.ones(3).backward())
def an_exception_of_torch_inside(f):
    return kind_of(f, 1)[0]


@program(f=5)
def calling_what_is_no_function(f):
    return kind_of(f)[0]


class _Backward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        raise LookupError("in backward")


@program(f=_Backward.apply)
def an_exception_in_backward(f):
    x = torch.ones(1, requires_grad=True)
    return kind_of(f(x).backward), x


class _WrongShape(_Backward):
    @staticmethod
    def backward(ctx, g):
        return torch.ones(7)


@program(f=_WrongShape.apply)
def a_gradient_of_the_wrong_shape(f):
    x = torch.ones(2, requires_grad=True)
    return kind_of(f(x).sum().backward)[0]


class _TooMany(_Backward):
    @staticmethod
    def backward(ctx, g):
        return g, g


@program(f=_TooMany.apply)
def too_many_gradients(f):
    x = torch.ones(2, requires_grad=True)
    return kind_of(f(x).sum().backward)[0]
