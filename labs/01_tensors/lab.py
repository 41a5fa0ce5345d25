# %% [markdown]
# # Tensors: values, views and types
#
# You've trained a network, no line raised an error, and it's no better than guessing. Bugs like that cost days,
# because PyTorch had nothing to complain about: a tensor had another dtype than you thought, two tensors shared their
# memory and one of them changed, or a shape fitted by accident. You'll begin with a script that has three silent bugs.
# It reads handwritten digits, and you'll improve it in every lab of this course.
#
# After this lab you can
#
# - say which dtype an expression has, and where a small dtype loses your numbers;
# - name the piece of memory behind any element, and tell a view from a copy;
# - select and add up with masks, `gather` and `scatter_add`;
# - compute a loss from scores without overflow;
# - pass data between NumPy and PyTorch, and know which of them share memory.
#
# You need Python and a little NumPy. Plan two sittings of about an hour. The five exercises headed "Your turn" are the
# core, and later labs rely only on them; "Further practice" is optional and earns no points. All numbers were measured
# with PyTorch 2.13 on a CPU.
#
# Where it says *Predict*, choose an answer before you run the next cell. A card below each exercise shows its checks;
# those marked *later* run when you press *Mark my work* or hand the lab in. A person reads the last question.

# %% given
import io

import numpy as np
import torch
from torch import Tensor

from labkit import (
    assert_answered,
    assert_close,
    assert_letters,
    check,
    explain,
    explore_strides,
    probes,
    show_strides,
    use_device,
)

# %% given
here = use_device()  # where new tensors are made: on the GPU, if there is one

# %% [markdown]
# ## A network that learns nothing
#
# The next cell is a complete training script. It loads 1,797 small images of handwritten digits, trains a network with
# 1,500 of them, and counts how many of the other 297 the network recognizes. You don't need to understand every line
# yet. Run it.

# %% scratch
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(0)
scans = torch.tensor(load_digits().images, dtype=torch.uint8)  # (1797, 8, 8): from 0, which is white, to 16, black
digits = torch.tensor(load_digits().target)  # which digit each image shows
pixels = (scans - 8).flatten(1) / 8  # <- change 1. For each image, a row of 64 numbers from -1 to 1

network = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10), nn.Softmax(dim=1))  # <- change 3
optimizer = torch.optim.SGD(network.parameters(), lr=0.3)
for _ in range(10):  # ten times through the images
    for rows in torch.arange(1500).split(100):
        loss = nn.functional.cross_entropy(network(pixels[rows]), digits[rows])
        loss.backward()  # <- change 2 is a new line above this one
        optimizer.step()

guesses = network(pixels[1500:]).argmax(dim=1)
print(f"right for {(guesses == digits[1500:]).float().mean():.0%} of the images that it hasn't seen")

# %% [markdown]
# The script gets 10%, which is as good as guessing, and no error or warning says why. Three lines are wrong. Make the
# changes in the cell above, one after the other, and run the cell after each.
#
# | | change | right |
# |---|---|---|
# | | the script as it is | 10% |
# | 1 | replace `(scans - 8)` by `(scans.float() - 8)` | 74% |
# | 2 | insert the line `optimizer.zero_grad()` above `loss.backward()`, indented like it | 80% |
# | 3 | delete `, nn.Softmax(dim=1)` | 88% |
#
# (Another processor may give a few percent more or less.) You've trained your first network, and taken three
# changes on trust. This lab explains the first and the third; lab 3 explains the second.

# %% [markdown]
# ## Making tensors
#
# When something is odd, print a tensor's shape, dtype and device first. This section says what they are, and where
# PyTorch chooses them for you.
#
# A *tensor* is an array of numbers that all have one type. That type is its *dtype*. Its *shape* says how many elements
# it has along each *dimension*. `torch.tensor(data)` takes a number or nested lists, and infers the dtype from them.
# The *factory functions*, such as `zeros`, `ones`, `full`, `arange` and `linspace`, fill a tensor by a rule instead.
#
# What do you expect from `len(image)` and `image.numel()`?

# %% example
image = torch.zeros(3, 4, 5, dtype=torch.uint8)
print("shape", tuple(image.shape), " dtype", image.dtype, " device", image.device)
print("dim()", image.dim(), " len()", len(image), " numel()", image.numel())
print("element_size()", image.element_size(), " nbytes", image.nbytes)

# %% [markdown]
# `len` is the size of the first dimension, and `numel` counts all elements. `element_size` is the bytes of one element.
# The *device* says whose memory a tensor is in: the CPU's, or a GPU's on a machine that has one. `use_device()` chose
# it above for all new tensors, and lab 2 says more about it.
#
# | dtype | bytes | what it's for |
# |---|---|---|
# | float32 | 4 | weights, inputs and gradients: PyTorch's default |
# | bfloat16 | 2 | the same in half the memory: float32's range, two to three digits |
# | float16 | 2 | three to four digits, but nothing above 65504 |
# | float64 | 8 | NumPy's default, and checks that need many digits |
# | int64 | 8 | labels, indices and counts |
# | uint8 | 1 | images, with values from 0 to 255 |
# | bool | 1 | masks |
#
# Which dtype does each of the next seven lines give?

# %% example
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
# A list of integers becomes int64. If one of its numbers is a float, all become float32, which is PyTorch's *default
# dtype*; NumPy's is float64. `torch.Tensor([1, 2])`, with a capital T, always gives float32. `zeros`, `ones` and
# `linspace` give the default dtype whatever you pass, while `full` and `arange` look at their arguments. Each of them
# takes `dtype=` if you want another one.
#
# Two factory functions draw random numbers in the default dtype. `rand` draws evenly from 0 up to, but not including,
# 1, and `randn` from the normal distribution with mean 0 and standard deviation 1. `randint` draws integers. The
# numbers are taken from a *generator*. `torch.manual_seed(s)` sets PyTorch's own, and
# `torch.Generator(device).manual_seed(s)` makes one for you to pass along. Which of the first four rows below will be
# equal?

# %% example
torch.manual_seed(3)
print("seed 3            ", torch.rand(3).tolist())
print("the next numbers  ", torch.rand(3).tolist())
torch.manual_seed(3)
print("seed 3 again      ", torch.rand(3).tolist())
print("your own generator", torch.rand(3, generator=torch.Generator(here).manual_seed(3)).tolist())
print("randn             ", torch.randn(3).tolist(), " randint", torch.randint(0, 10, (3,)).tolist())

