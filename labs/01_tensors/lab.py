# %% given
import io

import numpy as np
import torch
from torch import Tensor

from labkit import (
    assert_answered,
    assert_close,
    assert_letters,
    assert_some_right,
    check,
    explain,
    explore_strides,
    hint,
    show_strides,
)

# %% [markdown]
# # Tensors: values, views and types
#
# Some bugs cost a whole day, because nothing raises an error. A tensor has another dtype than you think. A tensor
# shares its memory with another one, and somebody wrote to it. Or a shape fits by accident. This lab is about seeing
# all three before they happen.
#
# After it you can
#
# - say which dtype an expression has before you run it, and where a small dtype loses your numbers;
# - read a tensor's shape, strides and storage offset, and name the piece of memory behind any element;
# - tell a view from a copy, and write through a view on purpose;
# - select and add up with masks, `where`, `gather` and `scatter_add`;
# - pass data between NumPy and PyTorch without two owners of the same memory.
#
# You need Python and a little NumPy. It takes about 90 minutes. A good place for a break is after the section on
# storage and strides. All numbers in the text were measured with PyTorch 2.13 on a CPU.
#
# In each section there is a question before a cell. Answer it first, on paper or aloud, and then run the cell. A wrong
# guess is worth more here than a right one.
#
# The lab is worth 32 points. Each exercise has a few checks that you see at once, and more that run after you hand in.
# Those that you see hold about a fifth of the points. So a green table is a start and no proof. Read the docstring
# again, for the cases that the visible checks leave out. The last question, worth 2 points, is read by a person.

# %% [markdown]
# ## Making tensors
#
# A *tensor* is an array of numbers that all have one type. That type is its *dtype*. Its *shape* says how many elements
# it has along each *dimension*. `torch.tensor(data)` takes a number or nested lists, and infers the dtype from what it
# finds. The *factory functions* fill a tensor by a rule instead: `zeros`, `ones`, `full`, `arange`, `linspace`, and
# more.
#
# Here is what a tensor can tell about itself. What do you expect from `len(image)` and `image.numel()`?

# %% given
image = torch.zeros(3, 4, 5, dtype=torch.uint8)
print("shape", tuple(image.shape), " dtype", image.dtype, " device", image.device)
print("dim()", image.dim(), " len()", len(image), " numel()", image.numel())
print("element_size()", image.element_size(), " nbytes", image.nbytes)

# %% [markdown]
# `len` is the size of the first dimension, and `numel` counts all elements. `element_size` is the bytes of one element:
# 8 for int64 and float64, 4 for float32, 2 for float16 and bfloat16, 1 for uint8 and bool. The *device* says where the
# memory is: on the CPU here, perhaps on a GPU in lab 2. Shape, dtype and device are what to print first when something
# is odd.
#
# Which dtype does each of the next seven lines give?

# %% given
for text, made in {
    "tensor([1, 2])": torch.tensor([1, 2]),
    "tensor([1, 2.5])": torch.tensor([1, 2.5]),
    "tensor([True, False])": torch.tensor([True, False]),
    "zeros(2)": torch.zeros(2),
    "full((2,), 7)": torch.full((2,), 7),
    "arange(3)": torch.arange(3),
    "linspace(0, 10, 3)": torch.linspace(0, 10, 3),
}.items():
    print(f"{text:22} {made.dtype}")

# %% [markdown]
# Integers alone become int64. As soon as one float is among them, all become float32. That is PyTorch's *default
# dtype*, and NumPy's is float64. `torch.Tensor([1, 2])`, with a capital T, gives float32 whatever it finds. `zeros`,
# `ones` and `linspace` give the default dtype whatever you pass. `full` and `arange` look at their arguments. Each of
# them takes `dtype=` if you want another one.
#
# `arange(start, end, step)` is used to make grids of floats too. Both lines below ask for steps of 0.1 and an end that
# is three steps away. The end is excluded, as in Python's `range`. How many elements has each?

# %% given
print(len(torch.arange(0, 0.3, 0.1)), "elements:", torch.arange(0, 0.3, 0.1))
print(len(torch.arange(1, 1.3, 0.1)), "elements:", torch.arange(1, 1.3, 0.1))

# %% [markdown]
# The first has three elements, and the second has four. The number of elements is (end - start) / step, rounded up.
# 0.1 and 1.3 have no exact form in binary, so the quotient comes out as 3.0000000000000004 in the second line, and is
# rounded up to 4. With floats, `arange` cannot promise a length. Its documentation says so. `linspace(start, end,
# steps)` asks for the number of points, so it can.
#
# ### Your turn
# Write a grid whose length is certain. It may or may not contain its last point, like `numpy.linspace`.

# %% given
hint(
    "linspace always puts its last point on the end. Without the end, which number lies one step after yours?",
    "Draw four points from 0 to 1 without the end: 0, 0.25, 0.5, 0.75. Which linspace contains them?",
)


# %% exercise: grid_points
def grid_points(start: float, stop: float, n: int, endpoint: bool) -> Tensor:
    """n evenly spaced points that begin at start. Returns float32 of shape (n,).

    endpoint: True puts the last of two or more points on stop, so the step is (stop - start) / (n - 1).
        False ends one step before stop, so the step is (stop - start) / n.
    n may be 0 (no points) or 1 (only start). stop may lie below start, or on it.
    """
    ### BEGIN SOLUTION
    if endpoint:
        return torch.linspace(start, stop, n)
    return torch.linspace(start, stop, n + 1)[:-1]
    ### END SOLUTION


# %% check: grid_points points=2
with check("the result is float32 of shape (n,)", required=True):
    got = grid_points(0.0, 1.0, 5, True)
    assert got.shape == (5,), f"your result has shape {tuple(got.shape)}"
    assert got.dtype == torch.float32, f"your result has dtype {got.dtype}"
with check("five points from 0 to 1, with and without the end"):
    with_end, without_end = torch.tensor([0.0, 0.25, 0.5, 0.75, 1.0]), torch.tensor([0.0, 0.2, 0.4, 0.6, 0.8])
    explain(
        grid_points(0.0, 1.0, 5, True),
        with_end,
        {"the step was (stop - start) / n, so the last point lies before stop": without_end},
    )
    explain(
        grid_points(0.0, 1.0, 5, False),
        without_end,
        {
            "the last point lies on stop, although endpoint is False": with_end,
            "the last point was cut off, and the step is still that with the end": with_end[:-1],
        },
    )
### BEGIN HIDDEN TESTS
with check(
    "any start, stop and n gives evenly spaced points",
    weight=2,
    required=True,
    hint="What is the step, with the end and without it?",
):
    for start, stop, n in ((-1.5, 2.25, 7), (3.0, -4.0, 12), (10.0, 11.0, 3)):
        with_end = torch.tensor([start + i * (stop - start) / (n - 1) for i in range(n)])
        without_end = torch.tensor([start + i * (stop - start) / n for i in range(n)])
        explain(
            grid_points(start, stop, n, True),
            with_end,
            {"the step was (stop - start) / n, so the last point lies before stop": without_end},
        )
        explain(
            grid_points(start, stop, n, False),
            without_end,
            {"the last point lies on stop, although endpoint is False": with_end},
        )
with check(
    "n points for n between 2 and 60",
    weight=2,
    hint="Does your code decide the number of points, or does a division of floats decide it?",
):
    for n in (2, 3, 8, 12, 29, 30, 58, 59, 60):  # where steps of float32 miss a point, and a few more
        for endpoint in (True, False):
            for start, stop in ((1.0, 1.0 + n * 0.1), (0.0, n * 0.1 - 0.1)):
                step = (stop - start) / (n - 1 if endpoint else n)
                want = torch.tensor([start + step * i for i in range(n)])
                assert_close(grid_points(start, stop, n, endpoint), want, check_dtype=False)
with check("no point, and one point", weight=2, hint="What is (stop - start) / (n - 1) for n = 1?"):
    for endpoint in (True, False):
        assert_close(grid_points(2.5, 4.0, 0, endpoint), torch.empty(0))
        assert_close(grid_points(2.5, 4.0, 1, endpoint), torch.tensor([2.5]))
with check("start and stop at one place", hint="What is the step here? Which of the functions refuse such a step?"):
    for endpoint in (True, False):
        assert_close(grid_points(1.5, 1.5, 4, endpoint), torch.tensor([1.5, 1.5, 1.5, 1.5]))
with check(
    "twenty thousand points do not drift",
    hint="What happens to the rounding error if each point is the one before it plus a step?",
):
    want = torch.tensor([i / 10 for i in range(20001)])
    assert_close(grid_points(0.0, 2000.0, 20001, True), want)
    assert_close(grid_points(0.0, 2000.1, 20001, False), want)
### END HIDDEN TESTS

# %% [markdown]
# A grid can also be written as `start + step * torch.arange(n)`. There the length is an integer, and each point has
# only a few roundings, however large n is. If you add the step again and again in float32, each addition rounds too:
# after 20,000 additions of 0.1, you stand at 1999.66 instead of 2000. Would the same loop in Python's floats be good
# enough? Why?

# %% [markdown]
# ## What dtypes do to your numbers
#
# When two tensors of different dtypes meet, PyTorch computes in a common one. The rule is called *type promotion*.
# Every dtype belongs to a category: bool, then integer, then float, then complex. The higher category wins. Within one
# category, the result is a dtype that is large enough for both. But there is an exception: a Python number, or a
# *0-dim* tensor (one of shape `()`), changes the dtype of a tensor with dimensions only if its category is higher.
#
# `u` is uint8, the dtype of images, with values 0 to 255. `h` is float16. Cover the right column of the output with
# your hand. Which dtype has each line, and which value has the first one?

# %% given
u = torch.tensor([250, 3], dtype=torch.uint8)
h = torch.ones(2, dtype=torch.float16)
for text, result in {
    "u + 10": u + 10,
    "u + torch.tensor(10)": u + torch.tensor(10),
    "u + torch.tensor([10, 10])": u + torch.tensor([10, 10]),
    "u * 1.5": u * 1.5,
    "u / 2": u / 2,
    "u // 2": u // 2,
    "u.sum()": u.sum(),
    "u > 5": u > 5,
    "h + torch.tensor(1.0)": h + torch.tensor(1.0),
    "h + torch.ones(2)": h + torch.ones(2),
}.items():
    print(f"{text:28} {result.dtype!s:15} {result.tolist()}")

