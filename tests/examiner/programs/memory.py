"""Aliasing, identity, and changes in place."""

from __future__ import annotations

import torch

from tests.examiner.program import program


@program(f=lambda x: x)
def the_argument_itself(f):
    x = torch.arange(6.0).reshape(2, 3)
    return f(x), x


@program(f=lambda x: [x, x.T, x])
def the_argument_and_a_view_of_it_in_a_list(f):
    x = torch.arange(6.0).reshape(2, 3)
    return f(x), x


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


@program(f=lambda x: x[:, 1:].T)
def a_view_of_a_view(f):
    big = torch.arange(24.0).reshape(4, 6)
    return f(big[1:3]), big


@program(f=lambda x: x.view(torch.int32))
def a_view_as_another_dtype(f):
    x = torch.tensor([1.0, -2.0])
    y = f(x)
    return y.untyped_storage().data_ptr() == x.untyped_storage().data_ptr(), y.tolist(), x


@program(f=lambda x: x.clone())
def a_copy_has_memory_of_its_own(f):
    x = torch.arange(3.0)
    return f(x), x


@program(f=lambda x: x.contiguous())
def contiguous_of_what_is_contiguous_is_the_argument(f):
    x = torch.arange(3.0)
    return f(x), x


@program(f=lambda x: x.contiguous())
def contiguous_of_what_is_not_is_a_copy(f):
    x = torch.arange(6.0).reshape(2, 3).T
    return f(x), x


@program(f=lambda x: x.split(2))
def several_views_of_one_argument(f):
    x = torch.arange(6)
    return f(x), x


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


@program(f=lambda a, b: a.add_(b))
def in_place_through_one_of_two_overlapping_arguments(f):
    x = torch.zeros(4)
    return f(x[:3], torch.ones(3)), x


@program(f=lambda a, b: (a.data_ptr() == b.data_ptr(), a is b))
def one_tensor_passed_twice(f):
    x = torch.ones(2)
    return f(x, x)


@program(f=lambda a, b: b.mul_(a[0] + 2))
def arguments_that_alias_each_other_alias_there(f):
    x = torch.arange(1.0, 5.0)
    return f(x, x[2:]), x


@program(f=lambda x: x.mul_(3))
def in_place_on_a_plain_tensor(f):
    x = torch.ones(3)
    return f(x), x


@program(f=lambda x: x.data.mul_(3) and None)
def in_place_through_data_is_not_counted(f):
    x = torch.ones(1)
    return f(x), x


def _write_through_numpy(x):
    x.numpy()[0] = 9


@program(f=_write_through_numpy)
def in_place_through_numpy_is_not_counted(f):
    x = torch.ones(3)
    return f(x), x


def _write_detached(x):
    x.detach()[0] = 9


@program(f=_write_detached)
def in_place_through_detach_is_counted(f):
    x = torch.ones(3, requires_grad=True)
    return f(x), x


def _write_view(x):
    x[1:].fill_(4)


@program(f=_write_view)
def in_place_on_a_view_inside(f):
    x = torch.zeros(4)
    return f(x), x


@program(f=_write_view)
def in_place_on_a_view_of_a_non_leaf(f):
    w = torch.ones(4, requires_grad=True)
    x = w * 3
    f(x)
    x.sum().backward()
    return w, x


def _no_grad_step(w, g):
    with torch.no_grad():
        w -= 0.5 * g


@program(f=_no_grad_step)
def a_leaf_changed_under_no_grad(f):
    w = torch.ones(3, requires_grad=True)
    return f(w, torch.arange(3.0)), w


def _data_step(w, g):
    w.data = w.data - g


@program(f=_data_step)
def a_leaf_whose_data_is_replaced(f):
    w = torch.ones(3, requires_grad=True)
    (w * 2).sum().backward()
    f(w, torch.arange(3.0))
    (w * w).sum().backward()
    return w


@program(f=lambda p: p.data.copy_(torch.tensor([5.0, 6.0])) is None)
def a_parameter_written_through_data(f):
    p = torch.nn.Parameter(torch.ones(2))
    return f(p), p


@program(f=lambda x: torch.add(x, 1, out=torch.empty(0)))
def out_into_a_tensor_of_the_students(f):
    return f(torch.ones(2, 2))


@program(f=lambda x, out: torch.add(x, 1, out=out))
def out_into_an_argument(f):
    x, out = torch.ones(2, 2), torch.zeros(2, 2)
    return f(x, out), out


@program(f=lambda x, out: torch.add(x, 1, out=out))
def out_into_an_empty_argument_that_grows(f):
    out = torch.empty(0)
    result = f(torch.ones(2, 2), out)
    return out.tolist(), out.shape, result is out


@program(f=lambda x: x.resize_(2))
def resized_to_less(f):
    x = torch.arange(4.0)
    return f(x).shape, x.tolist()


@program(f=lambda x: x.set_(torch.ones(3)))
def set_to_other_memory(f):
    x = torch.arange(4.0)
    f(x)
    return x.tolist(), x.shape


@program(f=lambda x: x.t_())
def transposed_in_place(f):
    x = torch.arange(6.0).reshape(2, 3)
    return f(x) is x, x.shape, x.stride(), x.tolist()


@program(f=lambda x: x.unsqueeze_(0))
def unsqueezed_in_place(f):
    x = torch.arange(3.0)
    f(x)
    return x.shape, x.tolist()


@program(f=lambda x: x.zero_())
def in_place_on_an_expanded_argument(f):
    x = torch.ones(1)
    try:
        f(x.expand(3))
    except RuntimeError:
        return "refused", x
    return x


@program(f=lambda x: x.index_put_((torch.tensor([0, 0, 2]),), torch.ones(3), accumulate=True))
def index_put_accumulates(f):
    x = torch.zeros(3)
    return f(x), x


def _append(items, x):
    items.append(x)
    items.append(items[0])


@program(f=_append)
def a_list_that_grows(f):
    items, x = [torch.zeros(1)], torch.ones(2)
    f(items, x)
    return items, x


def _rebuild(items):
    items[:] = [items[1], items[0], 3]


@program(f=_rebuild)
def a_list_whose_items_change_places(f):
    a, b = torch.zeros(1), torch.ones(1)
    items = [a, b]
    f(items)
    return items, a, b


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


@program(f=_edit_set)
def a_set_that_changes(f):
    members = {1, 2}
    return f(members), members


def _inner(items):
    items[0][1] = 5
    return items[0]


@program(f=_inner)
def a_nested_list_keeps_its_identity(f):
    inner = [1, 2]
    return f([inner, inner]), inner


def _write_then_fail(x, items):
    x.fill_(2)
    items.append(1)
    raise ValueError("late")


@program(f=_write_then_fail)
def what_changed_before_an_exception_stays_changed(f):
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


@program(f=_own_cycle)
def a_new_list_that_holds_itself(f):
    result = f()
    return result[0], result[1] is result


@program(f=lambda x: x[::2].add_(1))
def an_in_place_change_with_gaps(f):
    x = torch.zeros(5)
    return f(x), x


@program(f=lambda x: x.copy_(x.flip(0)))
def copy_onto_itself(f):
    x = torch.arange(4)
    return f(x), x


@program(f=lambda x: (x.untyped_storage().nbytes(), x.storage_offset(), x.numel()))
def the_whole_storage_is_there(f):
    return f(torch.arange(10.0)[3:5])
