# %% exercise
def slots(t: Tensor) -> list[int]:
    """List the storage slot of each element of t, in t's own order: the last index changes fastest.

    Returns a new flat list of Python integers, one for each element, so a slot that's read twice is in it twice.
    Slots are counted in elements from the start of the storage.

    Details:
    - t: any shape (even 0-dim or empty), any strides, any dtype. It isn't changed.
    """
    ### BEGIN SOLUTION
    found = [t.storage_offset()]
    for dim, size in enumerate(t.shape):
        found = [slot + i * t.stride(dim) for slot in found for i in range(size)]
    return found
    ### END SOLUTION


# %% promises
# List the storage slot -> matrix, transpose, part, slices
# Returns a new flat list -> result_type, expanded, new_list
# Slots are counted -> dtypes, part, slices
# t: any shape -> part, dimensions, dtypes, zero_dim_empty, expanded
# It isn't changed -> keeps_input


# %% domain
@domain(
    reference,
    *(
        "0-dim",
        "empty",
        "empty, with a step",
        "one element",
        "one dimension",
        "six dimensions",
        "expanded",
        "overlapping",
        "at slot 0",
    ),
    *("bool", "uint8", "bfloat16", "float64", "complex64", "requires grad"),
)
def arguments(draw, edge):
    count = {"0-dim": 0, "one dimension": 1, "six dimensions": 6}.get(edge, draw(st.integers(2, 4)))
    size = [1 if edge == "one element" else draw(st.integers(2, 3 if count > 2 else 5)) for _ in range(count)]
    stride, step = [], 1
    for n in reversed(size):  # contiguous at first, then with gaps and in another order
        stride.insert(0, step)
        step *= n + draw(st.integers(0, 1))
    order = draw(st.permutations(range(count)))
    size, stride = [size[i] for i in order], [stride[i] for i in order]
    if edge == "empty":
        size[draw(st.integers(0, count - 1))] = 0
    if edge == "empty, with a step":
        size, stride = [0], [draw(st.integers(3, 5))]
    if edge == "expanded":
        stride[draw(st.integers(0, count - 1))] = 0
    if edge == "overlapping":
        stride = [draw(st.integers(1, 3)) for _ in size]
    offset = 0 if edge in ("at slot 0", "empty, with a step") else draw(st.integers(1, 9))
    names = {"bool", "uint8", "bfloat16", "float64", "complex64"}
    dtype = getattr(torch, edge if edge in names else draw(st.sampled_from(["float32", "int64"])))
    t = torch.zeros(offset + step + 20, dtype=dtype).as_strided(size, stride, offset)
    return (t.requires_grad_() if edge == "requires grad" and dtype.is_floating_point else t,)


# %% checks
with check(
    "result_type",
    "the result is a flat list of the integers 0 to 5 in some order",
    required=True,
    hint=(
        "What does your list contain: values from t, tensors, nested lists or slots?",
        "storage_offset() and stride() return Python integers, counted in elements. Put all slots in one flat list.",
    ),
):
    got = slots(torch.tensor([[50, 51, 52], [53, 54, 55]]))
    assert isinstance(got, list), f"your result is a {type(got).__name__}"
    assert sorted(map(repr, got)) == sorted("012345"), "your list doesn't contain the Python integers from 0 to 5"
with check(
    "matrix",
    "the slots of a matrix",
    hint=(
        "In what order are t's elements printed? Which index changes from one element to the next?",
        "If you write one loop per dimension, the innermost is over the last dimension.",
    ),
):
    t = torch.tensor([[50, 51, 52], [53, 54, 55]])
    explain(
        slots(t),
        [0, 1, 2, 3, 4, 5],
        {"the first index changes fastest here, but the last one should": [0, 3, 1, 4, 2, 5]},
    )
with check(
    "transpose",
    "the slots of its transpose",
    hint=(
        "What are the strides of t.T? How far apart in the storage are its first two elements?",
        "Use the strides and the shape of t itself, in its own order. Don't sort, and don't copy.",
    ),
):
    t = torch.tensor([[50, 51, 52], [53, 54, 55]])
    explain(
        slots(t.T),
        [0, 3, 1, 4, 2, 5],
        {"these slots are in storage order, not in the order of t's elements": [0, 1, 2, 3, 4, 5]},
    )
with check(
    "part",
    "the slots of part of a tensor of three dimensions",
    hint=(
        "Which slot is the part's first element in? And how many dimensions can your code handle?",
        "Begin with a list that holds only t.storage_offset(). Then replace it once for each dimension of t.",
    ),
):
    t = torch.arange(100, 124).reshape(2, 3, 4)[:, 1:, ::2]
    explain(
        slots(t),
        [4, 6, 8, 10, 16, 18, 20, 22],
        {
            "the storage offset is missing: a view needn't begin in slot 0": [0, 2, 4, 6, 12, 14, 16, 18],
            "your code handles only the first two dimensions": [4, 8, 16, 20],
        },
    )

