# %% exercise
def split_heads(x: Tensor, heads: int) -> Tensor:
    """The features of x, divided among the heads. Head i gets the i-th group of neighbouring features.

    x: shape (batch, time, features), any dtype and strides, also with sizes of 0 in batch and time.
    heads: at least 1. Raises ValueError where it does not divide the number of features.
    Returns shape (batch, heads, time, features // heads), x's dtype. x stays as it is.
    """
    ### BEGIN SOLUTION
    if x.shape[-1] % heads != 0:
        raise ValueError("heads does not divide the number of features")
    return x.unflatten(-1, (heads, x.shape[-1] // heads)).transpose(1, 2)
    ### END SOLUTION


# %% checks
with check(
    "shape",
    "the shape for two heads of two features",
    required=True,
    hint=(
        "Name the four sizes of the result. Which of them stands beside the batch?",
        "Cut the last dimension into (heads, features of a head). Then let time and heads change places.",
    ),
):
    t = torch.arange(24.0).reshape(2, 3, 4)
    got = split_heads(t, 2)
    assert got.shape == (2, 2, 3, 2), f"your result has shape {tuple(got.shape)}"
    assert got.dtype == torch.float32, f"your result has dtype {got.dtype}"
with check(
    "example",
    "head 1 gets features 2 and 3 of each position",
    weight=2,
    hint=(
        "Which features of the first position belong to head 1? Which numbers stand there in your result?",
        "unflatten cuts one dimension and leaves the others alone. Only after it, transpose time and heads.",
    ),
):
    t = torch.arange(24.0).reshape(2, 3, 4)
    explain(
        split_heads(t, 2),
        torch.stack([t[:, :, :2], t[:, :, 2:]], dim=1),
        {
            "the elements were cut in their order: a head gets other positions instead of its features": t.reshape(
                2, 2, 3, 2
            ),
            "each head got every second feature: cut the features into (heads, features of a head)": torch.stack(
                [t[:, :, ::2], t[:, :, 1::2]], dim=1
            ),
        },
    )

# %% hidden checks
with check(
    "other_cases",
    "other sizes, heads and dtypes",
    weight=3,
    required=True,
    hint="Which elements does head 1 get at time 0, and at time 1? Try three heads and five positions.",
):
    for dtype in (torch.float64, torch.int64, torch.bfloat16):
        for heads in (3, 2, 6):
            t = torch.arange(180).reshape(3, 5, 12).to(dtype)
            size = 12 // heads
            want = torch.stack([t[:, :, i * size : (i + 1) * size] for i in range(heads)], dim=1)
            assert_close(split_heads(t, heads), want)
    t = torch.arange(60).reshape(3, 5, 4) + 2**40
    assert_close(split_heads(t, 2), torch.stack([t[:, :, :2], t[:, :, 2:]], dim=1))
with check(
    "equal_sizes",
    "equal sizes in all dimensions",
    weight=2,
    hint="Where two sizes are equal, a wrong order still has the right shape.",
):
    t = torch.arange(64.0).reshape(4, 4, 4).sin()
    want = torch.stack([t[:, :, :2], t[:, :, 2:]], dim=1)
    assert_close(split_heads(t, 2), want)
    for time in (4, 3):
        t = torch.arange(time * 18.0).reshape(2, time, 9).cos()
        want = torch.stack([t[:, :, :3], t[:, :, 3:6], t[:, :, 6:]], dim=1)
        assert_close(split_heads(t, 3), want)
with check(
    "non_contiguous",
    "an x that is transposed, sliced or expanded",
    weight=2,
    hint="Which function of yours needs strides that fit? What does it do with a transposed x?",
):
    t = torch.arange(120.0).reshape(3, 5, 8)
    for part in (t.transpose(0, 1), t.permute(1, 2, 0)[..., :2], t[:, ::2, 2:], t[:1].expand(4, 5, 8)):
        size = part.shape[-1] // 2
        want = torch.stack([part[..., :size], part[..., size:]], dim=1)
        assert_close(split_heads(part, 2), want)
with check("one_head", "one head, and one feature for each head", hint="Is there a squeeze() or a comparison with 1?"):
    t = torch.arange(30.0).reshape(2, 5, 3)
    for part, heads in ((t, 1), (t, 3), (t[:1, :1], 3)):
        want = part[:, None].clone() if heads == 1 else part.transpose(1, 2)[..., None].clone()
        assert_close(split_heads(part, heads), want)
with check("raises", "heads that do not divide the features raise a ValueError", hint="What does // do with the rest?"):
    for heads in (3, 5, 16):
        try:
            split_heads(torch.ones(2, 3, 8), heads)
        except ValueError:
            continue
        raise AssertionError("heads that do not divide the features were accepted")
with check("empty", "empty batches, and x keeps its shape and values", guard=True):
    assert_close(split_heads(torch.ones(0, 3, 8), 2), torch.ones(0, 2, 3, 4))
    assert_close(split_heads(torch.ones(2, 0, 8), 4), torch.ones(2, 4, 0, 2))
    unchanged(split_heads, torch.arange(24.0).reshape(2, 3, 4), 2)


# %% right "view of a contiguous copy, then permute"
def split_heads(x, heads):
    batch, time, features = x.shape
    if features % heads:
        raise ValueError
    return x.contiguous().view(batch, time, heads, features // heads).permute(0, 2, 1, 3)


# %% right "chunks, stacked"
def split_heads(x, heads):
    if x.size(-1) % heads:
        raise ValueError("heads")
    return torch.stack(x.chunk(heads, dim=-1), dim=1)


# %% right "einsum changes the order"
def split_heads(x, heads):
    b, t, d = x.shape
    if d % heads != 0:
        raise ValueError
    return torch.einsum("bthd->bhtd", x.reshape(b, t, heads, d // heads))


# %% wrong "the right shape is enough" fails=example,other_cases,equal_sizes,non_contiguous,one_head
def split_heads(x, heads):
    batch, time, features = x.shape
    if features % heads:
        raise ValueError
    return x.reshape(batch, heads, time, features // heads)


# %% wrong "the heads come last in the cut" fails=example,other_cases,equal_sizes,non_contiguous
def split_heads(x, heads):
    batch, time, features = x.shape
    if features % heads:
        raise ValueError
    return x.reshape(batch, time, features // heads, heads).permute(0, 3, 1, 2)


# %% wrong "one feature for each head needs no dimension" fails=non_contiguous,one_head
def split_heads(x, heads):
    batch, time, features = x.shape
    if features % heads:
        raise ValueError
    return x.view(batch, time, heads, features // heads).transpose(1, 2).squeeze(-1)


# %% wrong "transpose first, then view" fails=example,other_cases,equal_sizes,non_contiguous,one_head
def split_heads(x, heads):
    batch, time, features = x.shape
    if features % heads:
        raise ValueError
    return x.transpose(1, 2).reshape(batch, heads, time, features // heads)


# %% wrong "the rest of the features can be dropped" fails=raises
def split_heads(x, heads):
    size = x.shape[-1] // heads
    return x[..., : size * heads].unflatten(-1, (heads, size)).transpose(1, 2)


# %% wrong "the heads stay behind the time" fails=shape,example,other_cases,equal_sizes,non_contiguous,one_head,empty
def split_heads(x, heads):
    if x.shape[-1] % heads:
        raise ValueError
    return x.unflatten(-1, (heads, -1))


# %% wrong "-1 will find the size" fails=empty raises=RuntimeError
def split_heads(x, heads):
    batch, time, features = x.shape
    if features % heads:
        raise ValueError
    return x.reshape(batch, time, heads, -1).transpose(1, 2)


# %% wrong "the sizes tell whether heads and time must change places" fails=equal_sizes
def split_heads(x, heads):
    if x.shape[-1] % heads:
        raise ValueError
    made = x.unflatten(-1, (heads, x.shape[-1] // heads))
    return made.transpose(1, 2) if made.shape[1] != heads else made


# %% equivalent "text 'heads does not divide the number of features' changed: raise ValueError('heads does not divide the number of featuresx')"
# No check reads the text of an error.

# %% equivalent "first two arguments swapped: return x.unflatten(-1, (heads, x.shape[-1] // heads)).transpose(2, 1)"
# transpose(a, b) and transpose(b, a) exchange the same two dimensions.

# %% equivalent "copies of results that share memory with an argument"
# Whether the result is a view is left open.
