# %% [markdown]
# # Tensors: values, views and types
#
# Some bugs cost a whole day because nothing raises an error: a tensor has another dtype than you think, two tensors
# share their memory and one of them is changed, or a shape fits by accident. You'll begin with a network that has such
# bugs, and then learn to see them coming.
#
# After this lab you can
#
# - say which dtype an expression has, and where a small dtype loses your numbers;
# - name the piece of memory behind any element, and tell a view from a copy;
# - select and add up with masks, `gather` and `scatter_add`;
# - pass data between NumPy and PyTorch, and know which of them share memory.
#
# You need Python and a little NumPy. Plan two sittings of about an hour. All numbers were measured with PyTorch 2.13
# on a CPU.
#
# Where it says *Predict*, choose an answer before you run the next cell. Below each exercise, a card shows its checks.
# Those marked *later* run when the lab is marked: with the button *Mark my work*, or after you hand it in. A person
# reads the last question.

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
    show_strides,
    use_device,
)

# %% given
here = use_device()  # where new tensors are made: on the GPU, if there is one

# %% [markdown]
# ## A network that learns nothing
#
# The next cell is a complete training script. It loads 1,797 small images of handwritten digits, trains a network with
# 1,500 of them, and then counts how many of the other 297 the network recognizes. You don't need to understand every
# line yet. Run it.

# %% scratch
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(0)
scans = torch.tensor(load_digits().images, dtype=torch.uint8)  # (1797, 8, 8): from 0, which is white, to 16, black
digits = torch.tensor(load_digits().target)  # which digit each image shows
pixels = (scans - 8).flatten(1) / 8  # for each image, a row of 64 numbers from -1 to 1

network = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10), nn.Softmax(dim=1))
optimizer = torch.optim.SGD(network.parameters(), lr=0.3)
for _ in range(10):  # ten times through the images
    for rows in torch.arange(1500).split(100):
        loss = nn.functional.cross_entropy(network(pixels[rows]), digits[rows])
        loss.backward()
        optimizer.step()

guesses = network(pixels[1500:]).argmax(dim=1)
print(f"right for {(guesses == digits[1500:]).float().mean():.0%} of the images that it hasn't seen")

# %% [markdown]
# 10%: as good as guessing, and no error or warning says why. Three lines are wrong. Change them in the cell above, one
# after the other, and run the cell after each change.
#
# 1. Write `pixels = (scans.float() - 8).flatten(1) / 8`. The network gets three of four images right.
# 2. Add the line `optimizer.zero_grad()` above `loss.backward()`. It gets four of five.
# 3. Delete `, nn.Softmax(dim=1)`. It gets 88%.
#
# You've trained your first network, and you've taken three changes on trust. This lab explains the first one, at its
# end. Lab 3 explains the second. Lab 6 explains the third, and trains a better network with the same images.

# %% [markdown]
# ## Making tensors
#
# A *tensor* is an array of numbers that all have one type. That type is its *dtype*. Its *shape* says how many elements
# it has along each *dimension*. `torch.tensor(data)` takes a number or nested lists, and infers the dtype from what it
# finds. The *factory functions* fill a tensor by a rule instead: `zeros`, `ones`, `full`, `arange`, `linspace`, and
# more.
#
# Here is what a tensor can tell about itself. What do you expect from `len(image)` and `image.numel()`?

# %% example
image = torch.zeros(3, 4, 5, dtype=torch.uint8)
print("shape", tuple(image.shape), " dtype", image.dtype, " device", image.device)
print("dim()", image.dim(), " len()", len(image), " numel()", image.numel())
print("element_size()", image.element_size(), " nbytes", image.nbytes)

