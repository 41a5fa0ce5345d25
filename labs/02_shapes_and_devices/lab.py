# %% given
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from labkit import (
    assert_answered,
    assert_close,
    assert_letters,
    assert_some_right,
    check,
    device,
    explain,
    explore_broadcasting,
    hint,
    probes,
    show_broadcasting,
    show_strides,
)

# %% [markdown]
# # Shapes, strides and devices
#
# Most errors in a first model are about shapes, and most errors on a first GPU are about devices. Those are the
# harmless ones, because they raise an error. In this lab you also meet the others: code that runs, gives a result of
# the right shape, and is wrong.
#
# After it you can
#
# - add and remove a batch dimension without touching another one;
# - say when `reshape` and `permute` give the same shape and different values;
# - decide from sizes and strides alone whether a `view` is possible;
# - build overlapping windows that cost no memory;
# - predict what broadcasting does to two shapes, and see the accident before it happens;
# - write code that runs on any device, and say which operations may mix devices.
#
# You need lab 1. This one takes about 90 minutes. After the windows is a good place for a break. All numbers in the
# text were measured with PyTorch 2.13 on a CPU. You need no GPU: where a second device is called for, this lab brings
# one along.
#
# Most sections ask you to predict something. Write your prediction down before you run the cell.
#
# The lab is worth 33 points. Each exercise has a few checks that you see at once, and more that run after you hand in.
# Those that you see hold about a fifth of the points. So a green table is a start and no proof. Read the docstring for
# the cases that the visible checks leave out. The last question, worth 2 points, is read by a person.

# %% [markdown]
# ## One sample and a batch
#
# A model works on *batches*: many samples at once, side by side along the first dimension. A batch of `N` images has
# the shape `(N, C, H, W)`: samples, channels, height, width. One image alone has the shape `(C, H, W)`. To give it to
# the model, it needs a dimension of size 1 in front.
#
# `unsqueeze(0)` puts one there, and so does the index `None`. `squeeze()` takes dimensions of size 1 away, and
# `squeeze(0)` looks at dimension 0 only. What shapes will the six lines have? The image has one channel: it is grey.

# %% given
grey = torch.zeros(1, 28, 28)
for text, t in {
    "grey.unsqueeze(0)": grey.unsqueeze(0),
    "grey[None]": grey[None],
    "grey.unsqueeze(0).squeeze(0)": grey.unsqueeze(0).squeeze(0),
    "grey.unsqueeze(0).squeeze()": grey.unsqueeze(0).squeeze(),
    "torch.zeros(5, 10).squeeze(0)": torch.zeros(5, 10).squeeze(0),
    "torch.zeros(1, 10).squeeze()": torch.zeros(1, 10).squeeze(),
}.items():
    print(f"{text:31} {tuple(t.shape)}")

# %% [markdown]
# Two of these are traps. `squeeze()` without an argument takes every dimension of size 1: the channel of the grey image
# went with the batch. And in the last line a batch of one sample lost its batch dimension. Code with `squeeze()` in it
# runs for months, until the last batch of an epoch has one sample.
#
# The fifth line is a trap of another kind. `squeeze(0)` found the size 5 there, did nothing, and said nothing.
#
# ### Your turn
# Somebody gives you a function that takes batches only. Make it take one sample too. What do you have to know in order
# to tell a sample from a batch? The shape `(1, 28, 28)` may be either.


# %% given
# Functions to try your solution on. The checks use them too.
def channel_means(batch):
    """(N, C, H, W) -> (N, C)"""
    return batch.mean(dim=(2, 3))


def row_totals(batch):
    """(N, D) -> (N,)"""
    return batch.sum(dim=1)


def row_spread(batch):
    """(N, D) -> (N, 1)"""
    return batch.amax(dim=1, keepdim=True) - batch.amin(dim=1, keepdim=True)


def mirrored(batch):
    """(N, C, H, W) -> (N, C, H, W)"""
    return batch.flip(3)


# %% given
hint(
    "You cannot tell a sample from a batch by its sizes. What does ndim say?",
    "What comes out of f has a batch dimension, and where is it? Take away that one, whatever the other sizes are.",
)


# %% exercise: with_batch
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


# %% check: with_batch points=2
with check("an image gives its channel means, a batch gives one row for each image", weight=2, required=True):
    t = torch.linspace(-1, 3, 120).reshape(2, 3, 4, 5)
    want = t.mean(dim=(2, 3))
    assert_close(with_batch(channel_means, t, 4), want)
    explain(
        with_batch(channel_means, t[1], 4),
        want[1],
        {"the batch dimension that you added is still there": want[1:]},
    )
