# %% exercise
def replace_rows(h: Tensor, rows: Tensor, new: Tensor) -> Tensor:
    """h with some of its rows replaced: row rows[i] of the result is new[i].

    h (n, d), rows (k,) int64 with distinct numbers from 0 to n - 1 in any order, new (k, d) of h's dtype, float32 or
    float64. k may be 0. h and new may require grad or not, and may be leaves or results.
    The result is differentiable for both. A replaced row of h gets the gradient 0, also where it holds NaN or infinity.
    h and new keep their values, and a graph that has saved them stays usable. The result has memory of its own, also
    for k = 0: whoever writes to it changes neither h nor new.
    """
    ### BEGIN SOLUTION
    result = h.clone()
    result[rows] = new
    return result
    ### END SOLUTION


# %% checks
with check(
    "example",
    "two rows of four",
    weight=2,
    required=True,
    hint=(
        "Which row of the result is new[0]? Which of your steps reads the order of rows?",
        "Use rows itself as the index of an assignment, into a tensor with the values of h.",
    ),
):
    t = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]])
    t_new = torch.tensor([[10.0, 20.0], [30.0, 40.0]])
    want = torch.tensor([[30.0, 40.0], [3.0, 4.0], [10.0, 20.0], [7.0, 8.0]])
    explain(
        replace_rows(t, torch.tensor([2, 0]), t_new),
        want,
        {
            "the new rows went in by the order of the matrix, not by the order of rows": torch.tensor(
                [[10.0, 20.0], [3.0, 4.0], [30.0, 40.0], [7.0, 8.0]]
            ),
            "the new rows were added to the old ones": torch.tensor(
                [[31.0, 42.0], [3.0, 4.0], [15.0, 26.0], [7.0, 8.0]]
            ),
        },
    )
with check(
    "leaf",
    "h is a leaf that requires grad",
    hint=(
        "May a leaf be written to?",
        "h.clone() is no leaf, keeps the history, and has memory of its own. Write to that, and return it.",
    ),
):
    t = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    want = torch.tensor([[1.0, 2.0], [9.0, 9.0]])
    got = replace_rows(t, torch.tensor([1]), torch.tensor([[9.0, 9.0]]))
    assert_close(got.detach(), want)

# %% hidden checks
with check(
    "other_cases",
    "other sizes, views, and float64",
    weight=2,
    required=True,
    hint="Does your code use the order of rows, and work where h is not contiguous?",
):
    for dtype, places in ((torch.float32, [4, 1, 2]), (torch.float64, [0, 3, 1])):
        t = torch.arange(15, dtype=dtype).reshape(3, 5).T
        t_new = torch.tensor([[0.1, -1.0, 2.0], [0.3, 5.0, -6.0], [7.0, 0.7, 9.0]], dtype=dtype)
        want = t.clone()
        for i, place in enumerate(places):
            want[place] = t_new[i]
        assert_close(replace_rows(t, torch.tensor(places), t_new), want, rtol=0, atol=0)
with check(
    "gradient",
    "the gradients for h and for new",
    weight=4,
    required=True,
    hint="Is your write recorded? What does a replaced row of h still contribute?",
):
    for dtype in (torch.float32, torch.float64):
        t = torch.arange(12, dtype=dtype).reshape(4, 3).requires_grad_()
        t_new = torch.full((2, 3), 0.5, dtype=dtype, requires_grad=True)
        weight = torch.arange(1, 13, dtype=dtype).reshape(4, 3) / 4
        kept = torch.tensor([[1.0], [0.0], [1.0], [0.0]], dtype=dtype)
        want = (weight * kept, torch.stack([weight[3], weight[1]]))
        value = t.detach().clone()
        value[1] = value[3] = 0.5
        got = replace_rows(t, torch.tensor([3, 1]), t_new)
        assert_close(got.detach(), value)
        assert got.requires_grad, "your result does not require grad"
        got = torch.autograd.grad((got * weight).sum(), (t, t_new), allow_unused=True)
        explain(
            got,
            want,
            {
                "the write was not recorded: h gets the gradient of rows that are gone, and new gets none": (
                    weight,
                    None,
                ),
                "h was cut off": (None, want[1]),
                "new was cut off": (want[0], None),
            },
        )