# %% [markdown]
# `len` is the size of the first dimension, and `numel` counts all elements. `element_size` is the bytes of one element:
# 8 for int64 and float64, 4 for float32, 2 for float16 and bfloat16, 1 for uint8 and bool. The *device* says where the
# memory is: the CPU's, or a GPU's on a machine that has one. `use_device()` chose that above, for all new tensors. Lab
# 2 tells more. Shape, dtype and device are what to print first when something is odd.
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
# Integers alone become int64. As soon as one float is among them, all become float32. That is PyTorch's *default
# dtype*, and NumPy's is float64. `torch.Tensor([1, 2])`, with a capital T, gives float32 whatever it finds. `zeros`,
# `ones` and `linspace` give the default dtype whatever you pass. `full` and `arange` look at their arguments. Each of
# them takes `dtype=` if you want another one.
#
# Two factory functions draw random numbers. `rand` draws from 0 up to, but not including, 1, all equally likely.
# `randn` draws from the normal distribution with mean 0 and standard deviation 1. Both give the default dtype, and
# `randint` draws integers. The numbers come from a *generator*. `torch.manual_seed(s)` sets PyTorch's own, and
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
# All but the second. A generator with the same seed gives the same numbers in the same order, and every draw moves it
# on. A seed of your own makes a result repeatable, so the course's checks use one too. Lab 6 comes back to that.
#
# `arange(start, end, step)` is used to make grids of floats too. Both lines below ask for steps of 0.1 and an end that
# is three steps away. The end is excluded, as in Python's `range`.

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
# 0.1 and 1.3 have no exact form in binary, so the quotient comes out as 3.0000000000000004 in the second line, and is
# rounded up to 4. With floats, `arange` cannot promise a length. Its documentation says so. `linspace(start, end,
# steps)` asks for the number of points, so it can.
#
# ### Your turn: grid_points
# A warm-up, done in ten minutes. Write a grid whose length is certain. It may or may not contain its last point, like
# `numpy.linspace`.

# %% given
hint(
    "linspace always puts its last point on the end. Without the end, which number lies one step after yours?",
    "Draw four points from 0 to 1 without the end: 0, 0.25, 0.5, 0.75. Which linspace contains them?",
)

# %% exercise: grid_points points=2

# %% [markdown]
# A grid can also be written as `start + step * torch.arange(n)`. There the length is an integer, and each point has
# only a few roundings, however large n is. If you add the step again and again in float32, each addition rounds too:
# after 20,000 additions of 0.1, you stand at 1999.66 instead of 2000. Would the same loop in Python's floats be good
# enough? Why?

# %% [markdown]
# ## Elementwise, and the matrix product
#
# `+`, `-`, `*`, `/`, `**` and the comparisons work *elementwise*: each element meets the one at the same place of the
# other tensor. So do functions such as `torch.sqrt`. The matrix product is `@`. Its element `[i, j]` is row `i` of the
# left matrix times column `j` of the right one, added up. `sum`, `mean`, `amax` and others *reduce*: over all elements,
# or along one dimension, which is then gone. Fill in the five results before you run the cell.

# %% example
left = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
right = torch.tensor([[10.0, 0.0], [0.0, 100.0]])
print("left * right  ", (left * right).tolist())
print("left @ right  ", (left @ right).tolist())
print("left.sum()    ", left.sum().item(), " left.sum(dim=0)", left.sum(dim=0).tolist())
print("left.amax(dim=1)", left.amax(dim=1).tolist())

# %% [markdown]
# `*` multiplied four pairs of numbers, and `@` made four sums of two products. `dim=0` is the dimension that goes:
# adding along it leaves one sum for each column. `@` wants matching sizes, (n, k) and (k, m), and gives (n, m). What
# `*` does with two different shapes is a topic of lab 2.

# %% [markdown]
# ## What dtypes do to your numbers
#
# When two tensors of different dtypes meet, PyTorch computes in a common one. The rule is called *type promotion*.
# Every dtype belongs to a category: bool, then integer, then float, then complex. The higher category wins. Within one
# category, the result is a dtype that is large enough for both: int64 for uint8 with int64, int16 for uint8 with int8,
# float32 for float16 with bfloat16. (The newer uint16, uint32 and uint64 are left out: with another integer dtype, or
# with bool, they raise an error.) But there is an exception: a Python number, or a *0-dim* tensor (one of shape `()`),
# changes the dtype of a tensor with dimensions only if its category is higher.
#
# `u` is uint8, the dtype of images, with values 0 to 255. `h` is float16. Cover the right column of the output with
# your hand, and say the dtype of each line.

