# %% given
@probes.probe
def shared_upstream(replace_rows, h, rows, new, c):
    """The gradients of (replace_rows(h, rows, new) + h) * c, of its first part alone, and c afterwards."""
    h, new = h.clone().requires_grad_(), new.clone().requires_grad_()
    both = torch.autograd.grad((replace_rows(h, rows, new) + h) * c, (h, new), torch.ones_like(c))
    alone = torch.autograd.grad(replace_rows(h, rows, new), (h, new), c)
    return {"both": both, "alone": alone, "c": c}


# %% exercise
def replace_rows(h: Tensor, rows: Tensor, new: Tensor) -> Tensor:
    """A copy of h in which row rows[i] is new[i], for each i.

    h is (n, d), new is (k, d), and rows is (k,) with distinct numbers from 0 to n - 1 in any order.
    The result is differentiable with respect to h and new. A replaced row of h gets a gradient of 0, even if it holds
    NaN or infinity.
    The result has its own memory, which it doesn't share with h or new. h, rows, new and their .grad aren't changed,
    so if a node has saved one of them, its backward still works.

    Details:
    - n and d are at least 1. k may be 0.
    - rows is int64. h and new have the same dtype, float32 or float64. All three may have any strides.
    - h and new may require grad or not, and may be leaves or results of operations.
    - If k = n, no number of h is used, so its gradient may be 0 or None; the same goes for new if k = 0.
    - NaN and infinities in new and in the other rows of h appear in the result.
    """
    ### BEGIN SOLUTION
    result = h.clone()
    result[rows] = new
    return result
    ### END SOLUTION


# %% promises
# A copy of h in which -> example, leaf, other_cases
# h is (n, d), new -> example, leaf, other_cases, gradient
# The result is -> leaf, gradient, nan, saved_result
# A replaced row -> leaf, nan, gradient
# The result has its -> keeps_input
# h, rows, new and -> keeps_input, saved_result
# n and d are -> example, other_cases, gradient
# k may be 0 -> keeps_input
# rows is int64 -> example, other_cases, gradient
# h and new have -> example, other_cases, gradient
# All three may have -> other_cases, gradient
# h and new may require -> leaf, saved_result, keeps_input
# If k = n, no -> nan, gradient
# NaN and infinities in -> nan


# %% domain
@domain(
    reference,
    *("float32", "one column", "square", "one row replaced", "rows in order", "rows backwards"),
    *("no rows replaced", "no rows replaced, no grad", "all rows replaced", "all rows replaced, in order"),
    *("all rows replaced, in order, no grad", "one row", "one row, no grad"),
    *("NaN in replaced rows", "infinity in replaced rows", "NaN in kept rows", "NaN in new rows"),
    *("transposed", "every second one", "expanded"),
    *("neither requires grad", "only h requires grad", "only new requires grad", "from operations", "hold .grad"),
)
def arguments(draw, edge):
    n, d, g = draw(st.integers(5, 7)), draw(st.integers(2, 4)), draw.make_generator(here)
    n = 1 if "one row," in edge or edge == "one row" else n
    d = {"one column": 1, "square": n}.get(edge, d)
    n, d = (5, 3) if edge == "neither requires grad" else (n, d)  # two inputs of one size
    k = n if "all rows" in edge or n == 1 else 0 if "no rows" in edge else 1 if "one row" in edge else n // 2 + n % 2
    rows = torch.randperm(n, generator=g)[:k].sort(descending=edge == "rows backwards").values
    if "in order" not in edge and edge != "rows backwards":
        rows = rows.roll(draw(st.integers(1, 2)))  # three rows or more are in neither order then
    h, new = (torch.randn(size, d, dtype=torch.float64, generator=g) for size in (n, k))
    kept = torch.ones(n, dtype=torch.bool)
    kept[rows] = False
    if "NaN" in edge or "infinity" in edge:
        number = draw(st.sampled_from([math.inf, -math.inf])) if "infinity" in edge else math.nan
        places = {"NaN in kept rows": kept.nonzero()[0], "NaN in new rows": 0}.get(edge, rows)
        (new if edge == "NaN in new rows" else h)[places, draw(st.integers(0, d - 1)) :] = number
    h, new = ((t.float() if edge == "float32" else t) for t in (h, new))
    h, new = draw.apply_layout(h, edge), draw.apply_layout(new, edge)
    rows = draw.apply_layout(rows, edge) if edge == "every second one" else rows
    is_plain = "no grad" in edge or edge == "neither requires grad"
    h.requires_grad_(not is_plain and k < n and edge != "only new requires grad")
    new.requires_grad_(not is_plain and k > 0 and edge != "only h requires grad")
    if edge == "from operations":
        h, new = h * 1, new * 1
    if edge == "hold .grad":
        h.grad, new.grad = torch.full_like(h, 1000.0), torch.full_like(new, 2000.0)
    return h, rows, new