# %% [markdown]
# The first line is the trap: `250 + 10` is 4. Neither the number 10 nor the 0-dim int64 tensor has a higher category
# than uint8, so the sum stays in uint8, and integers wrap around: 260 - 256 = 4. A tensor with dimensions does promote.
# So does the float 1.5, and as a Python number it brings the default dtype. Division with `/` of integers gives the
# default dtype too. And `sum` of integers gives int64, so that small dtypes do not wrap in it.
#
# Going the other way is a *cast*: `t.to(torch.uint8)`. It cuts off the decimals. It does not limit: an integer outside
# the range wraps around, and for a float outside it the result is undefined.
#
# `mean` refuses integers with an error. An operation that writes into its own tensor cannot change that tensor's
# dtype, so `u.mul_(1.5)` is an error too.

# %% scratch
# Try expressions of your own. Predict first.
print((torch.tensor([True, True]) + 1).dtype)

# %% [markdown]
# ### Your turn
# Brighten an image. The formula is `gain * (pixel + offset)`. What would be brighter than white becomes white, and what
# would be darker than black becomes black.

# %% given
hint(
    "In which dtype is pixel + offset computed? Write down 250 + 20.",
    "Go to float first, compute there, then prepare the numbers for the cast: nearest integer, and within 0 to 255.",
)


# %% exercise: brighten
def brighten(image: Tensor, gain: float, offset: int) -> Tensor:
    """gain * (pixel + offset) for each pixel, rounded to the nearest integer, then limited to 0 ... 255.

    image: uint8, any shape, not changed. gain: positive. offset: from -255 to 255.
    Returns a new tensor, uint8 of image's shape. What lies halfway between two integers may be rounded either way.
    """
    ### BEGIN SOLUTION
    wide = gain * (image.to(torch.float32) + offset)
    return wide.round().clamp(0, 255).to(torch.uint8)
    ### END SOLUTION


# %% check: brighten points=3
with check("the result is uint8 and has the image's shape", required=True):
    t = torch.tensor([[10, 20, 30], [40, 50, 60]], dtype=torch.uint8)
    got = brighten(t, 1.5, 4)
    assert got.dtype == torch.uint8, f"your result has dtype {got.dtype}"
    assert got.shape == (2, 3), f"your result has shape {tuple(got.shape)}"
with check("a dark image at gain 2"):
    t = torch.tensor([[10, 20, 30], [40, 50, 60]], dtype=torch.uint8)
    want = torch.tensor([[30, 50, 70], [90, 110, 130]], dtype=torch.uint8)
    explain(
        brighten(t, 2.0, 5),
        want,
        {
            "the values are right, and still float: the cast is missing": want.to(torch.float32),
            "the gain was used on the pixel alone: the offset is added before": want - 5,
        },
    )
### BEGIN HIDDEN TESTS
with check(
    "where nothing overflows, other gains and offsets",
    required=True,
    hint="Does every part of the result depend on what came in? In which order are + and * done?",
):
    for gain, offset in ((0.7391, 20), (1.9137, 7), (1.0, 0)):
        t = torch.tensor([0, 4, 12, 40, 100], dtype=torch.uint8)
        want = torch.tensor([round(gain * (p + offset)) for p in t.tolist()], dtype=torch.uint8)
        assert_close(brighten(t, gain, offset), want)
with check("bright pixels stop at 255", weight=2, hint="Which numbers can uint8 hold, and what is 250 + 20 in it?"):
    for gain, offset in ((1.1234, 20), (1.7123, 60), (3.2181, 255), (200.0, 10), (1e8, 1)):
        t = torch.tensor([3, 77, 180, 199, 236, 250, 255], dtype=torch.uint8)
        exact = [round(gain * (p + offset)) for p in t.tolist()]
        explain(
            brighten(t, gain, offset),
            torch.tensor([min(v, 255) for v in exact], dtype=torch.uint8),
            {
                "the cast does not stop at 255: it wraps around": torch.tensor(
                    [v % 256 for v in exact], dtype=torch.uint8
                ),
                "pixel + offset was computed in uint8, and wrapped around": torch.tensor(
                    [min(round(gain * ((p + offset) % 256)), 255) for p in t.tolist()], dtype=torch.uint8
                ),
            },
        )
with check("dark pixels stop at 0", hint="What is 3 - 20, and can uint8 hold it?"):
    for gain, offset in ((1.0, -20), (1.3079, -200)):
        t = torch.tensor([[3, 0, 19], [90, 180, 255]], dtype=torch.uint8)
        want = torch.tensor([[max(round(gain * (p + offset)), 0) for p in row] for row in t.tolist()])
        assert_close(brighten(t, gain, offset), want.clamp(max=255).to(torch.uint8))
with check("rounded to the nearest integer", weight=2, hint="What does a cast to an integer dtype do with 9.9?"):
    for gain, offset in ((0.7713, 0), (0.3117, 11)):
        t = torch.arange(256, dtype=torch.uint8).reshape(8, 32)
        exact = [[gain * (p + offset) for p in row] for row in t.tolist()]
        explain(
            brighten(t, gain, offset),
            torch.tensor(exact, dtype=torch.float64).round().to(torch.uint8),
            {"a cast cuts off the decimals": torch.tensor(exact).to(torch.uint8)},
        )
with check("transposed, 0-dim and empty images"):
    t = torch.arange(24, dtype=torch.uint8).reshape(4, 6).T[1:, ::2]
    want = torch.tensor([[2 * (p + 1) for p in row] for row in t.tolist()], dtype=torch.uint8)
    assert_close(brighten(t, 2.0, 1), want)
    assert_close(brighten(torch.tensor(200, dtype=torch.uint8), 1.5, 3), torch.tensor(255, dtype=torch.uint8))
    assert_close(brighten(torch.empty(3, 0, dtype=torch.uint8), 1.5, 3), torch.empty(3, 0, dtype=torch.uint8))
with check("the image keeps its values", guard=True):
    t = torch.tensor([9, 130, 255], dtype=torch.uint8)
    before = t.clone()
    brighten(t, 1.2, 30)
    assert_close(t, before)
    brighten(t, 1.0, 0).fill_(77)
    assert_close(t, before)
### END HIDDEN TESTS

# %% [markdown]
# Three steps stand between float and uint8: round, limit, cast. Each can be forgotten, and the picture still looks
# almost right. Which order of the three works? Is there a second one?

# %% [markdown]
# ## Sixteen bits are few
#
# float16 has 16 bits: one for the sign, five for the exponent, ten for the fraction. It is used because it halves the
# memory. Its largest number is 65504, and it can tell about three decimal digits apart. Above 32768, neighbours are 32
# apart, and the smallest positive number is about 6e-8. A number in between is rounded to the nearer neighbour.
#
# Two questions. Counting to 3000 in float16, where do we arrive? And which of the five numbers in the last line does
# float16 keep as something finite and not zero?

# %% given
count = torch.tensor(0.0, dtype=torch.float16)
for _ in range(3000):
    count += 1
print("counted to", count.item())

many = torch.ones(70_000, dtype=torch.float16)
print("sum of 70,000 ones:", many.sum().item(), " in float32:", many.sum(dtype=torch.float32).item())
print("mean of 70,000 ones:", many.mean().item())
print(torch.tensor([65519.0, 65520.0, 1e-5, 3e-8, 2.9e-8]).to(torch.float16).tolist())

# %% [markdown]
# In float16 the count stops at 2048. Above 2048, neighbouring float16 numbers are 2 apart, so 2049 is rounded back to
# 2048. The loop runs on and nothing changes. In bfloat16, with seven bits of fraction, it stops at 256.
#
# The sum of 70,000 ones is larger than 65504, so it becomes `inf`. That is *overflow*. `sum` adds in float32 inside,
# but its result must be float16, and does not fit. `mean` has divided before its result becomes float16, so it survives
# here. With `dtype=torch.float32`, `sum` is done and delivered in float32.
#
# In the last line, 65519 is nearer to 65504 than to the next step, so it is rounded down and stays finite. 65520
# overflows. At the other end, 3e-8 survives as 6e-8, the smallest positive float16, and 2.9e-8 becomes 0. That is
# *underflow*.
#
# ### Your turn
# Losses come in batches, in float16, and the last batch is smaller. What is the mean over all of them?

# %% given
hint(
    "Is the mean of the batch means the mean of all elements? Try batches of 1 and 3 elements.",
    "You need two numbers: a total and a count. In which dtype is each of them kept?",
)


# %% exercise: mean_of_batches
def mean_of_batches(batches: list[Tensor]) -> float:
    """The mean over all elements of all batches, as a Python float, to a relative precision of 1e-4.

    batches: float16 tensors of any shapes and strides, also 0-dim and empty ones, with finite elements. Together they
        have at least one element. Neither the list nor a tensor is changed.
    The precision is asked for where all elements have one sign.
    """
    ### BEGIN SOLUTION
    total = sum(batch.sum(dtype=torch.float64).item() for batch in batches)
    count = sum(batch.numel() for batch in batches)
    return total / count
    ### END SOLUTION


# %% check: mean_of_batches points=3
with check("the result is a Python float", required=True):
    got = mean_of_batches([torch.tensor([1.0, 2.0], dtype=torch.float16)])
    assert isinstance(got, float), f"your result is a {type(got).__name__}"
with check("two batches of equal size"):
    t = torch.tensor([[1.0, 2.0, 6.0], [4.0, 8.0, 3.0]], dtype=torch.float16)
    explain(
        mean_of_batches([t[0], t[1]]),
        4.0,
        {"the total was divided by the number of batches: count their elements": 12.0},
        rtol=1e-4,
    )
### BEGIN HIDDEN TESTS
with check(
    "a small last batch counts for less", required=True, hint="Should one element of the last batch weigh more?"
):
    for scale in (1.0, -0.25):
        t = scale * torch.tensor([1.0, 3.0, 2.0, 6.0, 40.0], dtype=torch.float16)
        explain(
            mean_of_batches([t[:4], t[4:]]),
            10.4 * scale,
            {"the mean of the batch means gives small batches too much weight": 21.5 * scale},
            rtol=1e-4,
        )
with check("a total beyond 65504 does not overflow", weight=2, hint="What is the largest float16?"):
    for value, size in ((3.0, 40_000), (500.0, 300)):
        t = torch.full((size,), value, dtype=torch.float16)
        explain(mean_of_batches([t, t[:1001], t]), value, {"the total overflowed float16": float("inf")}, rtol=1e-4)
    t = torch.full((70_001,), 0.25, dtype=torch.float16)  # the number of elements is beyond 65504 too
    assert_close(mean_of_batches([t, t[:2049]]), 0.25, rtol=1e-4)
