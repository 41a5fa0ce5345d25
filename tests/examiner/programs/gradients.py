"""Backward, autograd.grad, higher orders, and what keeps or cuts the graph."""

from __future__ import annotations

import torch
from torch.autograd import gradcheck, gradgradcheck

from tests.examiner.program import program


def leaf(*values):
    return torch.tensor(values, requires_grad=True)


def double(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).requires_grad_()


@program(f=lambda x: (x**2).sum())
def backward_fills_grad(f):
    x = leaf(1.0, 2.0)
    f(x).backward()
    return x


@program(f=lambda x: (x**2).sum())
def backward_adds_to_grad(f):
    x = leaf(1.0, 2.0)
    f(x).backward()
    grad = x.grad
    f(x).backward()
    return x, grad


@program(f=lambda x: x**2)
def backward_with_a_vector(f):
    x = leaf(1.0, 2.0)
    f(x).backward(torch.tensor([1.0, 10.0]))
    return x


@program(f=lambda x, y: (x * y, x + y))
def several_inputs_and_outputs(f):
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    a, b = f(x, y)
    return torch.autograd.grad((a.sum() + 2 * b.sum()), (x, y)), a, b


@program(f=lambda x, y: (x * y, x + y))
def one_of_several_outputs(f):
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    _, b = f(x, y)
    return torch.autograd.grad(b.sum(), (x, y))


@program(f=lambda x, y: x * 2)
def an_unused_input_has_no_gradient(f):
    x, y = leaf(1.0), leaf(2.0)
    return torch.autograd.grad(f(x, y).sum(), (x, y), allow_unused=True)


@program(f=lambda x, y: x * 2)
def an_unused_input_is_an_error(f):
    x, y = leaf(1.0), leaf(2.0)
    return torch.autograd.grad(f(x, y).sum(), (x, y))


@program(f=lambda x, y: x * 2)
def an_unused_input_as_zeros(f):
    x, y = leaf(1.0), leaf(2.0, 3.0)
    return torch.autograd.grad(f(x, y).sum(), (x, y), materialize_grads=True)


@program(f=lambda x, y: x * y)
def an_input_that_needs_none(f):
    x, y = leaf(1.0, 2.0), torch.tensor([3.0, 4.0])
    out = f(x, y)
    out.sum().backward()
    return x, y, out


@program(f=lambda x: x.exp())
def a_second_backward_where_something_was_saved(f):
    x = leaf(1.0)
    y = f(x).sum()
    y.backward()
    try:
        y.backward()
    except RuntimeError:
        return "refused", x
    return x


@program(f=lambda x: x + 1)
def a_second_backward_where_nothing_was_saved(f):
    x = leaf(1.0)
    y = f(x)
    y.backward()
    y.backward()
    return x


@program(f=lambda x: x.exp())
def retain_graph_allows_a_second_backward(f):
    x = leaf(1.0)
    y = f(x)
    y.backward(retain_graph=True)
    y.backward()
    return x


@program(f=lambda x: x.exp())
def retain_graph_allows_only_as_many_as_it_says(f):
    x = leaf(1.0)
    y = f(x)
    y.backward(retain_graph=True)
    y.backward()
    y.backward()


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


@program(f=lambda a, b: torch.tanh(a @ b).sum(0))
def gradcheck_passes(f):
    return gradcheck(f, (double(2, 3), double(3, 2, seed=1)))


@program(f=lambda a, b: torch.tanh(a @ b).sum(0))
def gradgradcheck_passes(f):
    return gradgradcheck(f, (double(2, 2), double(2, 2, seed=1)))


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
def gradcheck_finds_a_wrong_gradient(f):
    return gradcheck(f, (double(3),), raise_exception=False), gradcheck


@program(f=_Wrong.apply)
def gradcheck_raises_its_own_error(f):
    gradcheck(f, (double(3),))


@program(f=lambda z: (z * z.conj()).real.sum())
def complex_gradients(f):
    z = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    f(z).backward()
    return z


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


