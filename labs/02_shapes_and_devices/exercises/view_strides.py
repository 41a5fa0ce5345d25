# %% exercise
def view_strides(size: tuple, stride: tuple, shape: tuple) -> tuple | None:
    """The strides of t.view(shape) for a tensor t of this size and stride, or None if such a view is impossible.

    size and stride are two tuples of the same length, and shape is the new shape, a tuple.
    If size and shape have different numbers of elements, the view is impossible too.
    Returns a tuple or list with one integer, never a float, for each entry of shape.

    Details:
    - size and shape contain integers of at least 1 (no -1, no 0). All three tuples may be empty.
    - Strides are at least 0, in any order, and elements may share a slot in memory.
    - For an entry of 1 in shape, any integer is accepted in the result.
    """
    ### BEGIN SOLUTION
    blocks: list[tuple[int, int]] = []  # (number of elements, stride) of each joined block
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
            return None  # this dimension would span two blocks
        found.append(step)
        left, step = left // n, step * n
    return tuple(reversed(found)) if left == 1 and not blocks else None
    ### END SOLUTION


# %% promises
# The strides of t.view -> contiguous, transpose, non_contiguous, separate_blocks, joins_neighbours
# size and stride are -> zero_dim, joins_neighbours
# If size and shape -> element_count
# Returns a tuple or list -> contiguous, joins_neighbours
# size and shape contain -> size_one
# All three tuples -> zero_dim, joins_neighbours
# Strides are at least 0 -> expanded
# For an entry of 1 -> size_one


# %% domain
def merge(draw, factors):
    """The factors, with some adjacent ones multiplied."""
    merged = []
    for n in factors:
        if merged and draw(st.booleans()):
            merged[-1] *= n
        else:
            merged.append(n)
    return merged


def lay_out(draw, blocks, expanded=()):
    """Sizes and strides in which the dimensions of each block can be joined, and no two blocks."""
    size, stride, end = [], [], 0
    for number, block in reversed(list(enumerate(blocks))):
        step = 0 if number in expanded else draw(st.integers(1, 4))
        step += step == end and end > 0
        for n in reversed(merge(draw, block)):
            size.insert(0, n)
            stride.insert(0, step)
            step *= n
        end = step
    return size, stride


def put_ones(draw, *lists):
    """Put ones into the first list, and any strides of theirs into the second."""
    for _ in range(draw(st.integers(1, 2))):
        place = draw(st.integers(0, len(lists[0])))
        for values, n in zip(lists, (1, draw(st.sampled_from([77, 5, 1, 0]))), strict=False):
            values.insert(place, n)


@domain(
    reference,
    *("contiguous", "one block", "three blocks", "all joined", "expanded", "a block expanded", "last block expanded"),
    *("ones in the size", "ones in the shape", "ones in both"),
)
def arguments(draw, edge):
    blocks = [draw(st.lists(st.sampled_from([2, 3, 5]), min_size=2, max_size=3)) for _ in range(3)]
    blocks = blocks[: {"one block": 1, "three blocks": 3}.get(edge, 2)]
    size, stride = lay_out(draw, blocks, {"a block expanded": [0], "last block expanded": [1]}.get(edge, ()))
    shape = sum([merge(draw, draw(st.permutations(block))) for block in blocks], [])
    if edge in ("contiguous", "all joined", "expanded"):
        size, step = blocks[0] + blocks[1], {"contiguous": 1, "expanded": 0}.get(edge, draw(st.integers(2, 4)))
        stride = [step * n for n in torch.empty(size).stride()]
    if edge in ("all joined", "expanded"):
        shape = [torch.Size(size).numel()]
    if edge in ("ones in the size", "ones in both"):
        put_ones(draw, size, stride)
    if edge in ("ones in the shape", "ones in both"):
        put_ones(draw, shape)
    return tuple(size), tuple(stride), tuple(shape)


