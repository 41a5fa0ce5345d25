# %% exercise
def with_batch(f, x: Tensor, ndim: int) -> Tensor:
    """f(x), also where x is one sample without a batch dimension.

    f: takes a batch of ndim dimensions and returns a tensor. In both, dimension 0 is the batch.
    x: a batch of any size, with ndim dimensions, or one sample, with ndim - 1. Any dtype.
    Returns f's result as it is for a batch. For one sample, returns the result for that sample: without the batch
    dimension, and with all others. Raises ValueError for any other number of dimensions.
    """
    ### BEGIN SOLUTION
    if x.dim() == ndim:
        return f(x)
    if x.dim() != ndim - 1:
        raise ValueError("neither a batch nor a sample")
    return f(x.unsqueeze(0)).squeeze(0)
    ### END SOLUTION


# %% checks
with check(
    "example",
    "an image gives its channel means, a batch gives one row for each image",
    weight=2,
    required=True,
    hint=(
        "Which dimension did you add for one image, and where is it in the result of f?",
        "What was added at dimension 0 before f is taken away at dimension 0 after it, for one sample only.",
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

# %% hidden checks
with check(
    "other_cases",
    "other functions, sizes and dtypes",
    weight=2,
    required=True,
    hint="Does every number of the result come from f and x?",
):
    t = torch.arange(12).reshape(3, 4).T
    want = t.sum(dim=1)
    assert_close(with_batch(row_totals, t, 2), want)
    assert_close(with_batch(row_totals, t[2], 2), want[2])
    t = torch.linspace(2, -7, 120, dtype=torch.float64).reshape(5, 2, 3, 4)
    want = t.flip(3)
    assert_close(with_batch(mirrored, t, 4), want)
    assert_close(with_batch(mirrored, t[4], 4), want[4])
    assert_close(with_batch(mirrored, -t, 4), -want)
    t = torch.arange(24.0).reshape(4, 2, 3)
    want = t.flip(1)
    assert_close(with_batch(lambda x: x.flip(1), t[3], 3), want[3])
with check(
    "one_sample",
    "a batch of one sample stays a batch",
    weight=2,
    hint="Which size do you look at? Which number of dimensions?",
):
    t = torch.linspace(0, 1, 20).reshape(1, 1, 4, 5)
    want = t.mean(dim=(2, 3))
    explain(
        with_batch(channel_means, t, 4),
        want,
        {
            "squeeze() without an argument took every dimension of size 1": want.squeeze(),
            "this was a batch of one, and its batch dimension is gone": want[0],
        },
    )
    assert_close(with_batch(row_totals, t[0, 0, :1], 2), t[0, 0, :1].sum(dim=1))
with check(
    "size_one_input",
    "one sample keeps its own dimensions of size 1",
    weight=2,
    hint="What does squeeze() do with a grey image? Which dimension did you add?",
):
    t = torch.linspace(0, 1, 20).reshape(1, 4, 5) ** 2
    want = t.mean(dim=(1, 2))
    explain(with_batch(channel_means, t, 4), want, {"squeeze() took the dimension of the channel too": want[0]})
    assert_close(with_batch(mirrored, t[:, :1], 4), t[:, :1].flip(2))
with check(
    "size_one_result",
    "a result of size 1 for each sample keeps that dimension",
    hint="row_spread gives the shape (N, 1). What should it give for one sample?",
):
    want = torch.tensor([7.0])
    explain(
        with_batch(row_spread, torch.tensor([3.0, -2.0, 5.0]), 2),
        want,
        {"squeeze() took the dimension of the result too": want[0]},
    )
with check("raises", "any other number of dimensions raises a ValueError", hint="What happens to x[None] of a batch?"):
    for shape, dims in (((2, 2, 3, 4, 5), 4), ((4, 5), 4), ((2, 3, 4), 2), ((), 2)):
        try:
            with_batch(channel_means if dims == 4 else row_totals, torch.ones(shape), dims)
        except ValueError:
            continue
        raise AssertionError("a tensor with another number of dimensions was accepted")
with check("empty", "an empty batch gives an empty result", guard=True):
    assert_close(with_batch(channel_means, torch.zeros(0, 3, 4, 5), 4), torch.zeros(0, 3))
    assert_close(with_batch(row_totals, torch.zeros(0), 2), torch.tensor(0.0))
with check(
    "keeps_input", "x keeps its shape and its values", guard=True, hint="Is there an operation in place in your code?"
):
    unchanged(with_batch, mirrored, torch.linspace(-1, 3, 60).reshape(3, 4, 5), 4)


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


# %% wrong "tries the sample first, and goes by the error" fails=other_cases
def with_batch(f, x, ndim):
    if not ndim - 1 <= x.dim() <= ndim:
        raise ValueError("wrong number of dimensions")
    try:
        return f(x)
    except (IndexError, RuntimeError):
        return f(x.unsqueeze(0)).squeeze(0)


# %% wrong "squeeze() removes what unsqueeze added" fails=size_one_input,size_one_result
def with_batch(f, x, ndim):
    if x.dim() == ndim:
        return f(x)
    if x.dim() != ndim - 1:
        raise ValueError
    return f(x.unsqueeze(0)).squeeze()


# %% wrong "squeeze at the end in any case" fails=one_sample,size_one_input,size_one_result
def with_batch(f, x, ndim):
    if x.dim() not in (ndim - 1, ndim):
        raise ValueError
    return f(x if x.dim() == ndim else x.unsqueeze(0)).squeeze()


# %% wrong "squeeze(0) does nothing to a batch" fails=one_sample
def with_batch(f, x, ndim):
    if x.dim() not in (ndim - 1, ndim):
        raise ValueError
    return f(x if x.dim() == ndim else x.unsqueeze(0)).squeeze(0)


# %% wrong "a first size of 1 says that it is a batch of one" fails=size_one_input raises=IndexError
def with_batch(f, x, ndim):
    if x.dim() not in (ndim - 1, ndim):
        raise ValueError
    if x.dim() == ndim or x.shape[0] == 1:
        return f(x)
    return f(x.unsqueeze(0)).squeeze(0)


# %% wrong "the result is a batch of one" fails=example,other_cases,size_one_input,size_one_result,empty
def with_batch(f, x, ndim):
    if x.dim() not in (ndim - 1, ndim):
        raise ValueError
    return f(x if x.dim() == ndim else x.unsqueeze(0))


# %% wrong "what is no batch is a sample" fails=raises
def with_batch(f, x, ndim):
    return f(x) if x.dim() == ndim else f(x[None])[0]


# %% wrong "x may be given its new dimension for good" fails=keeps_input
def with_batch(f, x, ndim):
    if x.dim() == ndim:
        return f(x)
    if x.dim() != ndim - 1:
        raise ValueError
    return f(x.clone()[None])[0] if x.shape[0] == 1 else f(x.unsqueeze_(0)).squeeze(0)


# %% equivalent "text 'neither a batch nor a sample' changed: raise ValueError('neither a batch nor a samplex')"
# No check reads the text of an error.