with check(
    "a long running total keeps its digits",
    weight=2,
    hint="How far apart are neighbouring float16 numbers at 2048? Where do you keep the running total?",
):
    t = (torch.arange(5000) % 7 + 1).to(torch.float16) / 8
    exact = t.double().mean().item()
    assert_close(mean_of_batches(list(t.split(50))), exact, rtol=1e-4)
    t = torch.ones(2248, dtype=torch.float16)
    assert_close(mean_of_batches([t[:2048], *t[2048:].split(1)]), 1.0, rtol=1e-4)
    t = torch.full((30_000,), 0.1, dtype=torch.float16)
    exact = t[0].item()
    assert_close(mean_of_batches([t, t[:7]]), exact, rtol=1e-4)
with check("a mean between two float16 numbers", hint="Which step of yours rounds to float16? Does mean() do it too?"):
    t = torch.tensor([1000.0, 1001.0, 1001.0, 1001.0, 1000.0, 1001.0, 1001.0], dtype=torch.float16)
    exact = t.double().mean().item()
    explain(
        mean_of_batches([t[:3], t[3:]]),
        exact,
        {"the mean over everything was rounded to float16": t.mean().item()},
        rtol=1e-4,
    )
    t = torch.tensor([6e-8, 6e-8, 1.2e-7, 0.0, 3e-7], dtype=torch.float16)
    exact = t.double().mean().item()
    assert_close(mean_of_batches([t[:2], t[2:]]), exact, rtol=1e-4, atol=1e-13)
with check(
    "matrices, single numbers and empty batches", hint="What does len() count in a matrix, or in a 0-dim tensor?"
):
    t = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=torch.float16)
    batches = [t, torch.tensor(50.0, dtype=torch.float16), t.T[1:, :1], torch.empty(0, dtype=torch.float16)]
    assert_close(mean_of_batches(batches), 76.0 / 9, rtol=1e-4)
    assert_close(mean_of_batches([t.T, t[:, ::2]]), 35.0 / 10, rtol=1e-4)
    assert_close(mean_of_batches([t - t, t, t[:0]]), 21.0 / 12, rtol=1e-4)
    assert isinstance(mean_of_batches([100 * t[0], 100 * t[:1, 1]]), float), "a whole mean is no float in your result"
with check("the batches keep their values", guard=True):
    t = torch.tensor([1.5, 2.5, 7.0], dtype=torch.float16)
    before = t.clone()
    batches = [t[:2], t[2:]]
    mean_of_batches(batches)
    assert_close(t, before)
    assert_close(batches, [before[:2], before[2:]])
### END HIDDEN TESTS

# %% [markdown]
# The rule behind it: store small, add up wide. `torch.cat(batches).mean()` comes close, and still rounds its result to
# float16. Why would the mean of 2000 and 2001 suffer from that, and the mean of 1 and 2 not?

# %% [markdown]
# ## Storage, strides and offset
#
# Where do a tensor's elements live? In a *storage*: one flat block of memory. The tensor itself is small. It says how
# to read the block, with three things. The shape is one. The *storage offset* is the slot of the storage where the
# tensor's first element stands. And the *stride* of a dimension says how many slots to go on when that index grows by
# one. So the element `t[i, j]` is found at slot
#
# `offset + i * stride[0] + j * stride[1]`
#
# All of them are counted in elements. The methods `t.storage_offset()` and `t.stride()` return them. The storage itself
# is returned by `t.untyped_storage()`. It knows no dtype, so its own size, `.nbytes()`, is counted in bytes.
#
# Many tensors may read the same storage. A tensor that reads the storage of another one is a *view* of it.
# Transposing a tensor moves no element: it exchanges the strides. Before you run the next three cells, say the strides
# of `table`, of `table.T` and of `table[1:, ::2]`, and the offset of the last one.

# %% given
table = torch.arange(10, 22).reshape(3, 4)
show_strides(table)

# %% given
show_strides(table.T)

# %% given
show_strides(table[1:, ::2])

# %% [markdown]
# One storage, three ways to read it. Grey slots are not read by that view, but they are still there.
#
# Five more ways. Say the strides and the offset of each before you choose it below. Where nothing can be chosen, you
# find them in words. Which of them reads a slot twice, and what stride does that take?

# %% given
ways = {
    "table[2]": table[2],
    "table[:, 1]": table[:, 1],
    "table.reshape(2, 6)": table.reshape(2, 6),
    "table.diagonal()": table.diagonal(),
    "table[:1].expand(3, 4)": table[:1].expand(3, 4),
}
explore_strides(ways)

# %% [markdown]
# A stride of 0 stays where it is: `expand` shows one row three times. The diagonal steps by 5, one row and one column
# at once.
#
# `table` is *contiguous*: in its own order, its elements follow each other in memory without a gap. The other two are
# not. `t.is_contiguous()` tells you, and `t.contiguous()` returns a contiguous tensor: `t` itself if it is one already,
# else a copy.
#
# Sharing has a price. `wide` below has a million elements, and `line` is one of its rows. `nbytes` is the size of the
# elements that a tensor shows. How many bytes does `line` keep in memory? And how large is a file with `line` in it?

# %% given
wide = torch.zeros(1000, 1000)
line = wide[3]
for name, t in {"line": line, "line.clone()": line.clone()}.items():
    file = io.BytesIO()
    torch.save(t, file)
    print(f"{name:13} shows {t.nbytes:,} bytes, keeps {t.untyped_storage().nbytes():,}, in a file {file.tell():,}")

# %% [markdown]
# The row shows 4,000 bytes and keeps 4,000,000. As long as `line` lives, the whole block lives. The file holds the
# whole block too. `clone` makes a storage of its own, with nothing else in it.
#
# ### Your turn
# Which slots does a tensor read? Write it for any number of dimensions. You will use it at the end of this lab.

# %% given
hint(
    "Start with a tensor of two dimensions: two nested loops, and the formula above. A 0-dim tensor reads one slot.",
    "Take one dimension at a time. If you know where each row begins, which slots do its elements read? And before the "
    "first dimension, which slot do you know?",
)


# %% exercise: slots
def slots(t: Tensor) -> list[int]:
    """The slot of the storage that each element of t reads, in t's own order: the last index moves fastest.

    t: any shape (also 0-dim or empty), any strides, any dtype. Slots are counted in elements from the storage's start.
    """
    ### BEGIN SOLUTION
    found = [t.storage_offset()]
    for dim, size in enumerate(t.shape):
        found = [slot + i * t.stride(dim) for slot in found for i in range(size)]
    return found
    ### END SOLUTION


# %% check: slots points=3
with check("the result is a flat list of integers", required=True):
    got = slots(torch.tensor([[50, 51, 52], [53, 54, 55]]))
    assert isinstance(got, list), f"your result is a {type(got).__name__}"
    assert sorted(map(repr, got)) == sorted("012345"), "your list does not hold the Python integers from 0 to 5"
with check("the slots of a matrix"):
    t = torch.tensor([[50, 51, 52], [53, 54, 55]])
    explain(
        slots(t),
        [0, 1, 2, 3, 4, 5],
        {"the first index moves fastest here, and it should be the last": [0, 3, 1, 4, 2, 5]},
    )
with check("the slots of its transpose"):
    t = torch.tensor([[50, 51, 52], [53, 54, 55]])
    explain(
        slots(t.T),
        [0, 3, 1, 4, 2, 5],
        {"these slots are in the order of the storage, and not in the order of t's elements": [0, 1, 2, 3, 4, 5]},
    )
### BEGIN HIDDEN TESTS
with check(
    "slices that start later and take steps",
    weight=3,
    required=True,
    hint="Where does the view begin in the storage? Which strides does it have?",
):
    t = torch.arange(100, 130).reshape(5, 6)
    for part in (t[1:], t[:, 2], t[1:4, 1::2], t[3, 4:], t.T[2:, 1:3]):
        grid = torch.arange(30).as_strided(part.shape, part.stride(), part.storage_offset())
        numel = part.numel()
        explain(
            slots(part),
            grid.flatten().tolist(),
            {
                "the storage offset is missing": (grid - part.storage_offset()).flatten().tolist(),
                "a contiguous tensor's strides were assumed": list(
                    range(part.storage_offset(), part.storage_offset() + numel)
                ),
            },
        )
with check("one, three, four and six dimensions", weight=2, hint="Does your code count the dimensions itself?"):
    t = torch.arange(120).flip(0)
    for part in (t[7::9], t.reshape(4, 5, 6).transpose(0, 2)[1:, :, 2:], t.reshape(2, 3, 4, 5).permute(3, 1, 0, 2)):
        grid = torch.arange(120).as_strided(part.shape, part.stride(), part.storage_offset())
        assert_close(slots(part), grid.flatten().tolist())
    t = t.reshape(2, 3, 1, 2, 5, 2).permute(4, 0, 5, 2, 1, 3)
    for part in (t[1:, ..., 1], t[:, 1:]):
        grid = torch.arange(120).as_strided(part.shape, part.stride(), part.storage_offset())
        assert_close(slots(part), grid.flatten().tolist())
with check("slots are counted in elements, whatever the dtype", hint="In which unit does PyTorch count strides?"):
    for dtype in (torch.uint8, torch.float64, torch.bool, torch.bfloat16):
        t = torch.ones(3, 4, dtype=dtype)
        assert_close(slots(t[1:, 1:3]), [5, 6, 9, 10])
    t = torch.ones(3, 4, requires_grad=True)
    assert_close(slots(t[1:, 1:3]), [5, 6, 9, 10])
    assert_close(slots(torch.ones(3001, dtype=torch.float16)), list(range(3001)))
    assert_close(slots(torch.zeros(2, 40_000, dtype=torch.uint8)[:, ::39_999]), [0, 39_999, 40_000, 79_999])
with check(
    "a 0-dim tensor reads one slot, an empty one none", weight=2, hint="How many index tuples has the shape ()?"
):
    t = torch.arange(40, 52).reshape(3, 4)
    assert_close(slots(t[1, 2]), [6])
    assert_close(slots(t[2:2]), [])
    assert_close(slots(t[:, 4:]), [])
with check("a stride of 0 reads one slot again and again", hint="What does the formula give where a stride is 0?"):
    t = torch.tensor([7, 8, 9])
    assert_close(slots(t[1:].expand(2, 2)), [1, 2, 1, 2])
    assert_close(slots(t[2].expand(3)), [2, 2, 2])
### END HIDDEN TESTS

