# %% exercise
def ingest(array: np.ndarray) -> Tensor:
    """A float32 tensor with array's shape and values, rounded to float32. It shares no memory with array.

    array: real numbers or bool, any dtype, byte order and shape (also 0-dim or empty), any strides (also negative),
    possibly read-only. Not changed.
    """
    ### BEGIN SOLUTION
    own = np.array(array, dtype=np.float32)  # np.array copies unless told otherwise, and knows every layout
    return torch.from_numpy(own)
    ### END SOLUTION


# %% checks
# The device does not count: torch.from_numpy stays on the CPU, torch.tensor goes where new tensors are made.
with check(
    "shape_dtype",
    "the result is a float32 tensor of the array's shape",
    required=True,
    hint=(
        "Which dtype is NumPy's default for floats, and which one is asked for?",
        "Name the dtype where you convert: astype() in NumPy takes one.",
    ),
):
    got = ingest(np.array([[1.5, 2.5, 3.5], [4.5, 5.5, 6.5]]))
    assert isinstance(got, Tensor), f"your result is a {type(got).__name__}"
    assert got.dtype == torch.float32, f"your result has dtype {got.dtype}"
    assert got.shape == (2, 3), f"your result has shape {tuple(got.shape)}"
with check(
    "example",
    "a float64 array keeps its values",
    weight=2,
    hint=(
        "Which dtypes do the values pass through on their way? What does each of them lose?",
        "One conversion from the array's dtype to float32 is enough. Nothing else may change the values.",
    ),
):
    want = torch.tensor([[1.5, 2.5, 3.5], [4.5, 5.5, 6.5]])
    explain(
        ingest(np.array([[1.5, 2.5, 3.5], [4.5, 5.5, 6.5]])),
        want,
        {"the tensor kept the array's dtype: float64 is NumPy's default, and not PyTorch's": want.to(torch.float64)},
        check_device=False,
    )

# %% hidden checks
with check(
    "other_cases", "other shapes and dtypes", weight=2, required=True, hint="Does every value come from the array?"
):
    for dtype in (np.float32, np.float64, np.float16, np.int64, np.int32, np.uint8, np.int8):
        a = np.array([[3, 1, 4], [1, 5, 9], [2, 6, 5], [100, 7, 0]], dtype=dtype)
        want = torch.tensor([[3.0, 1.0, 4.0], [1.0, 5.0, 9.0], [2.0, 6.0, 5.0], [100.0, 7.0, 0.0]])
        assert_close(ingest(a), want, check_device=False)
    for dtype in (np.float32, np.float64, np.int16):
        a = np.array([[[-3], [0], [8]]], dtype=dtype)
        assert_close(ingest(a / 4), torch.tensor([[[-0.75], [0.0], [2.0]]]), check_device=False)
        assert_close(ingest(a), torch.tensor([[[-3.0], [0.0], [8.0]]]), check_device=False)
with check(
    "later_writes",
    "later writes to the array do not reach the tensor",
    weight=2,
    hint="For which dtype is a conversion to float32 no copy?",
):
    for dtype in (np.float32, np.float64):
        a = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], dtype=dtype)
        got = ingest(a)
        a += 10
        assert_close(got, torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), check_device=False)
    for cut in (np.s_[1:], np.s_[:, 1], np.s_[::2], np.s_[:1, 1:], np.s_[:]):
        for turned in (False, True):
            a = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], dtype=np.float32)
            part = a[cut].T if turned else a[cut]
            want = torch.tensor(part.tolist())
            got = ingest(part)
            a += 10
            assert_close(got, want, check_device=False)
with check("tensor_writes", "writes to the tensor do not reach the array", hint="Who else holds this memory?"):
    a = np.array([1.0, 2.0, 3.0], dtype=np.float32)
    ingest(a).fill_(-1.0)
    assert_close(a, np.array([1.0, 2.0, 3.0], dtype=np.float32))
with check("reversed", "reversed arrays", weight=2, hint="What does a negative stride mean, and does PyTorch have it?"):
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    want = torch.tensor([[11.0, 10.0, 9.0, 8.0], [7.0, 6.0, 5.0, 4.0], [3.0, 2.0, 1.0, 0.0]])
    assert_close(ingest(a[::-1, ::-1]), want, check_device=False)
    assert_close(ingest(np.arange(4.0)[::-1]), torch.tensor([3.0, 2.0, 1.0, 0.0]), check_device=False)
with check("non_contiguous", "transposed arrays and arrays with steps"):
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert_close(
        ingest(a.T[1:]), torch.tensor([[1.0, 5.0, 9.0], [2.0, 6.0, 10.0], [3.0, 7.0, 11.0]]), check_device=False
    )
    assert_close(ingest(a[:, ::3]), torch.tensor([[0.0, 3.0], [4.0, 7.0], [8.0, 11.0]]), check_device=False)
