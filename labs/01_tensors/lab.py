# %% [markdown]
# # Tensors: values, views and types
#
# In the first 15 minutes, you'll take a network from guessing handwritten digits to recognizing 88% of them, by
# changing three lines. Its bugs raise no error, and bugs like these can cost you days, because as far as PyTorch can
# tell, nothing is wrong: a dtype isn't what you think, a write to one tensor changes another, or two shapes happen to
# be compatible. In the rest of this lab, you'll learn to find them yourself. You'll improve the script throughout the
# course.
#
# After this lab, you'll be able to
#
# - predict the dtype of an expression, and tell when a small dtype loses precision or overflows;
# - find where any element is in memory, and tell a view from a copy;
# - select and sum elements with masks, `gather` and `scatter_add`;
# - compute a loss from scores without overflow;
# - pass data between NumPy and PyTorch, and know when they share memory.
#
# You should know Python and a little NumPy. Plan on two sittings of about 65 minutes each. The core ends with the
# summary *On one sheet*. Later labs rely only on the core, and the further practice below it earns no points. All
# numbers were measured with PyTorch 2.13 on a CPU.
#
# When you see *Predict*, choose an answer before you run the next cell. A card below each exercise lists its checks;
# those marked *later* run when you press *Mark my work* or submit the lab.
#
# Run the next cell first. It imports `torch`, its `Tensor` class, NumPy as `np`, and this course's tools from `labkit`.

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
here = use_device()  # where new tensors are created: on the GPU, if there is one

# %% [markdown]
# ## A network that learns nothing
#
# The next cell is a complete training script. It loads 1,797 small images of handwritten digits, trains a network on
# 1,500 of them, and reports how many of the other 297 the network gets right. You don't need to understand every line
# yet; just run it.

# %% scratch
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(0)
scans = torch.tensor(load_digits().images, dtype=torch.uint8)  # (1797, 8, 8): from 0 (white) to 16 (black)
digits = torch.tensor(load_digits().target)  # the digit in each image
pixels = (scans - 8).flatten(1) / 8  # <- change 1. A row of 64 numbers per image, from -1 to 1

network = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10), nn.Softmax(dim=1))  # <- change 3
optimizer = torch.optim.SGD(network.parameters(), lr=0.3)
for _ in range(10):  # ten passes over the images
    for rows in torch.arange(1500).split(100):
        loss = nn.functional.cross_entropy(network(pixels[rows]), digits[rows])
        loss.backward()  # <- change 2: a new line above this one
        optimizer.step()

guesses = network(pixels[1500:]).argmax(dim=1)
print(f"right for {(guesses == digits[1500:]).float().mean():.0%} of the images that it hasn't seen")

# %% [markdown]
# The script gets only 10% right, no better than guessing, with no error or warning. If a network doesn't learn, look at
# its input first. According to the comment, `pixels` ranges from -1 to 1. Does it? Also print `scans.dtype`,
# `scans[0, 0]` (one row of an image), and `(scans - 8)[0, 0]`. What happened to the zeros, and how would you fix that?
# (`t.float()` converts a tensor to floats.)

# %% scratch
print("smallest", pixels.min().item(), " largest", pixels.max().item())

# %% answer [markdown]
# It ranges from 0 to 31.875. The elements of `scans` are stored as uint8, a type that holds only the integers from 0 to
# 255. So for a white pixel, `0 - 8` isn't -8 but wraps around to 248, and 248 / 8 is 31. (31.875 comes from a pixel of
# 7.) `lr=0.3`, which sets how far each training step goes, suits inputs from -1 to 1 but is far too large for these.
# Replace `(scans - 8)` with `(scans.float() - 8)`, which computes with floats.

# %% [markdown]
# Now change three lines of the script, one at a time, and rerun it after each change.
#
# | | change | accuracy |
# |---|---|---|
# | 1 | the one that you've just found | 74% to 80% |
# | 2 | insert the line `optimizer.zero_grad()` above `loss.backward()`, with the same indentation | 80% |
# | 3 | delete `, nn.Softmax(dim=1)` | 88% |
#
# (The accuracy after change 1 depends on the number of threads, because rounding differences grow during training.)
# Change 2 seems to matter little, but only because the softmax hides its effect: in a network without one, the same
# line raises the accuracy from about 50% to 88%.
#
# You've trained your first network. This lab explains changes 1 and 3; lab 3 explains change 2.

# %% [markdown]
# ## What a network is
#
# These words come up in every lab. Each image is a row of 64 numbers. `nn.Linear(64, 10)` turns it into ten: each of
# the ten is the sum of the 64 numbers, each multiplied by a *weight*, plus one more number, a *bias*. Weights and
# biases are the *parameters* of the network. They're random at first, and training changes them. `nn.Linear` is a
# *layer*, and a network is several layers, one after the other. Between two linear layers, `nn.ReLU()` replaces
# negative numbers with zero. Without it, the two layers could do no more than one layer.
#
# The last layer returns ten *scores*, one for each digit. The highest is the network's guess. The *loss* is one number
# that says how wrong the scores are for a *batch* of images, here 100. For each parameter, `loss.backward()` computes
# how much the loss would change if you changed that parameter a little: that's the *gradient*. `optimizer.step()`
# subtracts the gradient, times the *learning rate* `lr`, from the parameters, which lowers the loss on this batch if
# `lr` is small enough. One pass over all training images is an *epoch*. If you forget a word, the *Course* panel links
# to a glossary.

# %% [markdown]
# ## Making tensors
#
# When something looks wrong, first print the tensor's shape, dtype and device, which this section explains.
#
# A *tensor* is an array of numbers that all have the same type, its *dtype*. Its *shape* is the number of elements
# along each *dimension*. A tensor's *device* is the CPU or GPU whose memory it's stored in. Above, `use_device()` chose
# it for all new tensors; lab 2 covers devices in detail.
#
# What do you expect `len(image)` and `image.numel()` to return?

# %% example
image = torch.zeros(3, 4, 5, dtype=torch.uint8)
print("shape", tuple(image.shape), " dtype", image.dtype, " device", image.device)
print("dim()", image.dim(), " len()", len(image), " numel()", image.numel())
print("element_size()", image.element_size(), " nbytes", image.nbytes)