# %% checks
with check(
    "example",
    "two rows of four",
    weight=2,
    required=True,
    hint=(
        "Which row of the result is new[0]? Which of your lines uses the order of rows?",
        "Use rows itself as the index when you assign to a tensor that holds the values of h.",
    ),
):
    t = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]])
    t_new = torch.tensor([[10.0, 20.0], [30.0, 40.0]])
    want = torch.tensor([[30.0, 40.0], [3.0, 4.0], [10.0, 20.0], [7.0, 8.0]])
    explain(
        replace_rows(t, torch.tensor([2, 0]), t_new),
        want,
        {
            "the new rows went in by the order of the matrix, not in the order given by rows": torch.tensor(
                [[10.0, 20.0], [3.0, 4.0], [30.0, 40.0], [7.0, 8.0]]
            ),
            "the new rows were added to the old ones": torch.tensor(
                [[31.0, 42.0], [3.0, 4.0], [15.0, 26.0], [7.0, 8.0]]
            ),
        },
    )
with check(
    "leaf",
    "h and new are leaves that require grad, and get their gradients",
    weight=2,
    hint=(
        "May a leaf be written to? And which of your calls would cut h or new off from the result?",
        "h.clone() isn't a leaf, keeps the history, and has its own memory. Write to it, and return it.",
    ),
):
    t = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    t_new = torch.tensor([[9.0, 8.0]], requires_grad=True)
    upstream = torch.tensor([[0.5, 2.0], [3.0, 5.0]])
    want, want_new = torch.tensor([[0.5, 2.0], [0.0, 0.0]]), torch.tensor([[3.0, 5.0]])
    got = replace_rows(t, torch.tensor([1]), t_new)
    assert_close(got.detach(), torch.tensor([[1.0, 2.0], [9.0, 8.0]]))
    assert got.requires_grad, "your result doesn't require grad"
    explain(
        torch.autograd.grad(got, (t, t_new), upstream, allow_unused=True),
        (want, want_new),
        {
            "h was cut off: a detached tensor has no history, and neither has its clone": (None, want_new),
            "new was cut off": (want, None),
            "the write wasn't recorded: h gets the gradient of rows that are gone, and new gets none": (upstream, None),
        },
        name="the gradients of h and new",
    )

# %% hidden checks
with check(
    "other_cases",
    "other sizes, views, and float32",
    weight=2,
    required=True,
    hint="Does your code respect the order of rows? And does it work if h isn't contiguous?",
):
    exact = {"rtol": 0, "atol": 0}
    arguments.assert_results(replace_rows, "", "float32", "one column", "square", "one row replaced", **exact)
    arguments.assert_results(replace_rows, "rows in order", "rows backwards", "one row", "all rows replaced", **exact)
    arguments.assert_results(replace_rows, "transposed", "every second one", "expanded", **exact)
with check(
    "gradient",
    "the gradients for h and for new",
    weight=3,
    required=True,
    hint="Is your write recorded? What does a replaced row of h still contribute?",
):
    t = torch.arange(12.0).reshape(4, 3).requires_grad_()
    t_new = torch.full((2, 3), 0.5, requires_grad=True)
    weight = torch.arange(1.0, 13.0).reshape(4, 3) / 4
    kept = torch.tensor([[1.0], [0.0], [1.0], [0.0]])
    want = (weight * kept, torch.stack([weight[3], weight[1]]))
    value = t.detach().clone()
    value[1] = value[3] = 0.5
    got = replace_rows(t, torch.tensor([3, 1]), t_new)
    assert_close(got.detach(), value)
    assert got.requires_grad, "your result doesn't require grad"
    got = torch.autograd.grad((got * weight).sum(), (t, t_new), allow_unused=True)
    explain(
        got,
        want,
        {
            "the write wasn't recorded: h gets the gradient of rows that are gone, and new gets none": (weight, None),
            "h was cut off": (None, want[1]),
            "new was cut off": (want[0], None),
        },
    )
    t, t_new = torch.arange(12.0).reshape(4, 3), torch.full((2, 3), 0.5)
    want = {"both": (weight * (1 + kept), want[1]), "alone": want, "c": weight.clone()}
    got = shared_upstream(replace_rows, t, torch.tensor([3, 1]), t_new, weight)
    assert_close(got, want, name="gradients whose upstream gradient another node uses too,")
    arguments.assert_gradients(replace_rows, "", "float32", "one column", "square", "one row replaced")
    arguments.assert_gradients(replace_rows, "transposed", "every second one", "expanded", "all rows replaced")
    arguments.assert_gradients(replace_rows, "all rows replaced, in order", "one row")