with check("byte_order", "the other byte order", hint="Which library can swap the bytes?"):
    for code in (">f8", ">f4", "<f8", ">i2", ">u2"):
        assert_close(ingest(np.array([1, 2, 515], dtype=code)), torch.tensor([1.0, 2.0, 515.0]), check_device=False)
    a = np.array([1, 2, 515], dtype=">f4")
    ingest(a)
    assert_close(a.tolist(), [1.0, 2.0, 515.0])
with check("bool_unsigned", "bool, and unsigned numbers that int16 cannot hold"):
    assert_close(ingest(np.array([True, False, True])), torch.tensor([1.0, 0.0, 1.0]), check_device=False)
    assert_close(
        ingest(np.array([65535, 40000, 1], dtype=np.uint16)), torch.tensor([65535.0, 40000.0, 1.0]), check_device=False
    )
    assert_close(
        ingest(np.array([2**63, 2**40, 3], dtype=np.uint64)), torch.tensor([2.0**63, 2.0**40, 3.0]), check_device=False
    )
    assert_close(ingest(np.array([-(2**40), 2**33, 3])), torch.tensor([-(2.0**40), 2.0**33, 3.0]), check_device=False)
with check(
    "zero_dim_empty",
    "0-dim and empty arrays keep their shape",
    hint="Does each NumPy function leave a 0-dim array as it is?",
):
    assert_close(ingest(np.array(2.5)), torch.tensor(2.5), check_device=False)
    a = np.array(2.5, dtype=np.float32)
    got = ingest(a)
    a[...] = 10
    assert_close(got, torch.tensor(2.5), check_device=False)
    assert_close(ingest(np.zeros((0, 3))), torch.empty(0, 3), check_device=False)
with check("read_only", "a read-only array, and the array stays as it was", guard=True):
    a = np.array([1.0, 2.0, 3.0])
    a.flags.writeable = False
    got = ingest(a)
    got += 1
    assert_close(got, torch.tensor([2.0, 3.0, 4.0]), check_device=False)
    assert_close(a, np.array([1.0, 2.0, 3.0]))


# %% right "through Python's numbers"
def ingest(array):
    return torch.tensor(array.tolist(), dtype=torch.float32).reshape(array.shape)


# %% right "astype copies"
def ingest(array):
    return torch.from_numpy(np.asarray(array.astype("=f4")))


# %% right "an alias, then clone"
def ingest(array):
    return torch.as_tensor(np.asarray(array, dtype=np.float32, order="C").copy()).clone()


# %% right "fill an empty tensor"
def ingest(array):
    out = torch.empty(array.shape, dtype=torch.float32)
    out.numpy()[...] = array
    return out


# %% right "torch.tensor, after NumPy made it ordinary"
def ingest(array):
    return torch.tensor(np.array(array, order="C").astype(array.dtype.newbyteorder("="))).float()


# %% wrong "float() makes a new tensor" fails=later_writes,tensor_writes,reversed,byte_order,zero_dim_empty raises=ValueError
def ingest(array):
    return torch.from_numpy(array).float()


# %% wrong "torch.tensor reads every array" fails=reversed,byte_order raises=ValueError
def ingest(array):
    return torch.tensor(array, dtype=torch.float32)


# %% wrong "a copy cures everything" fails=byte_order raises=ValueError
def ingest(array):
    return torch.tensor(array.copy(), dtype=torch.float32)


# %% wrong "ascontiguousarray copies" fails=later_writes,tensor_writes,zero_dim_empty
def ingest(array):
    return torch.from_numpy(np.ascontiguousarray(array, dtype=np.float32))


# %% wrong "ascontiguousarray keeps every shape" fails=zero_dim_empty
def ingest(array):
    return torch.tensor(np.ascontiguousarray(array, dtype=np.float32))


# %% wrong "PyTorch's default dtype wins" fails=shape_dtype,example,other_cases,later_writes,reversed,byte_order,bool_unsigned,zero_dim_empty,read_only raises=ValueError
def ingest(array):
    return torch.tensor(np.ascontiguousarray(array))


# %% wrong "a list carries everything" fails=other_cases,byte_order,bool_unsigned,zero_dim_empty
def ingest(array):
    return torch.tensor(array.tolist())


# %% wrong "16 bits are 16 bits" fails=bool_unsigned
def ingest(array):
    if array.dtype.kind in "iu" and array.dtype.itemsize == 2:
        array = array.astype(np.int16)
    return torch.from_numpy(np.array(array, dtype=np.float32))


# %% wrong "swap the bytes where they stand" fails=byte_order
def ingest(array):
    if not array.dtype.isnative:
        array = array.view(array.dtype.newbyteorder("="))
    return torch.from_numpy(np.array(array, dtype=np.float32))