# %% [markdown]
# `len` returns the size of the first dimension, `numel` the total number of elements, and `element_size` the number of
# bytes in one element. `nbytes` is the product of the last two. These are the most common dtypes:
#
# | dtype | bytes | what it's for |
# |---|---|---|
# | float32 | 4 | weights, inputs and gradients: PyTorch's default |
# | bfloat16 | 2 | the same in half the memory: float32's range, but only two to three digits |
# | float16 | 2 | three to four digits, but nothing above 65504 |
# | float64 | 8 | NumPy's default, and computations that need many digits |
# | int64 | 8 | labels, indices and counts |
# | uint8 | 1 | images, with values from 0 to 255 |
# | bool | 1 | masks |
#
# `torch.tensor(data)` takes a number or nested lists. *Factory functions* such as `zeros`, `full`, `arange` and
# `linspace` fill a tensor according to a rule instead. What dtype will each of these seven results have?

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
# A list of integers becomes int64. If any of its numbers is a float, they all become float32, which is PyTorch's
# *default dtype*; NumPy's is float64. `full` and `arange` infer the dtype from their arguments, too. But `zeros` and
# `ones` always use the default dtype, and so does `linspace` if its endpoints are real numbers. To choose a dtype
# yourself, pass `dtype=`.
#
# `rand` (uniform between 0 and 1), `randn` (the standard normal distribution) and `randint` draw random numbers, such
# as a network's initial weights. They come from a *generator*: `torch.manual_seed(s)` seeds PyTorch's own, and
# `torch.Generator(device).manual_seed(s)` creates one to pass as an argument. Which of these four lines will show the
# same numbers?

# %% example
torch.manual_seed(3)
print("seed 3            ", torch.rand(3).tolist())
print("the next numbers  ", torch.rand(3).tolist())
torch.manual_seed(3)
print("seed 3 again      ", torch.rand(3).tolist())
print("your own generator", torch.rand(3, generator=torch.Generator(here).manual_seed(3)).tolist())

# %% [markdown]
# All but the second. With the same version of PyTorch and on the same machine, generators with the same device type and
# the same seed produce the same sequence of numbers, and each draw continues where the previous one stopped. Because
# the script begins with `torch.manual_seed(0)`, it starts from the same weights in every run.

# %% [markdown]
# ## Elementwise operations and the matrix product
#
# If a matrix is square, two common mistakes raise no error: writing `*` instead of `@`, and subtracting a mean from the
# wrong row.
#
# `+`, `-`, `*`, `/`, `**` and comparisons work *elementwise*: each element is combined with the one at the same
# position in the other tensor. `@` is the matrix product: its element `[i, j]` is the sum of row `i` of the left matrix
# times column `j` of the right one. `sum`, `mean`, `amax` (the largest element) and others *reduce* a tensor: over all
# its elements, or over one dimension, which is then removed. Work out the five results first.

# %% example
left = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
right = torch.tensor([[10.0, 0.0], [0.0, 100.0]])
print("left * right    ", (left * right).tolist())
print("left @ right    ", (left @ right).tolist())
print("left.sum()      ", left.sum().item())
print("left.sum(dim=0) ", left.sum(dim=0).tolist())
print("left.amax(dim=1)", left.amax(dim=1).tolist())

# %% [markdown]
# `sum(dim=0)` adds along dimension 0, which leaves one sum per column. `amax(dim=1)` leaves one number per row.
#
# `square - square.mean(dim=1)` is meant to subtract each row's mean from that row, which would leave -1, 0 and 1 in
# each row. What does it do instead?

# %% example
square = torch.tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0], [6.0, 7.0, 8.0]])
print("mean(dim=1):    ", square.mean(dim=1).tolist())
print("without keepdim:", (square - square.mean(dim=1)).tolist())
print("with keepdim:   ", (square - square.mean(dim=1, keepdim=True)).tolist())

# %% [markdown]
# The three means have shape (3,), and PyTorch lines them up with the *columns*: it subtracts the mean of row 0 from
# column 0. With a (3, 4) tensor, you'd get an error, because three means don't match four columns. `keepdim=True` keeps
# the reduced dimension with size 1, so the means have shape (3, 1), one next to each row. You'll need this for the
# loss; lab 2 explains how shapes are aligned.

# %% [markdown]
# ## What dtypes do to your numbers
#
# A tensor is a block of bytes, a dtype that interprets them, and strides that say where each element is. This section
# and the next two are about these parts.
#
# In the script, the result of `scans - 8` didn't fit its dtype. When you combine two dtypes, PyTorch computes in a
# common one, a process called *type promotion*. For the dtypes in the table above, three rules determine it:
#
# - Every dtype belongs to a category: bool, integer, float or complex, from lowest to highest. The higher category
#   wins: int64 and float16 give float16.
# - Within a category, the result is large enough for both: uint8 and int64 give int64.
# - A Python number, or a *0-dim* tensor (one of shape `()`), changes the dtype of a tensor with dimensions only if its
#   category is higher. A Python float then gives the default dtype.
#
# Predict the dtype of each result below.

# %% predict: sum_in_uint8
# **Predict.** What does the first line, `u + 10`, return for `u = torch.tensor([250, 30], dtype=torch.uint8)`?
#
# - [ ] `[260, 40]`, int64
# - [ ] `[255, 40]`, uint8
# - [x] `[4, 40]`, uint8
# - [ ] an error, because 260 doesn't fit

# %% example
u = torch.tensor([250, 30], dtype=torch.uint8)
h = torch.ones(2, dtype=torch.float16)
for text, result in {
    "u + 10": u + 10,
    "u + torch.tensor([10, 10])": u + torch.tensor([10, 10]),
    "u * 1.5": u * 1.5,
    "u / 2": u / 2,
    "u.sum()": u.sum(),
    "h + torch.tensor(1.0)": h + torch.tensor(1.0),
    "h + torch.ones(2)": h + torch.ones(2),
}.items():
    print(f"{text:28} {result.dtype!s:15} {result.tolist()}")

# %% [markdown]
# The first line is like the script's bug. The number 10 is an integer, like uint8, so the sum stays uint8, and integers
# wrap around: 250 + 10 becomes 260 - 256 = 4. In the second line, both tensors have a dimension, so int64 wins. The
# float 1.5 has a higher category and gives float32.
#
# `/` between integers gives the default dtype. That hid the script's bug: after the division by 8, `pixels.dtype` was
# float32, as you'd expect, but the values were wrong. `sum` returns int64 for integers, so 250 + 30 doesn't wrap
# around. In the last two lines, both categories are float: `torch.tensor(1.0)` is 0-dim, so `h` keeps its dtype, but
# `torch.ones(2)` has a dimension, so float32 wins.
#
# `+=` can't change a tensor's dtype: `u += 10` wraps around too, and `u += 1.5` raises an error.
#
# A *cast* is an explicit change of dtype, such as `t.to(torch.uint8)` or `t.float()`. What does a cast to uint8 do with
# a fraction?

# %% example
print(torch.tensor([2.5, 2.9]).to(torch.uint8).tolist(), torch.tensor([2.5, 2.9]).round().tolist())

