"""A check's own functions, iterators and context managers, passed to a student, and what it sees of their use."""

import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

from labkit.recorded_calls import Seen
from tests.examiner.program import program


def _block(x):
    w = torch.linspace(-1, 1, 12).reshape(3, 4)
    return torch.tanh(x @ w)


@program(f=lambda g, x: g(x) * 2)
def a_function_of_the_checks_is_called(f):
    calls = []

    def g(x, *rest, **more):
        calls.append((x.tolist(), rest, more, torch.is_grad_enabled()))
        return x + 1

    return f(g, torch.ones(2)), calls


@program(f=lambda g: (g(1, [2.0, "three"], four={5: None}), g(torch.ones(1), 3)))
def values_of_all_kinds_go_both_ways(f):
    calls = []

    def g(*args, **kwargs):
        calls.append((args, kwargs) == given[len(calls)])
        return {"made": args[1:], "kw": kwargs}

    given = [((1, [2.0, "three"]), {"four": {5: None}}), ((torch.ones(1), 3), {})]
    return f(g) == ({"made": ([2.0, "three"],), "kw": {"four": {5: None}}}, {"made": (3,), "kw": {}}), calls


@program(f=lambda g, x: g(x).sin())
def gradients_flow_through_a_function_of_the_checks(f):
    x = torch.linspace(-1, 1, 6).reshape(2, 3).requires_grad_()
    y = f(_block_of_its_own(), x)
    y.pow(2).sum().backward()
    return y, x.grad


def _block_of_its_own():
    return lambda x: _block(x)


@program(f=lambda g, x: g(g(x)))
def gradients_reach_the_checks_own_weights(f):
    w = torch.linspace(-1, 1, 9).reshape(3, 3).requires_grad_()
    x = torch.linspace(-1, 1, 6).reshape(2, 3)
    f(lambda t: t @ w, x).sum().backward()
    first = w.grad.clone()
    f(lambda t: t @ w, x).sum().backward()
    return first, w.grad.tolist()


def _grads_inside(g, x):
    x = x.detach().requires_grad_()
    return torch.autograd.grad(g(x).sum(), x)[0]


@program(f=_grads_inside)
def torch_autograd_grad_leaves_the_checks_weights_alone(f):
    w = torch.linspace(-1, 1, 9).reshape(3, 3).requires_grad_()
    return f(lambda t: t @ w, torch.ones(2, 3)), w.grad