# %% [markdown]
# So an element's place is arithmetic, not a list of pointers. That is why a transpose of a huge matrix costs nothing.
# Is there a tensor with 6 elements whose slots are 5, 4, 3, 2, 1, 0? In NumPy there is. PyTorch has no negative
# strides, so `flip` copies. You will meet that difference again below.

# %% [markdown]
# ## Views, copies and writing through them
#
# Indexing comes in two kinds. *Basic indexing* uses only integers, slices, `None` and `...`. Its result can be
# described by an offset and strides, so it is a view. *Advanced indexing* has a list, a tensor of integers (one with at
# least one dimension; a 0-dim one counts as an integer) or a boolean tensor among its indices. Arbitrary places have no
# strides, so reading that way makes a copy.
#
# Three lines each try to set some elements to 5. Which of them change `board`?

# %% given
rows = torch.tensor([0, 2])

board = torch.zeros(3, 4)
board[0:2][:, 1] = 5
print("board[0:2][:, 1] = 5   changed", int((board == 5).sum()), "elements")

board = torch.zeros(3, 4)
board[rows][:, 1] = 5
print("board[rows][:, 1] = 5  changed", int((board == 5).sum()), "elements")

board = torch.zeros(3, 4)
board[rows, 1] = 5
print("board[rows, 1] = 5     changed", int((board == 5).sum()), "elements")

# %% [markdown]
# Of the three lines, the first and the third do. In the first, `board[0:2]` is a view, so the assignment that follows
# lands in `board`. In the second, `board[rows]` is a copy. The assignment changes the copy, and nobody keeps it. No
# error, no effect. In the third there is one pair of brackets. An assignment `board[...] = 5` with one pair always
# writes into `board` itself, with both kinds of indexing. The copy is made only by *reading* with advanced indexing.
#
# An operation that changes its tensor is called *in-place*. In PyTorch such methods end in an underscore: `add_`,
# `fill_`, `masked_fill_`. Augmented assignment, `x += 1`, is in-place as well. But `x = x + 1` makes a new tensor and
# gives it the old name. Whoever holds the old tensor sees nothing.
#
# ### Your turn
# Sentences of different lengths are stored in one tensor. What lies beyond a sentence's length is left over from
# earlier. It may be anything, also NaN ("not a number", such as the result of 0 / 0). Blank it, in the tensor itself.

# %% given
hint(
    "Iterating over a tensor gives views of its rows. So does an index that is an integer.",
    "Either loop over the rows and assign to a slice of each, or make a mask (n, t) and assign with it.",
)


# %% exercise: blank_padding_
def blank_padding_(x: Tensor, lengths: Tensor) -> Tensor:
    """Set x[i, j] to zero for all j >= lengths[i], in place. Returns x itself.

    x: (n, t, d), any dtype, any strides, but no two elements share a place in memory. What is left over may be NaN
        or inf. What is within the length keeps its value, also NaN and inf.
    lengths: (n,) int64, each from 0 to t, not changed.
    """
    ### BEGIN SOLUTION
    for i, length in enumerate(lengths):
        x[i, length:] = 0
    return x
    ### END SOLUTION


# %% check: blank_padding_ points=3
with check("the result has x's shape and dtype", required=True):
    t = torch.arange(1.0, 13.0).reshape(2, 3, 2)
    got = blank_padding_(t, torch.tensor([1, 3]))
    assert got.shape == (2, 3, 2), f"your result has shape {tuple(got.shape)}"
    assert got.dtype == torch.float32, f"your result has dtype {got.dtype}"
with check("steps beyond the length are zero in the result", required=True):
    t = torch.arange(1.0, 13.0).reshape(2, 3, 2)
    before = t.clone()
    want = torch.tensor([[[1.0, 2.0], [0.0, 0.0], [0.0, 0.0]], [[7.0, 8.0], [9.0, 10.0], [11.0, 12.0]]])
    one_more = torch.tensor([[[1.0, 2.0], [3.0, 4.0], [0.0, 0.0]], [[7.0, 8.0], [9.0, 10.0], [11.0, 12.0]]])
    explain(
        blank_padding_(t, torch.tensor([1, 3])),
        want,
        {
            "nothing was written into x": before,
            "one step too many was kept: the last index inside a sentence is its length minus 1": one_more,
            "the mask is the wrong way round: the sentences are blanked, and what is left over stays": before - want,
        },
    )
with check("a NaN beyond the length becomes zero"):
    t = torch.tensor([[[1.5], [2.5], [float("nan")]], [[3.5], [float("nan")], [4.5]]])
    want = torch.tensor([[[1.5], [0.0], [0.0]], [[0.0], [0.0], [0.0]]])
    multiplied = torch.where(t.isnan(), t, want)
    explain(
        blank_padding_(t, torch.tensor([1, 0])),
        want,
        {"NaN times 0 is NaN: assign the zero, and do not multiply by it": multiplied},
    )
### BEGIN HIDDEN TESTS
with check(
    "x itself is changed",
    weight=3,
    required=True,
    hint="After your function, does the caller's tensor have zeros? Did you read with a mask, or assign with one?",
):
    for lengths in ([2, 0, 5, 3], [5, 5, 1, 4]):
        t = torch.arange(1, 61).reshape(4, 5, 3)
        before, keep = t.clone(), torch.arange(5) < torch.tensor(lengths)[:, None]
        blank_padding_(t, torch.tensor(lengths))
        explain(
            t,
            before * keep[:, :, None],
            {
                "nothing was written into x": before,
                "one step too many was kept: the last index inside a sentence is its length minus 1": (
                    before * (torch.arange(5) <= torch.tensor(lengths)[:, None])[:, :, None]
                ),
            },
        )
with check("the result is x, and no copy of it", weight=2, hint="What does the caller see who writes into the result?"):
    t = torch.arange(1.0, 25.0).reshape(2, 4, 3)
    got = blank_padding_(t, torch.tensor([3, 1]))
    want = torch.full((2, 4, 3), 7.0)
    assert got is t, "your result is another tensor than x, perhaps an alias of it"
    got.fill_(7.0)
    assert_close(t, want)
with check(
    "a view is changed too, and nothing beside it",
    weight=3,
    hint="Which of your steps makes a copy where x is not contiguous?",
):
    whole = torch.arange(1.0, 211.0).reshape(6, 5, 7)
    want = whole.clone()
    want.transpose(0, 1)[1:4, 2:, ::3][0, 3:] = 0
    want.transpose(0, 1)[1:4, 2:, ::3][1, 1:] = 0
    blank_padding_(whole.transpose(0, 1)[1:4, 2:, ::3], torch.tensor([3, 1, 4]))
    assert_close(whole, want)
    nan, inf = float("nan"), float("inf")
    whole = torch.tensor([[[1.5, nan], [nan, inf]], [[inf, 4.5], [7.5, nan]], [[nan, 2.5], [5.5, -inf]]])
    want = torch.tensor([[[1.5, nan], [nan, inf]], [[inf, 4.5], [0.0, 0.0]], [[nan, 2.5], [0.0, 0.0]]])
    explain(
        blank_padding_(whole.transpose(0, 1), torch.tensor([3, 1])).transpose(0, 1),
        want,
        {
            "NaN times 0 is NaN, and so is inf times 0: assign the zero, and do not multiply by it": torch.tensor(
                [[[1.5, nan], [nan, inf]], [[inf, 4.5], [0.0, nan]], [[nan, 2.5], [0.0, nan]]]
            )
        },
    )
    assert_close(whole, want)
with check("integers, booleans and float64 keep their dtype"):
    for dtype in (torch.int64, torch.bool, torch.float64, torch.uint8, torch.float16, torch.bfloat16):
        t = torch.arange(2**53 + 1, 2**53 + 25) if dtype == torch.int64 else torch.arange(1, 25) / 7
        t = t.to(dtype).reshape(2, 3, 4)
        want = t.clone()
        want[0, 2:] = 0
        want[1, 1:] = 0
        assert_close(blank_padding_(t, torch.tensor([2, 1])), want)
        assert_close(t, want)
with check("as many steps as sentences", hint="Which dimension does lengths belong to?"):
    t = torch.arange(1.0, 19.0).reshape(3, 3, 2)
    want = t.clone()
    want[0], want[1, 2:], want[2, 1:] = 0.0, 0.0, 0.0
    blank_padding_(t, torch.tensor([0, 2, 1]))
    assert_close(t, want)
with check("no sentence, and sentences without steps", guard=True):
    assert blank_padding_(torch.empty(0, 3, 2), torch.empty(0, dtype=torch.int64)).shape == (0, 3, 2)
    assert blank_padding_(torch.empty(2, 0, 3), torch.tensor([0, 0])).shape == (2, 0, 3)
with check("lengths keep their values", guard=True):
    t = torch.tensor([1, 2])
    blank_padding_(torch.ones(2, 3, 1), t)
    assert_close(t, torch.tensor([1, 2]))
### END HIDDEN TESTS

# %% [markdown]
# `x = x * keep` looks like the same thing, with `keep` of shape (n, t, 1). But it computes a new tensor, and the
# caller's tensor stays as it was. A function whose name ends in an underscore promises otherwise. `x *= keep` does
# write into `x`. Which of the things left over does it still not blank?

# %% [markdown]
# ## Masks, and what NaN does to them
#
# A *mask* is a boolean tensor: True where an element counts. A uint8 tensor still works as one, with a warning that it
# is deprecated. Where a value is missing, NaN often stands in its place.
#
# Two questions. What is NaN times zero? And `x - x.mean(dim=1)` is meant to subtract from each row its mean. What does
# it do instead?

# %% given
values = torch.tensor([2.0, float("nan"), 4.0])
valid = torch.tensor([True, False, True])
print("values * valid:              ", (values * valid).tolist())
print("torch.where(valid, values, 0):", torch.where(valid, values, 0).tolist())

square = torch.tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0], [6.0, 7.0, 8.0]])
print("without keepdim:", (square - square.mean(dim=1)).tolist())
print("with keepdim:   ", (square - square.mean(dim=1, keepdim=True)).tolist())

# %% [markdown]
# NaN times anything is NaN, so multiplication cannot remove it. `torch.where(condition, a, b)` does not compute with
# what it leaves out: it takes `a` where the condition is True, `b` elsewhere. `masked_fill(mask, value)` works alike.
#
# Taking the mean along `dim=1` of a (3, 3) tensor leaves a tensor of shape (3,). Shapes are lined up from the right, so
# these three means stand above the *columns*: element (i, j) loses the mean of row j, and not of row i. The sizes fit
# only because the input is square. On a (3, 4) tensor you would get an error. With `keepdim=True` the dimension stays,
# with size 1. The result has shape (3, 1): one mean beside each row. Lab 2 says more about how shapes are lined up,
# which is called *broadcasting*.
#
# ### Your turn
# Some measurements are missing. Subtract from each row the mean of what is there. The visible checks have no NaN in
# them. Yours should.

