# %% exercise
def with_batch(f, x: Tensor, ndim: int) -> Tensor:
    """f(x), even if x is a single sample without a batch dimension.

    f takes a batch of ndim dimensions and returns a tensor; dimension 0 of both is the batch.
    If x has ndim dimensions, it's a batch: returns f(x).
    With one dimension less, x is a single sample: returns f's result for a batch of only this sample, but without
    dimension 0.
    Raises ValueError for any other number of dimensions.

    Details:
    - ndim is at least 1. x has any dtype and strides, and its sizes may be 0 or 1. It isn't changed.
    - If x requires grad, gradients go back to it.
    - f doesn't change its input, and may return it. An exception that f raises is propagated.
    """
    ### BEGIN SOLUTION
    if x.dim() == ndim:
        return f(x)
    if x.dim() != ndim - 1:
        raise ValueError("neither a batch nor a sample")
    return f(x.unsqueeze(0)).squeeze(0)
    ### END SOLUTION


# %% promises
# f(x), even if x -> example, other_cases
# f takes a batch -> one_channel, other_cases, same_tensor, size_one_input, size_one_result
# If x has ndim dimensions -> one_sample, size_one_result, empty
# With one dimension less -> example, one_channel, size_one_input, size_one_result
# Raises ValueError -> raises
# ndim is at least 1 -> zero_dim
# x has any dtype -> one_channel, other_cases, one_sample, size_one_input, zero_dim, empty
# It isn't changed -> keeps_input, example
# If x requires grad -> other_cases
# f doesn't change -> other_cases, same_tensor
# An exception that f raises -> passes_on


# %% domain
@domain(
    reference,
    *("samples", "totals of a sample", "one channel", "sizes of 1", "empty sample", "one result for a sample"),
    *("requires grad", "batch, requires grad", "a batch in reverse"),
    *("batch of one", "batch of one, sizes of 1", "empty batch", "no dimension", "another function"),
    *("bool samples", "int64 batches", "int64 samples", "float64 batches"),
    *("transposed", "every second column", "expanded"),
    *(
        "f returns its input",
        "f returns its input, a batch",
        "f raises",
        "f raises for a batch",
        "f raises RuntimeError",
    ),
)
def arguments(draw, edge):
    given = {"one channel": channel_means, "no dimension": torch.exp, "one result for a sample": row_spread}
    given |= dict.fromkeys(["totals of a sample", "empty sample"], row_totals)
    given |= dict.fromkeys(["f returns its input", "f returns its input, a batch"], identity)
    dtypes = {"bool samples": "bool", "int64 batches": "int64", "int64 samples": "int64", "float64 batches": "float64"}
    dtype = dtypes.get(edge, "float32")
    f = given.get(edge) or draw(st.sampled_from([mirrored, row_totals] + [channel_means] * ("float" in dtype)))
    ndim = {torch.exp: 1, row_totals: 2, row_spread: 2}.get(f, 4)
    if edge in ("another function", "a batch in reverse"):
        ndim = 3

        def f(batch):
            return batch.flip(0 if "batch" in edge else 1)

    if "f raises" in edge:

        def f(batch):
            raise RuntimeError if "RuntimeError" in edge else ZeroDivisionError

    sizes = [draw(st.integers(2, 4)) for _ in range(ndim)]
    if edge == "one channel":
        sizes[1] = 1
    if "batch of one" in edge or edge == "empty batch":
        sizes[0] = 0 if edge == "empty batch" else 1
    if "sizes of 1" in edge:
        sizes[1:] = [1] * (ndim - 1)
    if edge == "empty sample":
        sizes[1] = 0
    x = torch.randn(sizes, dtype=torch.float64, generator=draw.make_generator()) * 100
    x = x > 0 if dtype == "bool" else x.to(getattr(torch, dtype))
    if dtype == "int64":
        x += 2**53 + 1
    if edge == "transposed":
        x = x.transpose(0, 1).contiguous().transpose(0, 1)
    if edge == "every second column":
        x = torch.stack([x, -x], -1).flatten(-2)[..., ::2]
    if edge == "expanded":
        x = x[:1].expand(x.shape)
    is_batch = "batch" in edge or (edge in ("", "transposed") and draw(st.booleans()))
    return f, draw.apply_gradient_state(x if is_batch else x[-1], edge), ndim


@domain(reference, "one of one", "two too many", "two too few", "none at all")
def refused(draw, edge):
    f, ndim = draw(st.sampled_from([(channel_means, 4), (mirrored, 4)] + [(row_totals, 2)] * (edge != "none at all")))
    sizes = [draw(st.integers(2, 3)) for _ in range(ndim)]
    shape = {"one of one": [1, *sizes], "two too many": [2, 3, *sizes], "two too few": sizes[2:], "none at all": []}
    return f, torch.randn(shape.get(edge, [2, *sizes]), generator=draw.make_generator()), ndim


# %% checks
with check(
    "example",
    "an image gives its channel means, and a batch gives one row per image",
    weight=2,
    required=True,
    hint=(
        "Which dimension did you add for one image, and where is it in f's result?",
        "Add a dimension 0 before you call f, and remove it afterward, but only for one sample.",
    ),
):
    t = torch.linspace(-1, 3, 120).reshape(2, 3, 4, 5)
    want = t.mean(dim=(2, 3))
    assert_close(with_batch(channel_means, t, 4), want)
    explain(
        with_batch(channel_means, t[1], 4),
        want[1],
        {"the batch dimension that you added is still there": want[1:]},
    )
