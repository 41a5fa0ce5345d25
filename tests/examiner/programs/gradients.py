"""Backward and autograd.grad through a call, and the examiner's hooks."""

import torch

from tests.examiner.program import program


def leaf(*values):
    return torch.tensor(values, requires_grad=True)


@program(f=lambda x: (x**2).sum())
def backward_adds_to_grad(f):
    x = leaf(1.0, 2.0)
    f(x).backward()
    grad = x.grad
    f(x).backward()
    return x, grad


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


@program(f=lambda x: x.exp())
def a_second_backward_with_saved_tensors(f):
    x = leaf(1.0)
    y = f(x).sum()
    y.backward()
    try:
        y.backward()
    except RuntimeError:
        return "refused", x
    return x


@program(f=lambda x: x.exp())
def retain_graph_allows_only_as_many_as_it_says(f):
    x = leaf(1.0)
    y = f(x)
    y.backward(retain_graph=True)
    y.backward()
    y.backward()


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


@program(f=lambda x: x * 1)
def post_accumulate_hooks(f):
    x, seen = leaf(1.0, 2.0), []
    x.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.clone()))
    f(x).sum().backward()
    return x, seen


@program(f=lambda x: [x * 2, {"b": x * 3, "c": (x * 4, None)}])
def gradients_through_nested_results(f):
    x = leaf(1.0, 2.0)
    a, rest = f(x)
    (a.sum() + rest["b"].sum() + rest["c"][0].sum()).backward()
    return x


def _into(out, x):
    out.append(x * 7)
    out.append(x)


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


an_unused_input_has_no_gradient = program(f=lambda x, y: x * 2)(
    lambda f: torch.autograd.grad(f(x := leaf(1.0), y := leaf(2.0)).sum(), (x, y), allow_unused=True)
)
an_unused_input_is_an_error = program(f=lambda x, y: x * 2)(
    lambda f: torch.autograd.grad(f(x := leaf(1.0), y := leaf(2.0)).sum(), (x, y))
)
an_unused_input_as_zeros = program(f=lambda x, y: x * 2)(
    lambda f: torch.autograd.grad(f(x := leaf(1.0), y := leaf(2.0, 3.0)).sum(), (x, y), materialize_grads=True)
)


backward_fills_grad = program(f=lambda x: (x**2).sum())(lambda f: (f(x := leaf(1.0, 2.0)).backward(), x))
backward_with_a_vector = program(f=lambda x: x**2)(
    lambda f: (f(x := leaf(1.0, 2.0)).backward(torch.tensor([1.0, 10.0])), x)
)
an_input_that_needs_none = program(f=lambda x, y: x * y)(
    lambda f: ((out := f(x := leaf(1.0, 2.0), y := torch.tensor([3.0, 4.0]))).sum().backward(), x, y, out)
)
a_second_backward_without_saved_tensors = program(f=lambda x: x + 1)(
    lambda f: ((y := f(x := leaf(1.0))).backward(), y.backward(), x)
)
retain_graph_allows_a_second_backward = program(f=lambda x: x.exp())(
    lambda f: ((y := f(x := leaf(1.0))).backward(retain_graph=True), y.backward(), x)
)
a_hook_on_an_argument = program(f=lambda x: x * 3)(
    lambda f: ((x := leaf(1.0, 2.0)).register_hook((seen := []).append), f(x).sum().backward(), x, seen)
)
a_hook_on_a_result_changes_the_gradient = program(f=lambda x: x * 3)(
    lambda f: ((y := f(x := leaf(1.0, 2.0))).register_hook(lambda g: g * 10), y.sum().backward(), x)
)
a_result_that_is_expanded = program(f=lambda x: x.expand(3, 2))(
    lambda f: (f(x := leaf(1.0, 2.0)).backward(torch.arange(6.0).reshape(3, 2)), x)
)
gradients_through_a_cast = program(f=lambda x: x.to(torch.float64))(
    lambda f: (f(x := leaf(1.0, 2.0)).sum().backward(), x)
)
gradients_through_a_list_that_was_filled = program(f=_into)(
    lambda f: (f(out := [], x := leaf(1.0)), out[0].backward(), x, out[1] is x)
)
gradients_to_items_of_a_list = program(f=lambda items: sum(items))(
    lambda f: (f(items := [leaf(1.0), leaf(2.0), leaf(3.0)]).backward(), items)
)
composed_calls = program(f=lambda x: x * 2)(lambda f: (f(f(f(x := leaf(1.0)))).backward(), x))
shared_inputs_of_two_calls = program(f=lambda x, w: x * w)(
    lambda f: ((f(x := leaf(1.0, 2.0), w := leaf(3.0, 4.0)).sum() + f(w, x).sum() + f(x, x).sum()).backward(), x, w)
)
a_parameter_of_the_checks = program(f=lambda p: (p * 2).sum())(
    lambda f: (f(p := torch.nn.Parameter(torch.ones(3))).backward(), p)
)
backward_to_chosen_inputs_only = program(f=lambda x: x.sum())(
    lambda f: (f((x := leaf(1.0)) * (y := leaf(2.0))).backward(inputs=[x]), x, y)
)