# %% predict: sum_in_uint8
# **Predict.** What does the first line, `u + 10`, give for `u = torch.tensor([250, 3], dtype=torch.uint8)`?
#
# - [ ] `[260, 13]`, int64
# - [ ] `[255, 13]`, uint8
# - [x] `[4, 13]`, uint8
# - [ ] an error, because 260 does not fit

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
# So does the float 1.5, and as a Python number it brings the default dtype. Division with `/` of integers gives the
# default dtype too. And `sum` of integers gives int64, so that small dtypes do not wrap in it.
#
# A *cast* is a change of dtype that you ask for: `t.to(torch.uint8)`. To an integer dtype it cuts off the decimals. It
# does not limit: an integer outside the range wraps around, and for a float outside it the result is undefined.
#
# `mean` refuses integers with an error. An operation that writes into its own tensor cannot change that tensor's
# dtype, so `u.mul_(1.5)` is an error too.

# %% scratch
# Try expressions of your own. Predict first.
print((torch.tensor([True, True]) + 1).dtype)

# %% [markdown]
# ### Your turn: brighten
# Brighten an image. The formula is $\text{gain} \cdot (\text{pixel} + \text{offset})$.
# What would be brighter than white becomes white, and what would be darker than black becomes black.

# %% given
hint(
    "In which dtype is pixel + offset computed? Write down 250 + 20.",
    "Go to float first, compute there, then prepare the numbers for the cast: nearest integer, and within 0 to 255.",
)

# %% exercise: brighten points=3

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
# The last line of the next cell has five numbers. Which of them does float16 keep as something finite and not zero?

# %% predict: counting_in_float16 answer=2048
# **Predict.** A float16 counter starts at 0, and `count += 1` runs 3000 times. Where does it arrive?

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
# ### Your turn: mean_of_batches
# Losses come in batches, in float16, and the last batch is smaller. What is the mean over all of them?

# %% given
hint(
    "Is the mean of the batch means the mean of all elements? Try batches of 1 and 3 elements.",
    "You need two numbers: a total and a count. In which dtype is each of them kept?",
)

# %% exercise: mean_of_batches points=3

# %% [markdown]
# The rule behind it: store small, add up wide. `torch.cat([batch.flatten() for batch in batches]).mean()` comes close,
# and still rounds its result to float16. Why would the mean of 2000 and 2001 suffer from that, and the mean of 1 and 2
# not?

# %% [markdown]
# ## Storage, strides and offset
#
# Where do a tensor's elements live? A *storage* is one flat block of memory with the elements of a tensor, or of
# several. The tensor itself is small. It says how to read the block, with three things. The shape is one. The *storage
# offset* is the slot of the storage where the tensor's first element stands. A *stride* is the number of slots to go on
# when one index grows by one; each dimension has its own. So the element `t[i, j]` is found at slot
#
# $$\text{offset} + i \cdot \text{stride}_0 + j \cdot \text{stride}_1$$
#
# All of them are counted in elements. The methods `t.storage_offset()` and `t.stride()` return them. The storage itself
# is returned by `t.untyped_storage()`. It knows no dtype, so its own size, `.nbytes()`, is counted in bytes.
#
# Many tensors may read the same storage. A tensor that reads the storage of another one is a *view* of it.
# Transposing a tensor moves no element: it exchanges the strides. Before you run the next three cells, say the strides
# of `table`, of `table.T` and of `table[1:, ::2]`, and the offset of the last one.

# %% example
table = torch.arange(10, 22).reshape(3, 4)
show_strides(table)

# %% example
show_strides(table.T)

# %% example
show_strides(table[1:, ::2])

# %% [markdown]
# One storage, three ways to read it. Grey slots are not read by that view, but they are still there.
#
# Five more ways. Say the strides and the offset of each before you choose it below. Which of them reads a slot
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
# A stride of 0 stays where it is: `expand` shows one row three times. The diagonal steps by 5, one row and one column
# at once.
#
# A tensor is called *contiguous* if, in its own order, its elements follow each other in memory without a gap. `table`
# is, and the other two are not. `t.is_contiguous()` tells you, and `t.contiguous()` returns a contiguous tensor: `t`
# itself if it is one already, else a copy.
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
# The row shows 4,000 bytes and keeps 4,000,000. As long as `line` lives, the whole block lives. The file holds the
# whole block too. `clone` makes a storage of its own, with nothing else in it.
#
# ### Your turn: slots
# Which slots does a tensor read? Write it for any number of dimensions. You will use it at the end of this lab.