# %% given
hint(
    "Which two numbers make a mean? Neither may look at the masked places.",
    "First a copy with 0 at the masked places. Then row sums and row counts, both with keepdim=True.",
    "What is the mean of a row without a single valid element, and where in your result does it end up?",
)


# %% exercise: center_rows
def center_rows(x: Tensor, mask: Tensor) -> Tensor:
    """From each row of x, subtract the mean of its valid elements. Masked places become 0.

    x: (n, d), float32 or float64. mask: (n, d) bool, True where an element is valid. Neither is changed.
    At masked places x may be anything, also NaN or inf. A row without valid elements becomes 0.
    A valid NaN or inf is no missing value: it goes into the mean of its row, as into any mean. The masked places of
    such a row become 0 too.
    Returns (n, d) of x's dtype.
    """
    ### BEGIN SOLUTION
    known = torch.where(mask, x, 0)
    mean = known.sum(dim=1, keepdim=True) / mask.sum(dim=1, keepdim=True)
    return torch.where(mask, x - mean, 0)  # where a row's count is 0, its mean is NaN, and nothing is taken from it
    ### END SOLUTION


# %% check: center_rows points=3
with check("the result has x's shape and dtype", required=True):
    t = torch.tensor([[1.0, 2.0, 6.0], [5.0, 9.0, 3.0]])
    got = center_rows(t, torch.tensor([[True, True, True], [True, False, True]]))
    assert got.shape == (2, 3), f"your result has shape {tuple(got.shape)}"
    assert got.dtype == torch.float32, f"your result has dtype {got.dtype}"
with check("one element masked", weight=2):
    t = torch.tensor([[1.0, 2.0, 6.0], [5.0, 9.0, 3.0]])
    mask = torch.tensor([[True, True, True], [True, False, True]])
    third = 1 / 3
    explain(
        center_rows(t, mask),
        torch.tensor([[-2.0, -1.0, 3.0], [1.0, 0.0, -1.0]]),
        {
            "the mean was taken over masked places too": torch.tensor(
                [[-2.0, -1.0, 3.0], [-2 * third, 0.0, -8 * third]]
            ),
            "the sum was divided by the length of the row, masked places included": torch.tensor(
                [[-2.0, -1.0, 3.0], [7 * third, 0.0, third]]
            ),
            "masked places do not become 0": torch.tensor([[-2.0, -1.0, 3.0], [1.0, 5.0, -1.0]]),
        },
    )
### BEGIN HIDDEN TESTS
with check(
    "rows with several masked elements",
    weight=3,
    required=True,
    hint="By which number do you divide, if a row of five has two valid elements?",
):
    for shift in (0.0, 10.0):
        t = torch.tensor([[1.0, 5.0, -2.0, 8.0, 3.0], [2.0, 2.5, 7.0, -1.0, 0.5], [4.0, 9.0, 6.0, 1.0, 3.5]]) + shift
        mask = torch.tensor([[1, 0, 1, 0, 0], [1, 1, 1, 1, 1], [0, 1, 1, 1, 0]], dtype=torch.bool)
        want = torch.tensor([[1.5, 0, -1.5, 0, 0], [-0.2, 0.3, 4.8, -3.2, -1.7], [0, 11 / 3, 2 / 3, -13 / 3, 0]])
        explain(
            center_rows(t, mask),
            want,
            {
                "the sum was divided by the length of the row, masked places included": torch.where(
                    mask, t - torch.where(mask, t, 0).mean(1, keepdim=True), 0
                ),
                "the mean was taken over masked places too": torch.where(mask, t - t.mean(1, keepdim=True), 0),
                "one mean over all rows was subtracted": torch.where(mask, t - t[mask].mean(), 0),
            },
        )
with check("NaN and inf at masked places do no harm", weight=3, hint="What is NaN * 0? And what is inf * 0?"):
    for junk in (float("nan"), float("inf")):
        t = torch.tensor([[3.0, junk, 5.0, 1.0], [junk, junk, 2.0, -4.0]])
        want = torch.tensor([[0.0, 0.0, 2.0, -2.0], [0.0, 0.0, 3.0, -3.0]])
        assert_close(center_rows(t, t.isfinite()), want)
with check("a NaN that counts stays visible", hint="Where may you look for missing values: in the mask, or in x?"):
    t = torch.tensor([[3.0, float("nan"), 5.0], [1.0, 2.0, 6.0]])
    want = torch.tensor([[float("nan")] * 3, [-2.0, -1.0, 3.0]])
    assert_close(center_rows(t, torch.ones(2, 3, dtype=torch.bool)), want)
    nan, inf = float("nan"), float("inf")
    t = torch.tensor([[3.0, nan, 5.0, 7.0], [inf, 2.0, 8.0, 6.0]])
    mask = torch.tensor([[True, True, True, False], [True, True, False, True]])
    assert_close(center_rows(t, mask), torch.tensor([[nan, nan, nan, 0.0], [nan, -inf, 0.0, -inf]]))
with check("a square input", hint="Beside what does the row's mean stand: beside its row, or above a column?"):
    t = torch.tensor([[1.0, 2.0, 9.0], [4.0, -5.0, 4.0], [7.0, 8.0, 0.0]])
    mask = torch.tensor([[True, True, True], [True, False, True], [True, True, True]])
    explain(
        center_rows(t, mask),
        torch.tensor([[-3.0, -2.0, 5.0], [0.0, 0.0, 0.0], [2.0, 3.0, -5.0]]),
        {
            "the means were laid along the columns: keepdim is missing": torch.tensor(
                [[-3.0, -2.0, 4.0], [0.0, 0.0, -1.0], [3.0, 4.0, -5.0]]
            ),
        },
    )
with check("rows with no valid element, and with one", hint="What is 0 / 0?"):
    t = torch.tensor([[3.0, 4.0], [1.0, 5.0], [float("nan"), float("nan")], [7.0, 9.0]], dtype=torch.float64)
    mask = torch.tensor([[False, False], [True, True], [False, False], [False, True]])
    want = torch.tensor([[0.0, 0.0], [-2.0, 2.0], [0.0, 0.0], [0.0, 0.0]], dtype=torch.float64)
    assert_close(center_rows(t, mask), want)
with check("float64 stays float64, with its precision"):
    t = torch.tensor([[1.0, 1.0 + 1e-9, 1.0 + 5e-9], [2.0, 3.0, 4.5]], dtype=torch.float64)
    mask = torch.tensor([[True, True, True], [False, True, True]])
    want = torch.tensor([[-2e-9, -1e-9, 3e-9], [0.0, -0.75, 0.75]], dtype=torch.float64)
    assert_close(center_rows(t, mask), want, rtol=1e-4, atol=1e-12)
    t = torch.tensor([[100_001.0, 100_002.0, 100_006.0]], dtype=torch.float64)
    want = torch.tensor([[-2.0, -1.0, 3.0]], dtype=torch.float64)
    assert_close(center_rows(t, torch.ones(1, 3, dtype=torch.bool)), want, rtol=1e-7)
with check("transposed and empty inputs"):
    t = torch.tensor([[1.0, 2.0], [5.0, 4.0], [3.0, 9.0]])
    assert_close(
        center_rows(t.T, torch.ones(2, 3, dtype=torch.bool)), torch.tensor([[-2.0, 2.0, 0.0], [-3.0, -1.0, 4.0]])
    )
    assert_close(center_rows(torch.empty(0, 3), torch.empty(0, 3, dtype=torch.bool)), torch.empty(0, 3))
    assert_close(center_rows(torch.empty(2, 0), torch.empty(2, 0, dtype=torch.bool)), torch.empty(2, 0))
with check("x and the mask keep their values", guard=True, hint="Which of your operations write into x?"):
    t = torch.tensor([[1.0, float("nan"), 4.0], [2.0, 8.0, float("inf")]])
    mask = t.isfinite()
    before, mask_before = t.clone(), mask.clone()
    center_rows(t, mask)
    assert_close(t, before)
    assert_close(mask, mask_before)
    for n in (1, 2):
        t = torch.tensor([[1.0, 3.0, 8.0], [2.0, 7.0, 0.0]])[:n]
        before = t.clone()
        center_rows(t, torch.ones(n, 3, dtype=torch.bool)).fill_(50.0)
        assert_close(t, before)
### END HIDDEN TESTS

# %% [markdown]
# Look at your last line. Is the junk removed before the subtraction, or after it? Both are right here. When gradients
# flow, `where` after a bad computation is no longer enough: NaN comes back through the branch that was not taken. You
# will see that in a later lab. What would you change so that NaN is never computed with?

# %% [markdown]
# ## Gather and scatter
#
# A classifier gives each sample a row of scores, one score per class. You want, for sample i, the score of its own
# class `labels[i]`. And you want totals per class, so several samples add into one place.
#
# Two questions. Which shape has `scores[:, labels]`? And if index 0 occurs twice, what does `totals[index] += amounts`
# add to `totals[0]`?

# %% given
scores = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [0.5, 0.4, 0.1], [0.2, 0.2, 0.6]])
labels = torch.tensor([0, 2, 0, 1])
print("scores[:, labels] has shape", tuple(scores[:, labels].shape))
print("scores[torch.arange(4), labels]:        ", scores[torch.arange(4), labels])
print("scores.gather(1, labels[:, None])[:, 0]:", scores.gather(1, labels[:, None])[:, 0])

index, amounts = torch.tensor([0, 0, 1]), torch.tensor([1.0, 2.0, 3.0])
totals = torch.zeros(3)
totals[index] += amounts
print("totals[index] += amounts:", totals.tolist())
print("scatter_add:             ", torch.zeros(3).scatter_add(0, index, amounts).tolist())

# %% [markdown]
# `scores[:, labels]` takes four columns from every row, so its shape is (4, 4). Two index tensors side by side are
# paired instead: `scores[torch.arange(4), labels]` reads (0, 0), (1, 2), (2, 0), (3, 1). `gather` does the same with a
# dimension: `out[i, j] = scores[i, index[i, j]]` for `gather(1, index)`. The index has as many dimensions as the
# input, so `labels` becomes a column with `labels[:, None]`.
#
# `totals[index] += amounts` reads `totals[index]`, adds, and writes back. Both writes to place 0 start from 0, and the
# last one stayed here: 2, not 3. PyTorch does not even promise which of them stays. `scatter_add` adds every one.
# `t.scatter_add(0, index, src)` is a copy of `t` in which `out[index[i]] += src[i]` was done for one `i` after the
# other. `torch.bincount(labels)` counts how often each label occurs.
#
# ### Your turn
# How sure is the classifier of the right class, class by class? A good average can hide a class that it never gets.