# %% [markdown]
# It drops the fraction. If a float is out of range, the result is undefined. (Often, it wraps around, as an integer
# always does.) So first round with `t.round()`, which rounds ties to the even integer, and limit the range with
# `t.clamp(0, 255)`.
#
# ### Your turn: brighten
# Brighten an image with the formula $\text{gain} \cdot (\text{pixel} + \text{offset})$. Anything brighter than white
# becomes white, and anything darker than black becomes black.

# %% given
hint(
    "Which dtype is pixel + offset computed in? What's 250 + 20 in that dtype?",
    "Convert to float first, and compute in float. Before the cast, round to the nearest integer, and clamp to the "
    "range from 0 to 255.",
)

# %% exercise: brighten points=3 level=easy

# %% [markdown]
# ## Sixteen bits don't go far
#
# A loss of `inf`, or an average that's wrong in the third digit, often means that a number was stored in 16 bits.
#
# From 1024 to 2048, float16 numbers are 1 apart, and the spacing doubles at each larger power of two. Any other number
# is rounded to the nearest float16 number. If it's halfway between two, it's rounded to the one that's an even multiple
# of the spacing: 2049 goes to 2048, which is 1024 steps of 2, and not to 2050, which is 1025. The largest float16
# number is 65504.

# %% predict: counting_in_float16 answer=2048
# **Predict.** A float16 counter starts at 0, and `count += 1` runs 3,000 times. What's its final value?

# %% example
count = torch.tensor(0.0, dtype=torch.float16)
for _ in range(3000):
    count += 1
print("counted to", count.item())

many = torch.ones(70_000, dtype=torch.float16)
print("sum of 70,000 ones:", many.sum().item(), " in float32:", many.sum(dtype=torch.float32).item())

# %% [markdown]
# The count stops at 2048: above that, float16 numbers are 2 apart, so 2049 is halfway between 2048 and 2050. The last
# bit of 2048 is 0, so the sum is rounded back to 2048.
#
# The sum of 70,000 ones is larger than 65504, so it becomes `inf`: that's *overflow*. With `dtype=torch.float32`, `sum`
# returns float32, which is large enough. The rule is to store numbers in a small dtype but add them in a wide one.

# %% [markdown]
# ## Storage, strides and offset
#
# In the script, `pixels[1500:]` selects 297 images without copying any of them, but as long as you keep the result, all
# 1,797 stay in memory. Both facts follow from how a tensor finds its elements.
#
# A *storage* is a flat block of memory that holds the elements of one or more tensors. Think of it as a row of *slots*,
# numbered from 0, with one element in each. Besides its shape, a tensor has an offset and strides, which tell it which
# slots to read:
#
# - The *storage offset* is the slot of its first element: `t.storage_offset()`.
# - A dimension's *stride* is the number of slots to move when its index increases by one: `t.stride()`.
#
# So the element `t[i, j]` is in slot
#
# $$\text{offset} + i \cdot \text{stride}_0 + j \cdot \text{stride}_1$$
#
# The digits in `scans`, of shape (1797, 8, 8), have strides (64, 8, 1): the next image is 64 slots away, the next row
# of pixels 8, and the next pixel 1. So `scans[3]` has offset 192 and reads slots 192 to 255.
#
# A tensor that reads another tensor's storage is a *view* of it. Transposing, for example, doesn't move any elements:
# it swaps the strides. Before you run the next three cells, predict the strides of `table`, `table.T` and
# `table[1:, ::2]`, and the offset of the last one.

# %% example
table = torch.arange(10, 22).reshape(3, 4)
show_strides(table)

# %% example
show_strides(table.T)

# %% example
show_strides(table[1:, ::2])

# %% [markdown]
# These are three ways to read the same storage. The last view doesn't read the gray slots, but they're still there.
#
# Here are five more. In the last one, `expand` stretches the single row of `table[:1]` to shape (3, 4) without copying
# it. Predict the strides and offset of each view before you select it. What stride lets `expand` read a slot more than
# once?

# %% example
ways = {
    "table[2]": table[2],
    "table[:, 1]": table[:, 1],
    "table.reshape(2, 6)": table.reshape(2, 6),
    "table.diagonal()": table.diagonal(),
    "table[:1].expand(3, 4)": table[:1].expand(3, 4),
}
explore_strides(ways)

# %% answer [markdown]
# A stride of 0: with it, `expand` reads the slots of one row three times. The diagonal has a stride of 5: one row plus
# one column.

# %% [markdown]
# A tensor is *contiguous* if its elements, read in order, follow one another in memory without gaps. `table` is
# contiguous, but `table.T` and `table[1:, ::2]` aren't. `t.contiguous()` returns `t` itself if it's already contiguous,
# or else a contiguous copy.
#
# Sharing a storage has a cost. Suppose you save one digit, `scans[3]`, with its 64 pixels of one byte each. How many
# bytes does it keep in memory? And how large is a file that contains it?

# %% example
for name, t in {"scans[3]": scans[3], "scans[3].clone()": scans[3].clone()}.items():
    file = io.BytesIO()
    torch.save(t, file)
    print(f"{name:16} shows {t.nbytes} bytes, keeps {t.untyped_storage().nbytes():,}, in a file {file.tell():,}")

# %% [markdown]
# The digit's own pixels take 64 bytes, but it keeps 115,008 alive: the storage of all 1,797 digits lives as long as one
# of them does, and the file contains it, too. `clone` makes a copy with its own storage, which contains nothing else.
#
# ### Your turn: slots
# Which slots does a tensor read? Write a function that lists them, for any number of dimensions. For `scans[3, 0]`, the
# top row of that digit, it should return the integers from 192 to 199.

# %% given
hint(
    "Start with two dimensions: two nested loops and the formula above. A 0-dim tensor reads one slot.",
    "Handle one dimension at a time. If you know where each row starts, which slots are its elements in? Which slot do "
    "you know before you've handled any dimensions?",
)

# %% exercise: slots points=3 level=medium

# %% [markdown]
# ## A good place to stop
#
# Views, masks, `gather`, a loss and NumPy come next. When you come back, your variables may be gone: choose *Run > Run
# All Above Selected Cell* (in Colab, *Runtime > Run before*), or press *Check*, which runs the cells it needs.