# %% [markdown]
# All but the second. Generators with the same seed give the same numbers in the same order, and every draw advances
# them. A seed makes a result repeatable, which is why the script above sets one.
#
# `arange(start, end, step)` also makes grids of floats. Both lines below ask for steps of 0.1 and an end three steps
# away. The end is excluded, as in Python's `range`.

# %% predict: grid_lengths
# **Predict.** How many elements have `torch.arange(0, 0.3, 0.1)` and `torch.arange(1, 1.3, 0.1)`?
#
# - [ ] three and three
# - [x] three and four
# - [ ] four and four
# - [ ] four and three

# %% example
print(len(torch.arange(0, 0.3, 0.1)), "elements:", torch.arange(0, 0.3, 0.1))
print(len(torch.arange(1, 1.3, 0.1)), "elements:", torch.arange(1, 1.3, 0.1))

# %% [markdown]
# The first has three elements, and the second has four. The number of elements is (end - start) / step, rounded up.
# 0.1 and 1.3 have no exact form in binary, so the second quotient is 3.0000000000000004, which rounds up to 4. With
# floats, `arange` can't promise a length, as its documentation says. `linspace(start, end, steps)` can, because you
# give it the number of points.
#
# ### Your turn: grid_points
# Write a grid whose length is certain. Like `numpy.linspace`, it may contain its last point or leave it out.

# %% given
hint(
    "linspace always puts its last point on the end. If you leave the end out, which number follows your last point?",
    "Draw four points from 0 to 1 without the end: 0, 0.25, 0.5, 0.75. Which linspace contains them?",
)

# %% exercise: grid_points points=2 level=easy further

# %% [markdown]
# `start + step * torch.arange(n)` is a grid too: its length is certain, and each point is rounded only a few times. If
# you add the step again and again in float32, each addition rounds: 20,000 additions of 0.1 give 1999.66, not 2000.
# Would the same loop in Python's floats be good enough?

# %% answer [markdown]
# Yes. Python's floats have 64 bits, and the same loop arrives at 1999.9999999992765. Rounded to float32, that's exactly
# 2000, because neighbouring float32 numbers are about 0.0001 apart there.

# %% [markdown]
# ## Elementwise, and the matrix product
#
# `*` and `@` both multiply two matrices and give different results, often of the same shape. So mixing them up raises
# no error.
#
# `+`, `-`, `*`, `/`, `**`, the comparisons, and functions such as `torch.sqrt` work *elementwise*: each element meets
# the one at the same place of the other tensor. `@` is the matrix product: its element `[i, j]` is row `i` of the left
# matrix times column `j` of the right one, added up. `sum`, `mean`, `amax` and others *reduce*, over all elements or
# along one dimension, which is then gone. Fill in the five results before you run the cell.

# %% example
left = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
right = torch.tensor([[10.0, 0.0], [0.0, 100.0]])
print("left * right  ", (left * right).tolist())
print("left @ right  ", (left @ right).tolist())
print("left.sum()    ", left.sum().item(), " left.sum(dim=0)", left.sum(dim=0).tolist())
print("left.amax(dim=1)", left.amax(dim=1).tolist())
print("five matrices at once:", tuple((torch.ones(5, 2, 3) @ torch.ones(5, 3, 4)).shape))

# %% [markdown]
# `*` multiplied four pairs of numbers, and `@` made four sums of two products. `sum(dim=0)` adds along dimension 0,
# which leaves one sum for each column. `@` needs sizes (n, k) and (k, m), and gives (n, m). If there are more
# dimensions, `@` multiplies the last two and treats the ones before as a batch: (5, 2, 3) @ (5, 3, 4) is five matrix
# products. Lab 2 explains what `*` does with two different shapes.

# %% [markdown]
# ## Joining, splitting and sorting
#
# These are the calls that arrange data around a network: `split` made the batches in the script, and `argmax` its
# guesses. Say each shape before you run the cell.

# %% example
first, second = torch.zeros(2, 3), torch.ones(2, 3)
print("cat          ", tuple(torch.cat([first, second]).shape))
print("cat dim=1    ", tuple(torch.cat([first, second], dim=1).shape))
print("stack        ", tuple(torch.stack([first, second]).shape))
print("split(3)     ", [part.tolist() for part in torch.arange(7).split(3)])

votes = torch.tensor([3.0, 7.0, 7.0, 1.0])
print("sort         ", votes.sort(descending=True, stable=True).indices.tolist())
print("topk(3)      ", votes.topk(3).values.tolist())
print("argmax       ", votes.argmax().item())

# %% [markdown]
# `cat` joins tensors along a dimension that they have, and `stack` along a new one. `split(3)` makes parts of length 3;
# the last may be shorter. `chunk(3)` makes at most 3 parts. `sort`, `topk` and `max(dim=...)` return both values and
# indices. If values tie, `argmax` returns the first of them, and `sort` keeps their order if you pass `stable=True`.
# `topk` promises no order of ties, so don't rely on its indices then.

# %% [markdown]
# ## What dtypes do to your numbers
#
# The script's first bug is in this section: an innocent subtraction whose result doesn't fit its dtype.
#
# When two tensors of different dtypes meet, PyTorch computes in a common one: this is called *type promotion*. Every
# dtype belongs to a category: bool, then integer, then float, then complex. The higher category wins. Within one
# category, the result is a dtype that is large enough for both: int64 for uint8 with int64, int16 for uint8 with int8,
# float32 for float16 with bfloat16. (The newer uint16, uint32 and uint64 are left out: with another integer dtype, or
# with bool, they raise an error.) There's one exception: a Python number, or a *0-dim* tensor (one of shape `()`),
# changes the dtype of a tensor with dimensions only if its category is higher.
#
# `u` is uint8, the dtype of images, with values 0 to 255. `h` is float16. Say the dtype of each line before you run the
# cell.

