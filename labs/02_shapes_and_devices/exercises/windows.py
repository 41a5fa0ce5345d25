# %% exercise
def windows(x: Tensor, k: int, step: int) -> Tensor:
    """All windows of k neighbours along the last dimension of x, as a view of x: nothing is copied.

    x: shape (..., n), any dtype and strides. k, step: at least 1. Window i begins at element i * step; only whole
    windows count. Returns shape (..., number of windows, k). Raises ValueError or RuntimeError where k is above n.
    """
    ### BEGIN SOLUTION
    n, stride = x.shape[-1], x.stride(-1)
    if k > n:
        raise ValueError("the window is longer than x")
    count = (n - k) // step + 1
    return x.as_strided((*x.shape[:-1], count, k), (*x.stride()[:-1], step * stride, stride))
    ### END SOLUTION


# %% checks
with check(
    "example",
    "windows of 3 in 6 elements, step 1",
    weight=3,
    required=True,
    hint=(
        "Where does window 1 begin, and which is the last window that has all of its elements?",
        "as_strided needs two strides: inside a window, and from window to window. How many elements can begin one?",
    ),
):
    t = torch.tensor([3.0, 1.0, 4.0, 1.5, 9.0, 2.0])
    want = torch.tensor([[3.0, 1.0, 4.0], [1.0, 4.0, 1.5], [4.0, 1.5, 9.0], [1.5, 9.0, 2.0]])
    explain(
        windows(t, 3, 1),
        want,
        {
            "the last window is missing: how many windows begin early enough?": want[:-1],
            "this is transposed: a window is a row": want.T,
        },
    )

# %% hidden checks
with check(
    "other_cases",
    "other windows and steps",
    weight=2,
    required=True,
    hint="Where does window i begin, and which is the last one that is whole?",
):
    for n, size, step in ((7, 3, 2), (8, 3, 2), (8, 3, 3), (9, 4, 5), (6, 1, 4), (11, 5, 1), (3, 2, 7)):
        t = torch.arange(n, dtype=torch.float64).cos()
        want = torch.stack([t[i : i + size] for i in range(0, n - size + 1, step)])
        explain(
            windows(t, size, step),
            want,
            {"there is one window for each place where it could begin at step 1": t.unfold(0, size, 1)},
        )
with check(
    "shares_memory", "a write to x is seen in the windows", weight=2, required=True, hint="Does a step of yours copy?"
):
    for step in (1, 3):
        t = torch.arange(10.0)
        later = t * -2 + 1
        want = torch.stack([later[i : i + 4] for i in range(0, 7, step)])
        got = windows(t, 4, step)
        t.mul_(-2).add_(1)
        assert_close(got, want)
with check(
    "non_contiguous",
    "an x that is a slice or a column",
    weight=3,
    hint="Which stride has every second element? Where does a slice begin in the storage?",
):
    table = torch.arange(60.0).reshape(6, 10)
    for t in (table.flatten()[::2], table[:, 3], table[2, 4:], table.T[5, 1:], table[4:].flatten()[3::4]):
        want = torch.stack([t[i : i + 3] for i in range(0, len(t) - 2, 2)])
        got = windows(t, 3, 2)
        explain(
            got,
            want,
            {
                "a stride of 1 was assumed: x has gaps": t.as_strided(want.shape, (2, 1)),
                "the windows begin at the start of the storage: x begins later": t.as_strided(
                    want.shape, (2 * t.stride(0), t.stride(0)), 0
                ),
            },
        )
        t.add_(100)
        assert_close(got, want + 100)
with check(
    "more_dimensions",
    "more dimensions stay in front",
    weight=2,
    hint="Which strides has x in front of the last dimension?",
):
    for t in (
        torch.arange(30).reshape(5, 6),
        torch.arange(30).reshape(5, 6).T,
        torch.arange(120).reshape(2, 3, 4, 5).permute(3, 0, 2, 1)[1:],
        torch.arange(120).reshape(4, 5, 6)[1:, ::2, 1:],
    ):
        n = t.shape[-1]
        want = torch.stack([t[..., i : i + 2] for i in range(0, n - 1, 2)], dim=-2)
        got = windows(t, 2, 2)
        assert_close(got, want)
        t.mul_(3)
        assert_close(got, 3 * want)
with check("none_or_one", "one window, and none", hint="What is (n - k) // step + 1 for k = n, and for k = n + 1?"):
    t = torch.tensor([2.0, 5.0, 8.0])
    want = t.clone()[None]
    assert_close(windows(t, 3, 2), want)
    for size in (4, 9):
        try:
            windows(t, size, 2)
        except (ValueError, RuntimeError):
            continue
        raise AssertionError("a window that is longer than x was accepted")
with check("empty", "an empty batch, and x keeps its values", guard=True):
    assert_close(windows(torch.empty(0, 5), 3, 1), torch.empty(0, 3, 3))
    unchanged(windows, torch.arange(8.0), 3, 2)


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


# %% wrong "stacked slices" fails=shares_memory,non_contiguous,more_dimensions
def windows(x, k, step):
    if k > x.shape[-1]:
        raise ValueError
    return torch.stack([x[..., i : i + k] for i in range(0, x.shape[-1] - k + 1, step)], dim=-2)


# %% wrong "neighbours are one slot apart" fails=non_contiguous,more_dimensions
def windows(x, k, step):
    n = x.shape[-1]
    if k > n:
        raise ValueError
    return x.as_strided((*x.shape[:-1], (n - k) // step + 1, k), (*x.stride()[:-1], step, 1))


# %% wrong "contiguous() makes strides simple" fails=non_contiguous,more_dimensions
def windows(x, k, step):
    if k > x.shape[-1]:
        raise ValueError
    return x.contiguous().unfold(-1, k, step)


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


# %% wrong "one window for each possible start" fails=other_cases,shares_memory,non_contiguous,more_dimensions
def windows(x, k, step):
    return x.unfold(-1, k, 1)


# %% wrong "a window is a column" fails=example,other_cases,shares_memory,non_contiguous,more_dimensions,none_or_one
def windows(x, k, step):
    return x.unfold(-1, k, step).transpose(-1, -2)


# %% wrong "a signal is one-dimensional" fails=more_dimensions,empty raises=RuntimeError
def windows(x, k, step):
    x = x.view(-1) if x.dim() == 1 else x.squeeze(0).view(-1)
    return x.unfold(0, k, step)


# %% wrong "no whole window, no row" fails=none_or_one
def windows(x, k, step):
    n, s = x.shape[-1], x.stride(-1)
    count = len(range(0, n - k + 1, step))
    return x.as_strided((*x.shape[:-1], count, k), (*x.stride()[:-1], step * s, s))


# %% equivalent "text 'the window is longer than x' changed: raise ValueError('the window is longer than xx')"
# No check reads the text of an error.