with check(
    "nan",
    "NaN and infinity in a replaced row leave no trace",
    weight=2,
    hint="What is 0 * NaN? Does the old row take part in any arithmetic?",
):
    for edges in (("NaN in replaced rows", "infinity in replaced rows"), ("NaN in kept rows", "NaN in new rows")):
        arguments.assert_results(replace_rows, *edges)
        arguments.assert_gradients(replace_rows, *edges)
with check(
    "saved_result",
    "h and new may be results that a node has saved, and just one of them may require grad",
    weight=2,
    hint="What else may need the numbers in the memory of h?",
):
    t, t_rows = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True), torch.tensor([1])
    t_h = t.exp()  # exp keeps it
    want = t.detach().exp()
    want_grad = torch.stack([3 * want[0], 2 * want[1]])
    (got,) = torch.autograd.grad((replace_rows(t_h, t_rows, torch.zeros(1, 2)) + 2 * t_h).sum(), t)
    assert_close(got, want_grad, name="the gradient")
    t_new = torch.tensor([[0.5, -1.0]], requires_grad=True)
    t_saved = t_new.exp()
    want = 5 * t_new.detach().exp()
    got = 3 * replace_rows(t.detach(), t_rows, t_saved).sum() + 2 * t_saved.sum()
    (got,) = torch.autograd.grad(got, t_new)
    assert_close(got, want, name="the gradient of new")
    arguments.assert_results(replace_rows, "only h requires grad", "only new requires grad", "from operations")
    arguments.assert_gradients(replace_rows, "only h requires grad", "only new requires grad", "from operations")
with check(
    "keeps_input",
    "the arguments keep their values, and rows may be empty",
    weight=2,
    guard=True,
    hint="Does your function work on h itself, or on a copy?",
):
    arguments.assert_results(replace_rows, "no rows replaced", "no rows replaced, no grad", "one row, no grad")
    arguments.assert_results(replace_rows, "all rows replaced, in order", "all rows replaced, in order, no grad")
    arguments.assert_results(replace_rows, "neither requires grad", "hold .grad")
    arguments.assert_gradients(replace_rows, "neither requires grad", "no rows replaced")
    arguments.assert_arguments(replace_rows)
    arguments.assert_memory(replace_rows)


# %% right "index_copy"
def replace_rows(h, rows, new):
    return h.index_copy(0, rows, new)


# %% right "where, with the new rows scattered into zeros"
def replace_rows(h, rows, new):
    replaced = torch.zeros(len(h), 1, dtype=torch.bool)
    replaced[rows] = True
    return torch.where(replaced, torch.zeros_like(h).index_add(0, rows, new), h)


# %% right "stacked row by row"
def replace_rows(h, rows, new):
    place = {row: i for i, row in enumerate(rows.tolist())}
    return torch.stack([new[place[i]] if i in place else h[i] for i in range(len(h))])


# %% right "a write through a view of the clone"
def replace_rows(h, rows, new):
    result = h.clone()
    for row, values in zip(rows.tolist(), new):
        result[row].copy_(values)
    return result


# %% right "index_put"
def replace_rows(h, rows, new):
    return torch.index_put(h, (rows,), new)


# %% wrong "a detached clone is safe to write to" fails=leaf,gradient,nan,saved_result,keeps_input
def replace_rows(h, rows, new):
    result = h.detach().clone()
    result[rows] = new
    return result


# %% wrong "the write to the clone goes by .data" fails=leaf,gradient,nan,saved_result
def replace_rows(h, rows, new):
    result = h.clone()
    result.data[rows] = new.data
    return result


# %% wrong "new numbers are numbers" fails=leaf,gradient,nan,saved_result
def replace_rows(h, rows, new):
    result = h.clone()
    result[rows] = new.detach()
    return result


# %% wrong "a boolean mask keeps the order of rows" fails=example,other_cases,gradient,nan,saved_result,keeps_input
def replace_rows(h, rows, new):
    mask = torch.zeros(len(h), dtype=torch.bool)
    mask[rows] = True
    result = h.clone()
    result[mask] = new
    return result


# %% wrong "index_add puts rows in" fails=example,leaf,other_cases,gradient,nan,saved_result,keeps_input
def replace_rows(h, rows, new):
    return h.index_add(0, rows, new)