# %% given
hint(
    "First one number per sample: the probability of its own class. Then totals and counts per class.",
    "gather or a pair of index tensors for the first, scatter_add and bincount(minlength=...) for the second.",
)


# %% exercise: class_confidence
def class_confidence(probs: Tensor, labels: Tensor) -> Tensor:
    """For each class: the mean, over the samples of that class, of the probability given to that class.

    probs: (n, c), float32 or float64, row i belongs to sample i. labels: (n,) int64, the true classes, 0 to c - 1.
    Returns (c,) of probs' dtype. A class without samples gets 0. n may be 0. Inputs are not changed.
    """
    ### BEGIN SOLUTION
    classes = probs.shape[1]
    right = probs.gather(1, labels[:, None])[:, 0]
    total = torch.zeros(classes, dtype=probs.dtype).scatter_add(0, labels, right)
    count = torch.bincount(labels, minlength=classes)
    return total / count.clamp(min=1)
    ### END SOLUTION


# %% check: class_confidence points=3
with check("the result has one value per class, in probs' dtype", required=True):
    t = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [0.2, 0.5, 0.3], [0.3, 0.4, 0.3]])
    got = class_confidence(t, torch.tensor([0, 2, 1, 2]))
    assert got.shape == (3,), f"your result has shape {tuple(got.shape)}"
    assert got.dtype == torch.float32, f"your result has dtype {got.dtype}"
with check("four samples, three classes"):
    t = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [0.2, 0.5, 0.3], [0.3, 0.4, 0.3]])
    explain(
        class_confidence(t, torch.tensor([0, 2, 1, 2])),
        torch.tensor([0.7, 0.5, 0.45]),
        {
            "of several samples of a class, only the last one was added": torch.tensor([0.7, 0.5, 0.15]),
            "the total was divided by the number of all samples": torch.tensor([0.175, 0.125, 0.225]),
            "the totals are there, and nothing was divided": torch.tensor([0.7, 0.5, 0.9]),
            "the mean over all samples was taken, whatever their class": t.mean(0),
            "the predicted class was used, and not the label": torch.tensor([0.7, 0.5, 0.5]),
        },
    )
### BEGIN HIDDEN TESTS
with check(
    "classes with several samples each",
    weight=2,
    required=True,
    hint="Which samples belong to class k, and which column do you read from them?",
):
    for n, c in ((9, 4), (5, 2)):
        t = torch.rand(n, c, generator=torch.Generator().manual_seed(n)).softmax(1)
        labels = torch.arange(n) * 3 % c
        rows = t.tolist()
        groups = [[row[k] for row, label in zip(rows, labels.tolist(), strict=True) if label == k] for k in range(c)]
        last, total = torch.tensor([g[-1] for g in groups]), torch.tensor([sum(g) for g in groups])
        sizes = torch.tensor([len(g) for g in groups])
        explain(
            class_confidence(t, labels),
            total / sizes,
            {
                "of several samples of a class, only the last one was added": last / sizes,
                "the total was divided by the number of all samples": total / n,
                "the mean over all samples was taken, whatever their class": t.mean(0),
                "the predicted class was used, and not the label": torch.stack(
                    [t.amax(1)[labels == k].mean() for k in range(c)]
                ),
            },
        )
with check("a class without samples gets 0", weight=2, hint="What is 0 / 0? And how long is bincount's result?"):
    t = torch.tensor([[0.4, 0.3, 0.2, 0.1], [0.25, 0.5, 0.15, 0.1]])
    assert_close(class_confidence(t, torch.tensor([1, 1])), torch.tensor([0.0, 0.4, 0.0, 0.0]))
    assert_close(class_confidence(t, torch.tensor([2, 0])), torch.tensor([0.25, 0.0, 0.2, 0.0]))
    t = torch.tensor([[0.0, 0.5, 0.5], [0.5, 0.5, 0.0], [1.0, 0.0, 0.0]])
    assert_close(class_confidence(t, torch.tensor([0, 0, 1])), torch.tensor([0.25, 0.0, 0.0]))
    t = torch.tensor([[0.25, 0.75]]).repeat(3000, 1)
    assert_close(class_confidence(t, torch.ones(3000, dtype=torch.int64)), torch.tensor([0.0, 0.75]))
with check("as many samples as classes", hint="Which dimension of probs does the label choose from?"):
    t = torch.tensor([[0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.15, 0.05, 0.8]])
    assert_close(class_confidence(t, torch.tensor([1, 0, 1])), torch.tensor([0.2, 0.175, 0.0]))
with check("float64 stays float64, with its precision"):
    t = torch.tensor([[1 / 3, 2 / 3], [1 / 7, 6 / 7], [1 / 11, 10 / 11]], dtype=torch.float64)
    want = torch.tensor([(1 / 3 + 1 / 11) / 2, 6 / 7], dtype=torch.float64)
    assert_close(class_confidence(t, torch.tensor([0, 1, 0])), want, rtol=1e-12, atol=1e-14)
    t = torch.tensor([[0.1, 0.9], [0.7, 0.3]], dtype=torch.float64)
    want = torch.tensor([0.1, 0.3], dtype=torch.float64)
    assert_close(class_confidence(t, torch.tensor([0, 1])), want, rtol=1e-12, atol=1e-14)
with check("transposed probabilities, one class, no sample"):
    t = torch.tensor([[0.9, 0.2], [0.1, 0.8]])
    assert_close(class_confidence(t.T, torch.tensor([1, 1])), torch.tensor([0.0, 0.45]))
    assert_close(class_confidence(torch.ones(3, 1), torch.tensor([0, 0, 0])), torch.ones(1))
    assert_close(class_confidence(torch.empty(0, 3), torch.empty(0, dtype=torch.int64)), torch.zeros(3))
with check("probs and labels keep their values", guard=True):
    t, labels = torch.tensor([[0.4, 0.6], [0.7, 0.3]]), torch.tensor([1, 0])
    before, labels_before = t.clone(), labels.clone()
    class_confidence(t, labels)
    assert_close(t, before)
    assert_close(labels, labels_before)
### END HIDDEN TESTS

# %% [markdown]
# The same task can be done with a loop over classes and `probs[labels == k, k].mean()`. That line is an index by a
# mask and by an integer at once. It gives NaN for a class without samples. Which of the two versions reads `probs`
# once, and which reads it c times?

# %% [markdown]
# ## NumPy shares its memory
#
# Data comes from NumPy and goes back to it. There are several ways in. Some copy, some don't, and no error tells you
# which. When two names reach the same memory, one is an *alias* of the other.
#
# After `array[0] = 99`, which of the four tensors below begin with 99? And which one is not float64?

# %% given
array = np.arange(4.0)
ways = {
    "torch.tensor(array)": torch.tensor(array),
    "torch.from_numpy(array)": torch.from_numpy(array),
    "torch.as_tensor(array)": torch.as_tensor(array),
    "torch.as_tensor(array, dtype=torch.float32)": torch.as_tensor(array, dtype=torch.float32),
}
array[0] = 99
for text, made in ways.items():
    print(f"{text:45} {made.dtype}  {made.tolist()}")

# %% [markdown]
# `torch.tensor` always copies. `from_numpy` always shares. `as_tensor` shares if it can, and copies only if it must: a
# new dtype needs new memory. So the last line is a copy here, and would be an alias if `array` were float32 already.
# The method `.float()` behaves alike: on a float32 tensor it returns the same tensor. `torch.asarray`,
# `torch.frombuffer` and `torch.from_dlpack` share here too. So does a slice in NumPy itself.
#
# NumPy's default float is float64, and the tensor keeps it. A layer with float32 weights then refuses them: "mat1 and
# mat2 must have the same dtype, but got Double and Float".
#
# Now the way back. `weights` has `requires_grad=True`, so PyTorch records what is computed from it, to find gradients
# later. NumPy cannot record, so `.numpy()` refuses. `weights.detach()` gives a tensor without that recording. A
# colleague uses it to scale the numbers for a plot. What does the last line of the next cell print?

# %% given
weights = torch.ones(3, requires_grad=True)
try:
    weights.numpy()
except RuntimeError as error:
    print("weights.numpy():", error)
picture = weights.detach().numpy()
picture *= 100
print(weights.tolist())

# %% [markdown]
# Three times 100: the weights themselves were changed. `detach` gives up the recording, not the memory, and `.numpy()`
# shares. `.cpu()` would not have helped: for a tensor that is on the CPU already, it returns the same tensor.
# `weights.numpy(force=True)` is short for `weights.detach().cpu().numpy()`, and shares as well.
# `weights.detach().clone().numpy()` is independent.
#
# Some data cannot cross at all. Two of the next lines go from NumPy to PyTorch, and one goes back. Which property does
# each have that the other library cannot store? (`>f4`: float32 with its bytes in the other order.)

# %% given
for text, attempt in {
    "torch.tensor(array[::-1])": lambda: torch.tensor(array[::-1]),
    "torch.tensor(array.astype('>f4'))": lambda: torch.tensor(array.astype(">f4")),
    "torch.ones(2, dtype=torch.bfloat16).numpy()": lambda: torch.ones(2, dtype=torch.bfloat16).numpy(),
}.items():
    try:
        attempt()
        print(text, "works")
    except (TypeError, ValueError) as error:
        print(f"{text}\n    {type(error).__name__}: {str(error)[:72]} ...")

# %% [markdown]
# A reversed array has a negative stride. An array from an old file may have its bytes in the other order (`>` is
# *big-endian*, and most of today's machines are little-endian). An array of texts or of Python's objects raises a
# TypeError too: no dtype holds them. And NumPy has no bfloat16: convert with `.float()` first.
#
# ### Your turn
# Write the door through which all arrays come in. Whatever arrives, a float32 tensor leaves, with memory of its own.

# %% given
hint(
    "Let NumPy convert before PyTorch sees the array: `array.astype(...)` handles byte order and strides.",
    "Is your copy a copy for each input dtype? What if the array is float32 already?",
)


# %% exercise: ingest
def ingest(array: np.ndarray) -> Tensor:
    """A float32 tensor with array's shape and values, which shares no memory with it.

    array: real numbers or bool, any dtype, byte order and shape (also 0-dim or empty), any strides (also negative),
    possibly read-only. Not changed.
    """
    ### BEGIN SOLUTION
    own = np.array(array, dtype=np.float32)  # np.array copies unless told otherwise, and knows every layout
    return torch.from_numpy(own)
    ### END SOLUTION


