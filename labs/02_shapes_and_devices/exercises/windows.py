# %% exercise
def windows(x: Tensor, k: int, step: int) -> Tensor:
    """All windows of k adjacent elements along the last dimension of x, as a view of x: nothing is copied.

    x has shape (..., n). Returns shape (..., number of windows, k).
    Window i is x[..., i * step : i * step + k], for each i at which x has all of these k elements.
    Raises ValueError or RuntimeError if k is above n.

    Details:
    - x has at least one dimension, any dtype but complex, and any strides; sizes may be 0. It isn't changed.
    - If x requires grad, gradients go back to it.
    - k and step are at least 1.
    """
    ### BEGIN SOLUTION
    n, stride = x.shape[-1], x.stride(-1)
    if k > n:
        raise ValueError("the window is longer than x")
    count = (n - k) // step + 1
    return x.as_strided((*x.shape[:-1], count, k), (*x.stride()[:-1], step * stride, stride))
    ### END SOLUTION


# %% promises
# All windows of k -> example, other_cases, shares_memory
# x has shape (..., n) -> more_dimensions, other_cases
# Returns shape (..., number -> more_dimensions, none_or_one
# Window i is -> other_cases, none_or_one
# Raises ValueError -> none_or_one
# x has at least one -> more_dimensions, non_contiguous, other_cases, empty
# If x requires grad -> shares_memory
# It isn't changed -> empty, other_cases, shares_memory, non_contiguous, more_dimensions
# k and step are -> none_or_one


# %% domain
@domain(
    reference,
    *("a rest", "gaps", "step 1", "step above n", "k = n", "one window and a rest", "k = 1"),
    *("two dimensions", "no row", "int64", "bool", "bfloat16", "requires grad"),
    *("every second element", "slice", "transposed", "permuted", "expanded", "expanded to the right"),
)
def arguments(draw, edge):
    k, step, count = draw(st.integers(2, 4)), draw(st.integers(2, 4)), draw(st.integers(2, 4))
    k, count = 1 if edge == "k = 1" else k, {"k = n": 1, "one window and a rest": 1, "no row": k + 1}.get(edge, count)
    step = {"gaps": k + step - 1, "step 1": 1}.get(edge, step)
    rest = draw(st.integers(0, step - 1))
    n = k + step * (count - 1) + (step - 1 if "rest" in edge else 0 if edge == "k = n" else rest)
    if edge == "step above n":
        n, step = k + 1, k + step
    dims = {"two dimensions": 1, "transposed": 1, "expanded": 1, "permuted": 2, "slice": 2}
    front = [0] if edge == "no row" else [draw(st.integers(2, 4)) for _ in range(dims.get(edge, 0))]
    x = torch.randn(*front, n, dtype=torch.float64, generator=draw.make_generator()) * 100
    x = x > 0 if edge == "bool" else x.to(getattr(torch, edge if edge.endswith(("16", "64")) else "float32"))
    if edge == "every second element":
        x = torch.stack([x, -x], -1).flatten(-2)[..., ::2]
    if edge == "slice":
        x = torch.stack([x, -x], -1).flatten(-2)[1:, :, 1:]
    if edge == "transposed":
        x = x.T.contiguous().T
    if edge == "permuted":
        x = x.permute(1, 2, 0).contiguous().permute(2, 0, 1)
    if edge == "expanded":
        x = x[:1].expand(x.shape)
    if edge == "expanded to the right":
        x = x[:2, None].expand(2, n)
    return draw.apply_gradient_state(x, edge), k, step


@domain(reference, "much longer", "no element", "no row", errors=(ValueError, RuntimeError))
def refused(draw, edge):
    n = 0 if edge == "no element" else draw(st.integers(1, 4))
    front = [0] if edge == "no row" else [3] * draw(st.integers(0, 1))
    x = torch.randn(*front, n, generator=draw.make_generator())
    return x, n + 1 + (n + 4 if edge == "much longer" else 0), draw(st.integers(1, 3))


# %% checks
with check(
    "example",
    "windows of 3 elements in 6, with a step of 1",
    weight=3,
    required=True,
    hint=(
        "Where does window 1 start, and which window is the last one with all its elements?",
        "as_strided needs two strides: between windows, and within a window. How many elements can start a window?",
    ),
):
    t = torch.tensor([3.0, 1.0, 4.0, 1.5, 9.0, 2.0])
    want = torch.tensor([[3.0, 1.0, 4.0], [1.0, 4.0, 1.5], [4.0, 1.5, 9.0], [1.5, 9.0, 2.0]])
    explain(
        windows(t, 3, 1),
        want,
        {
            "the last window is missing: how many windows start early enough?": want[:-1],
            "this is transposed: each window should be a row": want.T,
        },
    )

# %% hidden checks
with check(
    "other_cases",
    "other windows, steps and dtypes",
    weight=2,
    required=True,
    hint="Where does window i start, and which window is the last whole one?",
):
    t = torch.arange(8, dtype=torch.float64).cos()
    explain(
        windows(t, 3, 2),
        torch.stack([t[i : i + 3] for i in range(0, 6, 2)]),
        {"the windows have a step of 1": t.unfold(0, 3, 1)},
    )
    arguments.assert_results(windows, "", "a rest", "gaps", "step 1", "step above n")
    arguments.assert_results(windows, "int64", "bool", "bfloat16", "requires grad")
