"""Ways to call: arguments, defaults, callables by name, generators, state between calls."""

import torch
import torch.nn.functional as F

from tests.examiner.program import program


def course_square(x):
    return x * x


class CourseError(ValueError):
    pass


def _default(x, scale=2.0, *rest, shift=None, **more):
    return x * scale, rest, shift, sorted(more.items())


def _collect(x, seen=[]):  # noqa: B006 - the mistake is the point
    seen.append(x)
    return len(seen)


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


@program(given={"course_square": course_square}, f=lambda function, x: function(x) + 1)
def a_given_function_by_name(f):
    x = torch.tensor([3.0], requires_grad=True)
    y = f(course_square, x)
    y.backward()
    return y, x


def _numbers(n):
    for i in range(n):
        yield i * i


@program(f=_numbers)
def a_generator_step_by_step(f):
    steps = f(2)
    seen = [next(steps), next(steps)]
    try:
        next(steps)
    except StopIteration:
        seen.append("end")
    return seen, iter(steps) is steps


def _halves(x):
    while x.numel() > 1:
        x = x[: x.numel() // 2]
        yield x


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


def named_function(x):
    return x


@program(f=lambda x: (x + 1, x + 1))
def equal_results_are_not_one_object(f):
    a, b = f(torch.ones(1))
    return a is b, a, b


keywords_and_defaults = program(f=_default)(
    lambda f: (f(x := torch.ones(1)), f(x, 3), f(x, scale=4), f(x, 1, 2, 3, shift=x, extra=[1]))
)
keyword_arguments_alias = program(f=_default)(lambda f: (f(x := torch.ones(1), shift=x), f(x=x, more=x)))
a_missing_argument = program(f=_default)(lambda f: f())
too_many_arguments = program(f=lambda x: x)(lambda f: f(1, 2))
an_unknown_keyword = program(f=lambda x: x)(lambda f: f(1, y=2))
a_mutable_default_remembers = program(f=_collect)(lambda f: (f(1), f(2), f(3)))
types_by_name = program(f=lambda kind, v: kind(v))(
    lambda f: (f(float, "1.5"), f(list, (1, 2)), type(f(torch.nn.Parameter, torch.ones(1))).__name__)
)
a_given_function_as_result = program(given={"course_square": course_square}, f=lambda: course_square)(
    lambda f: (f() is course_square, f()(3))
)
a_function_of_torch_as_result = program(f=lambda: torch.relu)(lambda f: f() is torch.relu)
a_function_of_the_student_passed_to_another = program(f=lambda g, x: g(x) + 1, g=lambda x: x * 10)(
    lambda f, g: f(g, torch.ones(2))
)
functions_in_a_list = program(f=lambda functions, x: [function(x) for function in functions])(
    lambda f: f([torch.sin, torch.cos], torch.zeros(1))
)
the_gradient_of_a_given_callable = program(f=lambda function, x: torch.autograd.grad(function(x).sum(), x)[0])(
    lambda f: f(torch.exp, torch.zeros(2, requires_grad=True))
)
a_generator = program(f=_numbers)(lambda f: (list(f(4)), [*f(0)]))
a_generator_with_a_default_at_its_end = program(f=_numbers)(lambda f: next(f(0), "none"))
two_generators_at_once = program(f=_numbers)(lambda f: list(zip(f(3), f(5), strict=False)))
a_generator_of_tensors = program(f=_halves)(lambda f: [t.tolist() for t in f(torch.arange(8.0))])
sending_into_a_generator = program(f=_echo)(lambda f: (next(steps := f()), steps.send(5), steps.send(7), steps.close()))
a_closure = program(f=lambda a: lambda x: a * x)(lambda f: ((g := f(3))(torch.ones(2)), g(5)))
the_name_of_a_function = program(f=lambda f: f)(lambda f: f(f) is f or True)
dunder_name = program(f=named_function)(lambda f: f.__name__)
printing_changes_nothing = program(f=lambda x: print("out", x) or x)(lambda f: f(3))
many_tensors = program(f=lambda xs: torch.stack(xs).sum(0))(
    lambda f: f([torch.full((2,), float(i)) for i in range(100)])
)
recursion_stays_inside = program(f=lambda n, x: x if n == 0 else x * n)(lambda f: f(3, f(2, f(0, torch.ones(1)))))


gradients_through_a_closure = program(f=lambda a: lambda x: a * x)(
    lambda f: (
        f(a := torch.tensor([3.0], requires_grad=True))(x := torch.tensor([2.0], requires_grad=True)).backward(),
        a,
        x,
    )
)