# %% [markdown]
# ## Views, copies and writing through them
#
# You assign to some elements and get no error, but the tensor hasn't changed: whether a write reaches it depends on how
# you index it.
#
# - *Basic indexing* uses only integers, slices, `None` and `...`. Its result can be described by an offset and strides,
#   so it's a view. Iterating over a tensor yields views, too: one for each row.
# - *Advanced indexing* uses at least one list, boolean tensor, or integer tensor with dimensions. Strides can't
#   describe arbitrary positions, so reading with advanced indexing makes a copy.
#
# Each of these three lines tries to set some elements to 5.

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
# The first and third do. In the first, `board[0:2]` is a view, so the assignment writes to `board`. In the second,
# `board[rows]` is a copy: the assignment changes the copy, which is then discarded. The third has only one pair of
# brackets. Such an assignment always writes to `board` itself, with either kind of indexing. Only *reading* with
# advanced indexing makes a copy.
#
# An operation that modifies its tensor is called *in-place*. In PyTorch, the names of such methods end in an
# underscore: `add_`, `fill_`, `masked_fill_`. Augmented assignment, such as `x += 1`, is in-place too. But `x = x + 1`
# creates a new tensor under the old name, so other variables that refer to the old tensor don't see the change.

# %% [markdown]
# ## Masks, and what NaN does to them
#
# One missing value can turn an entire loss into NaN, even if you multiply it by zero.
#
# A *mask* is a boolean tensor that's True where an element counts. Comparisons return masks, such as `x > 0`. Missing
# values are often stored as NaN ("not a number"), which is also the result of 0 / 0. What is NaN times zero?

# %% example
values = torch.tensor([2.0, float("nan"), 4.0])
valid = torch.tensor([True, False, True])
print("values * valid:              ", (values * valid).tolist())
print("torch.where(valid, values, 0):", torch.where(valid, values, 0).tolist())

# %% [markdown]
# NaN times anything is NaN, so multiplication can't remove it. `torch.where(condition, a, b)` doesn't compute with the
# values: it takes `a` where the condition is True, and `b` elsewhere. `x.masked_fill(mask, 0)` returns a copy of `x`
# with 0 where the mask is True, and `masked_fill_` and `x[mask] = 0` write to `x` itself.
#
# `None` in an index adds a dimension of size 1. For example, `lengths[:, None]` below has shape (2, 1): one number next
# to each row, as with `keepdim=True`. Where is the mask True?

# %% example
lengths = torch.tensor([1, 3])
print((torch.arange(3) < lengths[:, None]).tolist())

# %% [markdown]
# In row i, at the first `lengths[i]` positions.
#
# ### Your turn: blank_padding_
# Sentences of different lengths share one tensor of shape (n, t, d): sentence i has `lengths[i]` steps of d numbers
# each. The other steps contain leftovers, which can be anything, even NaN. Set them to zero in the tensor itself.

# %% given
hint(
    "Iterating over a tensor yields views of its rows. Indexing with an integer returns a view, too.",
    "Either loop over the rows and assign to a slice of each, or create a mask of shape (n, t) and use it as the "
    "index of an assignment.",
)

# %% exercise: blank_padding_ points=3 level=medium

# %% [markdown]
# ## Gather and scatter
#
# For each image, a classifier returns a row of probabilities, one per class. To compute a loss, you need the
# probability of each image's own class. To find out which classes the network gets wrong, you need totals per class.
# It's easy to get either one wrong, and no error will tell you.
#
# Start with the loss: if image i belongs to class `labels[i]`, you want `probs[i, labels[i]]` for every i. If `probs`
# has shape (4, 3), what's the shape of `probs[:, labels]`?

# %% example
probs = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [0.5, 0.4, 0.1], [0.2, 0.2, 0.6]])
labels = torch.tensor([0, 2, 0, 1])
print("probs[:, labels] has shape", tuple(probs[:, labels].shape))
print("probs[torch.arange(4), labels]:        ", probs[torch.arange(4), labels])
print("probs.gather(1, labels[:, None])[:, 0]:", probs.gather(1, labels[:, None])[:, 0])

# %% [markdown]
# `probs[:, labels]` takes four columns from every row, so its shape is (4, 4). Two index tensors, on the other hand,
# are paired up: `probs[torch.arange(4), labels]` reads `probs[0, 0]`, `probs[1, 2]`, `probs[2, 0]` and `probs[3, 1]`.
#
# For each row of `probs`, `gather(1, index)` picks the columns that are listed in the same row of `index`: `out[i, j]`
# is `probs[i, index[i, j]]`. Here, one column per row is enough, so the index `labels[:, None]` has shape (4, 1), and
# `[:, 0]` brings the result back to shape (4,):
#
# | row of `probs` | row of the index | what's picked |
# |---|---|---|
# | **0.7**, 0.2, 0.1 | 0 | 0.7 |
# | 0.1, 0.3, **0.6** | 2 | 0.6 |
# | **0.5**, 0.4, 0.1 | 0 | 0.5 |
# | 0.2, **0.2**, 0.6 | 1 | 0.2 |
#
# The index needs as many dimensions as `probs`, so `labels` alone would raise an error.
#
# Totals per class go the other way: several numbers are added at the same position.

# %% predict: repeated_index
# **Predict.** `totals` is `[0, 0, 0]`, `index` is `[0, 0, 1]`, and `amounts` is `[1, 2, 3]`. What is `totals` after
# `totals[index] += amounts`?
#
# - [ ] `[3, 3, 0]`
# - [x] `[2, 3, 0]`
# - [ ] it raises an error, because 0 occurs twice

# %% example
index, amounts = torch.tensor([0, 0, 1]), torch.tensor([1.0, 2.0, 3.0])
totals = torch.zeros(3)
totals[index] += amounts
print("totals[index] += amounts:", totals.tolist())
print("scatter_add:             ", torch.zeros(3).scatter_add(0, index, amounts).tolist())
print("bincount:                ", torch.bincount(index, minlength=3).tolist())

# %% [markdown]
# `totals[index] += amounts` reads `totals[index]`, adds `amounts`, and writes the sums back. Both additions at position
# 0 started from 0, and here the last write won. PyTorch doesn't guarantee which one wins. `t.scatter_add(0, index,
# src)` returns a copy of `t` with each `src[i]` added at position `index[i]`.
#
# `torch.bincount(index, minlength=3)` counts how often 0, 1 and 2 occur. Without `minlength`, it would stop at the
# largest index and leave out the last class if that class has no samples.
#
# ### Your turn: class_confidence
# For each class, how confident is the classifier in the right answer? A good average can hide a class that the
# classifier always gets wrong.

# %% given
hint(
    "First get one number per sample: the probability of its own class. Then compute totals and counts per class.",
    "Use gather or a pair of index tensors first, then scatter_add and bincount(minlength=...).",
)

# %% exercise: class_confidence points=3 level=medium