@domain(
    reference,
    *("flat", "ones between", "expanded", "last block expanded"),
    *("first factor dropped", "last factor dropped", "a factor in front", "a factor at the end", "another factor"),
    *(
        "no dimension left",
        "no dimension before",
        "first block dropped",
        "a small gap",
        "a gap of one slot",
        "a small overlap",
        "a row and a half",
    ),
    *("outer dimensions swapped", "middle dimensions swapped", "middle dimensions swapped, in two"),
)
def impossible(draw, edge):
    blocks = [draw(st.lists(st.sampled_from([2, 3, 5]), min_size=2, max_size=3)) for _ in range(2)]
    size, stride = lay_out(draw, blocks, {"expanded": [0], "last block expanded": [1]}.get(edge, ()))
    first, last = (merge(draw, draw(st.permutations(block))) for block in blocks)
    if edge in ("", "expanded", "last block expanded", "ones between"):
        shape = [*first[:-1], first[-1] * last[0], *last[1:]]
    elif "swapped" not in edge:
        shape = {
            "flat": [torch.Size(size).numel()],
            "a small gap": [torch.Size(size).numel()],
            "a gap of one slot": [torch.Size(size).numel()],
            "a small overlap": [torch.Size(size).numel()],
            "a row and a half": [],
            "first factor dropped": (first + last)[1:],
            "last factor dropped": (first + last)[:-1],
            "a factor in front": [2, *first, *last],
            "a factor at the end": [*first, *last, 2],
            "another factor": [first[0] + 1, *first[1:], *last],
            "no dimension left": [],
            "no dimension before": first,
            "first block dropped": last,
        }[edge]
    place = next(i for i in range(len(size) + 1) if torch.Size(size[:i]).numel() == torch.Size(blocks[0]).numel())
    if edge == "a gap of one slot":
        n, k = draw(st.permutations([2, 3, 4]))[:2]
        size, stride, shape = [n, k], [2 * k + 1, 2], [n * k]
    if edge == "a row and a half":  # along each new dimension alone, the steps are equally long
        n, step = draw(st.integers(1, 2)), draw(st.integers(1, 3))
        size, stride, shape = [3, 4 * n], [4 * n * step + draw(st.integers(1, 9)), step], [2, 2, 3 * n]
    if edge in ("a small gap", "a small overlap"):  # less than a step of the inner block
        stride[place:] = [2 * n for n in stride[place:]]
        step = size[place] * stride[place] + (1 if edge == "a small gap" else -1) * draw(
            st.integers(1, stride[place] - 1)
        )
        for i in reversed(range(place)):
            stride[i], step = step, step * size[i]
    if "swapped" in edge:  # the first two slots are right, and so is the last one
        size = [draw(st.sampled_from([2, 3, 5])) for _ in range(3 if "outer" in edge else 4)]
        stride, first = list(torch.empty(size).stride()), len(size) - 3
        for values in (size, stride):
            values[first], values[first + 1] = values[first + 1], values[first]
        shape = [size[0] * size[1], size[2] * size[3]] if "in two" in edge else [torch.Size(size).numel()]
    if edge == "ones between":
        size.insert(place, 1)
        stride.insert(place, stride[place - 1] if draw(st.booleans()) else size[place + 1] * stride[place])
    if edge == "no dimension before":
        size, stride = [], []
    return tuple(size), tuple(stride), tuple(shape)


# %% checks
with check(
    "contiguous",
    "a contiguous tensor, joined and split",
    weight=2,
    required=True,
    hint=(
        "Which old dimensions are joined for (6, 4)? Which dimension is split for (2, 3, 2, 2)?",
        "First join what can be joined into blocks. Then divide the blocks among the new sizes, from the right.",
    ),
):
    assert_close(view_strides((2, 3, 4), (12, 4, 1), (6, 4)), (4, 1))
    assert_close(view_strides((2, 3, 4), (12, 4, 1), (2, 3, 2, 2)), (12, 4, 2, 1))