@program(f=lambda x: x.retain_grad())
def retain_grad_on_a_non_leaf_argument(f):
    w = leaf(1.0)
    x = w * 2
    f(x)
    (x**2).sum().backward()
    return w, x


@program(f=lambda x: x * 3)
def a_hook_on_an_argument(f):
    x, seen = leaf(1.0, 2.0), []
    x.register_hook(seen.append)
    f(x).sum().backward()
    return x, seen


@program(f=lambda x: x * 3)
def a_hook_on_a_result_changes_the_gradient(f):
    x = leaf(1.0, 2.0)
    y = f(x)
    y.register_hook(lambda g: g * 10)
    y.sum().backward()
    return x


@program(f=lambda x: x * 3)
def a_hook_that_raises(f):
    x = leaf(1.0)
    y = f(x)

    def refuse(_):
        raise KeyError("hook")

    y.register_hook(refuse)
    y.sum().backward()


@program(f=lambda x: (x * 3).sum())
def a_hook_on_the_node_of_a_result(f):
    x, seen = leaf(1.0, 2.0), []
    y = f(x)
    y.grad_fn.register_hook(lambda gi, go: seen.append(go))
    y.backward()
    return x, seen


def _hooked(x):
    x.register_hook(lambda g: g.clamp(-1, 1))
    return (x * 5).sum()


@program(f=_hooked)
def a_hook_of_the_students_on_the_argument(f):
    x = leaf(1.0, 2.0)
    f(x).backward()
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


@program(f=lambda x: x * 1)
def post_accumulate_hooks(f):
    x, seen = leaf(1.0, 2.0), []
    x.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.clone()))
    f(x).sum().backward()
    return x, seen


@program(f=lambda x: x.expand(3, 2))
def a_result_that_is_expanded(f):
    x = leaf(1.0, 2.0)
    y = f(x)
    y.backward(torch.arange(6.0).reshape(3, 2))
    return x


@program(f=lambda x: x.to(torch.float64))
def gradients_through_a_cast(f):
    x = leaf(1.0, 2.0)
    f(x).sum().backward()
    return x


@program(f=lambda x: [x * 2, {"b": x * 3, "c": (x * 4, None)}])
def gradients_through_nested_results(f):
    x = leaf(1.0, 2.0)
    a, rest = f(x)
    (a.sum() + rest["b"].sum() + rest["c"][0].sum()).backward()
    return x


def _into(out, x):
    out.append(x * 7)
    out.append(x)


@program(f=_into)
def gradients_through_a_list_that_was_filled(f):
    x, out = leaf(1.0), []
    f(out, x)
    out[0].backward()
    return x, out[1] is x


@program(f=lambda items: sum(items))
def gradients_to_items_of_a_list(f):
    items = [leaf(1.0), leaf(2.0), leaf(3.0)]
    f(items).backward()
    return items


@program(f=lambda x: x * 2)
def composed_calls(f):
    x = leaf(1.0)
    f(f(f(x))).backward()
    return x


@program(f=lambda x, w: x * w)
def shared_inputs_of_two_calls(f):
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    (f(x, w).sum() + f(w, x).sum() + f(x, x).sum()).backward()
    return x, w


@program(f=lambda p: (p * 2).sum())
def a_parameter_of_the_checks(f):
    p = torch.nn.Parameter(torch.ones(3))
    f(p).backward()
    return p


@program(f=lambda x: x.sum())
def backward_to_chosen_inputs_only(f):
    x, y = leaf(1.0), leaf(2.0)
    f(x * y).backward(inputs=[x])
    return x, y


@program(f=lambda x: x.unbind(0))
def views_of_a_leaf_as_results(f):
    x = leaf(1.0, 2.0, 3.0)
    a, _, c = f(x)
    (a * c).backward()
    return x


@program(f=lambda x: torch.where(x > 0, x, 0.0 * x))
def anomaly_mode_changes_nothing(f):
    x = leaf(1.0, -1.0)
    with torch.autograd.set_detect_anomaly(True):
        f(x).sum().backward()
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