# %% predict: sum_in_uint8
# **Predict.** What does the first line, `u + 10`, give for `u = torch.tensor([250, 3], dtype=torch.uint8)`?
#
# - [ ] `[260, 13]`, int64
# - [ ] `[255, 13]`, uint8
# - [x] `[4, 13]`, uint8
# - [ ] an error, because 260 doesn't fit

# %% example
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
# So does the Python float 1.5, whose category is higher: the result has the default dtype. Dividing integers with `/`
# gives the default dtype too. `sum` of integers gives int64, so small dtypes don't wrap around in it.
#
# A *cast* is a change of dtype that you ask for: `t.to(torch.uint8)`. To an integer dtype, it cuts off the decimals. It
# doesn't limit: an integer outside the range wraps around, and for a float outside it, the result is undefined. To
# do that yourself, `t.round()` rounds to the nearest integer, and `t.clamp(0, 255)` limits to a range.
#
# `mean` of integers raises an error. An in-place operation can't change its tensor's dtype, so `u.mul_(1.5)` is an
# error too.

# %% scratch
# Try expressions of your own. Predict first.
print((torch.tensor([True, True]) + 1).dtype)

# %% answer [markdown]
# The line in the cell prints `torch.int64`: the number 1 is an integer, which is a higher category than bool, and a
# Python integer brings int64. To check an expression without data, ask `torch.result_type(a, b)`.

# %% [markdown]
# ### Your turn: brighten
# Brighten an image by the formula $\text{gain} \cdot (\text{pixel} + \text{offset})$. Anything brighter than white
# becomes white, and anything darker than black becomes black.

# %% given
hint(
    "In which dtype is pixel + offset computed? Write down 250 + 20.",
    "Convert to float and compute there. Then prepare the numbers for the cast: nearest integer, within 0 to 255.",
)

# %% exercise: brighten points=3 level=easy

# %% [markdown]
# Between float and uint8 there are three steps: round, limit, cast. If you forget one, the picture still looks almost
# right. Which order of the three works? Is there a second one?

# %% answer [markdown]
# Round, limit, cast. Limit, round, cast works too, because 0 and 255 are integers, so rounding can't leave the range.
# The cast has to be last: it cuts off decimals, and a number outside 0 to 255 is undefined.

# %% [markdown]
# ## Why the network learned nothing
#
# The first wrong line of the script subtracts 8 from the pixels to center them around 0. Which numbers do you expect
# for white pixels, which are 0?

# %% example
white_to_black = torch.tensor([0, 4, 8, 12, 16], dtype=torch.uint8)
print("as uint8  ", (white_to_black - 8).tolist(), " then / 8", ((white_to_black - 8) / 8).tolist())
print("as float32", (white_to_black.float() - 8).tolist(), " then / 8", ((white_to_black.float() - 8) / 8).tolist())

# %% [markdown]
# uint8 has no negative numbers, so 0 - 8 wraps around to 248. After the division, a white pixel is 31 and a black one
# is 1. The paper becomes large numbers and the ink small ones, and steps that fit numbers from -1 to 1 are far too
# large for these. The division by 8 gave float32, and that hid the bug: `pixels.dtype` is what you expect. The values
# aren't. Insert `print(pixels.min(), pixels.max())` below that line of the script, and run it with `.float()` and
# without. What do you see?

# %% answer [markdown]
# Without `.float()` the values go from 0 to 31.875, with it from -1 to 1. (31.875 is a pixel of 7: 7 - 8 wraps around
# to 255.) If a network doesn't learn, look at the smallest and largest value of its input, not only at shape and dtype.

# %% [markdown]
# ## Sixteen bits are few
#
# A loss that is `inf`, or an average that's wrong in the third digit, often means that a number was kept in 16 bits.
# float16 has one bit for the sign, five for the exponent and ten for the fraction. Its largest number is 65504, and it
# keeps three to four decimal digits. Above 32768 its numbers are 32 apart; the smallest positive one is about 6e-8.
# A number in between is rounded to the nearest one.
#
# The last line of the next cell has five numbers. Which of them does float16 keep as something finite and not zero?

# %% predict: counting_in_float16 answer=2048
# **Predict.** A float16 counter starts at 0, and `count += 1` runs 3000 times. Where does it end?

# %% example
count = torch.tensor(0.0, dtype=torch.float16)
for _ in range(3000):
    count += 1
print("counted to", count.item())

many = torch.ones(70_000, dtype=torch.float16)
print("sum of 70,000 ones:", many.sum().item(), " in float32:", many.sum(dtype=torch.float32).item())
print("mean of 70,000 ones:", many.mean().item())
print(torch.tensor([65519.0, 65520.0, 1e-5, 3e-8, 2.9e-8]).to(torch.float16).tolist())

# %% [markdown]
# The count stops at 2048: above that, float16 numbers are 2 apart, so 2049 is rounded back to 2048. The loop runs on
# and nothing changes. In bfloat16, with seven bits of fraction, it stops at 256.
#
# The sum of 70,000 ones is larger than 65504, so it becomes `inf`: that's *overflow*. `sum` adds in float32 inside, but
# its result must be float16, and doesn't fit. `mean` divides before its result becomes float16, so it survives here.
# With `dtype=torch.float32`, `sum` adds in float32 and returns it.
#
# In the last line, 65519 is nearer to 65504 than to the next step, so it's rounded down and stays finite. 65520
# overflows. At the other end, 3e-8 becomes 6e-8, the smallest positive float16, and 2.9e-8 becomes 0: that's
# *underflow*.
#
# ### Your turn: mean_of_batches
# You have the losses of several batches in float16, and the last batch is smaller. What is the mean over all of them?

# %% given
hint(
    "Is the mean of the batch means the mean of all elements? Try batches of 1 and 3 elements.",
    "You need two numbers: a total and a count. In which dtype do you keep each of them?",
)

# %% exercise: mean_of_batches points=3 level=medium further

# %% [markdown]
# The rule is: store small, add up wide. `torch.cat([batch.flatten() for batch in batches]).mean()` is close, but still
# rounds its result to float16. Why does the mean of 2000 and 2001 suffer from that, and the mean of 1 and 2 doesn't?

# %% answer [markdown]
# Between 1024 and 2048, float16 numbers are 1 apart, so 2000.5 is rounded to 2000. Between 1 and 2 they're about 0.001
# apart, and 1.5 is one of them.