with check(
    "transpose",
    "a transposed matrix can't be flattened",
    weight=2,
    hint=(
        "Sizes (6, 4), strides (1, 6): does an outer step equal a full pass over the inner dimension?",
        "If a new dimension would span two blocks, return None.",
    ),
):
    assert_close(view_strides((6, 4), (1, 6), (24,)), None)

# %% hidden checks
with check(
    "non_contiguous",
    "a tensor that isn't contiguous can be split",
    weight=2,
    hint="When you split a dimension with stride s in two, what are the new strides?",
):
    for size, stride, shape in (((6, 4), (1, 6), (3, 2, 4)), ((4, 3, 6), (1, 40, 5), (2, 2, 3, 3, 2))):
        want = torch.zeros(300).as_strided(size, stride).view(shape).stride()
        explain(
            view_strides(size, stride, shape),
            want,
            {"these are the strides of a contiguous tensor with the new shape": torch.zeros(shape).stride()},
        )
with check(
    "joins_neighbours",
    "adjacent dimensions that line up can be joined, even in a tensor with gaps",
    weight=3,
    required=True,
    hint="In grid[:, ::2], where does a row end, and where does the next one start?",
):
    arguments.assert_results(view_strides, "", "contiguous", "one block", "three blocks", "all joined")
    for trial in arguments.iter_trials(view_strides, "", "one block"):
        assert all(hasattr(n, "__index__") for n in trial.report.result), "a stride isn't an integer"
with check(
    "separate_blocks",
    "a dimension can't span two blocks",
    weight=3,
    required=True,
    hint="Which adjacent old dimensions can be joined? Does every new dimension stay within a joined block?",
):
    impossible.assert_results(view_strides, "", "flat", "a small gap", "a gap of one slot", "a small overlap")
    impossible.assert_results(view_strides, "a row and a half")
    impossible.assert_results(view_strides, "outer dimensions swapped", "middle dimensions swapped")
    impossible.assert_results(view_strides, "middle dimensions swapped, in two")
with check(
    "size_one",
    "sizes of 1 in the old and new shapes",
    weight=2,
    hint="Does the stride of a dimension of size 1 matter? Can you insert such a dimension anywhere?",
):
    arguments.assert_results(view_strides, "ones in the size")
    impossible.assert_results(view_strides, "ones between")
    for trial in arguments.iter_trials(view_strides, "ones in the shape", "ones in both"):
        got, want, shape = trial.report.result, trial.case.report.result, trial.arguments[2]
        assert isinstance(got, list | tuple), "you found no strides, even though a view is possible"
        assert_close(len(got), len(want), name="the number of your strides")
        pairs = zip(got, want, shape, strict=True)  # where the size is 1, the stride may be any number
        assert_close([mine if n > 1 else right for mine, right, n in pairs], list(want))
with check(
    "element_count",
    "a different number of elements gives None",
    weight=2,
    hint="How many elements do t and the new shape have?",
):
    impossible.assert_results(view_strides, "first factor dropped", "last factor dropped", "first block dropped")
    impossible.assert_results(view_strides, "a factor in front", "a factor at the end", "another factor")
    impossible.assert_results(view_strides, "no dimension left", "no dimension before")
with check(
    "expanded",
    "expanded tensors have strides of 0",
    hint="What does the rule for joining say if both strides are 0?",
):
    arguments.assert_results(view_strides, "expanded", "a block expanded", "last block expanded")
    impossible.assert_results(view_strides, "expanded", "last block expanded")
with check("zero_dim", "one element, in any number of dimensions", guard=True):
    for size, stride in (((), ()), ((1,), (1,)), ((1, 1), (3, 1)), ((1, 1, 1), (0, 5, 77))):
        assert_close(view_strides(size, stride, ()), ())
        for shape in ((1,), (1, 1), (1, 1, 1)):
            got = view_strides(size, stride, shape)
            assert isinstance(got, list | tuple), "you found no strides, even though a view is possible"
            assert_close(len(got), len(shape), name="the number of your strides")


# %% right "ask PyTorch, with a tensor of these strides"
def view_strides(size, stride, shape):
    room = 1 + sum((n - 1) * s for n, s in zip(size, stride))
    try:
        return torch.empty(room).as_strided(size, stride).view(shape).stride()
    except RuntimeError:
        return None