# %% given
hint(
    "Start with a tensor of two dimensions: two nested loops, and the formula above. A 0-dim tensor reads one slot.",
    "Take one dimension at a time. If you know where each row begins, which slots do its elements read? And before the "
    "first dimension, which slot do you know?",
)

# %% exercise: slots points=3

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
# Three lines each try to set some elements to 5.

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
# Of the three lines, the first and the third do. In the first, `board[0:2]` is a view, so the assignment that follows
# lands in `board`. In the second, `board[rows]` is a copy. The assignment changes the copy, and nobody keeps it. No
# error, no effect. In the third there is one pair of brackets. An assignment `board[...] = 5` with one pair always
# writes into `board` itself, with both kinds of indexing. The copy is made only by *reading* with advanced indexing.
#
# An operation that changes its tensor is called *in-place*. In PyTorch such methods end in an underscore: `add_`,
# `fill_`, `masked_fill_`. Augmented assignment, `x += 1`, is in-place as well. But `x = x + 1` makes a new tensor and
# gives it the old name. Whoever holds the old tensor sees nothing.
#
# ### Your turn: blank_padding_
# Sentences of different lengths are stored in one tensor. What lies beyond a sentence's length is left over from
# earlier. It may be anything, also NaN ("not a number", such as the result of 0 / 0). Blank it, in the tensor itself.

# %% given
hint(
    "Iterating over a tensor gives views of its rows. So does an index that is an integer.",
    "Either loop over the rows and assign to a slice of each, or make a mask (n, t) and assign with it.",
)

# %% exercise: blank_padding_ points=3

# %% [markdown]
# `x = x * keep` looks like the same thing, with `keep` of shape (n, t, 1). But it computes a new tensor, and the
# caller's tensor stays as it was. A function whose name ends in an underscore promises otherwise. `x *= keep` does
# write into `x`. Which of the things left over does it still not blank?

# %% [markdown]
# ## A good place to stop
#
# Behind you: dtypes and what they lose, the storage behind a tensor, views and copies. Next come masks, `gather`,
# NumPy, and the question whether two tensors meet. After a break, Python has forgotten everything. Choose *Run > Run
# All Above Selected Cell*, or press *Check*, which runs what it needs.

# %% [markdown]
# ## Masks, and what NaN does to them
#
# A *mask* is a boolean tensor: True where an element counts. In an index and in `torch.where`, a uint8 tensor still
# works as one, with a warning that this is deprecated. `masked_fill`, `masked_select` and `masked_scatter` refuse it
# with a RuntimeError. Where a value is missing, NaN often stands in its place.
#
# Two questions. What is NaN times zero? And `x - x.mean(dim=1)` is meant to subtract from each row its mean. What does
# it do instead?

# %% example
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
# with size 1. The result has shape (3, 1): one mean beside each row. Lab 2 says more about how shapes are lined up.
#
# ### Your turn: center_rows
# Some measurements are missing. Subtract from each row the mean of what is there. The visible checks have no NaN in
# them. Yours should.

# %% given
hint(
    "Which two numbers make a mean? Neither may look at the masked places.",
    "First a copy with 0 at the masked places. Then row sums and row counts, both with keepdim=True.",
    "What is the mean of a row without a single valid element, and where in your result does it end up?",
)

# %% exercise: center_rows points=3

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
# Which shape has `scores[:, labels]`, for scores of shape (4, 3) and four labels? And what happens where an index
# occurs twice?

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
# ### Your turn: class_confidence
# How sure is the classifier of the right class, class by class? A good average can hide a class that it never gets.

# %% given
hint(
    "First one number per sample: the probability of its own class. Then totals and counts per class.",
    "gather or a pair of index tensors for the first, scatter_add and bincount(minlength=...) for the second.",
)

# %% exercise: class_confidence points=3

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
# The next cell makes four tensors from the float64 array `[0, 1, 2, 3]`. Which of them is not float64?

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
# shares. `.cpu()` would not have helped: for a tensor that is on the CPU already, it returns the same tensor.
# `weights.numpy(force=True)` is short for `weights.detach().cpu().numpy()`, and shares as well, since nothing has to
# move. `weights.detach().clone().numpy()` is independent.
#
# Some data cannot cross at all. Two of the next lines go from NumPy to PyTorch, and one goes back. Which property does
# each have that the other library cannot store? (`>f4`: float32 with its bytes in the other order.)

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
# Write the door through which all arrays come in. Whatever arrives, a float32 tensor leaves, with memory of its own.