# %% [markdown]
# ## From scores to a loss
#
# Change 3 to the script deleted a softmax, which raised the accuracy from 80% to 88%. To see why, compute the loss by
# hand. You'll also see what often turns a loss into NaN.
#
# *Logits* are a classifier's scores before they become probabilities: there's one per class, and each can be any
# number. The *softmax* turns a row $x$ of logits into probabilities: $p_j = e^{x_j} / \sum_k e^{x_k}$.
#
# To get the *cross entropy*, take the negative log of the probability of each sample's own label, then average over the
# samples. It's 0 for a network that's certain and right, and $\log 10 \approx 2.3$ for one that gives each of ten
# classes a probability of 0.1.
#
# In float32, `exp(89)` is inf and `exp(-104)` is 0. What do the first and third lines print?

# %% example
big = torch.tensor([[1000.0, 1001.0, 1002.0]])
print("softmax by the formula:      ", (big.exp() / big.exp().sum(dim=1, keepdim=True)).tolist())
lowered = (big - big.amax(dim=1, keepdim=True)).exp()
print("with the largest subtracted: ", (lowered / lowered.sum(dim=1, keepdim=True)).tolist())
certain = torch.tensor([[-200.0, 0.0]])
print("log of the softmax:          ", certain.softmax(dim=1).log().tolist())
print("log_softmax:                 ", certain.log_softmax(dim=1).tolist())

# %% [markdown]
# The first line is inf / inf, which is NaN. Subtracting the same number from all scores in a row scales every
# exponential by the same factor, so apart from rounding, the probabilities don't change. If you subtract the row's
# largest score, no exponential is greater than 1, and their sum is at least 1.
#
# That fixes the softmax but not its log. A number that's too close to 0 for its dtype becomes 0, which is called
# *underflow*. In the third line, that happens to a probability, and the log of 0 is -inf. So first simplify the log on
# paper:
#
# $$\log p_j = x_j - \log \sum_k e^{x_k}$$
#
# If you subtract the row's largest score from each $x$ first, this sum is at least 1, so its log is finite.
# `log_softmax` does that, and it prints -200.
#
# PyTorch's `nn.functional.cross_entropy(scores, labels)` takes scores and computes their log-softmax itself. In the
# script, it got the output of a softmax instead. What does that do to training? Each step changes the weights in
# proportion to the gradient (lab 3). Below, a network that hasn't been trained gets a batch of 100 digits. How does the
# softmax affect the gradient's length?

# %% example
torch.manual_seed(0)
untrained = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
for text, last in {"scores": nn.Identity(), "their softmax": nn.Softmax(dim=1)}.items():
    untrained.zero_grad()
    scores = untrained((scans[:100].float() - 8).flatten(1) / 8)
    loss = nn.functional.cross_entropy(last(scores), digits[:100])
    loss.backward()
    slopes = torch.cat([weight.grad.flatten() for weight in untrained.parameters()])
    print(f"loss of {text:13} {loss.item():.2f}, length of the gradient {slopes.norm().item():.2f}")

# %% [markdown]
# The two losses are nearly equal, but with the softmax, the gradient is less than a tenth as long. The softmax of a
# network that's unsure, or certain but wrong, barely responds to the scores: a probability $p$ changes by $p (1 - p)$
# per unit of its own score, which is 0.09 at 0.1 and nearly 0 at 0 or 1. So each step changes the weights less, and ten
# epochs teach the network less: 80%, not 88%. (Also, with ten classes, a loss computed from a softmax's output can't
# fall below 1.46. That makes the loss hard to interpret but costs no accuracy: after 200 epochs, both versions reach
# 93%.)
#
# ### Your turn: cross_entropy
# Compute the loss for a batch with `exp`, `log`, sums and indexing. Don't use PyTorch's `softmax`, `log_softmax`,
# `logsumexp`, `nll_loss` or `cross_entropy`. This is a common interview question.

# %% given
hint(
    "Write -log p for one sample as a difference of two terms. Which of them overflows for a score of 1000?",
    "First subtract each row's largest score, with keepdim=True. A sample's loss is then the log of its row's sum of "
    "exponentials, minus its label's lowered score.",
)

# %% exercise: cross_entropy points=3 level=medium

# %% [markdown]
# Suppose you subtract the largest score in the whole matrix instead of each row's. For which batches would the loss be
# wrong?

# %% answer [markdown]
# For batches in which one row's scores are far below another's, such as `[[1000, 0], [0, 1]]`: all exponentials in the
# second row underflow to 0, so the log of their sum is -inf, and so is the loss. In float32, a gap of about 104 is
# enough. The result loses accuracy even before that, because float32 stores numbers below about $e^{-87}$ less
# precisely: for `[[104, 0], [0, 1]]` and labels of 0, the loss would be 0.36, not 0.66.

# %% [markdown]
# ### The script with your functions
# Train the network with your own loss. Then ask your `class_confidence` which digit it's least sure of.