# %% right "on the meta device, as a list"
def view_strides(size, stride, shape):
    t = torch.empty_strided(size, stride, device="meta")
    try:
        return list(t.view(*shape).stride()) if shape else list(t.view(()).stride())
    except RuntimeError:
        return None


# %% right "two pointers, from the right"
def view_strides(size, stride, shape):
    old = [(n, s) for n, s in zip(size, stride) if n != 1]
    new = [n for n in shape if n != 1]
    numel = 1
    for n, _ in old:
        numel *= n
    for n in new:
        numel //= n if numel % n == 0 else numel + 1
    if numel != 1:
        return None
    strides, i = [], len(new) - 1
    j = len(old) - 1
    while j >= 0:
        begin = j
        count, base = old[j]
        while begin > 0 and old[begin - 1][1] == old[begin][0] * old[begin][1]:
            begin -= 1
            count *= old[begin][0]
        while count > 1:
            if i < 0 or count % new[i]:
                return None
            strides.insert(0, base)
            base *= new[i]
            count //= new[i]
            i -= 1
        j = begin - 1
    found = iter(strides)
    return tuple(1 if n == 1 else next(found) for n in shape)


# %% wrong "the new tensor is contiguous" fails=transpose,non_contiguous,joins_neighbours,separate_blocks,size_one,expanded
def view_strides(size, stride, shape):
    if torch.Size(size).numel() != torch.Size(shape).numel():
        return None
    return torch.empty(shape).stride()


# %% wrong "reshape tells" fails=transpose,separate_blocks,size_one,expanded
def view_strides(size, stride, shape):
    if torch.Size(size).numel() != torch.Size(shape).numel():
        return None
    return torch.empty_strided(size, stride).reshape(shape).stride()


# %% wrong "a size of 1 is a dimension like any other" fails=size_one,zero_dim
def view_strides(size, stride, shape):
    blocks = []
    for n, s in zip(size, stride):
        if blocks and blocks[-1][1] == n * s:
            blocks[-1] = (blocks[-1][0] * n, s)
        else:
            blocks.append((n, s))
    found, left, step = [], 1, 1
    for n in reversed(shape):
        if left == 1:
            if not blocks:
                return None
            left, step = blocks.pop()
        if left % n:
            return None
        found.append(step)
        left, step = left // n, step * n
    return tuple(reversed(found)) if left == 1 and not blocks else None


# %% wrong "what is left over does not matter" fails=element_count
def view_strides(size, stride, shape):
    blocks = []
    for n, s in zip(size, stride):
        if n > 1 and blocks and blocks[-1][1] == n * s:
            blocks[-1] = (blocks[-1][0] * n, s)
        elif n > 1:
            blocks.append((n, s))
    found, left, step = [], 1, 1
    for n in reversed(shape):
        if n > 1 and left == 1 and blocks:
            left, step = blocks.pop()
        if left % n != 0:
            return None
        found.append(step)
        left, step = left // n, step * n
    return tuple(reversed(found))


# %% equivalent "argument strict dropped: for n, s in zip(size, stride):"
# size and stride have the same length, as the docstring says.

# %% equivalent "True to False: for n, s in zip(size, stride, strict=False):"
# size and stride have the same length, as the docstring says.

# %% equivalent "1 to 2: found, left, step = ([], 1, 2)"
# Until the first block is taken, step is only the stride of entries of 1, for which any integer will do.

# %% equivalent "Gt to GtE: if n >= 1 and blocks and (blocks[-1][1] == n * s):"
# A size of 1 whose stride is that of the last block joins it: neither number of the block changes.

# %% equivalent "Gt to GtE: if n >= 1 and left == 1 and blocks:"
# An entry of 1 takes the next block a little earlier and nothing of it. Its own stride may be any integer, and a block
# that no entry divides leaves left above 1 instead of a remainder in blocks: None either way.