# %% check: ingest points=3
with check("the result is a float32 tensor of the array's shape", required=True):
    got = ingest(np.array([[1.5, 2.5, 3.5], [4.5, 5.5, 6.5]]))
    assert isinstance(got, Tensor), f"your result is a {type(got).__name__}"
    assert got.dtype == torch.float32, f"your result has dtype {got.dtype}"
    assert got.shape == (2, 3), f"your result has shape {tuple(got.shape)}"
with check("a float64 array keeps its values", weight=2):
    want = torch.tensor([[1.5, 2.5, 3.5], [4.5, 5.5, 6.5]])
    explain(
        ingest(np.array([[1.5, 2.5, 3.5], [4.5, 5.5, 6.5]])),
        want,
        {"the tensor kept the array's dtype: float64 is NumPy's default, and not PyTorch's": want.to(torch.float64)},
    )
### BEGIN HIDDEN TESTS
with check("other shapes and dtypes", weight=2, required=True, hint="Does every value come from the array?"):
    for dtype in (np.float32, np.float64, np.float16, np.int64, np.int32, np.uint8, np.int8):
        a = np.array([[3, 1, 4], [1, 5, 9], [2, 6, 5], [100, 7, 0]], dtype=dtype)
        want = torch.tensor([[3.0, 1.0, 4.0], [1.0, 5.0, 9.0], [2.0, 6.0, 5.0], [100.0, 7.0, 0.0]])
        assert_close(ingest(a), want)
    for dtype in (np.float32, np.float64, np.int16):
        a = np.array([[[-3], [0], [8]]], dtype=dtype)
        assert_close(ingest(a / 4), torch.tensor([[[-0.75], [0.0], [2.0]]]))
        assert_close(ingest(a), torch.tensor([[[-3.0], [0.0], [8.0]]]))
with check(
    "later writes to the array do not reach the tensor",
    weight=2,
    hint="For which dtype is a conversion to float32 no copy?",
):
    for dtype in (np.float32, np.float64):
        a = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], dtype=dtype)
        got = ingest(a)
        a += 10
        assert_close(got, torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    for cut in (np.s_[1:], np.s_[:, 1], np.s_[::2], np.s_[:1, 1:], np.s_[:]):
        for turned in (False, True):
            a = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], dtype=np.float32)
            part = a[cut].T if turned else a[cut]
            want = torch.tensor(part.tolist())
            got = ingest(part)
            a += 10
            assert_close(got, want)
with check("writes to the tensor do not reach the array", hint="Who else holds this memory?"):
    a = np.array([1.0, 2.0, 3.0], dtype=np.float32)
    ingest(a).fill_(-1.0)
    assert_close(a, np.array([1.0, 2.0, 3.0], dtype=np.float32))
with check("reversed arrays", weight=2, hint="What does a negative stride mean, and does PyTorch have it?"):
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    want = torch.tensor([[11.0, 10.0, 9.0, 8.0], [7.0, 6.0, 5.0, 4.0], [3.0, 2.0, 1.0, 0.0]])
    assert_close(ingest(a[::-1, ::-1]), want)
    assert_close(ingest(np.arange(4.0)[::-1]), torch.tensor([3.0, 2.0, 1.0, 0.0]))
with check("transposed arrays and arrays with steps"):
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert_close(ingest(a.T[1:]), torch.tensor([[1.0, 5.0, 9.0], [2.0, 6.0, 10.0], [3.0, 7.0, 11.0]]))
    assert_close(ingest(a[:, ::3]), torch.tensor([[0.0, 3.0], [4.0, 7.0], [8.0, 11.0]]))
with check("the other byte order", hint="Which library can swap the bytes?"):
    for code in (">f8", ">f4", "<f8", ">i2", ">u2"):
        assert_close(ingest(np.array([1, 2, 515], dtype=code)), torch.tensor([1.0, 2.0, 515.0]))
    a = np.array([1, 2, 515], dtype=">f4")
    ingest(a)
    assert_close(a.tolist(), [1.0, 2.0, 515.0])
with check("bool, and unsigned numbers that int16 cannot hold"):
    assert_close(ingest(np.array([True, False, True])), torch.tensor([1.0, 0.0, 1.0]))
    assert_close(ingest(np.array([65535, 40000, 1], dtype=np.uint16)), torch.tensor([65535.0, 40000.0, 1.0]))
    assert_close(ingest(np.array([2**63, 2**40, 3], dtype=np.uint64)), torch.tensor([2.0**63, 2.0**40, 3.0]))
    assert_close(ingest(np.array([-(2**40), 2**33, 3])), torch.tensor([-(2.0**40), 2.0**33, 3.0]))
with check("0-dim and empty arrays keep their shape", hint="Does each NumPy function leave a 0-dim array as it is?"):
    assert_close(ingest(np.array(2.5)), torch.tensor(2.5))
    a = np.array(2.5, dtype=np.float32)
    got = ingest(a)
    a[...] = 10
    assert_close(got, torch.tensor(2.5))
    assert_close(ingest(np.zeros((0, 3))), torch.empty(0, 3))
with check("a read-only array, and the array stays as it was", guard=True):
    a = np.array([1.0, 2.0, 3.0])
    a.flags.writeable = False
    got = ingest(a)
    got += 1
    assert_close(got, torch.tensor([2.0, 3.0, 4.0]))
    assert_close(a, np.array([1.0, 2.0, 3.0]))
### END HIDDEN TESTS

# %% [markdown]
# `torch.from_numpy(array).float()` passes a quick test, because a float64 array is copied by the conversion. The day
# somebody saves memory and passes float32, it becomes an alias. Such a function is right or wrong depending on its
# input's dtype. How would you test for it in your own code?

# %% [markdown]
# ## Do two tensors meet?
#
# One more, and it takes everything from above. Two tensors *overlap* if there is a place in memory that both of them
# read. Then writing through one can change the other. PyTorch asks itself this question too, and refuses some in-place
# operations when the answer is yes.
#
# Several tests come to mind. `t.data_ptr()` is the address of a tensor's first element, and
# `t.untyped_storage().data_ptr()` the address where its storage begins. Look at the four pairs below. In which of them
# do the tensors overlap? Which of the two addresses answers that?

# %% given
field = torch.arange(12.0).reshape(3, 4)
pairs = {
    "field and field[1:]": (field, field[1:]),
    "field[:1] and field[1:]": (field[:1], field[1:]),
    "field[:, ::2] and field[:, 1::2]": (field[:, ::2], field[:, 1::2]),
    "field[1] and field[:, 2]": (field[1], field[:, 2]),
}
for text, (p, q) in pairs.items():
    same_start = p.data_ptr() == q.data_ptr()
    same_storage = p.untyped_storage().data_ptr() == q.untyped_storage().data_ptr()
    print(f"{text:34} same first element: {same_start!s:6} same storage: {same_storage}")

# %% [markdown]
# Of the four pairs, the first and the last overlap. The address of the first element says no to all four. The storage
# says yes to all four. Neither knows. The third pair is the interesting one: the two tensors are interleaved like the
# fingers of two hands. The range from first to last element of one lies across that of the other, and still they touch
# nowhere.
#
# ### Your turn
# Decide it exactly. The tensors are small, so you need no clever method. You may use your `slots`. If an error names a
# line of `slots`, go back there: it must take one dimension too.

# %% given
hint(
    "Two conditions: they read the same block of memory, and they read a common slot of it.",
    "Sets of slots can be compared with isdisjoint. What do two tensors have in common that have one storage?",
)


# %% exercise: overlap
def overlap(a: Tensor, b: Tensor) -> bool:
    """Whether a and b have an element at the same place in memory.

    a, b: CPU tensors of the same dtype, which may be any (bfloat16 too); any shapes and strides, at most 1000 elements.
    Each is a tensor of its own, or a view of one. Neither is changed. An empty tensor overlaps nothing.
    Two tensors made separately from one NumPy array need not be recognised.
    """
    ### BEGIN SOLUTION
    if a.untyped_storage().data_ptr() != b.untyped_storage().data_ptr():
        return False
    return not set(slots(a)).isdisjoint(slots(b))
    ### END SOLUTION


# %% check: overlap points=4
with check("the result is True or False", weight=2, required=True):
    t = torch.arange(8.0)
    got = overlap(t[:4], t[2:])
    assert isinstance(got, bool), f"your result is a {type(got).__name__}"
with check("two slices, and a copy", weight=2):
    t = torch.arange(8.0)
    assert_close(overlap(t[:4], t[2:]), True)
    assert_close(overlap(t, t.clone()), False)
### BEGIN HIDDEN TESTS
with check(
    "views of one storage that meet",
    weight=3,
    required=True,
    hint="Do a row and a column of one matrix begin at the same address? Do they meet?",
):
    t = torch.arange(20.0).reshape(4, 5)
    for a, b in ((t, t[2:]), (t[1], t[:, 3]), (t[1:, 1:], t.T), (t[::3], t[3:, 4:]), (t[2, 3], t[2]), (t, t)):
        assert_close(overlap(a, b), True)
        assert_close(overlap(b, a), True)
    t = torch.arange(120.0).reshape(2, 3, 4, 5)
    for a, b in (
        (t[:, :, 1], t[1, 2]),
        (t[..., 4], t[1, 2, 3, 4]),
        (t[0, :, ::2, 1:], t[:, 1, 2]),
        (t, t[0, 1, 2, 3:]),
    ):
        assert_close(overlap(a, b), True)
    t += 1
    for a, b in ((t, t.detach()), (t.data[1], t[:, 1]), (t[1:].detach(), t.flatten()[100:])):
        assert_close(overlap(a, b), True)
    t = torch.zeros(1000)
    assert_close(overlap(t[600:], t), True)
    assert_close(overlap(t[::3], t[999:]), True)
with check(
    "slices of one storage that lie side by side",
    weight=3,
    required=True,
    hint="Is it enough that the storage is the same?",
):
    t = torch.arange(20.0).reshape(4, 5)
    for a, b in ((t[:2], t[2:]), (t[0], t[3]), (t[1, 1], t[1, 2]), (t[3, 4:], t[:3])):
        assert_close(overlap(a, b), False)
        assert_close(overlap(b, a), False)