with check(
    "shares_memory",
    "a write to x appears in the windows",
    weight=2,
    required=True,
    hint="Which of your operations copies?",
):
    for step in (1, 3):
        t = torch.arange(10.0)
        later = t * -2 + 1
        want = torch.stack([later[i : i + 4] for i in range(0, 7, step)])
        got = windows(t, 4, step)
        t.mul_(-2).add_(1)
        assert_close(got, want)
    arguments.assert_memory(windows, "", "a rest", "gaps", "step 1", "k = n", "k = 1", "bool")
    arguments.assert_gradients(windows, "requires grad")
with check(
    "non_contiguous",
    "an x that is a slice or a column",
    weight=3,
    hint="What's the stride if you take every second element? Where does a slice start in the storage?",
):
    table = torch.arange(60.0).reshape(6, 10)
    for t in (table.flatten()[::2], table[:, 3], table[2, 4:]):
        want = torch.stack([t[i : i + 3] for i in range(0, len(t) - 2, 2)])
        got = windows(t, 3, 2)
        explain(
            got,
            want,
            {
                "a stride of 1 was assumed, but x has gaps": t.as_strided(want.shape, (2, 1)),
                "the windows start at the beginning of the storage, but x starts later": t.as_strided(
                    want.shape, (2 * t.stride(0), t.stride(0)), 0
                ),
            },
        )
        t.add_(100)
        assert_close(got, want + 100)
    arguments.assert_results(windows, "every second element", "expanded to the right")
    arguments.assert_memory(windows, "every second element", "expanded to the right")
with check(
    "more_dimensions",
    "earlier dimensions are kept",
    weight=2,
    hint="Which strides does x have before the last dimension?",
):
    table = torch.arange(60.0).reshape(3, 4, 5)
    for t in (table[1], table.permute(2, 0, 1)[1:]):
        want = torch.stack([t[..., i : i + 2] for i in range(0, t.shape[-1] - 1, 2)], dim=-2)
        got = windows(t, 2, 2)
        assert_close(got, want)
        t.add_(100)
        assert_close(got, want + 100)
    arguments.assert_results(windows, "two dimensions", "slice", "transposed", "permuted", "expanded")
    arguments.assert_memory(windows, "two dimensions", "slice", "transposed", "permuted", "expanded")
with check(
    "none_or_one",
    "one window, no window, and windows of one element",
    hint="What is (n - k) // step + 1 for k = n, and for k = n + 1?",
):
    arguments.assert_results(windows, "k = n", "one window and a rest", "k = 1")
    refused.assert_results(windows, "", "much longer", "no element", "no row")
    refused.assert_arguments(windows)
with check("empty", "an empty batch, and x keeps its values", guard=True):
    arguments.assert_results(windows, "no row")
    arguments.assert_arguments(windows)


# %% right "PyTorch has a method for it"
def windows(x, k, step):
    return x.unfold(-1, k, step)


# %% right "as_strided with the offset written out"
def windows(x, k, step):
    n = x.size(-1)
    if n < k:
        raise ValueError("too short")
    size = list(x.shape[:-1]) + [len(range(0, n - k + 1, step)), k]
    stride = list(x.stride()[:-1]) + [x.stride(-1) * step, x.stride(-1)]
    return torch.as_strided(x, size, stride, x.storage_offset())


# %% right "unfold at step 1, then every step-th window"
def windows(x, k, step):
    if k > x.shape[-1]:
        raise ValueError
    return x.unfold(x.dim() - 1, k, 1)[..., ::step, :]


# %% wrong "neighbours are one slot apart" fails=non_contiguous,more_dimensions
def windows(x, k, step):
    n = x.shape[-1]
    if k > n:
        raise ValueError
    return x.as_strided((*x.shape[:-1], (n - k) // step + 1, k), (*x.stride()[:-1], step, 1))


# %% wrong "a view begins at the start of the storage" fails=non_contiguous,more_dimensions
def windows(x, k, step):
    n, s = x.shape[-1], x.stride(-1)
    if k > n:
        raise ValueError
    return x.as_strided((*x.shape[:-1], (n - k) // step + 1, k), (*x.stride()[:-1], step * s, s), 0)


# %% wrong "n - k windows" fails=example,other_cases,shares_memory,non_contiguous,more_dimensions,none_or_one,empty
def windows(x, k, step):
    n, s = x.shape[-1], x.stride(-1)
    if k > n:
        raise ValueError
    return x.as_strided((*x.shape[:-1], (n - k) // step, k), (*x.stride()[:-1], step * s, s))


# %% wrong "one window for each possible start" fails=other_cases,shares_memory,non_contiguous,more_dimensions,none_or_one,empty
def windows(x, k, step):
    return x.unfold(-1, k, 1)


# %% wrong "a window is a column" fails=example,other_cases,shares_memory,non_contiguous,more_dimensions,none_or_one,empty
def windows(x, k, step):
    return x.unfold(-1, k, step).transpose(-1, -2)


# %% equivalent "text 'the window is longer than x' changed: raise ValueError('the window is longer than xx')"
# No check reads an error's text.
