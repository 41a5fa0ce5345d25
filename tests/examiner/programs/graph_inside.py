"""What the student's code itself does to the graph: in place, detached, backward inside, hooks."""

from __future__ import annotations

import torch

from tests.examiner.program import program


def leaf(*values):
    return torch.tensor(values, requires_grad=True)


@program(f=lambda x: (x.detach() * 2, x * 2))
def one_result_detached(f):
    x = leaf(1.0)
    return f(x), x


@program(f=lambda x: x.detach())
def all_detached(f):
    x = leaf(1.0, 2.0)
    y = f(x)
    return y.requires_grad, y.tolist(), x


def _under_no_grad(x):
    with torch.no_grad():
        return x * 2


@program(f=_under_no_grad)
def a_result_of_no_grad(f):
    return f(leaf(1.0))


@program(f=lambda x: torch.tensor(x.tolist(), requires_grad=True))
def a_new_leaf_is_a_leaf(f):
    x = leaf(1.0, 2.0)
    y = f(x)
    (y * 3).sum().backward()
    return y, x


@program(f=lambda x: torch.nn.Parameter(x.detach().clone()))
def a_new_parameter(f):
    return f(leaf(1.0))


@program(f=lambda x: x.requires_grad_())
def requires_grad_set_on_the_argument(f):
    x = torch.ones(2)
    y = f(x)
    (y * 2).sum().backward()
    return x, y


def _require_and_use(x):
    x.requires_grad_()
    return (x * 5).sum()


@program(f=_require_and_use)
def requires_grad_set_and_used(f):
    x = torch.ones(2)
    f(x).backward()
    return x


@program(f=lambda x: x.requires_grad_(False))
def requires_grad_taken_away(f):
    x = leaf(1.0)
    return f(x), x


@program(f=lambda x: x.detach_())
def detached_in_place(f):
    w = leaf(1.0, 2.0)
    x = w * 2
    return f(x), x, w


@program(f=lambda x: x.mul_(2))
def in_place_on_a_leaf_is_refused(f):
    return f(leaf(1.0))


@program(f=lambda x: x.mul_(2))
def in_place_on_a_non_leaf_is_recorded(f):
    w = leaf(1.0, 2.0)
    x = w * 3
    y = f(x)
    (y * x).sum().backward()
    return w, x, y


@program(f=lambda x, w: x.mul_(w))
def in_place_with_a_leaf_makes_a_plain_tensor_a_result(f):
    x, w = torch.ones(2), leaf(2.0, 3.0)
    f(x, w)
    x.sum().backward()
    return x, w


@program(f=lambda x, w: x.mul_(w) * w)
def in_place_and_a_result(f):
    x, w = torch.ones(2), leaf(2.0, 3.0)
    f(x, w).sum().backward()
    return x, w


@program(f=lambda x: x.add_(1))
def in_place_invalidates_what_the_caller_saved(f):
    w = leaf(1.0)
    x = w.exp()
    f(x)
    x.sum().backward()


def _in_place_inside(x):
    h = x.exp()
    h.add_(1)
    return h.sum()


@program(f=_in_place_inside)
def in_place_on_what_was_saved_fails_in_backward(f):
    x = leaf(1.0)
    y = f(x)
    try:
        y.backward()
    except RuntimeError:
        return "refused", x
    return y


@program(f=lambda x: x * 2)
def a_change_between_forward_and_backward(f):
    x = leaf(1.0)
    h = x * 1
    y = f(h).sum() + (h**2).sum()
    h.add_(1)
    y.backward()


def _fill_grad(x):
    (x**3).sum().backward()


@program(f=_fill_grad)
def backward_inside_fills_the_callers_grad(f):
    x = leaf(1.0, 2.0)
    f(x)
    grad = x.grad
    f(x)
    return x, grad


@program(f=_fill_grad)
def backward_inside_goes_on_beyond_a_non_leaf(f):
    w = leaf(1.0, 2.0)
    f(w * 2)
    return w


@program(f=lambda x: torch.autograd.grad((x**3).sum(), x))
def grad_inside(f):
    x = leaf(1.0, 2.0)
    return f(x), x


@program(f=lambda x: torch.autograd.grad((x**3).sum(), x, create_graph=True)[0])
def grad_inside_with_a_graph(f):
    x = leaf(1.0, 2.0)
    f(x).sum().backward()
    return x