# %% hidden checks
with check(
    "slices",
    "slices with an offset and steps",
    weight=2,
    required=True,
    hint="Where does the view start in the storage? What are its strides?",
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
    arguments.assert_results(slots, "", "at slot 0")
with check(
    "dimensions", "one, four and six dimensions", weight=2, hint="Does your code work for any number of dimensions?"
):
    arguments.assert_results(slots, "one dimension", "six dimensions", "one element")
    assert_close(slots(torch.ones(3001, dtype=torch.float16)), list(range(3001)))
with check(
    "dtypes", "slots are counted in elements, whatever the dtype", hint="What unit does PyTorch count strides in?"
):
    arguments.assert_results(slots, "bool", "uint8", "bfloat16", "float64", "complex64", "requires grad")
    assert_close(slots(torch.zeros(2, 40_000, dtype=torch.uint8)[:, ::39_999]), [0, 39_999, 40_000, 79_999])
    odd = 2**24 + 1  # no float32
    assert_close(slots(torch.zeros(odd + 3, dtype=torch.uint8)[odd:]), [odd, odd + 1, odd + 2])
with check(
    "zero_dim_empty",
    "a 0-dim tensor reads one slot, and an empty one reads none",
    weight=2,
    hint="How many index tuples does shape () have?",
):
    arguments.assert_results(slots, "0-dim", "empty", "empty, with a step")
with check("expanded", "a stride of 0 reads one slot repeatedly", hint="What does the formula give for a stride of 0?"):
    arguments.assert_results(slots, "expanded", "overlapping")
with check(
    "keeps_input",
    "t keeps its values",
    guard=True,
    hint="If you write to t, what does the caller find there afterward?",
):
    arguments.assert_arguments(slots)
with check("new_list", "each call returns a new list", guard=True, hint="Who else has the list that you return?"):
    arguments.assert_memory(slots)


# %% right "look the numbers up in a storage of slot numbers"
def slots(t):
    size = t.untyped_storage().nbytes() // t.element_size()
    return torch.arange(size).as_strided(t.shape, t.stride(), t.storage_offset()).flatten().tolist()


# %% right "all index tuples"
def slots(t):
    import itertools

    found = []
    for index in itertools.product(*map(range, t.shape)):
        found.append(t.storage_offset() + sum(i * s for i, s in zip(index, t.stride())))
    return found


# %% right "recursion over the rows"
def slots(t):
    if t.dim() == 0:
        return [t.storage_offset()]
    return [slot for row in t for slot in slots(row)]


# %% right "addresses, counted from the storage's start"
def slots(t):
    first = t.untyped_storage().data_ptr()
    return (
        [(e.data_ptr() - first) // t.element_size() for e in t.reshape(-1)]
        if t.is_contiguous()
        else [(t[tuple(i)].data_ptr() - first) // t.element_size() for i in np.ndindex(*t.shape)]
    )


# %% wrong "every tensor begins at slot 0" fails=part,slices,dimensions,dtypes,zero_dim_empty,expanded
def slots(t):
    found = [0]
    for size, stride in zip(t.shape, t.stride()):
        found = [slot + i * stride for slot in found for i in range(size)]
    return found


# %% wrong "a tensor has rows and columns" fails=part,slices,dimensions,dtypes,zero_dim_empty,expanded raises=IndexError
def slots(t):
    rows, columns = t.shape[:2] if t.dim() > 1 else (1, t.shape[0])
    down, across = t.stride()[:2] if t.dim() > 1 else (0, t.stride(0))
    return [t.storage_offset() + i * down + j * across for i in range(rows) for j in range(columns)]


# %% wrong "elements follow each other in memory" fails=transpose,part,slices,dimensions,dtypes,expanded
def slots(t):
    return list(range(t.storage_offset(), t.storage_offset() + t.numel()))


# %% wrong "the first index moves fastest" fails=matrix,transpose,part,slices,dimensions,dtypes,expanded
def slots(t):
    found = [t.storage_offset()]
    for size, stride in zip(t.shape, t.stride()):
        found = [slot + i * stride for i in range(size) for slot in found]
    return found


# %% wrong "an empty tensor still reads its first slot" fails=zero_dim_empty
def slots(t):
    found = [t.storage_offset()]
    for size, stride in zip(t.shape, t.stride()):
        found = [slot + i * stride for slot in found for i in range(max(size, 1))]
    return found