### BEGIN HIDDEN TESTS
with check(
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
    t = torch.arange(24.0).reshape(4, 2, 3)
    want = t.flip(1)
    assert_close(with_batch(lambda x: x.flip(1), t[3], 3), want[3])
with check(
    "a batch of one sample stays a batch", weight=2, hint="Which size do you look at? Which number of dimensions?"
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
    "one sample keeps its own dimensions of size 1",
    weight=2,
    hint="What does squeeze() do with a grey image? Which dimension did you add?",
):
    t = torch.linspace(0, 1, 20).reshape(1, 4, 5) ** 2
    want = t.mean(dim=(1, 2))
    explain(with_batch(channel_means, t, 4), want, {"squeeze() took the dimension of the channel too": want[0]})
    assert_close(with_batch(mirrored, t[:, :1], 4), t[:, :1].flip(2))
with check(
    "a result of size 1 for each sample keeps that dimension",
    hint="row_spread gives the shape (N, 1). What should it give for one sample?",
):
    want = torch.tensor([7.0])
    explain(
        with_batch(row_spread, torch.tensor([3.0, -2.0, 5.0]), 2),
        want,
        {"squeeze() took the dimension of the result too": want[0]},
    )
with check("any other number of dimensions raises a ValueError", hint="What happens to x[None] of a batch?"):
    for shape, dims in (((2, 2, 3, 4, 5), 4), ((4, 5), 4), ((2, 3, 4), 2), ((), 2)):
        try:
            with_batch(channel_means if dims == 4 else row_totals, torch.ones(shape), dims)
        except ValueError:
            continue
        raise AssertionError(f"a tensor of shape {shape} was accepted as a batch or sample of {dims} dimensions")
with check("an empty batch gives an empty result", guard=True):
    assert_close(with_batch(channel_means, torch.zeros(0, 3, 4, 5), 4), torch.zeros(0, 3))
    assert_close(with_batch(row_totals, torch.zeros(0), 2), torch.tensor(0.0))
with check("x keeps its shape and its values", guard=True, hint="Is there an operation in place in your code?"):
    t = torch.linspace(-1, 3, 60).reshape(3, 4, 5)
    before = t.clone()
    with_batch(mirrored, t, 4)
    assert_close(t, before)
### END HIDDEN TESTS

# %% [markdown]
# The number of dimensions decides, never a size. This is why most layers of PyTorch document both forms: `nn.Conv2d`
# takes `(N, C, H, W)` or `(C, H, W)`. In which of your own functions would an error be better than a second form?

# %% [markdown]
# ## The same shape, other values
#
# An image file often comes as `(H, W, C)`: height, width, channels. PyTorch wants `(C, H, W)`. Two ways lead from one
# shape to the other. `reshape` takes the elements in their order and cuts them into the new sizes. `permute` changes
# which dimension comes first, second and third: element `[c, h, w]` becomes element `[h, w, c]`.
#
# The image below has two channels. All values of the first begin with a 1, those of the second with a 2. It goes from
# `(2, 2, 3)` to `(2, 3, 2)`. In the result, each pair should be the two channels of one pixel. Which line does it?

# %% given
image = torch.tensor([[[10, 11, 12], [13, 14, 15]], [[20, 21, 22], [23, 24, 25]]])
print("reshape:", image.reshape(2, 3, 2).tolist())
print("permute:", image.permute(1, 2, 0).tolist())

# %% [markdown]
# Both have the shape `(2, 3, 2)`. Only `permute` keeps a pixel together. After `reshape`, every pair holds two
# neighbours of one channel. No error tells you. A model that is trained on such images learns something, and less than
# it could.
#
# Keep three families apart:
#
# - `view`, `reshape`, `flatten`, `unflatten`: the same elements in the same order, cut differently. `view` never
#   copies: what you write into it stands in the original too. It raises an error where that is impossible. `reshape`
#   gives a view where it can, and copies where it must.
# - `permute`, `transpose`, `movedim`, `.mT` (which exchanges the last two): another order of the dimensions. They never
#   copy: they exchange strides.
# - `einsum("chw->hwc", image)`: the same as `permute(1, 2, 0)`, with names instead of numbers.
#
# `einsum` can do more. Every dimension of every operand gets a letter. What has the same letter is lined up and
# multiplied, and a letter that is missing after the arrow is summed over. What do the three lines print? Write it down
# before you run the cell.

# %% given
query = torch.arange(12.0).reshape(2, 3, 2)  # batch, time, features
key = torch.arange(16.0).reshape(2, 4, 2)  # batch, another time, features
print(tuple(torch.einsum("btd,bsd->bts", query, key).shape))
print(torch.equal(torch.einsum("btd,bsd->bts", query, key), query @ key.transpose(1, 2)))
print(tuple(torch.einsum("btd->d", query).shape))

# %% [markdown]
# The first is a matrix of products: each row of `query` with each row of `key`, batch by batch. The second says that
# `@` does the same with a transposed operand. The last sums over batch and time.
#
# ### Your turn
# In *attention* with several heads, the features of each position are divided among the heads: with 8 features and 4
# heads, head 0 gets features 0 and 1, head 1 gets 2 and 3, and so on. Afterwards the heads stand beside the batch, so
# that each of them can do the computation above on its own. Cut first, or change the order first?

# %% given
hint(
    "Which dimension is to be cut, and into which two? Write the shape after that cut, with names.",
    "After the cut you have batch, time, head, feature. Which two have to change places?",
)


# %% exercise: split_heads
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


# %% check: split_heads points=3
with check("the shape for two heads of two features", required=True):
    t = torch.arange(24.0).reshape(2, 3, 4)
    got = split_heads(t, 2)
    assert got.shape == (2, 2, 3, 2), f"your result has shape {tuple(got.shape)}"
    assert got.dtype == torch.float32, f"your result has dtype {got.dtype}"
with check("head 1 gets features 2 and 3 of each position", weight=2):
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
### BEGIN HIDDEN TESTS
with check(
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
with check(
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
    "an x that is transposed, sliced or expanded",
    weight=2,
    hint="Which function of yours needs strides that fit? What does it do with a transposed x?",
):
    t = torch.arange(120.0).reshape(3, 5, 8)
    for part in (t.transpose(0, 1), t.permute(1, 2, 0)[..., :2], t[:, ::2, 2:], t[:1].expand(4, 5, 8)):
        size = part.shape[-1] // 2
        want = torch.stack([part[..., :size], part[..., size:]], dim=1)
        assert_close(split_heads(part, 2), want)
with check("one head, and one feature for each head", hint="Is there a squeeze() or a comparison with 1?"):
    t = torch.arange(30.0).reshape(2, 5, 3)
    for part, heads in ((t, 1), (t, 3), (t[:1, :1], 3)):
        want = part[:, None].clone() if heads == 1 else part.transpose(1, 2)[..., None].clone()
        assert_close(split_heads(part, heads), want)
with check("heads that do not divide the features raise a ValueError", hint="What does // do with the rest?"):
    for heads in (3, 5, 16):
        try:
            split_heads(torch.ones(2, 3, 8), heads)
        except ValueError:
            continue
        raise AssertionError(f"{heads} heads were accepted for 8 features")
with check("empty batches, and x keeps its shape and values", guard=True):
    assert_close(split_heads(torch.ones(0, 3, 8), 2), torch.ones(0, 2, 3, 4))
    assert_close(split_heads(torch.ones(2, 0, 8), 4), torch.ones(2, 4, 0, 2))
    t = torch.arange(24.0).reshape(2, 3, 4)
    before = t.clone()
    split_heads(t, 2)
    assert_close(t, before)
### END HIDDEN TESTS

# %% [markdown]
# Many people write `x.view(batch, heads, time, -1)` the first time. The shape is right, the loss goes down, and each
# head sees a mixture of positions. A test with a tensor of ones would pass too. What would you put into a test tensor
# so that no wrong order can hide?
#
# To put the heads back together, you do the two steps in the opposite order: `transpose(1, 2)`, then `flatten(2)`.

# %% [markdown]
# ## When is a view possible?
#
# You may have read that `view` needs a contiguous tensor. Is that so? In each of the next lines, `view` is called on a
# tensor that is *not* contiguous.
#
# One of these tensors is new: `channels_last`. A batch of images has the shape `(N, C, H, W)` in either *memory
# format*. In the format `torch.channels_last` the channels of one pixel lie side by side in memory, and then comes the
# next pixel. Some convolution kernels prefer that. What are the strides of such a tensor of shape (2, 3, 4, 5)?
#
# Which of the seven lines raise an error? Keep the strides in mind, and take your time. This is the question of the
# next exercise.

# %% given
grid = torch.arange(24).reshape(4, 6)
channels_last = torch.zeros(2, 3, 4, 5).to(memory_format=torch.channels_last)
trials = {
    "grid.T.view(24)": (grid.T, (24,)),
    "grid.T.view(3, 2, 4)": (grid.T, (3, 2, 4)),
    "grid.T.view(6, 2, 2)": (grid.T, (6, 2, 2)),
    "grid[:, :4].view(16)": (grid[:, :4], (16,)),
    "grid[:, :4].view(2, 2, 4)": (grid[:, :4], (2, 2, 4)),
    "grid[:, ::2].view(12)": (grid[:, ::2], (12,)),
    "channels_last.view(2, 60)": (channels_last, (2, 60)),
}
for text, (t, shape) in trials.items():
    assert not t.is_contiguous()
    try:
        print(f"{text:26} strides {t.stride()} -> {t.view(shape).stride()}")
    except RuntimeError as error:
        print(f"{text:26} strides {t.stride()}: {type(error).__name__}")

# %% [markdown]
# Three raise an error, and four do not. So "contiguous" is not the rule. It is enough, and it is not needed. The error,
# where there is one, comes at once, and its text recommends `reshape`. `reshape` copies in such a case, and does not
# say so. What you write into the copy never reaches the original.
#
# Now the rule. A view needs one stride for each of its dimensions.
#
# - *Cutting* one dimension in two always works. If the old one has stride `s` and is cut into `a` times `b`, the new
#   strides are `b * s` and `s`.
# - *Joining* two neighbours works only if walking along the inner one ends where the next step of the outer one
#   begins: `outer stride == inner size * inner stride`.
#
# In `grid.T` the strides are (1, 6) and the sizes (6, 4). Joining would need `1 == 4 * 6`. In `grid[:, ::2]` the
# strides are (6, 2) and the sizes (4, 3): `6 == 3 * 2`, so its two dimensions can be joined to one with stride 2.
#
# `show_strides` shows that. Follow the colours in the storage.

# %% given
show_strides(grid[:, ::2])

# %% [markdown]
# And when is a tensor contiguous? Three operations of the next cell are new. `narrow(dim, start, length)` keeps a range
# of one dimension, like a slice. `select(dim, index)` keeps one index, and that dimension is gone. `expand` stretches
# dimensions of size 1 to other sizes without a copy.
#
# All of these eight come from operations that are often called "non-contiguous". Which of them are contiguous?

# %% given
for text, t in {
    "grid.T": grid.T,
    "grid[:1].T": grid[:1].T,
    "grid.narrow(0, 1, 2)": grid.narrow(0, 1, 2),
    "grid.narrow(1, 1, 2)": grid.narrow(1, 1, 2),
    "grid.select(0, 1)": grid.select(0, 1),
    "grid.select(1, 1)": grid.select(1, 1),
    "grid[:, :1].expand(4, 6)": grid[:, :1].expand(4, 6),
    "grid.expand(4, 6)": grid.expand(4, 6),
}.items():
    print(f"{text:26} shape {tuple(t.shape)!s:8} strides {t.stride()!s:8} {t.is_contiguous()}")

# %% [markdown]
# Four of them are. Look at the strides, not at the operation: a row of a matrix has no gap, a column has. Sizes of 1 do
# not count: no step is ever taken along such a dimension, so its stride means nothing.
#
# ### Your turn
# Do what `view` does before it touches anything: find the new strides, or find out that there are none. No tensor is
# needed for that.

# %% given
hint(
    "First join all old neighbours that can be joined, and leave out sizes of 1. What remains are blocks, each with a "
    "number of elements and a stride. A new dimension can never reach from one block into the next.",
    "Go through the new shape from the right. Keep two numbers for the block that you are in: how many of its elements "
    "are still to be divided, and the stride of the next dimension. When must you give up?",
)


# %% exercise: view_strides
def view_strides(size: tuple, stride: tuple, shape: tuple) -> tuple | None:
    """The strides of t.view(shape) for a tensor t of this size and stride, or None where view is impossible.

    size, stride: of t, of one length, which may be 0; stride may hold zeros. shape: the new shape. size and shape hold
    integers of at least 1 (no -1, no 0). None also where the number of elements differs.
    Returns one integer for each entry of shape. For an entry of 1 any integer will do.
    """
    ### BEGIN SOLUTION
    blocks: list[tuple[int, int]] = []  # number of elements, stride: what can be joined is joined
    for n, s in zip(size, stride, strict=True):
        if n > 1 and blocks and blocks[-1][1] == n * s:
            blocks[-1] = (blocks[-1][0] * n, s)
        elif n > 1:
            blocks.append((n, s))
    found, left, step = [], 1, 1
    for n in reversed(shape):
        if n > 1 and left == 1 and blocks:
            left, step = blocks.pop()
        if left % n != 0:
            return None  # this dimension would reach into the next block
        found.append(step)
        left, step = left // n, step * n
    return tuple(reversed(found)) if left == 1 and not blocks else None
    ### END SOLUTION


# %% check: view_strides points=4
with check("a contiguous tensor, joined and cut", weight=2, required=True):
    assert_close(view_strides((2, 3, 4), (12, 4, 1), (6, 4)), (4, 1))
    assert_close(view_strides((2, 3, 4), (12, 4, 1), (2, 3, 2, 2)), (12, 4, 2, 1))
with check("a transposed matrix cannot be flattened", weight=2):
    assert_close(view_strides((6, 4), (1, 6), (24,)), None)
### BEGIN HIDDEN TESTS
with check(
    "a tensor that is not contiguous may be cut",
    weight=2,
    hint="Which new strides does a dimension of stride s get when it is cut in two?",
):
    for size, stride, shape in (
        ((6, 4), (1, 6), (3, 2, 4)),
        ((6, 4), (1, 6), (6, 2, 2)),
        ((4,), (2,), (2, 2)),
        ((5, 12), (1, 7), (5, 2, 3, 2)),
        ((4, 3, 6), (1, 40, 5), (2, 2, 3, 3, 2)),
    ):
        want = torch.zeros(300).as_strided(size, stride).view(shape).stride()
        explain(
            view_strides(size, stride, shape),
            want,
            {"these are the strides of a contiguous tensor of the new shape": torch.zeros(shape).stride()},
        )
with check(
    "neighbours that fit can be joined, in a tensor with gaps too",
    weight=3,
    required=True,
    hint="In grid[:, ::2], where does a row end, and where does the next one begin?",
):
    for size, stride, shape in (
        ((4, 3), (6, 2), (12,)),
        ((4, 6), (7, 1), (2, 2, 3, 2)),
        ((5, 4, 3), (3, 15, 1), (5, 2, 2, 3)),
        ((2, 3, 4, 5), (200, 60, 15, 3), (6, 20)),
        ((2, 3, 4, 5), (180, 60, 5, 1), (6, 20)),
        ((2, 3, 4, 5), (180, 60, 5, 1), (3, 2, 2, 10)),
        ((3, 4, 2), (40, 4, 2), (3, 8)),
    ):
        try:
            want = torch.zeros(900).as_strided(size, stride).view(shape).stride()
        except RuntimeError:
            want = None
        assert_close(view_strides(size, stride, shape), want)
with check(
    "a dimension cannot reach from one block into the next",
    weight=3,
    required=True,
    hint="Which neighbours of the old shape can be joined? Does every new dimension stay inside what was joined?",
):
    for size, stride, shape in (
        ((4, 6), (12, 1), (8, 3)),
        ((4, 6), (12, 1), (2, 12)),
        ((4, 6), (12, 1), (3, 8)),
        ((6, 4), (1, 6), (4, 6)),
        ((6, 4), (1, 6), (8, 3)),
        ((2, 3, 4, 5), (60, 1, 15, 3), (2, 60)),
        ((3, 5), (6, 1), (15,)),
        ((2, 9), (12, 1), (6, 3)),
        ((3, 2, 4), (1, 3, 6), (6, 4)),
    ):
        got = view_strides(size, stride, shape)
        assert got is None, f"you found strides for {shape}, and view raises an error"
with check(
    "sizes of 1 in the old and in the new shape",
    weight=2,
    hint="Does the stride of a dimension of size 1 say anything? Can one be put anywhere?",
):
    for size, stride, shape in (
        ((1, 6, 1, 4), (99, 4, 5, 1), (24,)),
        ((3, 1, 4), (4, 1, 1), (1, 12, 1)),
        ((6, 4), (1, 6), (1, 6, 1, 4)),
        ((6, 1), (2, 77), (3, 1, 2)),
        ((1, 1), (5, 9), (1,)),
    ):
        exact = torch.zeros(200).as_strided(size, stride).view(shape).stride()
        got = view_strides(size, stride, shape)
        assert isinstance(got, list | tuple), "a view is possible here"
        pairs = zip(got, exact, shape, strict=True)  # where the size is 1, the stride may be any number
        assert_close([mine if n > 1 else right for mine, right, n in pairs], list(exact))
    assert view_strides((2, 1, 3), (4, 3, 1), (6,)) is None, "strides 4 and 1 cannot be joined across a size of 1"
with check("another number of elements gives None", weight=2, hint="How many elements have t and the new shape?"):
    for size, stride, shape in (
        ((2, 3), (3, 1), (7,)),
        ((2, 3), (3, 1), (3,)),
        ((2, 3), (3, 1), (4,)),
        ((6, 4), (1, 6), (5, 3)),
        ((2, 3), (3, 1), (2, 2, 3)),
        ((6, 4), (1, 6), (4,)),
        ((6, 4), (1, 6), (2, 6, 4)),
        ((5,), (1,), ()),
        ((), (), (2,)),
        ((4, 6), (12, 1), (2, 6)),
    ):
        got = view_strides(size, stride, shape)
        assert got is None, f"you found strides for {shape}, and the number of elements differs"
with check("expanded tensors have strides of 0", hint="What does the rule for joining say where both strides are 0?"):
    for size, stride, shape in (((3, 4), (0, 0), (12,)), ((3, 4), (1, 0), (3, 2, 2)), ((6, 4), (0, 1), (2, 3, 4))):
        want = torch.zeros(50).as_strided(size, stride).view(shape).stride()
        assert_close(view_strides(size, stride, shape), want)
    assert view_strides((3, 4), (0, 1), (12,)) is None, "an expanded dimension cannot be joined with one of stride 1"
    assert view_strides((3, 4), (1, 0), (12,)) is None, "an expanded dimension cannot be joined with one of stride 1"
with check("a tensor without dimensions", guard=True):
    got = view_strides((), (), (1, 1))
    assert got is not None and len(got) == 2, "a 0-dim tensor can be viewed with the shape (1, 1)"
    assert_close(view_strides((1, 1), (3, 1), ()), ())
    assert_close(view_strides((), (), ()), ())
### END HIDDEN TESTS

# %% [markdown]
# So a view is possible if every new dimension stays inside one block. A contiguous tensor is one single block, and that
# is why it never refuses. `grid.T` is two blocks, and `channels_last` is three. Which are they, and which views does it
# allow?

# %% [markdown]
# ## Windows that overlap
#
# A signal of a million values is to be averaged over windows of 100: values 0 to 99, values 1 to 100, and so on. As a
# tensor, the windows have the shape (999901, 100). How many bytes would they take in float32? And how many do they
# take here?
#
# `as_strided(size, stride)` makes a view from the sizes and strides that you name. It checks only that no element lies
# outside the storage. If the strides are wrong, the values are wrong.

# %% given
signal = torch.zeros(1_000_000)
overlapping = signal.as_strided((999_901, 100), (1, 1))
print(f"elements that it shows: {overlapping.nbytes:,} bytes")
print(f"storage behind it:      {overlapping.untyped_storage().nbytes():,} bytes")
show_strides(torch.arange(10, 16).as_strided((4, 3), (1, 1)))

# %% [markdown]
# As a copy, the windows would take nearly 400 million bytes. They take none of their own. In the picture, the third
# window begins where the first one ends: many elements stand for one slot. For reading that is fine.
#
# What about writing? First, three windows are set to their index plus one, one after the other. Then 1 is added to all
# windows at once. What will `line` be after each of the two?

# %% given
line = torch.zeros(5)
triples = line.as_strided((3, 3), (1, 1))
for i in range(3):
    triples[i] = i + 1
print("set one after the other:", line.tolist(), " first window:", triples[0].tolist())

line = torch.zeros(5)
line.as_strided((3, 3), (1, 1)).add_(1)
print("1 added to all windows: ", line.tolist())

# %% [markdown]
# The later windows have overwritten the earlier ones: the first window is no longer three times 1. And where three
# windows meet, 1 was added three times. There was no error in either case. The documentation of `as_strided` promises
# no particular result for such writes. So this kind of view is for reading. Before you write, `clone()` it.
#
# ### Your turn
# Write windows along the last dimension of any tensor, as a view, with a step between them. The tensor may be a view
# itself. Where do its strides stand in your result?

# %% given
hint(
    "Start with one dimension and step 1. Going to the next element of a window and going to the next window: how far "
    "is it in the storage, if x has the stride s?",
    "The strides of x in front stay as they are. How many windows begin early enough to have k elements? Try n = 7, "
    "k = 3, step = 2 on paper. as_strided keeps the storage offset of x unless you name another one.",
)


# %% exercise: windows
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


# %% check: windows points=3
with check("windows of 3 in 6 elements, step 1", weight=3, required=True):
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
### BEGIN HIDDEN TESTS
with check(
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
with check("a write to x is seen in the windows", weight=2, required=True, hint="Does a step of yours copy?"):
    for step in (1, 3):
        t = torch.arange(10.0)
        later = t * -2 + 1
        want = torch.stack([later[i : i + 4] for i in range(0, 7, step)])
        got = windows(t, 4, step)
        t.mul_(-2).add_(1)
        assert_close(got, want)
with check(
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
with check("more dimensions stay in front", weight=2, hint="Which strides has x in front of the last dimension?"):
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
with check("one window, and none", hint="What is (n - k) // step + 1 for k = n, and for k = n + 1?"):
    t = torch.tensor([2.0, 5.0, 8.0])
    want = t.clone()[None]
    assert_close(windows(t, 3, 2), want)
    for size in (4, 9):
        try:
            windows(t, size, 2)
        except (ValueError, RuntimeError):
            continue
        raise AssertionError(f"a window of {size} in 3 elements was accepted")
with check("an empty batch, and x keeps its values", guard=True):
    assert_close(windows(torch.empty(0, 5), 3, 1), torch.empty(0, 3, 3))
    t = torch.arange(8.0)
    before = t.clone()
    windows(t, 3, 2)
    assert_close(t, before)
### END HIDDEN TESTS

# %% [markdown]
# PyTorch has this as `x.unfold(-1, k, step)`. A convolution can be written as such windows times a kernel, and a
# pooling layer as their maximum. Reading all windows still costs time, of course. What would you do about the memory of
# `windows(signal, 100, 1) - windows(signal, 100, 1).mean(-1, keepdim=True)`?

# %% [markdown]
# ## Broadcasting
#
# An operation on two tensors of different shapes may still work. PyTorch *broadcasts* them to a common shape:
#
# 1. The shapes are aligned at their *last* dimension. The shorter one gets dimensions of size 1 in front.
# 2. In each dimension, the sizes must be equal, or one of them must be 1. A size of 1 is stretched to the other.
#
# What is the shape of a `(4, 1)` and a `(3,)` together? Of a `(4,)` and a `(4, 1)`? Write both down first.

# %% given
show_broadcasting((4, 1), (3,))

# %% given
show_broadcasting((4,), (4, 1))

# %% [markdown]
# Alignment is from the right. That is where people go wrong: a `(4,)` beside a `(4, 1)` is a row and a column, and
# together they make a matrix. Nothing warns you.
#
# Now try shapes of your own. Find two shapes of three dimensions each in which both are stretched, and two that differ
# in one size only and do not fit. Is there a pair in which a size of 0 takes part? In a running notebook, you type into
# the two fields below, and press Enter. A shape is written as `4, 1`.

# %% given
explore_broadcasting((2, 1, 4), (3, 1))

# %% [markdown]
# Stretching costs no memory. `t.expand(sizes)` is that stretching alone: it gives the dimension a stride of 0. `repeat`
# makes copies. How many bytes does each keep? And what do you expect from the last line, which writes to one element?

# %% given
column = torch.tensor([[1.0], [2.0], [3.0]])
wide, copied = column.expand(3, 1000), column.repeat(1, 1000)
print("expand: strides", wide.stride(), " storage", wide.untyped_storage().nbytes(), "bytes")
print("repeat: strides", copied.stride(), " storage", copied.untyped_storage().nbytes(), "bytes")
wide[0, 0] = 50
print("column after a write to wide[0, 0]:", column.flatten().tolist(), " wide[0, 999]:", wide[0, 999].item())

# %% [markdown]
# The write went through: all thousand elements of that row are one slot. An operation in place on the whole of `wide`,
# such as `wide.add_(1)`, raises a RuntimeError. So read from an expanded tensor, and write to a copy.
#
# ### The accident
# A model gives its predictions in the shape `(N, 1)`, one column. The targets come from a file in the shape `(N,)`.
# Below, each prediction is off by exactly 1, up or down. What should the mean squared error be?

# %% given
predicted = torch.tensor([[1.0], [4.0], [9.0]])
target = torch.tensor([2.0, 3.0, 10.0])
difference = predicted - target
print("mean squared error:", difference.square().mean().item())
print("difference has shape", tuple(difference.shape))

# %% [markdown]
# It should be 1. But `(3, 1)` and `(3,)` broadcast to `(3, 3)`, and every prediction was compared with every target.
# The loss goes down in training all the same. You will say at the end of this lab what the model learns from it.
#
# `nn.functional.mse_loss` computes the same wrong number, with a warning.
#
# ### Your turn
# Write a mean squared error that cannot have this accident. Which pairs of shapes do you let through?

# %% given
hint(
    "How many shapes are allowed for each of the two? What do they all have in common?",
    "Decide first which shapes are allowed, and raise the error for all others. Only then bring both to one shape. "
    "Which function makes (N,) of (N, 1), also where N is 1?",
)


# %% exercise: safe_mse
def safe_mse(predicted: Tensor, target: Tensor) -> Tensor:
    """The mean squared error of N predictions, a 0-dim tensor.

    predicted, target: shape (N,) or (N, 1) each, in any combination, N at least 1, float32 or float64. Both have one
    dtype, which the result has too. Raises ValueError for any other pair of shapes. Neither is changed.
    """
    ### BEGIN SOLUTION
    for t in (predicted, target):
        if t.dim() not in (1, 2) or t.shape[1:] not in ((), (1,)):
            raise ValueError("the shape must be (N,) or (N, 1)")
    if len(predicted) != len(target):
        raise ValueError("there must be one target for each prediction")
    return (predicted.flatten() - target.flatten()).square().mean()
    ### END SOLUTION


# %% check: safe_mse points=3
with check("a column of predictions and a row of targets", weight=3, required=True):
    p, t = torch.tensor([[1.0], [4.0], [9.0]]), torch.tensor([2.0, 3.0, 12.0])
    explain(
        safe_mse(p, t),
        torch.tensor(11 / 3),
        {
            "every prediction was compared with every target": (p - t).square().mean(),
            "this is the sum of the squares": torch.tensor(11.0),
        },
    )
### BEGIN HIDDEN TESTS
with check(
    "all four pairs of shapes, in float32 and float64",
    weight=3,
    required=True,
    hint="Which shapes can predicted and target have? What do you do with each?",
):
    for dtype, n in ((torch.float32, 7), (torch.float64, 5)):
        p = torch.linspace(-2, 3, n, dtype=dtype).exp()
        t = torch.linspace(4, -1, n, dtype=dtype).square()
        want = sum((a - b) ** 2 for a, b in zip(p.double().tolist(), t.double().tolist(), strict=True)) / n
        for a, b in ((p, t), (p[:, None], t), (p, t[:, None]), (p[:, None], t[:, None])):
            explain(
                safe_mse(a, b),
                torch.tensor(want, dtype=dtype),
                {"every prediction was compared with every target": (p[:, None] - t).square().mean()},
            )
with check("float64 keeps its digits", hint="In which dtype does your function compute?"):
    p = torch.tensor([1000.0, 2000.0, -500.0], dtype=torch.float64)
    t = p + torch.tensor([0.01, -0.02, 0.04], dtype=torch.float64)
    want = torch.tensor(sum((a - b) ** 2 for a, b in zip(p.tolist(), t.tolist(), strict=True)) / 3, dtype=torch.float64)
    assert_close(safe_mse(p, t[:, None]), want)
with check("a single prediction", weight=2, hint="What does squeeze() make of the shape (1, 1)?"):
    p, t = torch.tensor([[2.5]]), torch.tensor([-1.0])
    for a, b in ((p, t), (p[0], t), (p, t[:, None]), (p[0], t[:, None])):
        assert_close(safe_mse(a, b), torch.tensor(12.25))
with check("different numbers of predictions and targets raise a ValueError", weight=2, hint="Does a 1 fit any size?"):
    for p, t in (((5, 1), (4,)), ((5,), (1,)), ((1,), (6,)), ((1, 1), (6, 1)), ((6, 1), (1,)), ((4, 1), (8, 1))):
        try:
            safe_mse(torch.ones(p), torch.ones(t))
        except ValueError:
            continue
        raise AssertionError(f"predictions of shape {p} and targets of shape {t} were accepted")
with check(
    "shapes that are no column raise a ValueError",
    weight=2,
    hint="(1, 4) and (2, 2) have four elements as well. Are they four predictions?",
):
    for p, t in (((4, 2), (4, 2)), ((1, 4), (4,)), ((4,), (1, 4)), ((4,), (2, 2)), ((4, 1, 1), (4,)), ((), ())):
        try:
            safe_mse(torch.ones(p), torch.ones(t))
        except ValueError:
            continue
        raise AssertionError(f"predictions of shape {p} and targets of shape {t} were accepted")
with check("strided arguments, which keep their values and shapes", guard=True):
    table = torch.arange(12.0).reshape(4, 3).square()
    before = table.clone()
    want = torch.tensor(
        sum((a - b) ** 2 for a, b in zip([0.0, 9.0, 36.0, 81.0], [4.0, 25.0, 64.0, 121.0], strict=True)) / 4
    )
    assert_close(safe_mse(table[:, :1], table[:, 2]), want)
    assert_close(table, before)
### END HIDDEN TESTS

# %% [markdown]
# All these checks for one line of arithmetic. Is that too much? In a library, no: the error appears where the
# mistake is, and not three days later in a plot. In your own code, one assertion is enough:
# `assert p.shape == t.shape`.

# %% [markdown]
# ## Every point with every other
#
# The same stretching is a tool when you ask for it. You want a table with one entry for each pair of a point in `a` and
# a point in `b`. Give `a` the shape `(n, 1, d)` and `b` the shape `(1, m, d)`. What shape has their difference? The
# picture has n = 4, m = 5, d = 3.

# %% given
show_broadcasting((4, 1, 3), (1, 5, 3))

# %% [markdown]
# From the difference to the distance it is one sum over the last dimension and a square root.
#
# Many programs avoid the large table of differences. They use `|a - b|² = |a|² - 2 a·b + |b|²`, where the middle part
# is a matrix product. In exact arithmetic both are the same. Below, two points lie 0.01 apart, and 1000 away from zero.
# What will the three lines print?

# %% given
first, second = torch.tensor([1000.0, 0.0]), torch.tensor([1000.01, 0.0])
print("through the difference: ", (first - second).square().sum().sqrt().item())
expanded = first @ first - 2 * first @ second + second @ second
print("through the expansion:  ", expanded.sqrt().item())
print("in float64:             ", (first.double() - second.double()).square().sum().sqrt().item())

# %% [markdown]
# The two large squares agree in nearly all of their digits. In float32, what remains of them is rounding error. Here it
# is 0. It may even be negative, and its root is nan. The difference of the points themselves lost nothing here: it is
# the same number in float64. (The points are float32, so 1000.01 is not exact. The third line says how far apart they
# really are.)
#
# ### Your turn
# Write the table of distances. Is there a pair of points for which your way loses digits?

# %% given
hint(
    "Which index gives a dimension of size 1 in the middle, and which in front?",
    "Which dimension of the differences do you sum over, if you count from the end?",
)


# %% exercise: pairwise_distances
def pairwise_distances(a: Tensor, b: Tensor) -> Tensor:
    """The Euclidean distance of each point in a from each point in b.

    a: shape (n, d), b: shape (m, d), of one dtype, float32 or float64, any strides; n, m and d may differ, or be equal.
    Returns shape (n, m) and that dtype: entry [i, j] belongs to a[i] and b[j]. The relative error is at most 1e-3, also
    where points are close together and far from zero. So equal points have the distance 0. n, m and d may be 0.
    """
    ### BEGIN SOLUTION
    return (a[:, None, :] - b[None, :, :]).square().sum(dim=-1).sqrt()
    ### END SOLUTION


# %% check: pairwise_distances points=3
with check("two points and three points in the plane", weight=3, required=True):
    t = torch.tensor([[0.0, 0.0], [3.0, 4.0]])
    other = torch.tensor([[3.0, 0.0], [0.0, 4.0], [6.0, 8.0]])
    want = torch.tensor([[3.0, 4.0, 10.0], [4.0, 3.0, 5.0]])
    explain(
        pairwise_distances(t, other),
        want,
        {
            "this is the squared distance": want.square(),
            "this is the sum of the absolute differences": torch.tensor([[3.0, 4.0, 14.0], [4.0, 3.0, 7.0]]),
            "rows and columns are exchanged: entry [i, j] belongs to a[i] and b[j]": want.T,
        },
    )
### BEGIN HIDDEN TESTS
with check(
    "other numbers of points, dimensions and float64",
    weight=3,
    required=True,
    hint="Which sizes can n, m and d have? Which of them did you fix?",
):
    for n, m, d, dtype in ((4, 7, 3, torch.float32), (6, 2, 5, torch.float64), (1, 5, 1, torch.float32)):
        generator = torch.Generator().manual_seed(n)
        t = torch.randn(n, d, dtype=dtype, generator=generator)
        other = torch.randn(m, d, dtype=dtype, generator=generator)
        rows = [
            [sum((p - q) ** 2 for p, q in zip(a, b, strict=True)) ** 0.5 for b in other.tolist()] for a in t.tolist()
        ]
        assert_close(pairwise_distances(t, other), torch.tensor(rows, dtype=dtype))
with check(
    "n, m and d are equal",
    weight=2,
    hint="With equal sizes, a difference without a new dimension fits too. What does it compare?",
):
    t = torch.tensor([[0.5, 2.0, -1.0], [3.0, 0.0, 1.0], [-2.0, 1.0, 4.0]])
    other = torch.tensor([[1.0, 1.0, 0.0], [0.0, -3.0, 2.0], [5.0, 0.5, 0.5]])
    rows = [[sum((p - q) ** 2 for p, q in zip(a, b, strict=True)) ** 0.5 for b in other.tolist()] for a in t.tolist()]
    assert_close(pairwise_distances(t, other), torch.tensor(rows))
with check(
    "points close together and far from zero",
    weight=3,
    hint="Which two large numbers are subtracted in your code, and how many of their digits agree?",
):
    offsets = torch.tensor([[0.0, 0.0, 0.0], [0.25, -0.5, 0.125], [1.0, 0.5, -0.25], [0.0, 0.03125, 0.0]])
    t, other = offsets + 1000.0, offsets.flip(0)[:3] - torch.tensor([0.0, 0.0625, 0.0]) + 1000.0
    exact = [
        [sum((p - q) ** 2 for p, q in zip(a, b, strict=True)) ** 0.5 for b in other.double().tolist()]
        for a in t.double().tolist()
    ]
    assert_close(pairwise_distances(t, other), torch.tensor(exact), rtol=1e-3, atol=1e-6)
with check(
    "two groups far from zero, on either side of it",
    weight=2,
    hint="Does it help to move the points, or to compute in float64, if two large numbers are subtracted afterwards?",
):
    for dtype in (torch.float32, torch.float64):
        t = torch.tensor([[1e6, 0.01], [1e6, 0.05], [-1e6, 0.02], [-1e6, -0.01]], dtype=dtype)
        other = torch.tensor([[-1e6, 0.0], [1e6, 0.03], [1e6, -0.02]], dtype=dtype)
        exact = [
            [sum((p - q) ** 2 for p, q in zip(a, b, strict=True)) ** 0.5 for b in other.tolist()] for a in t.tolist()
        ]
        assert_close(pairwise_distances(t, other), torch.tensor(exact, dtype=dtype), rtol=1e-3, atol=1e-8)
with check(
    "thirty points close together and far from zero",
    weight=2,
    hint="Does a function of PyTorch compute it for you? What does it do for more than 25 points?",
):
    generator = torch.Generator().manual_seed(3)
    t = torch.rand(30, 3, generator=generator) + 500.0
    other = torch.rand(28, 3, generator=generator) + 500.0
    want = (t.double()[:, None] - other.double()).square().sum(-1).sqrt().float()
    assert_close(pairwise_distances(t, other), want, rtol=1e-3, atol=1e-4)
with check("a point has the distance 0 from itself", hint="Can your number under the root be negative, or nearly 0?"):
    t = torch.tensor([[123.4, -567.8, 0.1], [-0.7, 33.3, 912.1]])
    apart = sum((p - q) ** 2 for p, q in zip(*t.double().tolist(), strict=True)) ** 0.5
    want = torch.tensor([[0.0, apart], [apart, 0.0]])
    got = pairwise_distances(t, t)
    assert_close(got, want, rtol=1e-5, atol=1e-6)
    assert_close(got.diagonal(), torch.zeros(2), rtol=0, atol=0)
with check("transposed and sliced arguments, which keep their values", guard=True):
    table = torch.arange(24.0).reshape(4, 6).sin()
    before = table.clone()
    t, other = table.T[:, ::2], table.T[1:4, 1::2]
    rows = [[sum((p - q) ** 2 for p, q in zip(a, b, strict=True)) ** 0.5 for b in other.tolist()] for a in t.tolist()]
    assert_close(pairwise_distances(t, other), torch.tensor(rows))
    assert_close(table, before)
with check("no points give an empty table, and points without coordinates zeros", guard=True):
    assert_close(pairwise_distances(torch.empty(0, 3), torch.ones(2, 3)), torch.empty(0, 2))
    assert_close(pairwise_distances(torch.ones(4, 3), torch.empty(0, 3)), torch.empty(4, 0))
    assert_close(pairwise_distances(torch.empty(2, 0), torch.empty(3, 0)), torch.zeros(2, 3))
### END HIDDEN TESTS

# %% [markdown]
# PyTorch has `torch.cdist(a, b)`. Its default uses the expansion where one side has more than 25 points, because a
# matrix product is fast. For 30 random points in a cube of side 1, a thousand away from zero, we measured an error of
# 0.8 in a distance. For 20 such points it was 8e-8. `compute_mode="donot_use_mm_for_euclid_dist"` switches the
# expansion off. When would you accept the error?

# %% [markdown]
# ## Devices
#
# A tensor's memory lies on a *device*: the CPU's memory, or that of an accelerator such as a GPU. `t.device` says
# which. Its name is a type with an optional index: `cpu`, `cuda`, `cuda:1`, `mps`. An operation runs where its operands
# lie.
#
# Code should run on any machine. So ask for the device once, at the top, and use the answer everywhere. You will often
# see this line for it:
#
# `device = torch.device("cuda" if torch.cuda.is_available() else "cpu")`
#
# It works, and leaves Apple's `mps` out, which `torch.backends.mps.is_available()` asks for.
# `torch.accelerator.current_accelerator()` names the accelerator that this PyTorch was built for, or gives `None`. A
# build for CUDA says `cuda` on a machine without a GPU too, unless you ask with `check_available=True`. In this course,
# `device()` from labkit does the work. What you should not write is `x.cuda()`: it raises an error on every machine
# without CUDA.
#
# `t.to(device)` gives the tensor on that device. Here everything is on the right device already. Which of the five
# lines print True?

# %% given
here = device()
x = torch.ones(3, device=here)
layer = nn.Identity()
print("x.to(here) is x:           ", x.to(here) is x)
print("x.to(torch.float32) is x:  ", x.to(torch.float32) is x)
print("x.to(torch.float64) is x:  ", x.to(torch.float64) is x)
print("x.to(here, copy=True) is x:", x.to(here, copy=True) is x)
print("layer.to(here) is layer:   ", layer.to(here) is layer)

# %% [markdown]
# Where nothing is to do, `to` returns the same object. So it is no copy that you may write to. `copy=True` makes one.
#
# The last line is True for another reason. A *module* is an object that holds tensors and computes with them. Its `to`
# moves the tensors inside it, and returns the module itself. A tensor's `to` never changes the tensor. So
# `model.to(device)` is a complete statement, and `x.to(device)` without an assignment does nothing.
#
# ### A second device
# What happens where two devices meet? To see it you need two. PyTorch has a device called `meta` on every machine. Its
# tensors usually have a shape and no values: it serves to try out shapes. Inside `with probes.TwoDevices()` it has
# values too, and keeps to the rules of a GPU. Seven lines. Which of them raise an error?

# %% given
with probes.TwoDevices() as elsewhere:
    far = torch.tensor([10.0, 20.0, 30.0]).to(elsewhere)
    near = torch.tensor([1.0, 2.0, 3.0])
    print("far is on", far.device, "and near is on", near.device)
    for text, line_of_code in {
        "far + near": lambda: far + near,
        "far + 1": lambda: far + 1,
        "far + torch.tensor(1.0)": lambda: far + torch.tensor(1.0),
        "near + far.sum()": lambda: near + far.sum(),
        "far[torch.tensor([2, 0])]": lambda: far[torch.tensor([2, 0])],
        "far * torch.arange(3)": lambda: far * torch.arange(3),
        "far * torch.arange(3, device=far.device)": lambda: far * torch.arange(3, device=far.device),
    }.items():
        try:
            print(f"{text:41} {line_of_code().tolist()}")
        except RuntimeError as error:
            print(f"{text:41} {type(error).__name__}")

# %% [markdown]
# "All tensors on the same device" is the rule, and it has exceptions. A Python number has no device. A 0-dim tensor on
# the *CPU* may stand beside tensors on any device, because its one value can be sent along. The other way round does
# not work: `far.sum()` is 0-dim too, but it lies on the second device, and `near` has dimensions. And a tensor on the
# accelerator may be indexed by a tensor on the CPU.
#
# `torch.arange(3)` is the mistake that is made most often: a tensor that is made in the middle of a function, on the
# CPU, whatever the device of the input is. The last line shows the repair: `device=far.device`.
#
# ### Your turn
# Say where the result lies, without computing it. One more thing to know: for PyTorch, `torch.device("cuda")` and
# `torch.device("cuda:0")` are not equal. `cuda` alone means the current one of the CUDA devices. Here that is
# `cuda:0`.

# %% given
hint(
    "Bring both devices to a form that can be compared. When do they agree?",
    "They differ, and one of them is the CPU. What else has to hold, and for which of the two tensors?",
)


# %% exercise: sum_device
def sum_device(a_shape: tuple, a_device: torch.device, b_shape: tuple, b_device: torch.device) -> torch.device | None:
    """The device of a + b, for tensors of these shapes on these devices, or None where it raises an error.

    The devices are of type cpu or cuda, and cuda without an index means cuda:0. The shapes can be broadcast.
    Where the result lies on a CUDA device, returns it with its index.
    """
    ### BEGIN SOLUTION
    first, second = (torch.device("cuda:0") if d == torch.device("cuda") else d for d in (a_device, b_device))
    if first == second:
        return first
    if second.type == "cpu" and len(b_shape) == 0:
        return first
    if first.type == "cpu" and len(a_shape) == 0:
        return second
    return None
    ### END SOLUTION


# %% check: sum_device points=2
with check("both on the CPU, and both on cuda:1", weight=2, required=True):
    assert_close(sum_device((3,), torch.device("cpu"), (2, 3), torch.device("cpu")), torch.device("cpu"))
    assert_close(sum_device((3,), torch.device("cuda:1"), (3,), torch.device("cuda:1")), torch.device("cuda:1"))
### BEGIN HIDDEN TESTS
with check(
    "tensors with dimensions on two devices raise an error",
    required=True,
    hint="Is a tensor of shape (1,) a 0-dim tensor? Is an empty one?",
):
    for a, b, p, q in (
        ("cpu", "cuda:0", (3,), (3,)),
        ("cuda:1", "cpu", (2, 3), (1,)),
        ("cpu", "cuda:2", (1,), (4,)),
        ("cuda:0", "cuda:1", (3,), (3,)),
        ("cuda", "cuda:1", (2, 1), (5,)),
        ("cpu", "cuda", (0,), (1,)),
    ):
        got = sum_device(p, torch.device(a), q, torch.device(b))
        assert got is None, "you found a device for tensors that lie on two"
with check(
    "a 0-dim tensor on the CPU goes with any tensor",
    weight=3,
    required=True,
    hint="Which of the seven lines above mixed devices, and worked?",
):
    for a, b, p, q in (
        ("cpu", "cuda:1", (), (3,)),
        ("cuda:0", "cpu", (2, 3), ()),
        ("cpu", "cuda:2", (), ()),
        ("cuda:1", "cpu", (), ()),
        ("cpu", "cuda:3", (), (0, 2)),
    ):
        want = torch.device(b if a == "cpu" else a)
        assert_close(sum_device(p, torch.device(a), q, torch.device(b)), want)
    assert_close(sum_device((), torch.device("cpu"), (4,), torch.device("cpu")), torch.device("cpu"))
with check(
    "a 0-dim tensor on a CUDA device does not",
    weight=2,
    hint="near + far.sum() raised an error. Which of the two was 0-dim, and where was it?",
):
    for a, b, p, q in (
        ("cuda:0", "cpu", (), (3,)),
        ("cpu", "cuda:1", (2, 1), ()),
        ("cuda:0", "cuda:1", (), (3,)),
        ("cuda:0", "cuda:1", (), ()),
    ):
        got = sum_device(p, torch.device(a), q, torch.device(b))
        assert got is None, "a 0-dim tensor on a CUDA device was allowed to meet another device"
with check("cuda and cuda:0 are one device", weight=2, hint="What is torch.device('cuda').index?"):
    for a, b, p, q in (
        ("cuda", "cuda:0", (3,), (3,)),
        ("cuda:0", "cuda", (2, 3), ()),
        ("cuda", "cuda", (4,), (1,)),
        ("cpu", "cuda", (), (4,)),
        ("cuda", "cpu", (4,), ()),
    ):
        assert_close(sum_device(p, torch.device(a), q, torch.device(b)), torch.device("cuda:0"))
### END HIDDEN TESTS

# %% [markdown]
# Why is one 0-dim tensor allowed, and the other not? The value of the one on the CPU can be read at once, and goes
# along like a Python number. To read the one on a GPU, the program would have to wait until the GPU has computed it.
# PyTorch leaves that to you: `far.sum().item()` and `far.sum().cpu()` both wait.

# %% [markdown]
# ## Moving a whole batch
#
# A data loader may give anything: a dict of tensors and names, a list of pairs, tensors inside tuples inside dicts.
# Before the model sees it, all tensors have to move. And one thing goes along: the model may compute in another dtype.
# `module.to(device, dtype)` casts floating-point and complex tensors, and leaves integers alone: a complex64 buffer
# becomes float64 with `to(torch.float64)`, and loses its imaginary part. What would happen to labels that are cast to
# bfloat16?

# %% given
labels = torch.tensor([255, 256, 257, 1000])
print(labels.to(torch.bfloat16).long().tolist())

# %% [markdown]
# bfloat16 has eight significant bits, so 257 becomes 256. A label has become another class. 1000 stays as it is: it is
# 125 times 8, and 125 fits into eight bits.
#
# ### Your turn
# Write it once, for any nesting. A *named tuple* is a tuple whose items have names, as `Sample` and `Pair` below: it is
# made by `Sample(image, label)`, not by `Sample([image, label])`. Its class has an attribute `_fields`.


# %% given
class Sample(NamedTuple):
    """One item of a data set, to try your solution on. The checks use it too, and other nestings."""

    image: Tensor
    label: Tensor


class Pair(NamedTuple):
    """Two views of one image, or two samples, or anything else."""

    left: Any
    right: Any


# %% given
hint(
    "What does the function do with a tensor? And with a list, if it knows how to treat each of its items?",
    "type(batch) is the class of the container. A named tuple wants its items one by one, a list or a tuple wants them "
    "together. Which tensors may be cast? t.is_floating_point() tells.",
)


# %% exercise: to_device
def to_device(batch: Any, device: torch.device | str, dtype: torch.dtype | None) -> Any:
    """A nested batch with all of its tensors on device, and its floating-point tensors in dtype.

    batch: a tensor, or a list, tuple, named tuple or dict of such batches, nested at will. Everything else (None,
    strings, numbers, ranges and so on) is handed on as it is, and may stand beside tensors. dtype: None keeps all
    dtypes. Tensors of integers, booleans and complex numbers always keep theirs.
    Returns the same nesting of the same kinds of containers. Lists and dicts are new ones, also where nothing had to be
    moved; batch and its tensors stay as they are. A tensor that needs no change may be handed on.
    """
    ### BEGIN SOLUTION
    if isinstance(batch, Tensor):
        return batch.to(device, dtype if batch.is_floating_point() else None)
    if isinstance(batch, dict):
        return {key: to_device(value, device, dtype) for key, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*[to_device(item, device, dtype) for item in batch])
    if isinstance(batch, list | tuple):
        return type(batch)([to_device(item, device, dtype) for item in batch])
    return batch
    ### END SOLUTION


# %% check: to_device points=4
with check("a dict of images and labels, in float64", weight=3, required=True):
    t = torch.tensor([[0.5, 1.5, -2.0], [3.0, 0.25, 8.0]])
    got = to_device({"image": t, "label": torch.tensor([3, 1]), "split": "train"}, "cpu", torch.float64)
    want = {"image": t.double(), "label": torch.tensor([3, 1]), "split": "train"}
    assert_close(got, want)
with check("on a second device, the images lie there too", weight=2, observed=True):
    t = torch.tensor([[0.5, 1.5, -2.0], [3.0, 0.25, 8.0]])
    got = probes.on_second_device(to_device, {"image": t}, torch.device("meta"), None, move=[])
    assert_close(got["result"], {"image": t})
    assert got["devices"] == {"image": "meta"}, "a tensor is still on the CPU"
### BEGIN HIDDEN TESTS
with check(
    "lists, tuples and dicts in one another, in other dtypes",
    weight=3,
    required=True,
    hint="What does your function do with a tuple in a list in a dict?",
):
    t = torch.linspace(-1, 1, 6).reshape(2, 3)
    for dtype in (torch.bfloat16, torch.float64, torch.float16):
        batch = {"a": [t, (2 * t, {"b": t.T})], 7: (t[0], [t[1].sum()]), "pair": ("cat", [5, t])}
        want = {
            "a": [t.to(dtype), ((2 * t).to(dtype), {"b": t.T.to(dtype)})],
            7: (t[0].to(dtype), [t[1].sum().to(dtype)]),
            "pair": ("cat", [5, t.to(dtype)]),
        }
        assert_close(to_device(batch, torch.device("cpu"), dtype), want)
    assert_close(to_device(t, "cpu", torch.float64), t.double())
with check(
    "integers and booleans keep their dtype, and None keeps all",
    weight=2,
    hint="What became of the label 257 in bfloat16?",
):
    t = torch.tensor([255, 256, 257, 1000])
    for dtype in (torch.bfloat16, torch.float64, None):
        batch = [t, t > 256, *(t.to(kept) for kept in (torch.int32, torch.int16, torch.uint8, torch.complex64))]
        assert_close(to_device(batch, "cpu", dtype), list(batch))
    batch = (torch.ones(2, dtype=torch.float64), torch.ones(3, dtype=torch.bfloat16), torch.ones(4))
    assert_close(to_device(batch, "cpu", None), batch)
with check(
    "tensors of every floating-point dtype are cast",
    weight=2,
    hint="Which dtypes does is_floating_point() name? Which do you?",
):
    t = torch.tensor([0.5, -1.25, 3.0])
    for dtype in (torch.float32, torch.bfloat16):
        batch = [t.half(), t.bfloat16(), t, t.double()]
        assert_close(to_device(batch, "cpu", dtype), [t.to(dtype)] * 4)
with check(
    "tuples stay tuples, lists stay lists, and a named tuple keeps its names",
    weight=2,
    hint="What is type(batch), and how is an object of that type made?",
):
    t = torch.tensor([1.5, 2.5])
    wide, label = t.double(), torch.tensor(4)
    got = to_device([(t, t), [t], Sample(t, label), ()], "cpu", torch.float64)
    assert_close(got, [(wide, wide), [wide], (wide, label), ()])
    kinds = [isinstance(item, tuple) for item in [got, *got]]
    assert kinds == [False, True, False, True, True], "a tuple or a list changed its kind"
    assert [hasattr(item, "_fields") for item in got] == [False, False, True, False], "a tuple lost or found names"
    assert_close([got[2].image, got[2].label], [wide, label])
    got = to_device(Pair([t], Sample(t, label)), "cpu", torch.float64)
    assert hasattr(got, "right") and hasattr(got.right, "label"), "a named tuple lost its names"
    assert_close([got.left, got.right.image, got.right.label], [[wide], wide, label])


class Truck:
    """No tensor, though it has a method of that name."""

    def __init__(self):
        self.rides = []

    def to(self, *place):
        self.rides.append(place)
        return self


with check("what is no tensor is handed on as it is", hint="What is a string made of? Is it a container for you?"):
    batch = {"name": "train", "none": None, "count": 3, "rate": 0.5, "flag": True, "names": ["a", ("bc", None)]}
    assert_close(to_device(batch, "cpu", torch.float64), dict(batch))
    assert to_device(None, "cpu", None) is None, "None became something else"
    assert_close(to_device([range(3), b"ab"], "cpu", None), [range(3), b"ab"])
    array, truck = torch.ones(2).numpy(), Truck()
    got = to_device([torch.float32, array, truck], "cpu", torch.float64)
    same = [mine is sent for mine, sent in zip(got, [torch.float32, array, truck], strict=True)]
    assert same == [True] * 3, "what is no tensor came back as something else, or as a copy"
    assert truck.rides == [], "what has a method to(), and is no tensor, was moved"
with check(
    "every tensor of a nested batch lies on the second device",
    weight=4,
    observed=True,
    hint="Is the result of to() used? Which tensors does your function not reach?",
):
    t = torch.tensor([[1.0, -2.0], [0.5, 4.0]])
    batch = {"a": [t, (t[0], torch.tensor([1, 2]))], "b": Sample(t.T, torch.tensor(3)), "c": None}
    got = probes.on_second_device(to_device, batch, torch.device("meta"), torch.float64, move=[])
    want = {
        "a": [t.double(), (t[0].double(), torch.tensor([1, 2]))],
        "b": (t.T.double(), torch.tensor(3)),
        "c": None,
    }
    assert_close(got["result"], want)
    places = {"a": ["meta", ("meta", "meta")], "b": ("meta", "meta"), "c": None}
    assert_close(got["devices"], places)
with check(
    "and comes back to the CPU",
    weight=2,
    observed=True,
    hint="Does your function use the device that it was given, in both directions?",
):
    t = torch.tensor([[1.0, -2.0], [0.5, 4.0]])
    got = probes.on_second_device(to_device, [t, (torch.tensor([5]),)], "cpu", torch.bfloat16, move=[0])
    assert_close(got["result"], [t.bfloat16(), (torch.tensor([5]),)])
    assert_close(got["devices"], ["cpu", ("cpu",)])
with check("batch stays as it is, and lists and dicts are new", weight=2, hint="Whose dict do you assign to?"):
    t = torch.tensor([1.5, 2.5])
    batch = {"a": t, "b": [t, {"c": t}]}
    want = {"a": torch.tensor([1.5, 2.5]), "b": [torch.tensor([1.5, 2.5]), {"c": torch.tensor([1.5, 2.5])}]}
    to_device(batch, "cpu", torch.float64)
    assert_close(batch, want)
    got = to_device(batch, "cpu", None)
    assert_close(got, want)
    got["b"][1]["c"] = "changed"
    got["b"].append("added")
    got["a"] = "changed"
    assert_close(batch, want)
    batch, want = [[], {}, (t, [])], [[], {}, (torch.tensor([1.5, 2.5]), [])]
    got = to_device(batch, "cpu", None)
    assert_close(got, want)
    got[0].append("added")
    got[1]["added"] = 1
    got[2][1].append("added")
    assert_close(batch, want)
with check("empty containers and empty tensors", guard=True):
    assert_close(to_device({"a": [], "b": {}}, "cpu", torch.float64), {"a": [], "b": {}})
    assert_close(to_device([torch.empty(0, 3)], "cpu", torch.float64), [torch.empty(0, 3, dtype=torch.float64)])
### END HIDDEN TESTS

# %% [markdown]
# PyTorch has such a walk over nested containers for its own use: `torch.utils._pytree.tree_map`. The underscore says
# that it may change. Libraries for training bring a function like yours along.
#
# `to` also takes `non_blocking=True`. From *pinned* memory, which the operating system never moves, a copy to a GPU
# then runs beside your program.

# %% [markdown]
# ## A module that moves as a whole
#
# You have a model, and move it with `model.to(device)`. Which of its tensors move? A module knows two kinds:
#
# - *parameters*, made by `nn.Parameter(...)`: they are trained;
# - *buffers*, made by `self.register_buffer("name", tensor)`: they are not trained.
#
# Both are moved by `to`, cast by `double()` and `half()`, and saved in `state_dict()`, the dict in which a model is
# stored. What about a tensor that is simply assigned, `self.table = tensor`? Here are three modules that add the same
# table to their input. Each is moved, and gets its input on the second device. Which of them work, and which have their
# table in their `state_dict`?


# %% given
class AsAttribute(nn.Module):
    def __init__(self, table):
        super().__init__()
        self.table = table

    def forward(self, x):
        return x + self.table


class AsParameter(nn.Module):
    def __init__(self, table):
        super().__init__()
        self.table = nn.Parameter(table)

    def forward(self, x):
        return x + self.table


class AsBuffer(nn.Module):
    def __init__(self, table):
        super().__init__()
        self.register_buffer("table", table)

    def forward(self, x):
        return x + self.table


for kind in (AsAttribute, AsParameter, AsBuffer):
    module = kind(torch.tensor([1.0, 2.0, 3.0]))
    try:
        seen = probes.on_second_device(module, torch.zeros(2, 3))["devices"]
    except RuntimeError as error:
        seen = f"({type(error).__name__})"
    trained = [name for name, _ in module.named_parameters()]
    print(f"{kind.__name__:12} result on {seen:14}  state_dict {list(module.state_dict())}  trained {trained}")

# %% [markdown]
# The attribute stayed behind. On a machine with a CPU only, you would never notice. The parameter moves, and an
# optimizer changes it: a constant that learns. The buffer is what a constant of a model should be.
#
# ### Your turn
# Images are *normalised* before a model sees them: from each channel its mean is subtracted, and the difference is
# divided by the channel's standard deviation. Put that into the model, so that it moves, is cast and is saved with it.
#
# Mind the shapes. `mean` has the shape `(C,)`, and is to be lined up with dimension 1 of an `(N, C, H, W)`. Which
# dimension would it meet by itself?

# %% given
hint(
    "Which of the three modules above is the model for this one? And does register_buffer copy what it is given?",
    "(C,) is aligned from the right, so it meets W. Which shape must it have to meet C? You may store that shape.",
)


# %% exercise: Normalize
class Normalize(nn.Module):
    """Subtracts each channel's mean, and divides by its standard deviation.

    mean, std: shape (C,), floating point, std above 0. Later changes of the caller's tensors change nothing here.
    Normalize(mean, std)(x): x of shape (N, C, H, W), in the module's dtype and on its device, not changed. Returns x's
        shape and dtype. The same in training and evaluation.
    Both tensors follow the module's to(), double() and so on. They are never trained. Their values are saved in its
        state_dict under the names mean and std, in any shape, and loaded from there.
    """

    mean: Tensor  # for type checkers: the two are made in __init__
    std: Tensor

    def __init__(self, mean: Tensor, std: Tensor) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.register_buffer("mean", mean.clone().reshape(-1, 1, 1))
        self.register_buffer("std", std.clone().reshape(-1, 1, 1))
        ### END SOLUTION

    def forward(self, x: Tensor) -> Tensor:
        ### BEGIN SOLUTION
        return (x - self.mean) / self.std
        ### END SOLUTION


# %% given
# The checks look at your module through these probes. You can call them too.
@probes.probe
def normalised_after_training(make, mean, std, x):
    """The output of make(mean, std) after three steps of training with a layer behind it, and that layer's weights.

    Weight decay is on: it changes whatever the optimizer was given.
    """
    torch.manual_seed(0)
    layer = nn.Conv2d(len(mean), 1, 1)
    with torch.no_grad():
        layer.weight.fill_(0.5)
        layer.bias.fill_(0.25)
    module = make(mean, std)
    model = nn.Sequential(module, layer)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
    return {"output": module(x).detach(), "weight": layer.weight.detach().clone()}


@probes.probe
def normalised_after_loading(make, mean, std, other_mean, other_std, x):
    """The output of a module that loaded the state_dict of another one, and the names and values in it."""
    module, other = make(mean, std), make(other_mean, other_std)
    module.load_state_dict(other.state_dict())
    saved = {name: value.flatten() for name, value in other.state_dict().items()}
    return {"output": module(x), "names": sorted(saved), "saved": saved}


@probes.probe
def normalised_after_a_change(make, mean, std, x):
    """The output of a module whose maker changes its own tensors afterwards."""
    mean, std = mean.clone(), std.clone()
    module = make(mean, std)
    mean.fill_(77)
    std.fill_(55)
    return {"output": module(x)}


@probes.probe
def normalised_elsewhere(make, mean, std, x):
    """The output on the second device."""
    return probes.on_second_device(make(mean, std), x)


# %% check: Normalize points=4
with check("two channels of 2 by 3", weight=3, required=True):
    t = torch.arange(12.0).reshape(1, 2, 2, 3)
    want = torch.stack([(t[:, 0] - 2) / 4, (t[:, 1] - 8) / 0.5], dim=1)
    assert_close(Normalize(torch.tensor([2.0, 8.0]), torch.tensor([4.0, 0.5]))(t), want)
with check("it runs on a second device", weight=2, observed=True):
    t = torch.arange(12.0).reshape(1, 2, 2, 3)
    want = torch.stack([(t[:, 0] - 2) / 4, (t[:, 1] - 8) / 0.5], dim=1)
    got = normalised_elsewhere(Normalize, torch.tensor([2.0, 8.0]), torch.tensor([4.0, 0.5]), t)
    assert_close(got["result"], want)
    assert_close(got["devices"], "meta")
### BEGIN HIDDEN TESTS
with check(
    "other sizes, and as many channels as columns",
    weight=3,
    required=True,
    hint="Which dimension of x does a tensor of shape (C,) meet?",
):
    for shape in ((3, 4, 2, 4), (2, 3, 3, 3), (1, 5, 4, 1), (2, 1, 3, 2)):
        t = torch.arange(torch.Size(shape).numel()).sin().reshape(shape)
        mean, std = torch.arange(shape[1]).cos(), torch.arange(shape[1]) / 4 + 0.5
        want = torch.stack([(t[:, c] - mean[c]) / std[c] for c in range(shape[1])], dim=1)
        explain(
            Normalize(mean, std)(t),
            want,
            {
                "mean and std met the last dimension: they are lined up from the right": (
                    (t - mean) / std if shape[1] == shape[3] else None
                )
            },
        )
with check(
    "the module is cast as a whole",
    weight=3,
    required=True,
    hint="Which tensors does double() reach? What is float32 minus bfloat16?",
):
    t = torch.arange(12.0).reshape(1, 2, 2, 3)
    mean, std = torch.tensor([2.0, 8.0]), torch.tensor([4.0, 0.5])
    want = torch.stack([(t[:, 0] - 2) / 4, (t[:, 1] - 8) / 0.5], dim=1)
    wide_mean, wide_std = mean.double() / 3, std.double() / 7
    wide_want = torch.stack([(t[:, c].double() - wide_mean[c]) / wide_std[c] for c in range(2)], dim=1)
    for dtype in (torch.bfloat16, torch.float16, torch.float64):
        assert_close(Normalize(mean, std).to(dtype)(t.to(dtype)), want.to(dtype))
    assert_close(Normalize(mean, std).double().float()(t), want)
    assert_close(Normalize(wide_mean, wide_std)(t.double()), wide_want, rtol=1e-10, atol=1e-10)
with check(
    "training changes neither mean nor std",
    weight=3,
    hint="What does an optimizer get from model.parameters()? Which of the three modules above was trained?",
):
    t = torch.arange(24.0).reshape(2, 2, 2, 3).sin()
    mean, std = torch.tensor([0.5, -0.25]), torch.tensor([2.0, 0.5])
    want = torch.stack([(t[:, 0] - 0.5) / 2, (t[:, 1] + 0.25) / 0.5], dim=1)
    got = normalised_after_training(Normalize, mean, std, t)
    assert_close(got["output"], want)
    weight = torch.full((1, 2, 1, 1), 0.5, requires_grad=True)
    bias = torch.full((1,), 0.25, requires_grad=True)
    steps = torch.optim.SGD([weight, bias], lr=0.1, weight_decay=0.1)
    for _ in range(3):
        steps.zero_grad()
        nn.functional.conv2d(want, weight, bias).square().mean().backward()
        steps.step()
    assert_close(got["weight"], weight.detach())
with check(
    "mean and std are saved and loaded",
    weight=2,
    hint="What is in the state_dict, and under which names? Is persistent=False a good idea here?",
):
    t = torch.arange(24.0).reshape(2, 2, 2, 3).cos()
    mean, std = torch.tensor([0.5, -0.25]), torch.tensor([2.0, 0.5])
    want = torch.stack([(t[:, 0] - 3) / 5, (t[:, 1] + 1) / 0.125], dim=1)
    got = normalised_after_loading(Normalize, mean, std, torch.tensor([3.0, -1.0]), torch.tensor([5.0, 0.125]), t)
    assert_close(got["output"], want)
    assert_close(got["names"], ["mean", "std"])
    assert_close(got["saved"], {"mean": torch.tensor([3.0, -1.0]), "std": torch.tensor([5.0, 0.125])})
with check(
    "later changes of the caller's tensors change nothing",
    weight=2,
    hint="Does register_buffer copy? Does reshape?",
):
    t = torch.arange(12.0).reshape(1, 2, 2, 3)
    mean, std = torch.tensor([2.0, 8.0]), torch.tensor([4.0, 0.5])
    want = torch.stack([(t[:, 0] - 2) / 4, (t[:, 1] - 8) / 0.5], dim=1)
    got = normalised_after_a_change(Normalize, mean, std, t)
    assert_close(got["output"], want)
with check(
    "another input on the second device, and no operation that mixes devices",
    weight=4,
    observed=True,
    hint="Which tensors of your module does to() not reach? Which are made in forward?",
):
    t = torch.arange(60.0).reshape(2, 3, 5, 2).sin()
    mean, std = torch.tensor([0.1, -0.2, 0.3]), torch.tensor([1.5, 2.5, 0.5])
    want = torch.stack([(t[:, c] - mean[c]) / std[c] for c in range(3)], dim=1)
    got = normalised_elsewhere(Normalize, mean, std, t)
    assert_close(got["result"], want)
    assert_close(got["devices"], "meta")
    assert got["mixed"] == [], "an operation met tensors of both devices"
with check("training and evaluation are the same, and x keeps its values", guard=True):
    t = torch.arange(12.0).reshape(1, 2, 2, 3)
    before = t.clone()
    mean, std = torch.tensor([2.0, 8.0]), torch.tensor([4.0, 0.5])
    want = torch.stack([(t[:, 0] - 2) / 4, (t[:, 1] - 8) / 0.5], dim=1)
    assert_close(Normalize(mean, std).eval()(t), want)
    assert_close(Normalize(mean, std).train()(t), want)
    assert_close(t, before)
    assert_close(mean, torch.tensor([2.0, 8.0]))
with check("an empty batch keeps its shape", guard=True):
    got = Normalize(torch.zeros(3), torch.ones(3))(torch.empty(0, 3, 4, 5))
    assert_close(got, torch.empty(0, 3, 4, 5))
### END HIDDEN TESTS

# %% [markdown]
# One test of this kind needs no second device at all: `model.double()`. What does not follow a cast does not follow a
# move either. You can run it on any machine.
#
# A buffer that can be computed again need not be saved: `register_buffer(name, tensor, persistent=False)` moves it and
# leaves it out of the `state_dict`. Why would that be wrong for `mean` and `std`?

# %% [markdown]
# ## Interview questions
#
# For each question, find *all* true statements. There is at least one in each. Give the letters as a string, such as
# `"ac"`. You may try things out in the scratch cell below. In an interview you could not. A question counts only if all
# of its letters are right, and one right question alone pays nothing.
#
# **q1. `view` against `reshape`**
# - a. `view` never copies.
# - b. `view` works on contiguous tensors only.
# - c. `reshape` may return a view or a copy.
# - d. `reshape` warns when it copies.
# - e. `x.contiguous().view(-1)` works for every tensor `x`.
#
# **q2. Layout**, with `x = torch.arange(24).reshape(2, 3, 4)`
# - a. `x.permute(0, 2, 1)` and `x.reshape(2, 4, 3)` have the same shape and the same values.
# - b. `x.permute(0, 2, 1)` copies no element.
# - c. `x.transpose(0, 1).is_contiguous()` is False.
# - d. `x[:1].transpose(0, 1).is_contiguous()` is True.
# - e. `x.permute(0, 2, 1).view(2, 2, 2, 3)` works.
#
# **q3. Dimensions of size 1**
# - a. `torch.zeros(1, 1, 28).squeeze()` has the shape (1, 28).
# - b. `torch.zeros(5, 10).squeeze(0)` raises an error.
# - c. `torch.zeros(3)[:, None]` has the shape (3, 1).
# - d. `torch.zeros(3).unsqueeze(-1)` has the shape (3, 1).
# - e. `t.unsqueeze(0)` copies the elements of `t`.
#
# **q4. Broadcasting**
# - a. Shapes (5, 1, 4) and (3, 1) give (5, 3, 4).
# - b. Shapes (4, 3) and (4,) give (4, 3).
# - c. Shapes (7, 1) and (7,) give (7, 7).
# - d. `t.expand(3, 1000)` of a `t` of shape (3, 1) takes a thousand times the memory.
# - e. `x.add_(y)` works for an `x` of shape (3,) and a `y` of shape (2, 3).
#
# **q5. Devices**, with `c` of shape (3,) on the CPU and `g` of shape (3,) on a GPU
# - a. `c + g` raises an error.
# - b. `g + torch.tensor(2.0)` raises an error.
# - c. `g[torch.tensor([0, 2])]` raises an error.
# - d. `c.to(g.device)` changes the device of `c`.
# - e. `torch.device("cuda") == torch.device("cuda:0")` is False.
#
# **q6. Code for any device**
# - a. `t.to(device)` always makes a copy.
# - b. `model.to(device)` moves parameters and buffers, and returns `model`.
# - c. A tensor that is assigned to `self.table` in a module moves with it.
# - d. `torch.zeros(3, device=x.device)` goes where `x` is.
# - e. A buffer is in the `state_dict`, unless it was registered with `persistent=False`.


# %% scratch
# A place to try statements.


# %% exercise: interview
def interview() -> dict[str, str]:
    """For each of q1 to q6, the letters of all true statements, such as {"q1": "abc", "q2": "e", ...}."""
    ### BEGIN SOLUTION
    return {"q1": "ace", "q2": "bcde", "q3": "cd", "q4": "ac", "q5": "ae", "q6": "bde"}
    ### END SOLUTION


# %% check: interview points=3
with check(
    "q1 to q6 each have letters from a to e",
    weight=3,
    required=True,
    guard=True,
    hint="Which key or letter is missing?",
):
    assert_answered(interview(), questions=6)
### BEGIN HIDDEN TESTS
with check(
    "at least two questions are right",
    weight=3,
    required=True,
    guard=True,
    hint="Which of your answers did you try out?",
):
    assert_some_right(interview(), {"q1": "ace", "q2": "bcde", "q3": "cd", "q4": "ac", "q5": "ae", "q6": "bde"})
with check("q1: view against reshape", weight=4, hint="Which of the views of grid.T worked? What does reshape say?"):
    assert_letters(interview(), "q1", "ace")
with check("q2: layout", weight=4, hint="Write down the strides of each. Which sizes are 1?"):
    assert_letters(interview(), "q2", "bcde")
with check("q3: dimensions of size 1", weight=4, hint="What did squeeze(0) do where the size was 5?"):
    assert_letters(interview(), "q3", "cd")
with check("q4: broadcasting", weight=4, hint="From which side are shapes aligned? Can an operation in place grow x?"):
    assert_letters(interview(), "q4", "ac")
with check("q5: devices", weight=4, hint="Which of the seven lines with far and near raised an error?"):
    assert_letters(interview(), "q5", "ae")
with check("q6: code for any device", weight=4, hint="Which of the three modules with a table worked, and why?"):
    assert_letters(interview(), "q6", "bde")
### END HIDDEN TESTS

# %% [markdown]
# Were there statements that you believed a while ago? Write them down. They are what to explain to the next person.

# %% [markdown]
# ## In your own words (2 points)
#
# A model is trained with the loss `(predicted - target).square().mean()`. `predicted` has the shape (64, 1) and
# `target` has the shape (64,). There is no error. The loss goes down for a while, and then stays near the variance of
# the targets. On new data, the model gives nearly the same number for every input.
#
# In four to seven sentences: what does this loss compute? Which constant prediction makes it smallest, and why does the
# model learn just that? Name one change that repairs it, and one line that would have found it on the first day.

# %% question: constant_predictions [markdown] points=2
# ### BEGIN SOLUTION
# The shapes are aligned from the right. (64, 1) and (64,) are a column and a row, so the difference has the shape
# (64, 64), and each prediction is compared with all 64 targets. The mean is taken over 4096 pairs. For each single
# prediction the loss is its mean squared distance from all targets of the batch, whatever its own target is. That is
# smallest at the mean of the targets, and the least value is their variance. So the input tells nothing about what the
# loss wants: every prediction is drawn to the same number, the mean. The loss goes down until the predictions have
# arrived there.
#
# Repair: bring both to one shape, such as `predicted.squeeze(1) - target` or `target[:, None]`. `assert predicted.shape
# == target.shape` would have found it, and so would the warning of `nn.functional.mse_loss`.
#
# For grading: one point for the table of all pairs and for the mean of the targets as its minimum, one for a repair and
# a line that finds it.
# ### END SOLUTION

# %% [markdown]
# ## Summary
#
# - A batch dimension is told by the number of dimensions, never by a size. `squeeze()` takes too much.
# - `reshape` keeps the order of the elements, `permute` changes it. Test with values and sizes that all
#   differ.
# - A view is possible if every new dimension stays inside one block of joined strides. Contiguous is enough, and not
#   needed.
# - Overlapping windows and expanded tensors cost no memory. Read from them, and write to a clone.
# - Broadcasting aligns shapes from the right. (N, 1) with (N,) gives (N, N), and nothing warns you.
# - One device for all operands, but for Python numbers, 0-dim CPU tensors, and indices.
# - `t.to` may return `t` itself, and never changes it. `module.to` changes the module.
# - A constant of a model is a buffer. `model.double()` finds what would not move.
#
# Lab 3 starts from what an operation leaves behind besides its values: the record from which gradients are computed.