with check(
    "nan",
    "NaN and infinity in a replaced row leave no trace",
    weight=2,
    hint="What is 0 * NaN? Does the old row take part in any arithmetic?",
):
    t = torch.tensor([[1.0, 2.0], [math.nan, math.inf], [3.0, -4.0]], requires_grad=True)
    want = torch.tensor([[1.0, 2.0], [0.5, 0.25], [3.0, -4.0]])
    got = replace_rows(t, torch.tensor([1]), torch.tensor([[0.5, 0.25]]))
    assert_close(got.detach(), want)
    (got,) = torch.autograd.grad((got * 3).sum(), t)
    assert_close(got, torch.tensor([[3.0, 3.0], [0.0, 0.0], [3.0, 3.0]]), name="the gradient of h")
with check(
    "saved_result",
    "h may be a result that a node has saved, and new alone may require grad",
    weight=2,
    hint="Who else may hold h's memory?",
):
    t = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    t_h = t.exp()  # exp keeps it
    want = t.detach().exp()
    want_grad = torch.stack([3 * want[0], 2 * want[1]])
    (got,) = torch.autograd.grad((replace_rows(t_h, torch.tensor([1]), torch.zeros(1, 2)) + 2 * t_h).sum(), t)
    assert_close(got, want_grad, name="the gradient")
    t_new = torch.tensor([[5.0, 6.0]], requires_grad=True)
    got = replace_rows(t.detach(), torch.tensor([0]), t_new)
    (got,) = torch.autograd.grad((4 * got).sum(), t_new)
    assert_close(got, torch.full((1, 2), 4.0), name="the gradient of new")
with check(
    "keeps_input",
    "h and new keep their values, and no rows are fine",
    weight=2,
    guard=True,
    hint="Does your function work on h itself, or on a copy?",
):
    t, t_new = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[5.0, 6.0]])
    unchanged(replace_rows, t, torch.tensor([0]), t_new)
    got = replace_rows(t, torch.empty(0, dtype=torch.int64), torch.empty(0, 2))
    assert_close(got, torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    got += 1
    assert_close(t, torch.tensor([[1.0, 2.0], [3.0, 4.0]]), rtol=0, atol=0, name="h, after a write to your result")
    t_new = torch.tensor([[5.0, 6.0], [7.0, 8.0]])  # all rows are replaced
    for places in ([0, 1], [1, 0]):
        got = replace_rows(t, torch.tensor(places), t_new)
        assert_close(got, torch.tensor([[5.0, 6.0], [7.0, 8.0]])[places])
        got += 1
        assert_close(t_new, torch.tensor([[5.0, 6.0], [7.0, 8.0]]), rtol=0, atol=0, name="new, after such a write")


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


# %% wrong "h may be written to" fails=leaf,gradient,nan,saved_result,keeps_input raises=RuntimeError
def replace_rows(h, rows, new):
    h[rows] = new
    return h


# %% wrong "a detached clone is safe to write to" fails=gradient,nan,saved_result raises=RuntimeError
def replace_rows(h, rows, new):
    result = h.detach().clone()
    result[rows] = new
    return result


# %% wrong "the write to the clone goes by .data" fails=gradient,nan,saved_result
def replace_rows(h, rows, new):
    result = h.clone()
    result.data[rows] = new.data
    return result


# %% wrong "new numbers are numbers" fails=gradient,saved_result raises=RuntimeError
def replace_rows(h, rows, new):
    result = h.clone()
    result[rows] = new.detach()
    return result


# %% wrong "a mask of zeros and ones" fails=nan
def replace_rows(h, rows, new):
    keep = torch.ones(len(h), 1, dtype=h.dtype)
    keep[rows] = 0
    return h * keep + torch.zeros_like(h).index_copy(0, rows, new)


# %% wrong "a boolean mask keeps the order of rows" fails=example,other_cases,gradient,keeps_input
def replace_rows(h, rows, new):
    mask = torch.zeros(len(h), dtype=torch.bool)
    mask[rows] = True
    result = h.clone()
    result[mask] = new
    return result


# %% wrong "index_add puts rows in" fails=example,leaf,other_cases,gradient,nan,saved_result,keeps_input
def replace_rows(h, rows, new):
    return h.index_add(0, rows, new)


# %% wrong "without grad, a copy is a waste" fails=keeps_input
def replace_rows(h, rows, new):
    result = h.clone() if h.requires_grad or new.requires_grad else h
    result[rows] = new
    return result


# %% wrong "with nothing to replace, h is the result" fails=keeps_input
def replace_rows(h, rows, new):
    return h.index_copy(0, rows, new) if len(rows) else h


# %% wrong "all rows replaced: new itself" fails=keeps_input
def replace_rows(h: Tensor, rows: Tensor, new: Tensor) -> Tensor:
    if torch.equal(rows, torch.arange(len(h))):
        return new[: len(h)]
    return h.index_put((rows,), new)