# %% [markdown]
# ## Storage, strides and offset
#
# A transpose of a huge matrix costs nothing, and one row that you keep can cost gigabytes. Both follow from the way a
# tensor finds its elements.
#
# A *storage* is one flat block of memory with the elements of one tensor or of several. The tensor itself is small: it
# says how to read the block, with three things. The first is the shape. The *storage offset* is the slot of the storage
# with the tensor's first element. A *stride* is the number of slots to move when one index grows by one; each dimension
# has its own. So the element `t[i, j]` is in slot
#
# $$\text{offset} + i \cdot \text{stride}_0 + j \cdot \text{stride}_1$$
#
# All of them are counted in elements. `t.storage_offset()` and `t.stride()` return them. `t.untyped_storage()` returns
# the storage itself, which knows no dtype, so its size, `.nbytes()`, is in bytes.
#
# The next two pictures show one storage. Above is a tensor of int16 numbers, two bytes each; below, the same bytes are
# read as uint8. What are the two bytes of 258?

# %% example
short = torch.tensor([[1, 258], [-1, 4]], dtype=torch.int16)
show_strides(short)

# %% example
show_strides(short.view(torch.uint8))

# %% [markdown]
# The eight bytes are 1 0, 2 1, 255 255, 4 0, the low byte of each number first: 258 is 2 + 1 · 256. The storage holds
# only bytes, and the dtype says how many of them make an element and how to read them.
#
# A tensor that reads the storage of another one is a *view* of it. Transposing moves no element: it exchanges the
# strides. Before you run the next three cells, say the strides of `table`, of `table.T` and of `table[1:, ::2]`, and
# the offset of the last one.

# %% example
table = torch.arange(10, 22).reshape(3, 4)
show_strides(table)

# %% example
show_strides(table.T)

# %% example
show_strides(table[1:, ::2])

# %% [markdown]
# These are three ways to read one storage. The view doesn't read the grey slots, but they're still there.
#
# Here are five more ways. Say the strides and the offset of each before you choose it below. Which of them reads a slot
# twice, and what stride does that take?

# %% example
ways = {
    "table[2]": table[2],
    "table[:, 1]": table[:, 1],
    "table.reshape(2, 6)": table.reshape(2, 6),
    "table.diagonal()": table.diagonal(),
    "table[:1].expand(3, 4)": table[:1].expand(3, 4),
}
explore_strides(ways)

# %% [markdown]
# With a stride of 0, `expand` reads the same slots again and shows one row three times. The diagonal steps by 5, one
# row and one column at once.
#
# A tensor is called *contiguous* if, in its own order, its elements follow each other in memory without a gap. `table`
# is, and the other two in the pictures aren't. `t.is_contiguous()` tells you, and `t.contiguous()` returns a contiguous
# tensor: `t` itself if it is one already, else a copy.
#
# Sharing has a price. `wide` below has a million elements, and `line` is one of its rows. `nbytes` is the size of the
# elements that a tensor shows. How many bytes does `line` keep in memory? And how large is a file with `line` in it?

# %% example
wide = torch.zeros(1000, 1000)
line = wide[3]
for name, t in {"line": line, "line.clone()": line.clone()}.items():
    file = io.BytesIO()
    torch.save(t, file)
    print(f"{name:13} shows {t.nbytes:,} bytes, keeps {t.untyped_storage().nbytes():,}, in a file {file.tell():,}")

# %% [markdown]
# The row shows 4,000 bytes and keeps 4,000,000: the whole block exists as long as `line` does, and the file holds it
# too. `clone` makes a storage of its own, with nothing else in it.
#
# ### Your turn: slots
# Which slots does a tensor read? Write it for any number of dimensions.

# %% given
hint(
    "Start with a tensor of two dimensions: two nested loops, and the formula above. A 0-dim tensor reads one slot.",
    "Take one dimension at a time. If you know where each row begins, which slots do its elements read? And before the "
    "first dimension, which slot do you know?",
)

# %% exercise: slots points=3 level=medium

# %% [markdown]
# An element's place is arithmetic, so a view needs no list of places. A tensor whose slots are 5, 4, 3, 2, 1, 0 would
# need a stride of -1. NumPy has those, and PyTorch doesn't, so `flip` copies. You'll meet that difference again below.

# %% [markdown]
# ## Views, copies and writing through them
#
# You assign to some elements, no error is raised, and the tensor hasn't changed. Whether a write arrives depends on the
# kind of indexing.
#
# *Basic indexing* uses only integers, slices, `None` and `...`. An offset and strides can describe its result, so it's
# a view. *Advanced indexing* has a list, a boolean tensor, or a tensor of integers among its indices. (A 0-dim tensor
# counts as an integer.) No strides describe arbitrary places, so reading that way makes a copy.
#
# Each of the following three lines tries to set some elements to 5.

# %% predict: writes_into_board
# **Predict.** `rows` is a tensor of integers. Which of the three lines change `board`?
#
# - [x] `board[0:2][:, 1] = 5`
# - [ ] `board[rows][:, 1] = 5`
# - [x] `board[rows, 1] = 5`

# %% example
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
# The first and the third do. In the first, `board[0:2]` is a view, so the assignment that follows writes into `board`.
# In the second, `board[rows]` is a copy: the assignment changes the copy, which is then thrown away. The third has one
# pair of brackets, and an assignment `board[...] = 5` with one pair always writes into `board` itself, with both kinds
# of indexing. Only *reading* with advanced indexing makes a copy.
#
# An operation that changes its tensor is called *in-place*. In PyTorch such methods end in an underscore: `add_`,
# `fill_`, `masked_fill_`. Augmented assignment, `x += 1`, is in-place too. But `x = x + 1` makes a new tensor and gives
# it the old name. Other variables that refer to the old tensor don't see the change.
#
# ### Your turn: blank_padding_
# Sentences of different lengths share one tensor. The places after a sentence's end hold leftovers, which may be
# anything, even NaN ("not a number", such as the result of 0 / 0). Blank them, in the tensor itself.

# %% given
hint(
    "Iterating over a tensor gives views of its rows. So does an index that is an integer.",
    "Either loop over the rows and assign to a slice of each, or make a mask (n, t) and assign with it.",
)

# %% exercise: blank_padding_ points=3 level=medium