def _second(g, x):
    x = x.detach().requires_grad_()
    (first,) = torch.autograd.grad(g(x).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    return first.detach(), second


@program(f=lambda g, x: g(x))
def second_derivatives_from_outside(f):
    x = torch.linspace(-1, 1, 5).requires_grad_()
    (first,) = torch.autograd.grad(f(lambda t: t**3, x).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    return first, second


def _recomputed(g, x):
    return checkpoint(g, x, use_reentrant=False)


def _calls(seen):
    return [(call.grad, call.shapes, call.autocast) for call in seen.calls]


def _forward_and_backward(f):
    recorder = Seen(lambda x: _block(x))
    x = torch.linspace(-1, 1, 6).reshape(2, 3).requires_grad_()
    y = f(recorder, x)
    forward = len(recorder.calls), recorder.kept
    y.pow(2).sum().backward()
    return y, x.grad, forward, _calls(recorder), recorder.kept


class _ByHand(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, g):
        ctx.save_for_backward(x)
        ctx.g = g
        with torch.no_grad():
            return g(x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        x = x.detach().requires_grad_()
        with torch.enable_grad():
            y = ctx.g(x)
        return torch.autograd.grad(y, x, grad)[0], None


@program(f=lambda g, x: _ByHand.apply(g(x), g))
def a_checkpoint_after_a_plain_call(f):
    recorder = Seen(lambda t: torch.tanh(t @ torch.linspace(-1, 1, 9).reshape(3, 3)))
    x = torch.linspace(-1, 1, 6).reshape(2, 3).requires_grad_()
    y = f(recorder, x)
    kept = recorder.kept
    y.sum().backward()
    return y, x.grad, kept, _calls(recorder), recorder.kept


def _take(batches, step):
    return [step(batch) for batch in batches]


@program(f=_take)
def an_iterator_is_used_up_in_order(f):
    order = []

    def batches():
        for n in range(3):
            order.append(f"batch {n}")
            yield torch.full((2,), float(n))

    return f(batches(), lambda b: order.append("step") or b.sum().item()), order


class _Batches:
    """As a class of a check cell, whose module is __main__."""

    __module__ = "__main__"
    offers = ("scale",)

    def __init__(self):
        self.scale = 3.0

    def __len__(self):
        return 2

    def __iter__(self):
        return iter([1.0, 2.0])

    def __getitem__(self, n):
        return [1.0, 2.0][n]

    def step(self, x):
        return x * self.scale


@program(f=lambda o: o._hidden)
def nothing_with_an_underscore(f):
    try:
        f(_Batches())
    except AttributeError:
        return "refused"


class _Quiet:
    __module__ = "__main__"

    def __init__(self, log):
        self._log = log

    def __enter__(self):
        self._log.append("in")
        return 3

    def __exit__(self, kind, *_):
        self._log.append(kind and kind.__name__)
        return kind is ValueError


def _within(manager, error):
    with manager as three:
        if error:
            raise error("x")
        return three
    return "left"


def _tries(run):
    found = []
    for n in (4, 2, 1):
        try:
            found.append(run(n))
        except torch.OutOfMemoryError:
            found.append("out of memory")
    return found


@program(f=_tries)
def an_exception_of_the_checks(f):
    def run(n):
        if n > 1:
            raise torch.OutOfMemoryError("too many")
        return n

    return f(run)


@program(f=lambda run: run())
def an_exception_that_passes_through(f):
    def run():
        raise KeyError("gone")

    return f(run)


@program(f=lambda g, x: (torch.manual_seed(3), g(x), torch.rand(2), F.dropout(x)))
def random_numbers_are_drawn_from_one_stream(f):
    torch.manual_seed(1)
    return f(lambda x: x * torch.rand(2), torch.ones(2))[1:], torch.rand(1)


def _modes(g, x):
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        g(x)
    with torch.inference_mode():
        g(x)
    g(x)


@program(f=_modes)
def the_modes_of_the_caller(f):
    recorder = Seen(lambda x: x @ x.T)
    modes = []

    def g(x):
        modes.append((torch.is_inference_mode_enabled(), torch.get_autocast_dtype("cpu")))
        return recorder(x)

    f(g, torch.ones(2, 2))
    return modes, [(c.grad, c.autocast, c.dtypes) for c in recorder.calls], torch.is_grad_enabled()


@program(f=lambda g, w: g(w))
def a_change_in_place(f):
    w = torch.ones(3)

    def step(w):
        w -= 0.5

    return f(step, w), w.tolist()


@program(f=lambda g: g)
def a_function_is_returned_as_itself(f):
    def g():
        pass

    return f(g) is g


def _hooked(x, seen):
    x.register_hook(lambda grad: seen(grad))
    return x * 2


@program(f=_hooked)
def a_hook_that_calls_back(f):
    grads = []
    x = torch.ones(2, requires_grad=True)
    f(x, lambda g: grads.append(g.tolist())).sum().backward()
    return grads, x.grad


second_derivatives = program(f=_second)(lambda f: f(lambda t: t**3 * 2, torch.linspace(-1, 1, 5)))
a_checkpoint_computes_again_and_keeps_no_graph = program(f=_recomputed)(lambda f: _forward_and_backward(f))
the_older_checkpoint_too = program(f=lambda g, x: checkpoint(g, x, use_reentrant=True))(
    lambda f: _forward_and_backward(f)
)
a_plain_call_keeps_its_graph_until_backward = program(f=lambda g, x: g(x))(lambda f: _forward_and_backward(f))
a_checkpoint_by_hand = program(f=lambda g, x: _ByHand.apply(x, g))(lambda f: _forward_and_backward(f))
an_iterator_by_hand = program(f=lambda items: (next(items), [*items], [*items]))(lambda f: f(iter([1, 2, 3])))
an_object_of_the_courses = program(f=lambda batches: (len(batches), [*batches], [*batches], batches[1]))(
    lambda f: f(_Batches())
)
methods_and_attributes = program(f=lambda o, x: (o.step(x), o.scale))(lambda f: f(_Batches(), torch.ones(2)))
a_context_manager = program(f=_within)(lambda f: (f(_Quiet(log := []), None), f(_Quiet(log), ValueError), log))
a_function_that_makes_a_function = program(f=lambda make: make(3)(torch.ones(1)))(
    lambda f: f(lambda n: lambda x: x * n)
)