with check("interleaved views", weight=2, hint="Do two ranges that cross always share a slot? Think of odd and even."):
    t = torch.arange(24.0).reshape(4, 6)
    for a, b in ((t[:, ::2], t[:, 1::2]), (t[:, 1], t[:, 2]), (t[1], t[::2]), (t[:, 0:2].T, t[:, 3:])):
        assert_close(overlap(a, b), False)
    t = torch.arange(48.0).reshape(2, 4, 6)
    for a, b in ((t[..., ::2], t[..., 1::2]), (t[:, ::2, 1:], t[:, 1::2]), (t[:, :, 1], t[:, 1:, 2:])):
        assert_close(overlap(a, b), False)
    t = torch.arange(48.0).reshape(2, 2, 2, 6)
    assert_close(overlap(t[..., ::2], t[..., 1::2]), False)
    t = torch.zeros(2, 1000)
    assert_close(overlap(t[:, ::2], t[:, 1::2]), False)
    t = torch.arange(24.0).reshape(4, 6)
    assert_close(overlap(t[:, ::2], t[:, ::3]), True)
    assert_close(overlap(t.flatten()[::5], t.flatten()[1::7]), True)  # both read slot 15
with check("equal values in separate memory", weight=2, hint="What do values say about memory?"):
    t = torch.full((3, 2), 4.0)
    assert_close(overlap(t, torch.full((3, 2), 4.0)), False)
    assert_close(overlap(t[1:], t.clone()[1:]), False)
    assert_close(overlap(t[[0, 1]], t), False)
    assert_close(overlap(t, t[:, :1]), True)
with check("expanded and 0-dim tensors", weight=2, hint="Which slot does an expanded tensor read?"):
    t = torch.tensor([[4.0], [6.0], [9.0]])
    assert_close(overlap(t.expand(3, 5), t[2]), True)
    assert_close(overlap(t[0].expand(7), t[1:]), False)
    assert_close(overlap(t[1, 0], t), True)
    assert_close(overlap(torch.tensor(4.0), torch.tensor(4.0)), False)
with check("an empty tensor overlaps nothing", guard=True, hint="Which address has the storage of an empty tensor?"):
    t = torch.arange(6.0)
    assert_close(overlap(t[3:3], t), False)
    assert_close(overlap(torch.empty(0), torch.empty(0)), False)
    t = torch.empty(0)
    assert_close(overlap(t, t), False)
with check(
    "any dtype",
    weight=2,
    hint="Which dtypes does NumPy not have? And which differences does a sum in a small dtype lose?",
):
    for dtype in (torch.bfloat16, torch.bool, torch.uint8, torch.int64, torch.float64, torch.complex64):
        t = torch.arange(12).to(dtype).reshape(3, 4)
        assert_close(overlap(t[:, 1:], t[2]), True)
        assert_close(overlap(t[:, 1:3], t[:, ::3]), False)
with check(
    "both tensors keep their values", guard=True, hint="If you write a mark to find it again, do you put it back?"
):
    t = torch.arange(10.0).reshape(2, 5)
    before, other = t.clone(), torch.ones(3)
    overlap(t[:, 1:], t[1])
    overlap(t[0], other)
    assert_close(t, before)
    assert_close(other, torch.ones(3))
    t = torch.ones(4, requires_grad=True)
    overlap(t, t[1:].detach())
    assert t.requires_grad, "your function took requires_grad from its argument"
### END HIDDEN TESTS

# %% [markdown]
# For small tensors, comparing sets is exact and quick. For large ones the question is hard in general: it amounts to
# an equation in integers with bounds. `numpy.shares_memory` solves it exactly and may take very long.
# `numpy.may_share_memory` compares ranges only, and answers "yes" for the interleaved pair. When would you be content
# with such an answer?
#
# And a last trap. `torch.from_numpy(array)` and `torch.from_numpy(array[2:])` read the same memory through two
# storages, which begin at different addresses. Does your function see that they meet? It need not, here. What would you
# compare instead of slots?

# %% [markdown]
# ## Interview questions
#
# For each question, find *all* true statements. There is at least one in each. Give the letters as a string, such as
# `"ac"`. You may try things out in the scratch cell below. In an interview you could not. A question counts only if all
# of its letters are right, and one right question alone pays nothing.
#
# **q1. Creating**
# - a. `torch.tensor([1, 2])` has dtype int64.
# - b. `torch.zeros(3)` has dtype int64, because 0 is an integer.
# - c. `torch.tensor([1, 2.5])` has dtype float64, as in NumPy.
# - d. `torch.linspace(0, 10, 3)` has dtype float32, although its ends are integers.
# - e. `torch.arange(a, a + 1, 0.1)` has 10 elements for every float `a`.
#
# **q2. Promotion**, with `h` of dtype float16 and shape (3,), and `u` of dtype uint8 and shape (3,)
# - a. `h + torch.tensor(1.0)` is float16.
# - b. `h + torch.ones(1)` is float16, because one element counts as a number.
# - c. `torch.arange(3) / 2` is float32.
# - d. `u + 10` is int64 if one of the sums is above 255.
# - e. `u.sum()` is int64.
#
# **q3. Views**, with `x` of shape (4, 6), contiguous
# - a. Writing into `x[1:3]` changes `x`.
# - b. Writing into `y = x[[1, 2]]`, with `y[0] = 0`, changes `x`.
# - c. `x[x > 0].zero_()` sets the positive elements of `x` to zero.
# - d. `x[x > 0] = 0` sets the positive elements of `x` to zero.
# - e. `x[:, 0].clone()` keeps fewer bytes in memory than `x[:, 0]` does.
#
# **q4. Strides**, with `x = torch.arange(24).reshape(4, 6)`
# - a. `x.T` copies the elements into a new order.
# - b. `x[2, 3]` reads slot 15 of the storage.
# - c. `x.stride()` is (48, 8), because an int64 has 8 bytes.
# - d. Two tensors with the same storage always have an element in common.
# - e. `x[1:, ::2]` has strides (6, 2) and storage offset 6.
#
# **q5. NumPy**, with `a` a NumPy array and `t` a tensor on the CPU
# - a. `torch.as_tensor(a)` always copies.
# - b. `torch.tensor(a)` always copies.
# - c. `t.detach().numpy()` is a copy, because `detach` cuts it off.
# - d. `torch.from_numpy(np.ones(3))` is float64.
# - e. `torch.from_numpy(a).float()` never shares memory with `a`.
#
# **q6. Masks, sums and few bits**
# - a. `x * mask` turns NaN into 0 where the mask is False.
# - b. `torch.where(mask, x, 0)` turns NaN into 0 where the mask is False.
# - c. `out[index] += v` adds each element of `v`, also where `index` repeats itself.
# - d. `out.scatter_add_(0, index, v)` adds each element of `v`, also where `index` repeats itself.
# - e. A float16 counter that starts at 0 and grows by 1 never gets beyond 2048.


# %% scratch
# A place to try statements.


# %% exercise: interview
def interview() -> dict[str, str]:
    """For each of q1 to q6, the letters of all true statements, such as {"q1": "abc", "q2": "e", ...}."""
    ### BEGIN SOLUTION
    return {"q1": "ad", "q2": "ace", "q3": "ade", "q4": "be", "q5": "bd", "q6": "bde"}
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
    assert_some_right(interview(), {"q1": "ad", "q2": "ace", "q3": "ade", "q4": "be", "q5": "bd", "q6": "bde"})
with check(
    "q1: creating", weight=4, hint="What decides the dtype: the data, or the function? And the length of arange?"
):
    assert_letters(interview(), "q1", "ad")
with check("q2: promotion", weight=4, hint="What is the difference between the shapes () and (1,)?"):
    assert_letters(interview(), "q2", "ace")
with check("q3: views", weight=4, hint="Is it read with advanced indexing, or assigned with it?"):
    assert_letters(interview(), "q3", "ade")
with check("q4: strides", weight=4, hint="In which unit are strides counted?"):
    assert_letters(interview(), "q4", "be")
with check("q5: NumPy", weight=4, hint="What does each of them do if the dtype fits already?"):
    assert_letters(interview(), "q5", "bd")
with check("q6: masks, sums and few bits", weight=4, hint="Which of these did a given cell of this lab print?"):
    assert_letters(interview(), "q6", "bde")
### END HIDDEN TESTS

# %% [markdown]
# Were there statements that you believed a while ago? Write them down. They are what to explain to the next person.

# %% [markdown]
# ## In your own words (2 points)
#
# A training loop has this line, to look at some inputs later: `kept.append(batch[0])`. Each batch is a tensor of shape
# (256, 3, 224, 224), and the loop goes through 1,000 of them. Two things happen. The process runs out of memory, as if
# it kept all batches. And the images in `kept` look wrong, because the loop normalises each batch with
# `batch.sub_(mean)` after that line.
#
# Explain both with one reason. Which small change of the line repairs both? And why does `batch[0].contiguous()` repair
# neither? Five sentences are enough.

# %% question: why_the_row_is_heavy [markdown] points=2
# ### BEGIN SOLUTION
# `batch[0]` is basic indexing, so it is a view: a new shape and offset over the batch's own storage. (1) The storage
# is freed only when no tensor uses it any more. So each kept image holds all 256 images of its batch, and the list
# holds all batches. (2) `sub_` writes into that same storage, so the kept image changes with the batch.
#
# `kept.append(batch[0].clone())` repairs both: the clone has a storage of its own, with one image in it, and no later
# write reaches it. `batch[0]` is contiguous already, and `contiguous()` returns the tensor itself in that case, so it
# copies nothing. (It would be right for a batch with other strides only by accident.)
#
# Two points: one for the shared storage as the reason for both effects; one for `clone` (or a copy such as
# `torch.tensor(batch[0])` or `batch[0] + 0`) and the reason why `contiguous` is none here.
# ### END SOLUTION

# %% [markdown]
# ## Summary
#
# - `torch.tensor` infers the dtype from the data. `zeros`, `ones` and `linspace` give float32. With floats, `arange`
#   promises no length.
# - Promotion goes by category. Python numbers and 0-dim tensors only count by their category. Integers wrap around.
# - float16 overflows above 65504 and counts to 2048. Store small, add up wide.
# - A tensor is a storage, a shape, strides and an offset. A small view keeps a large storage alive.
# - Basic indexing gives a view. Reading with advanced indexing copies; assigning with it writes.
# - NaN survives multiplication by zero: use `where`. `keepdim=True` keeps row results beside their rows.
# - `out[index] += v` forgets repeated indices. `scatter_add` does not.
# - `from_numpy`, `as_tensor` and `.detach().numpy()` share memory. `torch.tensor` and `clone` copy.