# %% [markdown]
# `x = x * keep`, with `keep` of shape (n, t, 1), looks like the same thing. But it computes a new tensor, and the
# caller's stays as it was, although a name that ends in an underscore promises otherwise. `x *= keep` does write into
# `x`. Which leftovers does it still not blank?

# %% answer [markdown]
# NaN and inf: each of them times 0 is NaN. Assigning 0, or `masked_fill_`, computes nothing with the leftovers.

# %% [markdown]
# ## A good place to stop
#
# You know what dtypes lose, how a tensor reads its storage, and what a view is. Next are masks, `gather`, a loss, and
# NumPy. After a break, Python has forgotten everything: choose *Run > Run All Above Selected Cell*, or press
# *Check*, which runs what it needs.

# %% [markdown]
# ## Masks, and what NaN does to them
#
# One missing value can turn a whole loss into NaN, even if you multiply it by zero.
#
# A *mask* is a boolean tensor: True where an element counts. In an index and in `torch.where`, a uint8 tensor still
# works as one, with a warning that this is deprecated. `masked_fill`, `masked_select` and `masked_scatter` refuse it
# with a RuntimeError. A missing value is often stored as NaN.
#
# What is NaN times zero? And `x - x.mean(dim=1)` is meant to subtract from each row its mean. What does it do instead?

# %% example
values = torch.tensor([2.0, float("nan"), 4.0])
valid = torch.tensor([True, False, True])
print("values * valid:              ", (values * valid).tolist())
print("torch.where(valid, values, 0):", torch.where(valid, values, 0).tolist())

square = torch.tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0], [6.0, 7.0, 8.0]])
print("without keepdim:", (square - square.mean(dim=1)).tolist())
print("with keepdim:   ", (square - square.mean(dim=1, keepdim=True)).tolist())

# %% [markdown]
# NaN times anything is NaN, so multiplication can't remove it. `torch.where(condition, a, b)` computes with neither: it
# takes `a` where the condition is True, and `b` elsewhere. `masked_fill(mask, value)` works alike.
#
# The mean along `dim=1` of a (3, 3) tensor has shape (3,). Shapes are lined up from the right, so these three means are
# above the *columns*: element (i, j) loses the mean of row j instead of row i. The sizes fit only because the input is
# square. On a (3, 4) tensor you would get an error. With `keepdim=True` the dimension stays, with size 1, and the shape
# (3, 1) is one mean beside each row. Lab 2 says more about how shapes are lined up.
#
# ### Your turn: center_rows
# Some measurements are missing. Subtract from each row the mean of those that are there. The visible checks contain no
# NaN; try some of your own.

# %% given
hint(
    "Which two numbers make a mean? Neither may depend on the masked places.",
    "First make a copy with 0 at the masked places. Then take row sums and row counts, both with keepdim=True.",
    "What is the mean of a row without a valid element, and where in your result does it end up?",
)

# %% exercise: center_rows points=3 level=medium further

# %% [markdown]
# Do you remove the junk before the subtraction, or after it? Both are right here. With gradients, `where` after a bad
# computation isn't enough, because NaN returns through the branch that wasn't taken. What would you change so you never
# compute with NaN?

# %% answer [markdown]
# Subtract from the copy without junk, and divide by `mask.sum(dim=1, keepdim=True).clamp(min=1)`, which avoids 0 / 0 in
# rows without a valid element. Then `torch.where(mask, known - mean, 0)`.

# %% [markdown]
# ## Gather and scatter
#
# A classifier gives each sample a row of scores, one per class. A loss needs, for sample i, the score of its own class
# `labels[i]`, and an evaluation needs totals per class. Both have a wrong form that raises no error.
#
# Which shape has `scores[:, labels]`, for scores of shape (4, 3) and four labels? And what happens if an index occurs
# twice?

# %% predict: repeated_index
# **Predict.** `totals` is `[0, 0, 0]`, `index` is `[0, 0, 1]`, `amounts` is `[1, 2, 3]`.
# What is `totals` after `totals[index] += amounts`?
#
# - [ ] `[3, 3, 0]`
# - [x] `[2, 3, 0]`
# - [ ] it raises an error, because 0 occurs twice

# %% example
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
# `scores[:, labels]` takes four columns from every row, so its shape is (4, 4). Two index tensors are paired instead:
#
# | i | row: `torch.arange(4)` | column: `labels` | reads | result |
# |---|---|---|---|---|
# | 0 | 0 | 0 | `scores[0, 0]` | 0.7 |
# | 1 | 1 | 2 | `scores[1, 2]` | 0.6 |
# | 2 | 2 | 0 | `scores[2, 0]` | 0.5 |
# | 3 | 3 | 1 | `scores[3, 1]` | 0.2 |
#
# `gather(1, index)` does this along dimension 1: `out[i, j] = scores[i, index[i, j]]`. The index has as many dimensions
# as the input, so `labels` becomes a column with `labels[:, None]`.
#
# `totals[index] += amounts` reads `totals[index]`, adds, and writes back. Both writes to place 0 start from 0, and the
# last one stayed here: 2, not 3. PyTorch doesn't even promise which one stays. `scatter_add` adds every one:
# `t.scatter_add(0, index, src)` is a copy of `t` in which `out[index[i]] += src[i]` was done for one `i` after the
# other. `torch.bincount(labels)` counts how often each label occurs.
#
# ### Your turn: class_confidence
# How sure is the classifier of the right class, class by class? A good average can hide a class that it always misses.

# %% given
hint(
    "First find one number per sample: the probability of its own class. Then totals and counts per class.",
    "gather or a pair of index tensors for the first, scatter_add and bincount(minlength=...) for the second.",
)

# %% exercise: class_confidence points=3 level=medium

# %% [markdown]
# A loop over classes with `probs[labels == k, k].mean()` does the same task: that line indexes by a mask and by an
# integer at once, and gives NaN for a class without samples. How often does each of the two versions go through all
# labels?

# %% answer [markdown]
# The loop compares all n labels once for each of the c classes, so c · n comparisons. `gather`, `scatter_add` and
# `bincount` each go through them once, however many classes there are.

