"""Exceptions of the student's code, by type."""

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


@program(f=lambda: undefined_name)  # noqa: F821
def an_undefined_name(f):
    return kind_of(f)[0]


def _deep(n):
    return _deep(n + 1)


def _not_written():
    raise NotImplementedError()


def _chained():
    try:
        int("x" * 0)
    except ValueError as error:
        raise LookupError("second") from error


def _odd():
    error = ValueError("x")
    error.args = (torch.ones(1), object())
    raise error


class _Liar(ValueError):
    def __str__(self):
        raise RuntimeError("no text")


@program(f=lambda: _raise(_Liar, object()))
def an_exception_that_cannot_be_shown(f):
    with pytest.raises(ValueError):
        f()


class _Backward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        raise LookupError("in backward")


class _WrongShape(_Backward):
    @staticmethod
    def backward(ctx, g):
        return torch.ones(7)


class _TooMany(_Backward):
    @staticmethod
    def backward(ctx, g):
        return g, g


builtin_types = program(f=_raise)(lambda f: [kind_of(f, kind, "text", 3) for kind in BUILTIN])
more_builtin_types = program(f=_raise)(lambda f: [kind_of(f, kind) for kind in MORE])
linear_algebra = program(f=lambda: torch.linalg.inv(torch.zeros(2, 2)))(
    lambda f: kind_of(f)[0] is torch.linalg.LinAlgError
)
linear_algebra_of_numpy = program(f=lambda: np.linalg.inv(np.zeros((2, 2))))(
    lambda f: kind_of(f)[0] is np.linalg.LinAlgError
)
an_axis_of_numpy = program(f=lambda: np.zeros(2).sum(axis=3))(lambda f: kind_of(f)[0])
out_of_memory = program(f=lambda: _raise(torch.OutOfMemoryError, "no"))(lambda f: kind_of(f))
a_checkpoint_that_recomputes_something_else = program(f=lambda: _raise(torch.utils.checkpoint.CheckpointError, "no"))(
    lambda f: kind_of(f)
)
shapes_that_do_not_fit = program(f=lambda a, b: a @ b)(lambda f: f(torch.ones(2, 3), torch.ones(2, 3)))
an_index_out_of_range = program(f=lambda x: x[5])(lambda f: f(torch.ones(2)))
an_unknown_attribute = program(f=lambda x: x.nothing)(lambda f: f(torch.ones(2)))
a_missing_key = program(f=lambda d: d["k"])(lambda f: f({}))
a_key_that_is_no_simple_value = program(f=lambda: {}[("a", 1)])(lambda f: kind_of(f)[0])
endless_recursion = program(f=_deep)(lambda f: kind_of(f, 0)[0])
not_implemented = program(f=_not_written)(lambda f: kind_of(f))
the_last_of_a_chain = program(f=_chained)(lambda f: kind_of(f))
arguments_that_are_no_values = program(f=_odd)(lambda f: kind_of(f)[0])
numpy_of_what_requires_grad = program(f=lambda x: x.numpy())(lambda f: f(torch.ones(1, requires_grad=True)))
backward_without_a_graph = program(f=lambda: torch.tensor(1.0).backward())(lambda f: f())
an_exception_of_torch_inside = program(f=lambda x: torch.ones(3).backward())(lambda f: kind_of(f, 1)[0])
calling_what_is_no_function = program(f=5)(lambda f: kind_of(f)[0])
an_exception_in_backward = program(f=_Backward.apply)(
    lambda f: (kind_of(f(x := torch.ones(1, requires_grad=True)).backward), x)
)
a_gradient_of_the_wrong_shape = program(f=_WrongShape.apply)(
    lambda f: kind_of(f(torch.ones(2, requires_grad=True)).sum().backward)[0]
)
too_many_gradients = program(f=_TooMany.apply)(
    lambda f: kind_of(f(torch.ones(2, requires_grad=True)).sum().backward)[0]
)