with check(
    "one_channel",
    "an image with one channel keeps its channel dimension",
    hint=(
        "f's result has shape (1, 1) here. Which of the two dimensions did you add?",
        "squeeze(0) and [0] remove dimension 0 and no other.",
    ),
):
    t = torch.linspace(0, 1, 20).reshape(1, 4, 5) ** 2
    want = t.mean(dim=(1, 2))
    explain(
        with_batch(channel_means, t, 4),
        want,
        {"squeeze() without an argument also removed the channel dimension": want[0]},
    )

# %% hidden checks
with check(
    "other_cases",
    "other functions, sizes and dtypes",
    weight=2,
    required=True,
    hint="Does every number in the result come from f and x?",
):
    arguments.assert_results(with_batch, "", "samples", "totals of a sample", "another function")
    arguments.assert_results(with_batch, "requires grad", "batch, requires grad", "a batch in reverse")
    arguments.assert_gradients(with_batch, "requires grad", "batch, requires grad")
    arguments.assert_results(with_batch, "bool samples", "int64 batches", "int64 samples", "float64 batches")
    arguments.assert_results(with_batch, "transposed", "every second column", "expanded")
with check(
    "one_sample",
    "a batch of one sample stays a batch",
    weight=2,
    hint="Does your code look at a size, or at the number of dimensions?",
):
    t = torch.linspace(0, 1, 20).reshape(1, 1, 4, 5)
    want = t.mean(dim=(2, 3))
    explain(
        with_batch(channel_means, t, 4),
        want,
        {
            "squeeze() without an argument removed every dimension of size 1": want.squeeze(),
            "this was a batch of one, but its batch dimension is gone": want[0],
        },
    )
    arguments.assert_results(with_batch, "batch of one", "batch of one, sizes of 1")
with check(
    "size_one_input",
    "one sample keeps all its dimensions of size 1",
    hint="Does your code remove a dimension that the sample had before?",
):
    arguments.assert_results(with_batch, "one channel", "sizes of 1")
with check(
    "size_one_result",
    "a result of size 1 per sample keeps that dimension",
    hint="row_spread returns shape (N, 1). What should it return for one sample?",
):
    want = torch.tensor([7.0])
    explain(
        with_batch(row_spread, torch.tensor([3.0, -2.0, 5.0]), 2),
        want,
        {"squeeze() removed the result's dimension too": want[0]},
    )
    arguments.assert_results(with_batch, "one result for a sample")
with check("zero_dim", "a sample without dimensions", hint="If a batch has shape (N,), what's a sample?"):
    arguments.assert_results(with_batch, "no dimension")
with check(
    "raises", "any other number of dimensions raises a ValueError", hint="What happens to x[None] if x is a batch?"
):
    refused.assert_results(with_batch, "", "one of one", "two too many", "two too few", "none at all")
    refused.assert_arguments(with_batch)
with check("empty", "an empty batch, and an empty sample", guard=True):
    arguments.assert_results(with_batch, "empty batch", "empty sample")
with check(
    "same_tensor",
    "an f that returns its input itself",
    weight=2,
    hint="If you changed x or f's result in place, which other tensor did you change?",
):
    arguments.assert_results(with_batch, "f returns its input", "f returns its input, a batch")
with check(
    "passes_on",
    "an exception from f is propagated",
    guard=True,
    hint="If f raises an exception, what does your code do with it?",
):
    arguments.assert_results(with_batch, "f raises", "f raises for a batch", "f raises RuntimeError")
with check(
    "keeps_input", "x keeps its shape and its values", guard=True, hint="Is there an in-place operation in your code?"
):
    arguments.assert_arguments(with_batch)


# %% right "indices instead of squeeze"
def with_batch(f, x, ndim):
    if x.ndim not in (ndim - 1, ndim):
        raise ValueError("wrong number of dimensions")
    return f(x[None])[0] if x.ndim == ndim - 1 else f(x)


# %% right "reshape, and select"
def with_batch(f, x, ndim):
    missing = ndim - len(x.shape)
    if missing not in (0, 1):
        raise ValueError(f"{len(x.shape)} dimensions")
    out = f(x.reshape((1,) * missing + tuple(x.shape)))
    return out.select(0, 0) if missing else out


# %% wrong "squeeze at the end in any case" fails=one_channel,one_sample,size_one_input,size_one_result
def with_batch(f, x, ndim):
    if x.dim() not in (ndim - 1, ndim):
        raise ValueError
    return f(x if x.dim() == ndim else x.unsqueeze(0)).squeeze()


# %% wrong "squeeze(0) does nothing to a batch" fails=one_sample
def with_batch(f, x, ndim):
    if x.dim() not in (ndim - 1, ndim):
        raise ValueError
    return f(x if x.dim() == ndim else x.unsqueeze(0)).squeeze(0)


# %% wrong "the result is a batch of one" fails=example,one_channel,other_cases,size_one_input,size_one_result,zero_dim,empty,same_tensor
def with_batch(f, x, ndim):
    if x.dim() not in (ndim - 1, ndim):
        raise ValueError
    return f(x if x.dim() == ndim else x.unsqueeze(0))


# %% wrong "a batch is its samples, one by one" fails=other_cases,empty raises=RuntimeError
def with_batch(f, x, ndim):
    if x.dim() not in (ndim - 1, ndim):
        raise ValueError
    if x.dim() == ndim:
        return torch.stack([f(sample[None])[0] for sample in x])
    return f(x[None])[0]


# %% equivalent "text 'neither a batch nor a sample' changed: raise ValueError('neither a batch nor a samplex')"
# No check reads an error's text.