# %% [markdown]
# ## From scores to a loss
#
# The script's third change deleted a softmax. Computing its loss by hand shows why, and a NaN loss often has the cause
# that you see here.
#
# *Logits* are a classifier's scores before they become probabilities: any numbers, one per class. The *softmax* gives
# the probabilities of a row $x$ of logits: $p_j = e^{x_j} / \sum_k e^{x_k}$. The *cross entropy* is the mean, over the
# samples, of minus the log of the probability of the sample's own label. It's 0 for a network that's certain and right,
# and $\log 10 \approx 2.3$ for a guess among ten.
#
# In float32, `exp(89)` is inf and `exp(-104)` is 0. What do the first and the third line print?

# %% example
big = torch.tensor([[1000.0, 1001.0, 1002.0]])
print("softmax by the formula:      ", (big.exp() / big.exp().sum(dim=1, keepdim=True)).tolist())
lowered = (big - big.amax(dim=1, keepdim=True)).exp()
print("with the largest subtracted: ", (lowered / lowered.sum(dim=1, keepdim=True)).tolist())
certain = torch.tensor([[-200.0, 0.0]])
print("log of the softmax:          ", certain.softmax(dim=1).log().tolist())
print("log_softmax:                 ", certain.log_softmax(dim=1).tolist())

nine_zeros = torch.tensor([[50.0] + [0.0] * 9])  # certain that the image shows a 0, and right
print("loss of the scores:          ", torch.nn.functional.cross_entropy(nine_zeros, torch.tensor([0])).item())
twice = torch.nn.functional.cross_entropy(nine_zeros.softmax(dim=1), torch.tensor([0]))
print("loss of their softmax:       ", twice.item())

# %% [markdown]
# inf / inf is NaN. Subtracting one number from all scores of a row multiplies every power by the same factor, so the
# probabilities don't change. If it's the row's largest score, no power is above 1 and their sum is at least 1.
#
# That saves the softmax but not its log: a probability that underflowed to 0 has the log -inf. So simplify the log on
# paper first: $\log p_j = x_j - \log \sum_k e^{x_k}$. The term $\log \sum_k e^{x_k}$ is called the *log-sum-exp*. You
# can subtract the largest score $m$ in it too: $\log \sum_k e^{x_k} = m + \log \sum_k e^{x_k - m}$.
#
# The last two lines explain the third change. `cross_entropy` takes scores and computes this itself. With a softmax in
# the network it's computed twice, and the second sees only numbers from 0 to 1: even a network that's certain and
# right has a loss of 1.46, so there's little left to learn from. Lab 6 returns to this.
#
# ### Your turn: cross_entropy
# Write the loss for a batch, from `exp`, `log`, sums and indexing. Don't use torch's `softmax`, `log_softmax` or
# `logsumexp`, nor a loss function: interviewers ask for it without them.

# %% given
hint(
    "Write -log p for one sample as a difference of two terms. Which of them overflows for a score of 1000?",
    "Subtract each row's largest score first, with keepdim=True. The loss is then the log of the row's sum of powers, "
    "minus the lowered score of the label.",
)

# %% exercise: cross_entropy points=3 level=medium

# %% [markdown]
# Suppose you subtract the largest score of the whole matrix instead of each row's. For which batches is the loss wrong?

# %% answer [markdown]
# Where one row is far below another, for instance `[[1000, 0], [0, 1]]`: all powers of the second row underflow to 0,
# the log of their sum is -inf, and the loss is no longer finite. From about 104 apart on, float32 has that problem.

# %% [markdown]
# ## NumPy shares its memory
#
# You scale an array for a plot, and the network's weights change. Data goes from NumPy to PyTorch and back in several
# ways. Some copy, some don't, and no error tells you which. If two names reach the same memory, one is an
# *alias* of the other.
#
# The next cell makes four tensors from the float64 array `[0, 1, 2, 3]`. Which of them isn't float64?

# %% predict: begin_with_99
# **Predict.** Afterwards, `array[0] = 99` is run. Which of the four tensors begin with 99?
#
# - [ ] `torch.tensor(array)`
# - [x] `torch.from_numpy(array)`
# - [x] `torch.as_tensor(array)`
# - [ ] `torch.as_tensor(array, dtype=torch.float32)`

# %% example
array = np.arange(4.0)
with torch.device("cpu"):  # NumPy knows no GPU
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
# `torch.tensor` always copies, and `from_numpy` always shares. `as_tensor` shares if it can: a new dtype needs new
# memory, so the last line copies here, and would be an alias if `array` were float32 already. `.float()` works alike:
# on a float32 tensor it returns the same tensor. `torch.asarray`, `torch.frombuffer` and `torch.from_dlpack` share here
# too. So does a slice in NumPy itself.
#
# NumPy's default float is float64, and the tensor keeps it. A layer with float32 weights then refuses it: "mat1 and
# mat2 must have the same dtype, but got Double and Float".
#
# Now the way back. `weights` has `requires_grad=True`, so PyTorch records what is computed from it, to find gradients
# later. NumPy can't record, so `.numpy()` refuses. `weights.detach()` gives a tensor without that recording. A
# colleague uses it to scale the numbers for a plot. What does the last line of the next cell print?

# %% example
weights = torch.ones(3, requires_grad=True, device="cpu")  # NumPy knows no GPU
try:
    weights.numpy()
except RuntimeError as error:
    print("weights.numpy():", error)
picture = weights.detach().numpy()
picture *= 100
print(weights.tolist())

# %% [markdown]
# Three times 100: the weights themselves were changed. `detach` gives up the recording, not the memory, and `.numpy()`
# shares. `.cpu()` wouldn't have helped: for a tensor that's on the CPU already, it returns the same tensor.
# `weights.numpy(force=True)` is short for `weights.detach().cpu().numpy()`, and shares as well. An independent copy is
# `weights.detach().clone().numpy()`.
#
# Some data can't cross at all. Two of the next lines go from NumPy to PyTorch, and one goes back. Which property does
# each have that the other library can't store? (`>f4`: float32 with its bytes in the other order.)