# %% given
hint(
    "Let NumPy convert before PyTorch sees the array: `array.astype(...)` handles byte order and strides.",
    "Is your copy a copy for each input dtype? What if the array is float32 already?",
)

# %% exercise: ingest points=3

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
# Of the four pairs, the first and the last overlap. The address of the first element says no to all four. The storage
# says yes to all four. Neither knows. The third pair is the interesting one: the two tensors are interleaved like the
# fingers of two hands. The range from first to last element of one lies across that of the other, and still they touch
# nowhere.
#
# ### Your turn: overlap
# Decide it exactly. The tensors are small, so you need no clever method. You may use your `slots`. If an error names a
# line of `slots`, go back there: it must take one dimension too.

# %% given
hint(
    "Two conditions: they read the same block of memory, and they read a common slot of it.",
    "Sets of slots can be compared with isdisjoint. What do two tensors have in common that have one storage?",
)

# %% exercise: overlap points=4

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
# ## Why the network learned nothing
#
# Back to the script at the top. Its first wrong line subtracts 8 from the pixels of an image to center them around 0.
# Which numbers do you expect in the row of zeros, the white pixels?

# %% example
white_to_black = torch.tensor([0, 4, 8, 12, 16], dtype=torch.uint8)
print("as uint8  ", (white_to_black - 8).tolist(), " then / 8", ((white_to_black - 8) / 8).tolist())
print("as float32", (white_to_black.float() - 8).tolist(), " then / 8", ((white_to_black.float() - 8) / 8).tolist())

# %% [markdown]
# uint8 has no negative numbers, so 0 - 8 wraps around to 248. After the division, a white pixel is 31 and a black one
# is 1. Each image turns into large numbers at its edges and hardly anything where the digit is, and steps that fit
# numbers from -1 to 1 are far too large for these. The division by 8 did give float32, and that hid the bug: whoever
# looks at the dtype of `pixels` sees what they expect. Look at the smallest and largest value, too. `pixels.min()` and
# `pixels.max()` would have shown it at once.

