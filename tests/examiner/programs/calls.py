"""Ways to call: arguments, defaults, callables by name, generators, state between calls."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from tests.examiner.program import program


def course_square(x):
    return x * x


class CourseError(ValueError):
    pass


def _default(x, scale=2.0, *rest, shift=None, **more):
    return x * scale, rest, shift, sorted(more.items())


@program(f=_default)
def keywords_and_defaults(f):
    x = torch.ones(1)
    return f(x), f(x, 3), f(x, scale=4), f(x, 1, 2, 3, shift=x, extra=[1])


@program(f=_default)
def keyword_arguments_alias(f):
    x = torch.ones(1)
    return f(x, shift=x), f(x=x, more=x)


@program(f=_default)
def a_missing_argument(f):
    return f()


@program(f=lambda x: x)
def too_many_arguments(f):
    return f(1, 2)


@program(f=lambda x: x)
def an_unknown_keyword(f):
    return f(1, y=2)


def _collect(x, seen=[]):  # noqa: B006 - the mistake is the point
    seen.append(x)
    return len(seen)


@program(f=_collect)
def a_mutable_default_remembers(f):
    return f(1), f(2), f(3)


_count = {"n": 0}


def _counter():
    _count["n"] += 1
    return _count["n"]


@program(f=_counter)
def a_global_counter(f):
    first = f()
    return f() - first, f() - first


@program(f=lambda function, x: function(x))
def torchs_functions_by_name(f):
    x = torch.tensor([-1.0, 4.0])
    functions = (
        torch.relu,
        torch.sin,
        F.gelu,
        torch.abs,
        torch.nn.functional.softplus,
        torch.Tensor.exp,
        torch.special.expit,
    )
    return [f(function, x) for function in functions]


@program(f=lambda function, *args: function(*args))
def builtins_and_modules_by_name(f):
    import math
    import operator

    return (
        f(max, 1, 2),
        f(sum, [1, 2]),
        f(operator.mul, 3, torch.ones(1)),
        f(math.sqrt, 4),
        f(sorted, [2, 1]),
        f(len, "abc"),
    )


@program(f=lambda kind, v: kind(v))
def types_by_name(f):
    return f(float, "1.5"), f(list, (1, 2)), type(f(torch.nn.Parameter, torch.ones(1))).__name__


@program(given={"course_square": course_square}, f=lambda function, x: function(x) + 1)
def a_given_function_by_name(f):
    x = torch.tensor([3.0], requires_grad=True)
    y = f(course_square, x)
    y.backward()
    return y, x


@program(given={"course_square": course_square}, f=lambda: course_square)
def a_given_function_as_result(f):
    return f() is course_square, f()(3)


@program(f=lambda: torch.relu)
def a_function_of_torch_as_result(f):
    return f() is torch.relu


@program(f=lambda g, x: g(x) + 1, g=lambda x: x * 10)
def a_function_of_the_student_passed_to_another(f, g):
    return f(g, torch.ones(2))


@program(f=lambda functions, x: [function(x) for function in functions])
def functions_in_a_list(f):
    return f([torch.sin, torch.cos], torch.zeros(1))


@program(f=lambda function, x: torch.autograd.grad(function(x).sum(), x)[0])
def the_gradient_of_a_given_callable(f):
    return f(torch.exp, torch.zeros(2, requires_grad=True))


def _numbers(n):
    for i in range(n):
        yield i * i


@program(f=_numbers)
def a_generator(f):
    return list(f(4)), [*f(0)]


@program(f=_numbers)
def a_generator_step_by_step(f):
    steps = f(2)
    seen = [next(steps), next(steps)]
    try:
        next(steps)
    except StopIteration:
        seen.append("end")
    return seen, iter(steps) is steps


@program(f=_numbers)
def a_generator_with_a_default_at_its_end(f):
    return next(f(0), "none")


@program(f=_numbers)
def two_generators_at_once(f):
    return list(zip(f(3), f(5), strict=False))


def _halves(x):
    while x.numel() > 1:
        x = x[: x.numel() // 2]
        yield x


@program(f=_halves)
def a_generator_of_tensors(f):
    return [t.tolist() for t in f(torch.arange(8.0))]


def _multiples(x):
    for i in range(1, 4):
        yield x * i


@program(f=_multiples)
def gradients_through_a_generator(f):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    sum(t.sum() for t in f(x)).backward()
    return x


def _shared(x):
    h = x**2
    yield h * 2
    yield h * h


@program(f=_shared)
def generator_items_that_share_a_graph(f):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    a, b = f(x)
    (a.sum() + b.sum()).backward()
    return x


def _endless():
    while True:
        yield 1


@program(f=_endless)
def an_endless_generator(f):
    steps = f()
    return [next(steps) for _ in range(3)]


def _failing():
    yield 1
    raise KeyError("inside")


@program(f=_failing)
def a_generator_that_raises(f):
    seen = []
    for value in f():
        seen.append(value)
    return seen


def _echo():
    got = yield 0
    while True:
        got = yield got * 2


@program(f=_echo)
def sending_into_a_generator(f):
    steps = f()
    return next(steps), steps.send(5), steps.send(7), steps.close()


@program(f=lambda a: lambda x: a * x)
def a_closure(f):
    g = f(3)
    return g(torch.ones(2)), g(5)


@program(f=lambda a: lambda x: a * x)
def gradients_through_a_closure(f):
    a = torch.tensor([3.0], requires_grad=True)
    x = torch.tensor([2.0], requires_grad=True)
    f(a)(x).backward()
    return a, x


@program(f=lambda f: f)
def the_name_of_a_function(f):
    return f(f) is f or True


def named_function(x):
    return x


@program(f=named_function)
def dunder_name(f):
    return f.__name__


@program(f=lambda x: print("out", x) or x)
def printing_changes_nothing(f):
    return f(3)


@program(f=lambda x: (x + 1, x + 1))
def equal_results_are_not_one_object(f):
    a, b = f(torch.ones(1))
    return a is b, a, b


@program(f=lambda xs: torch.stack(xs).sum(0))
def many_tensors(f):
    return f([torch.full((2,), float(i)) for i in range(100)])


@program(f=lambda n, x: x if n == 0 else x * n)
def recursion_stays_inside(f):
    return f(3, f(2, f(0, torch.ones(1))))
