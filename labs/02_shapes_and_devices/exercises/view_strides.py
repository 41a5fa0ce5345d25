# %% exercise
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


# %% checks
with check(
    "contiguous",
    "a contiguous tensor, joined and cut",
    weight=2,
    required=True,
    hint=(
        "Which old neighbours are joined for (6, 4)? Which dimension is cut for (2, 3, 2, 2)?",
        "First join what can be joined into blocks. Then divide the blocks among the new sizes, from the right.",
    ),
):
    assert_close(view_strides((2, 3, 4), (12, 4, 1), (6, 4)), (4, 1))
    assert_close(view_strides((2, 3, 4), (12, 4, 1), (2, 3, 2, 2)), (12, 4, 2, 1))
with check(
    "transpose",
    "a transposed matrix cannot be flattened",
    weight=2,
    hint=(
        "Sizes (6, 4), strides (1, 6): does a walk along the inner dimension end where the outer one steps?",
        "Where a new size would reach from one block into the next, return None.",
    ),
):
    assert_close(view_strides((6, 4), (1, 6), (24,)), None)

# %% hidden checks
with check(
    "non_contiguous",
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
    "joins_neighbours",
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
    "separate_blocks",
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
        assert got is None, "you found strides, and view raises an error"
with check(
    "size_one",
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
        assert isinstance(got, list | tuple), "you found no strides, and a view is possible"
        pairs = zip(got, exact, shape, strict=True)  # where the size is 1, the stride may be any number
        assert_close([mine if n > 1 else right for mine, right, n in pairs], list(exact))
    assert view_strides((2, 1, 3), (4, 3, 1), (6,)) is None, "you found strides, and view raises an error"
with check(
    "element_count",
    "another number of elements gives None",
    weight=2,
    hint="How many elements have t and the new shape?",
):
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
        assert got is None, "you found strides, and the number of elements differs"
with check(
    "expanded",
    "expanded tensors have strides of 0",
    hint="What does the rule for joining say where both strides are 0?",
):
    for size, stride, shape in (((3, 4), (0, 0), (12,)), ((3, 4), (1, 0), (3, 2, 2)), ((6, 4), (0, 1), (2, 3, 4))):
        want = torch.zeros(50).as_strided(size, stride).view(shape).stride()
        assert_close(view_strides(size, stride, shape), want)
    assert view_strides((3, 4), (0, 1), (12,)) is None, "you found strides, and view raises an error"
    assert view_strides((3, 4), (1, 0), (12,)) is None, "you found strides, and view raises an error"
with check("zero_dim", "a tensor without dimensions", guard=True):
    got = view_strides((), (), (1, 1))
    assert got is not None and len(got) == 2, "you found no strides, or another number of them, and a view is possible"
    assert_close(view_strides((1, 1), (3, 1), ()), ())
    assert_close(view_strides((), (), ()), ())


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


# %% wrong "a view needs a contiguous tensor" fails=non_contiguous,joins_neighbours,size_one,expanded
def view_strides(size, stride, shape):
    t = torch.empty(1).as_strided((1,), (1,)) if not size else torch.empty_strided(size, stride)
    if not t.is_contiguous() or t.numel() != torch.Size(shape).numel():
        return None
    return torch.empty(shape).stride()


# %% wrong "the new tensor is contiguous" fails=transpose,non_contiguous,joins_neighbours,separate_blocks,size_one,expanded
def view_strides(size, stride, shape):
    if torch.Size(size).numel() != torch.Size(shape).numel():
        return None
    return torch.empty(shape).stride()


# %% wrong "reshape tells" fails=transpose,joins_neighbours,separate_blocks,size_one,expanded
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


# %% wrong "each dimension can be cut, and none joined" fails=contiguous,joins_neighbours,size_one,expanded
def view_strides(size, stride, shape):
    blocks = [(n, s) for n, s in zip(size, stride) if n > 1]
    found, left, step = [], 1, 1
    for n in reversed(shape):
        if n > 1 and left == 1 and blocks:
            left, step = blocks.pop()
        if left % n != 0:
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


# %% wrong "only the innermost stride must be 1" fails=transpose,non_contiguous,joins_neighbours,separate_blocks,size_one,expanded
def view_strides(size, stride, shape):
    if torch.Size(size).numel() != torch.Size(shape).numel():
        return None
    found, step = [], stride[-1] if stride else 1
    for n in reversed(shape):
        found.append(step)
        step *= n
    return tuple(reversed(found))


# %% equivalent "argument strict dropped: for n, s in zip(size, stride):"
# size and stride have one length, as the docstring says.

# %% equivalent "True to False: for n, s in zip(size, stride, strict=False):"
# size and stride have one length, as the docstring says.

# %% equivalent "1 to 2: found, left, step = ([], 1, 2)"
# Until the first block is taken, step is only the stride of entries of 1, for which any integer will do.

# %% equivalent "Gt to GtE: if n >= 1 and blocks and (blocks[-1][1] == n * s):"
# A size of 1 whose stride is that of the last block joins it: neither number of the block changes.

# %% equivalent "Gt to GtE: if n >= 1 and left == 1 and blocks:"
# An entry of 1 takes the next block a little earlier and nothing of it. Its own stride may be any integer, and a block
# that no entry divides leaves left above 1 in place of a rest in blocks: None either way.