# %% quiz: interview points=3
# ## Interview questions
#
# **Creating**
# - [x] `torch.tensor([1, 2])` has dtype int64.
#   > `torch.tensor` infers the dtype from its data, and integers alone become int64.
# - [ ] `torch.zeros(3)` has dtype int64, because 0 is an integer.
#   > `zeros` sees a shape and no data. It gives the default dtype, float32.
# - [ ] `torch.tensor([1, 2.5])` has dtype float64, as in NumPy.
#   > One float among the numbers is enough for the default dtype, and PyTorch's is float32. float64 is NumPy's.
# - [x] `torch.linspace(0, 10, 3)` has dtype float32, although its ends are integers.
#   > `linspace` gives the default dtype whatever you pass. `arange` is the one that looks at its arguments.
# - [ ] `torch.arange(a, a + 1, 0.1)` has 10 elements for every float `a`.
#   > The length is a quotient of floats, rounded up, and rounding can add one: `arange(1, 1.3, 0.1)` had four elements
#   > in place of three. Use `linspace` where the length must be certain.
#
# Hint: What decides the dtype: the data, or the function? And the length of arange?
#
# **Promotion**, with `h` of dtype float16 and shape (3,), and `u` of dtype uint8 and shape (3,)
# - [x] `h + torch.tensor(1.0)` is float16.
#   > A 0-dim tensor changes the dtype only if its category is higher. Both are floats here, so `h` decides.
# - [ ] `h + torch.ones(1)` is float16, because one element counts as a number.
#   > Shape (1,) is a dimension, and only 0-dim tensors and Python numbers count as numbers. So float32, the larger of
#   > the two, wins.
# - [x] `torch.arange(3) / 2` is float32.
#   > Division with `/` of integers gives the default dtype, whether or not the quotients are whole.
# - [ ] `u + 10` is int64 if one of the sums is above 255.
#   > The dtype never depends on the values. The sum stays uint8 and wraps around: 250 + 10 gave 4.
# - [x] `u.sum()` is int64.
#   > `sum` goes to int64 for all integers, so that small dtypes do not wrap around in it.
#
# Hint: What is the difference between the shapes () and (1,)?
#
# **Views**, with `x` of shape (4, 6), contiguous
# - [x] Writing into `x[1:3]` changes `x`.
#   > A slice is basic indexing: an offset and strides over the storage of `x`.
# - [ ] Writing into `y = x[[1, 2]]`, with `y[0] = 0`, changes `x`.
#   > A list in the index is advanced indexing. Reading with it made a copy, and the write lands there.
# - [ ] `x[x > 0].zero_()` sets the positive elements of `x` to zero.
#   > `x[x > 0]` is read first, with advanced indexing, so `zero_` clears a copy that nobody keeps.
# - [x] `x[x > 0] = 0` sets the positive elements of `x` to zero.
#   > With one pair of brackets on the left of `=`, nothing is read. The assignment writes into `x` itself.
# - [x] `x[:, 0].clone()` keeps fewer bytes in memory than `x[:, 0]` does.
#   > The column is a view and keeps all 24 elements alive. The clone has a storage with its own 4.
#
# Hint: Is it read with advanced indexing, or assigned with it?
#
# **Strides**, with `x = torch.arange(24).reshape(4, 6)`
# - [ ] `x.T` copies the elements into a new order.
#   > Transposing moves no element. It exchanges the strides, over the same storage.
# - [x] `x[2, 3]` reads slot 15 of the storage.
#   > The strides are (6, 1) and the offset is 0, so the slot is 2 * 6 + 3.
# - [ ] `x.stride()` is (48, 8), because an int64 has 8 bytes.
#   > Strides are counted in elements and not in bytes: (6, 1).
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
#   > After `array[0] = 99`, the tensor from `torch.tensor` was the one of the three float64 tensors that kept its old
#   > value.
# - [ ] `t.detach().numpy()` is a copy, because `detach` cuts it off.
#   > `detach` gives up the recording and not the memory. `picture *= 100` changed the weights in the lab.
# - [x] `torch.from_numpy(np.ones(3))` is float64.
#   > float64 is NumPy's default for floats, and `from_numpy` keeps the dtype that it finds.
# - [ ] `torch.from_numpy(a).float()` never shares memory with `a`.
#   > If `a` is float32 already, `.float()` has nothing to do and returns the tensor that shares memory with `a`.
#
# Hint: What does each of them do if the dtype fits already?
#
# **Masks, sums and few bits**
# - [ ] `x * mask` turns NaN into 0 where the mask is False.
#   > NaN times zero is NaN, so a product cannot remove it.
# - [x] `torch.where(mask, x, 0)` turns NaN into 0 where the mask is False.
#   > `where` takes 0 there and does not compute with what it leaves out.
# - [ ] `out[index] += v` adds each element of `v`, also where `index` repeats itself.
#   > It reads, adds and writes back once. Two writes to one place both started from 0 in the lab, and one was lost.
# - [x] `out.scatter_add_(0, index, v)` adds each element of `v`, also where `index` repeats itself.
#   > It adds one element after the other. In the lab place 0 got 1 + 2, where `+=` gave 2.
# - [x] A float16 counter that starts at 0 and grows by 1 never gets beyond 2048.
#   > Above 2048 the neighbours are 2 apart, so 2049 is rounded back to 2048 each time.
#
# Hint: Which of these did a given cell of this lab print?

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
# ## On one sheet
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
#
# | call or rule | what it does or costs |
# |---|---|
# | `arange(start, end, step)` with floats | its length is a rounded quotient: use `linspace` |
# | `u + 10` with uint8 | stays uint8, and wraps around |
# | `sum(dtype=torch.float32)` | adds and delivers in float32 |
# | a slice, `.T`, `expand` | a view: no element moves, the whole storage stays |
# | `x[mask]`, `x[[0, 2]]` | a copy when read, a write into `x` on the left of `=` |
# | `torch.where(mask, x, 0)` | removes NaN, which `x * mask` does not |
# | `scatter_add(0, index, src)` | adds at repeated indices too |
# | `torch.from_numpy(a)`, `torch.as_tensor(a)` | always shares, shares if it can |
# | `torch.tensor(a)`, `t.clone()` | memory of its own |
#
# Three questions to ask yourself:
#
# - Which dtype does this line compute in, and does its largest result fit there?
# - Who else reads this memory, and who of them writes to it?
# - Would this line still fit if the input were not square, or an index occurred twice?
