"""Aliasing, identity, and changes in place."""

import torch

from tests.examiner.program import program


@program(f=lambda x: x[1])
def a_view_shares_the_arguments_memory(f):
    x = torch.arange(6.0).reshape(2, 3)
    y = f(x)
    x[1, 1] = 50
    return y, x


@program(f=lambda x: x[1])
def a_change_of_a_view_counts_for_its_base(f):
    x = torch.arange(6.0).reshape(2, 3)
    y = f(x)
    y += 1
    return y, x


def _two_views_of_a_new_tensor(n):
    base = torch.arange(float(n))
    return base[: n // 2], base[n // 2 :]


@program(f=_two_views_of_a_new_tensor)
def results_that_share_memory_with_each_other(f):
    a, b = f(6)
    b[0] = 77
    return (
        a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr(),
        a.storage_offset(),
        b.storage_offset(),
        b.tolist(),
    )


def _write_through_numpy(x):
    x.numpy()[0] = 9


def _write_detached(x):
    x.detach()[0] = 9


def _write_view(x):
    x[1:].fill_(4)


def _no_grad_step(w, g):
    with torch.no_grad():
        w -= 0.5 * g


def _data_step(w, g):
    w.data = w.data - g


@program(f=_data_step)
def a_leaf_whose_data_is_replaced(f):
    w = torch.ones(3, requires_grad=True)
    (w * 2).sum().backward()
    f(w, torch.arange(3.0))
    (w * w).sum().backward()
    return w


@program(f=lambda x, out: torch.add(x, 1, out=out))
def out_into_an_empty_argument_that_grows(f):
    out = torch.empty(0)
    result = f(torch.ones(2, 2), out)
    return out.tolist(), out.shape, result is out


@program(f=lambda x: x.zero_())
def in_place_on_an_expanded_argument(f):
    x = torch.ones(1)
    try:
        f(x.expand(3))
    except RuntimeError:
        return "refused", x
    return x


def _append(items, x):
    items.append(x)
    items.append(items[0])


def _rebuild(items):
    items[:] = [items[1], items[0], 3]


def _edit(table):
    table["new"] = [1, 2]
    del table["old"]
    table["kept"].append(3)


@program(f=_edit)
def a_dict_that_changes(f):
    table = {"old": 1, "kept": [0]}
    kept = table["kept"]
    return f(table), table, kept


def _edit_set(members):
    members.add(3)
    members.discard(1)


def _inner(items):
    items[0][1] = 5
    return items[0]


def _write_then_fail(x, items):
    x.fill_(2)
    items.append(1)
    raise ValueError("late")


@program(f=_write_then_fail)
def changes_before_an_exception_stay(f):
    x, items = torch.zeros(2), []
    try:
        f(x, items)
    except ValueError as error:
        return error, x, items


@program(f=lambda items: items)
def a_list_that_holds_itself(f):
    items = [1]
    items.append(items)
    result = f(items)
    return result is items, result[1] is items


def _own_cycle():
    items = [1]
    items.append(items)
    return items


the_argument_itself = program(f=lambda x: x)(lambda f: (f(x := torch.arange(6.0).reshape(2, 3)), x))
the_argument_and_a_view_of_it_in_a_list = program(f=lambda x: [x, x.T, x])(
    lambda f: (f(x := torch.arange(6.0).reshape(2, 3)), x)
)
a_view_of_a_view = program(f=lambda x: x[:, 1:].T)(lambda f: (f((big := torch.arange(24.0).reshape(4, 6))[1:3]), big))
a_view_as_another_dtype = program(f=lambda x: x.view(torch.int32))(
    lambda f: (
        (y := f(x := torch.tensor([1.0, -2.0]))).untyped_storage().data_ptr() == x.untyped_storage().data_ptr(),
        y.tolist(),
        x,
    )
)
a_copy_has_its_own_memory = program(f=lambda x: x.clone())(lambda f: (f(x := torch.arange(3.0)), x))
contiguous_of_what_is_contiguous_is_the_argument = program(f=lambda x: x.contiguous())(
    lambda f: (f(x := torch.arange(3.0)), x)
)
contiguous_of_what_is_not_is_a_copy = program(f=lambda x: x.contiguous())(
    lambda f: (f(x := torch.arange(6.0).reshape(2, 3).T), x)
)
several_views_of_one_argument = program(f=lambda x: x.split(2))(lambda f: (f(x := torch.arange(6)), x))
in_place_through_one_of_two_overlapping_arguments = program(f=lambda a, b: a.add_(b))(
    lambda f: (f((x := torch.zeros(4))[:3], torch.ones(3)), x)
)
one_tensor_passed_twice = program(f=lambda a, b: (a.data_ptr() == b.data_ptr(), a is b))(
    lambda f: f(x := torch.ones(2), x)
)
arguments_that_alias_each_other_alias_there = program(f=lambda a, b: b.mul_(a[0] + 2))(
    lambda f: (f(x := torch.arange(1.0, 5.0), x[2:]), x)
)
in_place_on_a_plain_tensor = program(f=lambda x: x.mul_(3))(lambda f: (f(x := torch.ones(3)), x))
in_place_through_data_is_not_counted = program(f=lambda x: x.data.mul_(3) and None)(
    lambda f: (f(x := torch.ones(1)), x)
)
in_place_through_numpy_is_not_counted = program(f=_write_through_numpy)(lambda f: (f(x := torch.ones(3)), x))
in_place_through_detach_is_counted = program(f=_write_detached)(
    lambda f: (f(x := torch.ones(3, requires_grad=True)), x)
)
in_place_on_a_view_inside = program(f=_write_view)(lambda f: (f(x := torch.zeros(4)), x))
a_leaf_changed_under_no_grad = program(f=_no_grad_step)(
    lambda f: (f(w := torch.ones(3, requires_grad=True), torch.arange(3.0)), w)
)
a_parameter_written_through_data = program(f=lambda p: p.data.copy_(torch.tensor([5.0, 6.0])) is None)(
    lambda f: (f(p := torch.nn.Parameter(torch.ones(2))), p)
)
out_into_a_tensor_of_the_students = program(f=lambda x: torch.add(x, 1, out=torch.empty(0)))(
    lambda f: f(torch.ones(2, 2))
)
out_into_an_argument = program(f=lambda x, out: torch.add(x, 1, out=out))(
    lambda f: (f(torch.ones(2, 2), out := torch.zeros(2, 2)), out)
)
resized_to_less = program(f=lambda x: x.resize_(2))(lambda f: (f(x := torch.arange(4.0)).shape, x.tolist()))
transposed_in_place = program(f=lambda x: x.t_())(
    lambda f: (f(x := torch.arange(6.0).reshape(2, 3)) is x, x.shape, x.stride(), x.tolist())
)
index_put_accumulates = program(f=lambda x: x.index_put_((torch.tensor([0, 0, 2]),), torch.ones(3), accumulate=True))(
    lambda f: (f(x := torch.zeros(3)), x)
)
a_set_that_changes = program(f=_edit_set)(lambda f: (f(members := {1, 2}), members))
a_nested_list_keeps_its_identity = program(f=_inner)(lambda f: (f([(inner := [1, 2]), inner]), inner))
a_new_list_that_holds_itself = program(f=_own_cycle)(lambda f: ((result := f())[0], result[1] is result))
an_in_place_change_with_gaps = program(f=lambda x: x[::2].add_(1))(lambda f: (f(x := torch.zeros(5)), x))
copy_onto_itself = program(f=lambda x: x.copy_(x.flip(0)))(lambda f: (f(x := torch.arange(4)), x))
the_whole_storage_is_there = program(f=lambda x: (x.untyped_storage().nbytes(), x.storage_offset(), x.numel()))(
    lambda f: f(torch.arange(10.0)[3:5])
)


in_place_on_a_view_of_a_non_leaf = program(f=_write_view)(
    lambda f: (f(x := (w := torch.ones(4, requires_grad=True)) * 3), x.sum().backward(), w, x)
)
set_to_other_memory = program(f=lambda x: x.set_(torch.ones(3)))(
    lambda f: (f(x := torch.arange(4.0)), x.tolist(), x.shape)
)
unsqueezed_in_place = program(f=lambda x: x.unsqueeze_(0))(lambda f: (f(x := torch.arange(3.0)), x.shape, x.tolist()))
a_list_that_grows = program(f=_append)(lambda f: (f(items := [torch.zeros(1)], x := torch.ones(2)), items, x))
a_list_whose_items_change_places = program(f=_rebuild)(
    lambda f: (f(items := [(a := torch.zeros(1)), (b := torch.ones(1))]), items, a, b)
)
