"""The student's code changes the graph: in place, detached, backward inside, hooks."""

import torch

from tests.examiner.program import program


def leaf(*values):
    return torch.tensor(values, requires_grad=True)


def _under_no_grad(x):
    with torch.no_grad():
        return x * 2


def _require_and_use(x):
    x.requires_grad_()
    return (x * 5).sum()


@program(f=lambda x: x.mul_(2))
def in_place_on_a_non_leaf_is_recorded(f):
    w = leaf(1.0, 2.0)
    x = w * 3
    y = f(x)
    (y * x).sum().backward()
    return w, x, y


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


def _sgd(params, lr):
    with torch.no_grad():
        for p in params:
            p -= lr * p.grad
            p.grad = None


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


def _hooked(x):
    x.register_hook(lambda g: g.clamp(-1, 1))
    return (x * 5).sum()


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


def _refuses(x):
    def refuse(g):
        raise KeyError("hook")

    x.register_hook(refuse)
    return x * 3


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


one_result_detached = program(f=lambda x: (x.detach() * 2, x * 2))(lambda f: (f(x := leaf(1.0)), x))
all_detached = program(f=lambda x: x.detach())(lambda f: ((y := f(x := leaf(1.0, 2.0))).requires_grad, y.tolist(), x))
a_result_of_no_grad = program(f=_under_no_grad)(lambda f: f(leaf(1.0)))
a_new_parameter = program(f=lambda x: torch.nn.Parameter(x.detach().clone()))(lambda f: f(leaf(1.0)))
requires_grad_taken_away = program(f=lambda x: x.requires_grad_(False))(lambda f: (f(x := leaf(1.0)), x))
detached_in_place = program(f=lambda x: x.detach_())(lambda f: (f(x := (w := leaf(1.0, 2.0)) * 2), x, w))
in_place_on_a_leaf_is_refused = program(f=lambda x: x.mul_(2))(lambda f: f(leaf(1.0)))
grad_inside = program(f=lambda x: torch.autograd.grad((x**3).sum(), x))(lambda f: (f(x := leaf(1.0, 2.0)), x))


a_new_leaf_is_a_leaf = program(f=lambda x: torch.tensor(x.tolist(), requires_grad=True))(
    lambda f: (((y := f(x := leaf(1.0, 2.0))) * 3).sum().backward(), y, x)
)
requires_grad_set_on_the_argument = program(f=lambda x: x.requires_grad_())(
    lambda f: (((y := f(x := torch.ones(2))) * 2).sum().backward(), x, y)
)
requires_grad_set_and_used = program(f=_require_and_use)(lambda f: (f(x := torch.ones(2)).backward(), x))
in_place_with_a_leaf_makes_a_plain_tensor_a_result = program(f=lambda x, w: x.mul_(w))(
    lambda f: (f(x := torch.ones(2), w := leaf(2.0, 3.0)), x.sum().backward(), x, w)
)
in_place_and_a_result = program(f=lambda x, w: x.mul_(w) * w)(
    lambda f: (f(x := torch.ones(2), w := leaf(2.0, 3.0)).sum().backward(), x, w)
)
backward_inside_goes_on_beyond_a_non_leaf = program(f=_fill_grad)(lambda f: (f((w := leaf(1.0, 2.0)) * 2), w))
grad_inside_with_a_graph = program(f=lambda x: torch.autograd.grad((x**3).sum(), x, create_graph=True)[0])(
    lambda f: (f(x := leaf(1.0, 2.0)).sum().backward(), x)
)
grad_dropped_inside = program(f=_drop)(lambda f: (((x := leaf(1.0)) * 3).backward(), f(x), x))
grad_handed_back_is_the_same_object = program(f=lambda x: x.grad)(
    lambda f: (((x := leaf(1.0)) * 3).backward(), f(x) is x.grad, x)
)
a_step_of_gradient_descent = program(f=_sgd)(
    lambda f: (
        ((params := [leaf(1.0, 2.0), leaf(3.0)])[0].sum() * params[1]).sum().backward(),
        f(params, lr=0.1),
        params,
    )
)
retain_grad_on_a_non_leaf_argument = program(f=lambda x: x.retain_grad())(
    lambda f: (f(x := (w := leaf(1.0)) * 2), (x**2).sum().backward(), w, x)
)
a_hook_of_the_students_on_the_argument = program(f=_hooked)(lambda f: (f(x := leaf(1.0, 2.0)).backward(), x))
a_hook_left_on_a_leaf_sees_the_whole_gradient = program(f=_hooked)(
    lambda f: ((f(x := leaf(1.0, 2.0)) - (4.5 * x).sum()).backward(), x)
)
a_hook_left_on_a_result_sees_the_whole_gradient = program(f=_hooked)(
    lambda f: ((f(x := (w := leaf(1.0, 2.0)) * 3) - (4.5 * x).sum()).backward(), w)
)
two_calls_leave_two_hooks = program(f=_hooked)(lambda f: ((f(x := leaf(1.0, 2.0)) + f(x)).backward(), x))
a_hook_left_behind_the_accumulation = program(f=_halves_when_it_is_there)(
    lambda f: ((f(x := leaf(1.0, 2.0)) + x).sum().backward(), x)
)
a_hook_left_behind_that_raises = program(f=_refuses)(lambda f: (f(x := leaf(1.0, 2.0)).sum().backward(), x))
checkpointing_inside = program(f=lambda x: torch.utils.checkpoint.checkpoint(torch.sin, x, use_reentrant=False))(
    lambda f: (f(x := leaf(1.0, 2.0)).sum().backward(), x)
)
reentrant_checkpointing_inside = program(
    f=lambda x: torch.utils.checkpoint.checkpoint(torch.sin, x, use_reentrant=True)
)(lambda f: (f(x := leaf(1.0, 2.0)).sum().backward(), x))