@program(f=lambda x: (x**3).sum().backward(create_graph=True))
def backward_inside_with_a_graph(f):
    x = leaf(1.0, 2.0)
    f(x)
    g, x.grad = x.grad, None
    g.sum().backward()
    return x


def _zero(x):
    x.grad.zero_()


@program(f=_zero)
def grad_set_to_zero_inside(f):
    x = leaf(1.0)
    (x * 3).backward()
    grad = x.grad
    f(x)
    return x, grad


def _drop(x):
    x.grad = None


@program(f=_drop)
def grad_dropped_inside(f):
    x = leaf(1.0)
    (x * 3).backward()
    return f(x), x


@program(f=lambda x: x.grad)
def grad_handed_back_is_the_same_object(f):
    x = leaf(1.0)
    (x * 3).backward()
    return f(x) is x.grad, x


def _sgd(params, lr):
    with torch.no_grad():
        for p in params:
            p -= lr * p.grad
            p.grad = None


@program(f=_sgd)
def a_step_of_gradient_descent(f):
    params = [leaf(1.0, 2.0), leaf(3.0)]
    (params[0].sum() * params[1]).sum().backward()
    f(params, lr=0.1)
    return params


def _changed_and_used(x, w):
    before = x * w
    x.mul_(2)
    return before + x * w, before


@program(f=_changed_and_used)
def results_from_before_and_after_a_change_in_place(f):
    v, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    x = v * 1
    y, before = f(x, w)
    (y.sum() + 10 * before.sum() + 100 * x.sum()).backward()
    return v, w, x


@program(f=lambda x: x.retain_grad())
def retain_grad_on_a_non_leaf_argument(f):
    w = leaf(1.0)
    x = w * 2
    f(x)
    (x**2).sum().backward()
    return w, x


def _hooked(x):
    x.register_hook(lambda g: g.clamp(-1, 1))
    return (x * 5).sum()


@program(f=_hooked)
def a_hook_of_the_students_on_the_argument(f):
    x = leaf(1.0, 2.0)
    f(x).backward()
    return x


@program(f=_hooked)
def a_hook_left_on_a_leaf_sees_the_whole_gradient(f):
    x = leaf(1.0, 2.0)
    (f(x) - (4.5 * x).sum()).backward()
    return x


@program(f=_hooked)
def a_hook_left_on_a_result_sees_the_whole_gradient(f):
    w = leaf(1.0, 2.0)
    x = w * 3
    (f(x) - (4.5 * x).sum()).backward()
    return w


@program(f=_hooked)
def two_calls_leave_two_hooks(f):
    x = leaf(1.0, 2.0)
    (f(x) + f(x)).backward()
    return x


@program(f=lambda x: x.register_hook(lambda g: 10 * g))
def a_hook_that_is_left_can_be_removed(f):
    x = leaf(1.0, 2.0)
    handle = f(x)
    (x * x).sum().backward()
    first = x.grad.clone()
    handle.remove()
    (x * x).sum().backward()
    return first, x


def _halves_when_it_is_there(x):
    x.register_post_accumulate_grad_hook(lambda t: t.grad.mul_(0.5))
    return x * 3


@program(f=_halves_when_it_is_there)
def a_hook_left_behind_the_accumulation(f):
    x = leaf(1.0, 2.0)
    (f(x) + x).sum().backward()
    return x


def _refuses(x):
    def refuse(g):
        raise KeyError("hook")

    x.register_hook(refuse)
    return x * 3


@program(f=_refuses)
def a_hook_left_behind_that_raises(f):
    x = leaf(1.0, 2.0)
    f(x).sum().backward()
    return x


def _hooked_inside(x):
    h = x * 2
    h.register_hook(lambda g: g * 100)
    return h.sum(), h


@program(f=_hooked_inside)
def a_hook_of_the_students_on_a_result(f):
    x = leaf(1.0, 2.0)
    y, h = f(x)
    (y + h.sum()).backward()
    return x


@program(f=lambda x: torch.utils.checkpoint.checkpoint(torch.sin, x, use_reentrant=False))
def checkpointing_inside(f):
    x = leaf(1.0, 2.0)
    f(x).sum().backward()
    return x


@program(f=lambda x: torch.utils.checkpoint.checkpoint(torch.sin, x, use_reentrant=True))
def reentrant_checkpointing_inside(f):
    x = leaf(1.0, 2.0)
    f(x).sum().backward()
    return x
