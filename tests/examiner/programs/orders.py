"""Derivatives of higher order, and results that depend on each other."""

import torch
from torch.autograd import gradcheck, gradgradcheck

from tests.examiner.program import program


def leaf(*values):
    return torch.tensor(values, requires_grad=True)


def double(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).requires_grad_()


@program(f=lambda x: x**3)
def second_order(f):
    x = leaf(2.0, 3.0)
    (g,) = torch.autograd.grad(f(x).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    return g, h


@program(f=lambda x: x**4)
def third_order(f):
    x = leaf(2.0)
    g = f(x)
    seen = []
    for _ in range(3):
        (g,) = torch.autograd.grad(g.sum(), x, create_graph=True)
        seen.append(g)
    return seen


@program(f=lambda x: x.sin())
def fourth_order_by_backward(f):
    x = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    y = f(x)
    for _ in range(3):
        (y,) = torch.autograd.grad(y, x, create_graph=True)
    y.backward()
    return x


@program(f=lambda x, y: (x * y).sum())
def a_hessian_across_two_inputs(f):
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    (g,) = torch.autograd.grad(f(x, y), x, create_graph=True)
    return torch.autograd.grad(g.sum(), (x, y), allow_unused=True)


@program(f=lambda x: (x**3).sum())
def a_gradient_penalty(f):
    x = leaf(1.0, 2.0)
    loss = f(x)
    (g,) = torch.autograd.grad(loss, x, create_graph=True)
    (loss + g.square().sum()).backward()
    return x


@program(f=lambda x: x.exp())
def create_graph_through_grad_outputs(f):
    x, v = leaf(0.5, 1.5), leaf(1.0, -1.0)
    (g,) = torch.autograd.grad(f(x), x, v, create_graph=True)
    return torch.autograd.grad(g.sum(), (x, v))


@program(f=lambda x: x.exp())
def backward_with_create_graph(f):
    x = leaf(0.5)
    f(x).sum().backward(create_graph=True)
    g = x.grad
    x.grad = None
    g.sum().backward()
    return x, g


class _Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x * g


@program(f=_Wrong.apply)
def gradcheck_raises_its_own_error(f):
    gradcheck(f, (double(3),))


def _retain(x):
    h = x * 2
    h.retain_grad()
    return h, h.sum()


@program(f=_retain)
def a_result_that_retains_its_gradient(f):
    x = leaf(1.0, 2.0)
    h, loss = f(x)
    (loss + h.sum()).backward()
    return h, x


def _hidden_and_loss(x):
    h = x**2
    return h, (h * x).sum()


@program(f=_hidden_and_loss)
def the_gradient_of_one_result_to_another(f):
    x = leaf(1.0, 2.0)
    h, loss = f(x)
    (to_h,) = torch.autograd.grad(loss, h, retain_graph=True)
    (to_x,) = torch.autograd.grad(loss, x, retain_graph=True)
    loss.backward()
    return to_h, to_x.tolist(), x


@program(f=_hidden_and_loss)
def both_results_in_one_backward(f):
    x, seen = leaf(1.0, 2.0), []
    h, loss = f(x)
    h.register_hook(lambda g: seen.append(g.tolist()))
    (h.sum() + loss).backward()
    return x, seen


@program(f=_hidden_and_loss)
def results_of_results_allow_no_second_backward(f):
    x = leaf(1.0, 2.0)
    h, loss = f(x)
    loss.backward()
    try:
        h.sum().backward()
    except RuntimeError:
        return "refused", x


@program(f=_hidden_and_loss)
def results_of_results_to_the_second_order(f):
    x = leaf(1.0, 2.0)
    h, loss = f(x)
    (g,) = torch.autograd.grad(loss, x, create_graph=True)
    return torch.autograd.grad(g.sum() + h.sum(), x)[0].tolist()


def _layers(x):
    seen = [x]
    for i in range(1, 4):
        seen.append(seen[-1] * i + x)
    return seen


@program(f=_layers)
def a_chain_of_results(f):
    x = leaf(1.0, 2.0)
    seen = f(x)
    for t in seen[1:]:
        t.retain_grad()
    seen[-1].sum().backward()
    return [t.grad.tolist() for t in seen]


gradcheck_passes = program(f=lambda a, b: torch.tanh(a @ b).sum(0))(
    lambda f: gradcheck(f, (double(2, 3), double(3, 2, seed=1)))
)
gradgradcheck_passes = program(f=lambda a, b: torch.tanh(a @ b).sum(0))(
    lambda f: gradgradcheck(f, (double(2, 2), double(2, 2, seed=1)))
)
gradcheck_finds_a_wrong_gradient = program(f=_Wrong.apply)(
    lambda f: (gradcheck(f, (double(3),), raise_exception=False), gradcheck)
)


complex_gradients = program(f=lambda z: (z * z.conj()).real.sum())(
    lambda f: (f(z := torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)).backward(), z)
)
