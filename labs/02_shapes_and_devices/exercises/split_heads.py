# %% exercise
def split_heads(x: Tensor, heads: int) -> Tensor:
    """The features of x, divided among the heads. Head i gets the i-th group of adjacent features.

    x has shape (batch, time, features). Returns shape (batch, heads, time, features // heads), in x's dtype.
    Raises ValueError if heads doesn't divide the number of features, even if batch or time is 0.

    Details:
    - x: any values, any strides, and any dtype but float8 and unsigned integers other than uint8. It isn't changed.
    - batch and time may be 0. heads and features are at least 1.
    - The result may be a view of x or a copy.
    """
    ### BEGIN SOLUTION
    if x.shape[-1] % heads != 0:
        raise ValueError("heads does not divide the number of features")
    return x.unflatten(-1, (heads, x.shape[-1] // heads)).transpose(1, 2)
    ### END SOLUTION


# %% promises
# The features of x -> example, other_cases, one_head
# Head i gets -> example, other_cases, equal_sizes
# x has shape -> other_cases, non_contiguous
# Returns shape (batch -> shape, other_cases, equal_sizes
# Raises ValueError -> raises
# x: any values -> other_cases, non_contiguous
# It isn't changed -> keeps_input, example
# batch and time may -> empty
# heads and features -> one_head
# The result may be -> non_contiguous


# %% domain
DTYPES = "float64 float16 int64 bool complex64"


@domain(
    reference,
    *("equal sizes", "as many heads as positions", "one head", "one feature for each head", *DTYPES.split(), "NaN"),
    *("one sample", "one position", "no sample", "no position"),
    *("transposed", "features first", "every second feature", "expanded"),
)
def arguments(draw, edge):
    batch, heads, size = draw(st.integers(1, 3)), draw(st.integers(2, 4)), draw(st.integers(2, 3))
    time = draw(st.integers(5, 6))
    if edge == "equal sizes":
        batch = time = size = heads = size
    batch = {"one sample": 1, "no sample": 0}.get(edge, batch)
    time = {"one position": 1, "no position": 0, "as many heads as positions": heads}.get(edge, time)
    heads, size = 1 if edge == "one head" else heads, 1 if edge == "one feature for each head" else size
    x = torch.randn(batch, time, heads * size, dtype=torch.float64, generator=draw.make_generator()) * 100
    if edge == "bool":
        x -= 50
        x = x > 0
    if edge == "NaN":
        x.flatten()[::3] = torch.tensor([float("nan"), float("inf")])[draw(st.integers(0, 1))]
    x = x.to(getattr(torch, edge if edge in DTYPES.split() else "float32"))
    if edge == "int64":
        x += 2**53 + 1
    if edge == "complex64":
        x *= 1 - 2j
    if edge == "transposed":
        x = x.transpose(0, 1).contiguous().transpose(0, 1)
    if edge == "features first":
        x = x.permute(2, 0, 1).contiguous().permute(1, 2, 0)
    if edge == "every second feature":
        x = torch.stack([x, -x], 3).flatten(2)[..., ::2]
    if edge == "expanded":
        x = x[:1].expand(x.shape)
    return x, heads


@domain(reference, "more heads than features", "twice as many", "no position")
def refused(draw, edge):
    features = draw(st.integers(3, 8))
    heads = {"more heads than features": features + 1, "twice as many": 2 * features}
    time = 0 if edge == "no position" else draw(st.integers(1, 3))
    x = torch.randn(draw(st.integers(1, 3)), time, features, generator=draw.make_generator())
    return x, heads.get(edge) or draw(st.integers(features // 2 + 1, features - 1))


# %% checks
with check(
    "shape",
    "the shape for two heads of two features",
    required=True,
    hint=(
        "Name the result's four sizes. Which one is next to the batch?",
        "Split the last dimension into (heads, features per head). Then swap time and heads.",
    ),
):
    t = torch.arange(24.0).reshape(2, 3, 4)
    got = split_heads(t, 2)
    assert got.shape == (2, 2, 3, 2), f"your result has shape {tuple(got.shape)}"
    assert got.dtype == torch.float32, f"your result has dtype {got.dtype}"
with check(
    "example",
    "head 1 gets features 2 and 3 at each position",
    weight=2,
    hint=(
        "Which of the first position's features belong to head 1? Which numbers are there in your result?",
        "unflatten splits one dimension without affecting the others. Transpose time and heads only after that.",
    ),
):
    t = torch.arange(24.0).reshape(2, 3, 4)
    explain(
        split_heads(t, 2),
        torch.stack([t[:, :, :2], t[:, :, 2:]], dim=1),
        {
            "the elements were split in order, so a head gets other positions instead of its features": t.reshape(
                2, 2, 3, 2
            ),
            "each head got every second feature: split the features into (heads, features per head)": torch.stack(
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
    hint="Which elements does head 1 get at times 0 and 1? Try three heads and five positions.",
):
    arguments.assert_results(split_heads, "", *DTYPES.split(), "NaN")
with check(
    "equal_sizes",
    "equal sizes in all dimensions",
    weight=2,
    hint="If two sizes are equal, the wrong order still gives the right shape.",
):
    arguments.assert_results(split_heads, "equal sizes", "as many heads as positions")
with check(
    "non_contiguous",
    "an x that is transposed, sliced or expanded",
    weight=2,
    hint="Which of your calls requires certain strides? What does it do with a transposed x?",
):
    arguments.assert_results(split_heads, "transposed", "features first", "every second feature", "expanded")
with check(
    "one_head",
    "one head, one feature per head, one sample, one position",
    hint="Is there a squeeze() or a comparison with 1 in your code?",
):
    arguments.assert_results(split_heads, "one head", "one feature for each head", "one sample", "one position")
with check(
    "raises", "heads that don't divide the features raise a ValueError", hint="What does // do with the remainder?"
):
    refused.assert_results(split_heads, "", "more heads than features", "twice as many", "no position")
    refused.assert_arguments(split_heads)
with check("empty", "no samples, no positions", guard=True):
    arguments.assert_results(split_heads, "no sample", "no position")
with check("keeps_input", "x keeps its shape and values", guard=True):
    arguments.assert_arguments(split_heads)


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


# %% wrong "the heads come last in the cut" fails=example,other_cases,equal_sizes,non_contiguous,one_head
def split_heads(x, heads):
    batch, time, features = x.shape
    if features % heads:
        raise ValueError
    return x.reshape(batch, time, features // heads, heads).permute(0, 3, 1, 2)


# %% wrong "one feature for each head needs no dimension" fails=one_head
def split_heads(x, heads):
    batch, time, features = x.shape
    if features % heads:
        raise ValueError
    return x.view(batch, time, heads, features // heads).transpose(1, 2).squeeze(-1)


# %% wrong "the sizes tell whether heads and time must change places" fails=equal_sizes
def split_heads(x, heads):
    if x.shape[-1] % heads:
        raise ValueError
    made = x.unflatten(-1, (heads, x.shape[-1] // heads))
    return made.transpose(1, 2) if made.shape[1] != heads else made


# %% equivalent "text 'heads does not divide the number of features' changed: raise ValueError('heads does not divide the number of featuresx')"
# No check reads an error's text.

# %% equivalent "first two arguments swapped: return x.unflatten(-1, (heads, x.shape[-1] // heads)).transpose(2, 1)"
# transpose(a, b) and transpose(b, a) swap the same two dimensions.

# %% equivalent "copies of results that share memory with an argument"
# The docstring allows both.