# %% example
for text, attempt in {
    "torch.tensor(array[::-1])": lambda: torch.tensor(array[::-1]),
    "torch.tensor(array.astype('>f4'))": lambda: torch.tensor(array.astype(">f4")),
    "torch.ones(2, dtype=torch.bfloat16).numpy()": lambda: torch.ones(2, dtype=torch.bfloat16, device="cpu").numpy(),
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
# ### Your turn: ingest
# Write the one function through which all arrays enter your program. Whatever arrives, it returns a float32 tensor with
# its own memory.

# %% given
hint(
    "Let NumPy convert before PyTorch sees the array: `array.astype(...)` handles byte order and strides.",
    "Is your copy a copy for each input dtype? What if the array is float32 already?",
    "How many digits of 2**60 + 2**36 + 1 does float64 keep? An int64 mustn't pass through it on its way to float32.",
)

# %% exercise: ingest points=3 level=medium further

# %% [markdown]
# `torch.from_numpy(array).float()` passes a quick test, because the conversion copies a float64 array. The day someone
# saves memory and passes float32, it becomes an alias. How would you test for such a bug in your own code?

# %% answer [markdown]
# Run the test once for each input dtype, float32 among them: call the function, write into the array, and compare the
# tensor with its values from before. `np.shares_memory(array, result.numpy())` asks directly.

# %% [markdown]
# ## Do two tensors meet?
#
# If two tensors *overlap*, there's a place in memory that both of them read, and writing through one can change the
# other. PyTorch refuses some in-place operations for that reason.
#
# Several tests suggest themselves. `t.data_ptr()` is the address of a tensor's first element, and
# `t.untyped_storage().data_ptr()` the address where its storage begins. In which of the four pairs below do the tensors
# overlap? Which of the two addresses answers that?

# %% example
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
# The first and the last pair overlap. The address of the first element says no to all four, and the storage says yes to
# all four, so neither answers the question. In the third pair, the two tensors are interleaved like the fingers of two
# hands: their ranges in memory cross, and they still have no element in common.
#
# ### Your turn: overlap
# Decide it exactly. The tensors are small, so you need no clever method. You may use your `slots`. If an error names a
# line of `slots`, correct it there: it must work for one dimension too.

# %% given
hint(
    "Two conditions: they read the same block of memory, and they read a common slot of it.",
    "Sets of slots can be compared with isdisjoint. What do two tensors have in common that share a storage?",
)

# %% exercise: overlap points=4 level=hard further

# %% [markdown]
# For small tensors, comparing sets is exact and quick. For large ones the question is hard in general: it amounts to
# an equation in integers with bounds. `numpy.shares_memory` solves it exactly and may take very long.
# `numpy.may_share_memory` compares ranges only, and answers "yes" for the interleaved pair. When is such an answer good
# enough?
#
# One more trap: `torch.from_numpy(array)` and `torch.from_numpy(array[2:])` read the same memory through two storages,
# that begin at different addresses, so comparing storages misses it. (The exercise doesn't ask for this case.) What
# would you compare instead of slots?

# %% answer [markdown]
# A "yes" that's sometimes wrong is good enough if it only costs you time, for instance a copy that wasn't needed. A
# "no" from `may_share_memory` is always right.
#
# Compare addresses in bytes: `t.data_ptr()` plus an element's distance from the first one times `t.element_size()`.
# They mean the same in every storage.

# %% [markdown]
# ## What's left of the script
#
# The script reads 88% of the digits, and it has more to teach: lab 2 repairs an evaluation that says 10% whatever the
# network learned, lab 3 the gradients that `zero_grad` clears and a layer that never learns, lab 4 a validation that
# makes training worse, lab 5 training that changes its own data, and lab 6 the training itself, up to about 97%.

# %% quiz: interview points=3
# ## Interview questions
#
# **Creating**
# - [x] `torch.tensor([1, 2])` has dtype int64.
#   > `torch.tensor` infers the dtype from its data, and a list of integers becomes int64.
# - [ ] `torch.zeros(3)` has dtype int64, because 0 is an integer.
#   > `zeros` sees a shape and no data. It gives the default dtype, float32.
# - [ ] `torch.tensor([1, 2.5])` has dtype float64, as in NumPy.
#   > One float among the numbers is enough for the default dtype, and PyTorch's is float32. float64 is NumPy's.
# - [x] `torch.linspace(0, 10, 3)` has dtype float32, although its ends are integers.
#   > `linspace` gives the default dtype whatever you pass. `arange` is the one that looks at its arguments.
# - [ ] `torch.arange(a, a + 1, 0.1)` has 10 elements for every float `a`.
#   > The length is a quotient of floats, rounded up, and rounding can add one: `arange(1, 1.3, 0.1)` had four elements
#   > instead of three. Use `linspace` if the length must be certain.
#
# Hint: What decides the dtype: the data, or the function? And the length of arange?
#
# **Promotion**, with `h` of dtype float16 and shape (3,), and `u` of dtype uint8 and shape (3,)
# - [x] `h + torch.tensor(1.0)` is float16.
#   > A 0-dim tensor changes the dtype only if its category is higher. Both are floats here, so `h` decides.
# - [ ] `h + torch.ones(1)` is float16, because one element counts as a number.
#   > Shape (1,) has a dimension, and only 0-dim tensors and Python numbers count as numbers. So float32, the larger of
#   > the two, wins.
# - [x] `torch.arange(3) / 2` is float32.
#   > Division with `/` of integers gives the default dtype, whether or not the quotients are whole.
# - [ ] `u + 10` is int64 if one of the sums is above 255.
#   > The dtype never depends on the values. The sum stays uint8 and wraps around: 250 + 10 gave 4.
# - [x] `u.sum()` is int64.
#   > `sum` gives int64 for all integers, so small dtypes don't wrap around in it.
#
# Hint: What is the difference between the shapes () and (1,)?
#
# **Views**, with `x` of shape (4, 6), contiguous
# - [x] Writing into `x[1:3]` changes `x`.
#   > A slice is basic indexing: an offset and strides over the storage of `x`.
# - [ ] Writing into `y = x[[1, 2]]`, with `y[0] = 0`, changes `x`.
#   > A list in the index is advanced indexing. Reading with it makes a copy, and the write changes the copy.
# - [ ] `x[x > 0].zero_()` sets the positive elements of `x` to zero.
#   > `x[x > 0]` is read first, with advanced indexing, so `zero_` clears a copy that is thrown away.
# - [x] `x[x > 0] = 0` sets the positive elements of `x` to zero.
#   > With one pair of brackets left of `=`, nothing is read. The assignment writes into `x` itself.
# - [x] `x[:, 0].clone()` keeps fewer bytes in memory than `x[:, 0]` does.
#   > The column is a view and keeps all 24 elements alive. The clone has a storage with its own 4.
#
# Hint: Is it read with advanced indexing, or assigned with it?
#
# **Strides**, with `x = torch.arange(24).reshape(4, 6)`
# - [ ] `x.T` copies the elements into a new order.
#   > Transposing moves no element. It exchanges the strides of the same storage.
# - [x] `x[2, 3]` reads slot 15 of the storage.
#   > The strides are (6, 1) and the offset is 0, so the slot is 2 * 6 + 3.
# - [ ] `x.stride()` is (48, 8), because an int64 has 8 bytes.
#   > Strides are counted in elements, not in bytes: (6, 1).
# - [ ] Two tensors with the same storage always have an element in common.
#   > `field[:1]` and `field[1:]` shared a storage and read different slots of it. So did the interleaved columns.
# - [x] `x[1:, ::2]` has strides (6, 2) and storage offset 6.
#   > One row down is still 6 slots, and every second column means 2. The view begins at row 1, in slot 6.
#
# Hint: In which unit are strides counted?
#
# **NumPy**, with `a` a NumPy array and `t` a tensor on the CPU
# - [ ] `torch.as_tensor(a)` always copies.
#   > It copies only if it must, for instance for another dtype. Otherwise a write to `a` shows in the tensor.
# - [x] `torch.tensor(a)` always copies.
#   > After `array[0] = 99`, the tensor from `torch.tensor` was the only float64 one that kept its old value.
# - [ ] `t.detach().numpy()` is a copy, because `detach` cuts it off.
#   > `detach` gives up the recording, not the memory. `picture *= 100` changed the weights in the lab.
# - [x] `torch.from_numpy(np.ones(3))` is float64.
#   > float64 is NumPy's default for floats, and `from_numpy` keeps the array's dtype.
# - [ ] `torch.from_numpy(a).float()` never shares memory with `a`.
#   > If `a` is float32 already, `.float()` has nothing to do and returns the tensor that shares memory with `a`.
#
# Hint: What does each of them do if the dtype fits already?
#
# **Masks, sums and few bits**
# - [ ] `x * mask` turns NaN into 0 where the mask is False.
#   > NaN times zero is NaN, so a product can't remove it.
# - [x] `torch.where(mask, x, 0)` turns NaN into 0 where the mask is False.
#   > `where` takes 0 there and doesn't compute with the element that it leaves out.
# - [ ] `out[index] += v` adds each element of `v`, even if `index` repeats itself.
#   > It reads, adds and writes back once. Two writes to one place both started from 0 in the lab, and one was lost.
# - [x] `out.scatter_add_(0, index, v)` adds each element of `v`, even if `index` repeats itself.
#   > It adds one element after the other. In the lab, place 0 got 1 + 2, and `+=` left 2 there.
# - [x] A float16 counter that starts at 0 and grows by 1 never gets beyond 2048.
#   > Above 2048 the neighbours are 2 apart, so 2049 is rounded back to 2048 each time.
#
# Hint: Which of these did a cell of this lab print?
#
# **From scores to a loss**
# - [x] Adding 100 to all scores of a row doesn't change its softmax.
#   > Every power and their sum are multiplied by the same factor.
# - [ ] `torch.softmax(x, 1).log()` is finite for all finite scores, because softmax subtracts the largest.
#   > A probability can underflow to 0, and log 0 is -inf: use `log_softmax`.
# - [ ] `nn.functional.cross_entropy` takes probabilities, so a network ends with a softmax.
#   > It takes scores, and computes the log of their softmax itself.
# - [x] `argmax(dim=1)` of scores is the same as that of their softmax, unless rounding makes a tie.
#   > The exponential keeps the order, so guesses need no softmax.
#
# Hint: Where did inf / inf and log 0 arise, and what avoids each?

# %% [markdown]
# ## In your own words (2 points)
#
# To look at some inputs later, a training loop has the line `kept.append(batch[0])`. Each of its 1,000 batches has
# shape (256, 3, 224, 224). Two things go wrong. The process runs out of memory, as if it kept all batches. And the
# images in `kept` look wrong, because the loop normalizes each batch with `batch.sub_(mean)` after that line.
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
# write reaches it. `batch[0]` is contiguous already, and then `contiguous()` returns the tensor itself, so it
# copies nothing. (For a batch with other strides, it would copy by accident.)
#
# Two points: one for the shared storage as the reason for both effects; one for `clone` (or a copy such as
# `torch.tensor(batch[0])` or `batch[0] + 0`) and the reason why `contiguous` makes no copy here.
# ### END SOLUTION

# %% [markdown]
# ## On one sheet
#
# | call or rule | what it does or costs |
# |---|---|
# | `torch.tensor(data)`; `zeros`, `ones`, `linspace` | infers the dtype; give float32 |
# | `arange(start, end, step)` with floats | its length is a rounded quotient: use `linspace` |
# | `u + 10` with uint8 | a number or 0-dim tensor counts only by its category: stays uint8, and wraps around |
# | float16 | overflows above 65504, counts to 2048: store small, add up wide with `sum(dtype=torch.float32)` |
# | a slice, `.T`, `expand` | a view: no element moves, and the whole storage is kept |
# | `x[mask]`, `x[[0, 2]]` | a copy when read, a write into `x` left of `=` |
# | `torch.where(mask, x, 0)` | removes NaN, which `x * mask` doesn't |
# | `mean(dim=1, keepdim=True)` | keeps a row's result beside its row |
# | `scatter_add(0, index, src)` | adds at repeated indices too, which `out[index] += src` doesn't |
# | `cross_entropy(scores, labels)` | wants scores, not probabilities; subtracts each row's largest |
# | `torch.from_numpy(a)`, `torch.as_tensor(a)` | shares always; shares if it can |
# | `torch.tensor(a)`, `t.clone()` | copies |
#
# Before you trust a line, ask which dtype it computes in and whether its largest result fits there, who else reads the
# memory that it writes to, and whether it would still work if the input weren't square or an index occurred twice.