# %% scratch
torch.manual_seed(0)
pixels = (scans.float() - 8).flatten(1) / 8
network = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
optimizer = torch.optim.SGD(network.parameters(), lr=0.3)
try:
    for _ in range(10):
        for rows in torch.arange(1500).split(100):
            loss = cross_entropy(network(pixels[rows]), digits[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    unseen = network(pixels[1500:]).detach().softmax(dim=1)  # the next section explains detach
    print(f"right for {(unseen.argmax(dim=1) == digits[1500:]).float().mean():.0%}")
    for digit, confidence in enumerate(class_confidence(unseen, digits[1500:]).tolist()):
        print(f"{digit}: {confidence:.2f}")
except Exception as error:
    print("This cell needs a working cross_entropy and class_confidence:", repr(error))

# %% [markdown]
# With your loss, the network reaches 88%, too. But that average hides a weak class: a 3 gets a probability of only 0.52
# of being a 3, whereas most other digits get more than 0.8.

# %% [markdown]
# ## NumPy shares its memory
#
# You scale an array for a plot, and the network's weights change. Some ways of passing data between NumPy and PyTorch
# copy it, others don't, and nothing warns you. If two names refer to the same memory, one is an *alias* of the other.
#
# The next cell creates four tensors from the float64 array `[0, 1, 2, 3]`. Which of them isn't float64?

# %% predict: begin_with_99
# **Predict.** After the four tensors are created, `array[0] = 99` runs. Which of them now start with 99?
#
# - [ ] `torch.tensor(array)`
# - [x] `torch.from_numpy(array)`
# - [x] `torch.as_tensor(array)`
# - [ ] `torch.as_tensor(array, dtype=torch.float32)`

# %% example
array = np.arange(4.0)
with torch.device("cpu"):  # NumPy doesn't support GPUs
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
# `torch.tensor` always copies, and `from_numpy` always shares memory. `as_tensor` shares it if it can. The last call
# copies, because a different dtype requires new memory; if `array` were float32 already, it would create an alias.
# `.float()` works the same way: on a float32 tensor, it returns the tensor itself.
#
# The first three keep NumPy's float64. If you pass one of them to a layer with float32 weights, you get an error: "mat1
# and mat2 must have the same dtype, but got Double and Float". That's when you need `.float()`.
#
# Now for the other direction. `weights` has `requires_grad=True`, so PyTorch records every computation with it in order
# to compute gradients later. NumPy can't record computations, so `.numpy()` raises an error. `weights.detach()` returns
# a tensor with `requires_grad=False`. A colleague uses it to scale the numbers for a plot. What does the last line of
# the next cell print?

# %% example
weights = torch.ones(3, requires_grad=True, device="cpu")  # NumPy doesn't support GPUs
try:
    weights.numpy()
except RuntimeError as error:
    print("weights.numpy():", error)
picture = weights.detach().numpy()
picture *= 100
print(weights.tolist())

# %% [markdown]
# It prints 100 three times: the weights themselves changed. `detach` stops the recording, but its result still shares
# the memory, as does that of `.numpy()`. For an independent copy, use `weights.detach().clone().numpy()`.

# %% [markdown]
# ## What's next for the script
#
# In labs 2 to 5, the script goes wrong in new ways, again without an error. In lab 6, you'll find out what the 88%
# measured, and train the network properly.

# %% quiz: interview points=3
# ## Interview questions
#
# **Creating tensors**
# - [x] `torch.tensor([1, 2])` has dtype int64.
#   > `torch.tensor` infers the dtype from its data, and a list of integers becomes int64.
# - [ ] `torch.zeros(3)` has dtype int64, because 0 is an integer.
#   > `zeros` gets a shape but no data, so it uses the default dtype, float32.
# - [ ] `torch.tensor([1, 2.5])` has dtype float64, as in NumPy.
#   > If any number is a float, you get the default dtype, which is float32 in PyTorch. NumPy's is float64.
# - [x] `torch.linspace(0, 10, 3)` has dtype float32, although its endpoints are integers.
#   > `linspace` uses the default dtype for all real endpoints. `arange` is the one that infers it from its arguments.
#
# Hint: What determines the dtype: the data or the function?
#
# **Promotion**, with `h` of dtype float16 and shape (3,), and `u` of dtype uint8 and shape (3,)
# - [x] `h + torch.tensor(1.0)` is float16.
#   > A 0-dim tensor changes the dtype only if its category is higher. Both are floats here, so `h` determines it.
# - [ ] `h + torch.ones(1)` is float16, because one element counts as a number.
#   > A tensor of shape (1,) has a dimension, and only 0-dim tensors and Python numbers count as numbers. So float32,
#   > the larger of the two, wins.
# - [x] `torch.arange(3) / 2` is float32.
#   > Dividing integers with `/` gives the default dtype, whether or not the quotients are whole numbers.
# - [ ] `u + 10` is int64 if one of the sums is above 255.
#   > The dtype never depends on the values. The sum stays uint8 and wraps around: 250 + 10 gave 4.
# - [x] `u.sum()` is int64.
#   > `sum` returns int64 for all integer dtypes, so sums of small ones don't wrap around.
#
# Hint: What is the difference between the shapes () and (1,)?
#
# **Views**, with a contiguous `x` of shape (4, 6)
# - [x] Writing to `x[1:3]` changes `x`.
#   > Slicing is basic indexing, so the result is a view: an offset and strides over the storage of `x`.
# - [ ] After `y = x[[1, 2]]`, the assignment `y[0] = 0` changes `x`.
#   > A list in the index means advanced indexing. Reading with it makes a copy, and the write changes that copy.
# - [ ] `x[x > 0].zero_()` sets the positive elements of `x` to zero.
#   > `x[x > 0]` is read first, with advanced indexing, so `zero_` clears a copy that's then discarded.
# - [x] `x[x > 0] = 0` sets the positive elements of `x` to zero.
#   > With one pair of brackets to the left of `=`, no elements are copied. The assignment writes to `x` itself.
# - [x] `x[:, 0].clone()` keeps fewer bytes in memory than `x[:, 0]` does.
#   > The column is a view that keeps all 24 elements alive. The clone has its own storage with just 4.
#
# Hint: Does the line read with advanced indexing, or assign with it?
#
# **Strides**, with `x = torch.arange(24).reshape(4, 6)`
# - [ ] `x.T` makes a copy with the elements in a new order.
#   > Transposing doesn't move any elements. It swaps the strides but keeps the same storage.
# - [x] `x[2, 3]` reads slot 15 of the storage.
#   > The strides are (6, 1) and the offset is 0, so the slot is 2 * 6 + 3.
# - [ ] `x.stride()` is (48, 8), because an int64 has 8 bytes.
#   > Strides are counted in elements, not bytes: (6, 1).
# - [ ] Two tensors with the same storage always have an element in common.
#   > `x[:1]` and `x[1:]` share a storage but read different slots of it. So do `x[:, ::2]` and `x[:, 1::2]`.
# - [x] `x[1:, ::2]` has strides (6, 2) and storage offset 6.
#   > Moving down one row still takes 6 slots, and moving over two columns takes 2. The view starts at row 1, in slot 6.
#
# Hint: What unit are strides counted in?
#
# **NumPy**, where `a` is a NumPy array and `t` is a tensor on the CPU
# - [ ] `torch.as_tensor(a)` always copies.
#   > It copies only if it must, for instance to change the dtype. Otherwise a write to `a` shows up in the tensor.
# - [x] `torch.tensor(a)` always copies.
#   > After `array[0] = 99`, the tensor from `torch.tensor` was the only float64 one that kept its old value.
# - [ ] `t.detach().numpy()` is a copy, because `detach` separates it from `t`.
#   > `detach` stops the recording but shares the memory. In the lab, `picture *= 100` changed the weights.
# - [x] `torch.from_numpy(np.ones(3))` is float64.
#   > float64 is NumPy's default for floats, and `from_numpy` keeps the array's dtype.
# - [ ] `torch.from_numpy(a).float()` never shares memory with `a`.
#   > If `a` is float32 already, `.float()` returns the same tensor, which shares memory with `a`.
#
# Hint: What does each call do if the dtype is already right?
#
# **Masks, sums and 16 bits**
# - [ ] `x * mask` turns NaN into 0 where the mask is False.
#   > NaN times zero is NaN, so multiplication can't remove it.
# - [x] `torch.where(mask, x, 0)` turns NaN into 0 where the mask is False.
#   > `where` takes 0 there and doesn't compute with the element it leaves out.
# - [ ] `out[index] += v` adds each element of `v`, even if `index` contains duplicates.
#   > It reads, adds and writes back once. In the lab, two additions at one position both started from 0, and one was
#   > lost.
# - [x] `out.scatter_add_(0, index, v)` adds each element of `v`, even if `index` contains duplicates.
#   > It adds every element. In the lab, position 0 became 1 + 2, whereas `+=` left 2 there.
# - [x] A float16 counter that starts at 0 and is incremented by 1 never gets past 2048.
#   > Above 2048, float16 numbers are 2 apart. 2049 is halfway between two of them, and the tie always goes to 2048.
#
# Hint: Which of these did you see in this lab's output?
#
# **From scores to a loss**
# - [x] Adding 100 to all scores in a row doesn't change their softmax, apart from rounding.
#   > Each exponential is multiplied by the same factor, and so is their sum.
# - [ ] `torch.softmax(x, 1).log()` is finite for all finite scores, because softmax subtracts the largest one.
#   > A probability can underflow to 0, and log 0 is -inf. Use `log_softmax` instead.
# - [ ] `nn.functional.cross_entropy` takes probabilities, so a network should end in a softmax.
#   > It takes scores and computes the log of their softmax itself.
# - [x] `argmax(dim=1)` of the scores equals `argmax(dim=1)` of their softmax, unless rounding creates a tie.
#   > The exponential preserves the order, so you don't need a softmax to make guesses.
#
# Hint: Where did inf / inf and log 0 come up, and how do you avoid each?

# %% [markdown]
# ## In your own words (2 points)
#
# A training loop saves some inputs for later with the line `kept.append(batch[0])`. Each of its 1,000 batches has shape
# (256, 3, 224, 224). Two things go wrong: the process runs out of memory, as if it kept every batch, and the images in
# `kept` look wrong, because the loop normalizes each batch with `batch.sub_(mean)` after that line.
#
# What single cause explains both problems? Which small change to the line fixes both? And why does
# `batch[0].contiguous()` fix neither? Five sentences are enough. A person marks this: your instructor or, if you
# learn on your own, you.

# %% question: why_the_row_is_heavy [markdown] points=2
# ### BEGIN SOLUTION
# `batch[0]` is basic indexing, so it's a view: a new shape and offset over the batch's own storage. (1) The storage is
# freed only when no tensor uses it anymore, so each saved image keeps all 256 images in its batch alive, and the list
# keeps all batches alive. (2) `sub_` writes to that same storage, so the saved image changes with the batch.
#
# `kept.append(batch[0].clone())` fixes both: the clone has its own storage with only one image in it, and no later
# write reaches it. `batch[0]` is already contiguous, so `contiguous()` returns the tensor itself without copying. (For
# a batch with other strides, it might happen to copy.)
#
# Two points: one for naming the shared storage as the cause of both effects; one for `clone` (or a copy such as
# `torch.tensor(batch[0])` or `batch[0] + 0`) and the reason why `contiguous` doesn't copy here.
# ### END SOLUTION

# %% [markdown]
# ## On one sheet
#
# | call or rule | what it does or costs |
# |---|---|
# | `torch.tensor(data)`; `zeros`, `ones`, `linspace` | the first infers the dtype; the others: normally float32 |
# | `u + 10` with uint8 | stays uint8 and wraps around: a number promotes only if its category is higher |
# | float16 | overflows above 65504, counts to 2048: store small, add wide with `sum(dtype=torch.float32)` |
# | a slice, `.T`, `expand` | a view: doesn't move elements, and keeps the whole storage alive |
# | `x[mask]`, `x[[0, 2]]` | a copy when read; on the left of `=`, a write to `x` |
# | `torch.where(mask, x, 0)` | removes NaN, which `x * mask` doesn't |
# | `mean(dim=1, keepdim=True)` | keeps each row's result next to its row |
# | `scatter_add(0, index, src)` | handles duplicate indices, which `out[index] += src` doesn't |
# | `cross_entropy(scores, labels)` | takes scores, not probabilities; doesn't overflow |
# | `torch.from_numpy(a)`, `torch.as_tensor(a)` | always shares; shares if it can |
# | `torch.tensor(a)`, `t.clone()` | copies |
#
# Before you trust a line, ask which dtype it computes in and whether the largest result fits, what else reads the
# memory that it writes to, and whether it would work if the input weren't square or an index occurred twice.
#
# The core ends here.

# %% [markdown]
# ## Further practice
#
# The next six sections earn no points, and later labs don't rely on them. Do them in any order; `overlap` uses your
# `slots` function.
#
# ## Grids with a guaranteed length
#
# `arange(start, end, step)` also creates grids of floats, but sometimes with one point too many. In both lines below,
# the end is three steps of 0.1 from the start. The end is excluded, as in Python's `range`.

# %% predict: grid_lengths
# **Predict.** How many elements do `torch.arange(0, 0.3, 0.1)` and `torch.arange(1, 1.3, 0.1)` have?
#
# - [ ] three and three
# - [x] three and four
# - [ ] four and four
# - [ ] four and three

# %% example
print(len(torch.arange(0, 0.3, 0.1)), "elements:", torch.arange(0, 0.3, 0.1))
print(len(torch.arange(1, 1.3, 0.1)), "elements:", torch.arange(1, 1.3, 0.1))

# %% [markdown]
# The first has three elements and the second has four. The number of elements is (end - start) / step, rounded up. None
# of 0.1, 0.3 and 1.3 is exact in binary, so rounding can make the quotient miss 3: the first is 2.9999999999999996, and
# the second is 3.0000000000000004, which rounds up to 4. With floats, `arange` can't guarantee a length, as its
# documentation says. `linspace(start, end, steps)` can, because you specify the number of points.
#
# ### Your turn: grid_points
# Create a grid with a guaranteed length. As with `numpy.linspace`, the endpoint can be included or excluded.

# %% given
hint(
    "linspace always includes the endpoint. If the endpoint is excluded, which number comes after the last point?",
    "Write down four points from 0 to 1, excluding the endpoint: 0, 0.25, 0.5, 0.75. Which call to linspace returns "
    "them and one more?",
)

# %% exercise: grid_points points=2 level=easy further

# %% [markdown]
# `start + step * torch.arange(n)` works too: its length is guaranteed, and each point is rounded only a few times. If
# you add the step repeatedly in float32 instead, every addition rounds its result: 20,000 additions of 0.1 give
# 1999.66, not 2000. Would the same loop with Python floats be good enough?

# %% answer [markdown]
# Yes. Python floats have 64 bits, and the same loop gives 1999.9999999992765. Rounded to float32, that's exactly 2000,
# because float32 numbers near 2000 are about 0.0001 apart.

# %% [markdown]
# ## Joining, splitting and sorting
#
# The script's `split` cut the images into batches, and its `argmax` picked the digit with the highest score. You'll
# often need these functions and their relatives. Predict each result first.

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
# `cat` joins tensors along an existing dimension, and `stack` along a new one. `split(3)` makes parts of length 3,
# although the last may be shorter, and `chunk(3)` makes at most 3 parts. `sort`, `topk` and `max(dim=...)` return both
# values and indices. If values are tied, `argmax` returns the index of the first, and `sort` preserves their order if
# you pass `stable=True`. `topk` doesn't guarantee the order of tied values, so don't rely on their indices.

# %% [markdown]
# ## Averages of float16 numbers
#
# To compute a mean, you need a sum, which may be too large for float16 or need more digits than float16 can hold, even
# if the mean itself fits.
#
# ### Your turn: mean_of_batches
# You have losses from several batches in float16, and the last batch is smaller than the others. What's the mean over
# all elements?

# %% given
hint(
    "Does the mean of the batch means equal the mean of all elements? Try a batch of 1 element and a batch of 3.",
    "You need two numbers: a total and a count. Which dtype should each of them have?",
)

# %% exercise: mean_of_batches points=3 level=medium further

# %% [markdown]
# `torch.cat([batch.flatten() for batch in batches]).mean()` comes close, because `mean` adds in float32, but it rounds
# its result to float16. Why does that affect the mean of 2000 and 2001, but not the mean of 1 and 2?

# %% answer [markdown]
# Between 1024 and 2048, float16 numbers are 1 apart, so 2000.5 is a tie, which goes to the even 2000. Between 1 and 2,
# they're about 0.001 apart, and 1.5 is one of them.

# %% [markdown]
# ## Rows with missing values
#
# Some measurements are missing, and a mask says which ones aren't. Make sure that a mask is boolean: as an index and in
# `torch.where`, a uint8 tensor still works as one, with a warning that this is deprecated, but `masked_fill` and its
# relatives reject it with a RuntimeError. To fill where the mask is False, invert it with `~`.
#
# ### Your turn: center_rows
# From each row, subtract the mean of the measurements that aren't missing. The visible checks don't include NaN, so try
# some inputs of your own.

# %% given
hint(
    "Which two numbers do you need for a mean? Neither may depend on masked elements.",
    "First make a copy with 0 at the masked positions. Then compute row sums and row counts, both with keepdim=True.",
    "What's the mean of a row with no valid elements, and where does it end up in your result?",
)

# %% exercise: center_rows points=3 level=medium further

# %% [markdown]
# ## Data that needs a conversion first
#
# Some conversions raise an error. Two of the next lines convert from NumPy to PyTorch, and one converts back. What
# can't the other library represent in each case? (`>f4` means float32 in the opposite byte order.)

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
# A reversed array has a negative stride, which PyTorch doesn't support. Call `.copy()` first. An array from an old file
# may have the opposite byte order, which `.astype(np.float32)` corrects. NumPy has no bfloat16, so convert with
# `.float()`. An array of strings or Python objects raises a TypeError, because no dtype can hold them.
#
# Other functions that convert an array, such as `torch.asarray` and `torch.from_dlpack`, share its memory if they can.
# So do a slice in NumPy itself and `weights.numpy(force=True)`, which is short for `weights.detach().cpu().numpy()`.
#
# ### Your turn: ingest
# Write the single function through which all arrays enter your program. Whatever it receives, it returns a float32
# tensor with its own memory.

# %% given
hint(
    "Let NumPy convert the array before PyTorch sees it: `array.astype(...)` handles byte order and strides.",
    "Does your code make a copy for every input dtype? What if the array is already float32?",
    "How many digits of 2**60 + 2**36 + 1 does float64 keep? Don't convert int64 to float32 via float64.",
)

# %% exercise: ingest points=3 level=medium further

# %% [markdown]
# float64 keeps all but the last of the 19 digits of `2**60 + 2**36 + 1`. What's left is halfway between two float32
# numbers, and the tie goes the wrong way.
#
# `torch.from_numpy(array).float()` passes a quick test because it copies a float64 array. If someone passes a float32
# array to save memory, the result is an alias. How would you test your own code for such a bug?

# %% answer [markdown]
# Run the test once for each input dtype, including float32: call the function, write to the array, and compare the
# tensor with its earlier values. `np.shares_memory(array, result.numpy())` checks this directly.

# %% [markdown]
# ## Do two tensors overlap?
#
# Two tensors *overlap* if they have at least one slot of memory in common, so writing to one can change the other. For
# that reason, PyTorch rejects some in-place operations.
#
# There are two addresses that you could compare: `t.data_ptr()` is the address of a tensor's first element, and
# `t.untyped_storage().data_ptr()` is the address where its storage starts. Does either of them detect overlap?

# %% predict: overlapping_pairs
# **Predict.** `field` has shape (3, 4). In which pairs do the two tensors overlap?
#
# - [x] `field` and `field[1:]`
# - [ ] `field[:1]` and `field[1:]`
# - [ ] `field[:, ::2]` and `field[:, 1::2]`
# - [x] `field[1]` and `field[:, 2]`

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
# The first and last pairs overlap, but in all four pairs, the addresses of the first elements differ, and the storages
# start at the same address. So neither answers the question: you have to compare the slots that the tensors read. In
# the third pair, the two tensors are interleaved but have no element in common.
#
# ### Your turn: overlap
# Find the exact answer. The tensors are small, so you don't need a clever method. You can use your `slots` function; if
# it raises an error, make sure it works for one dimension too.

# %% given
hint(
    "Two conditions must hold: the tensors read the same block of memory, and they have a slot in common.",
    "You can compare sets of slots with isdisjoint. If two tensors share a storage, what else is the same?",
)

# %% exercise: overlap points=4 level=hard further

# %% [markdown]
# For small tensors, comparing sets is exact and fast. For large ones, the problem is hard in general: it amounts to
# solving an integer equation with bounds. `numpy.shares_memory` solves it exactly but can take a very long time.
# `numpy.may_share_memory` only compares ranges, so it answers "yes" for the interleaved pair. When is such an answer
# good enough?
#
# One more trap: `torch.from_numpy(array)` and `torch.from_numpy(array[2:])` read the same memory through two storages
# with different start addresses, so comparing storages misses the overlap. (The exercise doesn't include this case.)
# What would you compare instead of slots?

# %% answer [markdown]
# A "yes" that's sometimes wrong is good enough if all it costs you is time, as with an unnecessary copy. A "no" from
# `may_share_memory` is always right.
#
# Instead of slots, compare addresses in bytes: `t.data_ptr()` plus `t.element_size()` times an element's distance from
# the first one. They're comparable across storages.
