# %% exercise
def ingest(array: np.ndarray) -> Tensor:
    """A float32 tensor, on any device, with array's shape and values. It shares no memory with array.

    Each value is rounded once, straight to float32: an int64 or uint64 that passed through float64 would be rounded
    twice.

    Details:
    - array: bool, integers or floats of at most 64 bits, in either byte order.
    - It may have any shape (even 0-dim or empty) and any strides (even negative ones).
    - It may be read-only, and isn't changed.
    """
    ### BEGIN SOLUTION
    own = np.array(array, dtype=np.float32)  # np.array copies by default, and handles every layout
    return torch.from_numpy(own)
    ### END SOLUTION


# %% promises
# A float32 tensor -> shape_dtype, example, other_cases, byte_order
# It shares no memory -> later_writes, tensor_writes
# Each value is rounded once -> long_integers, other_cases
# array: bool, integers -> other_cases, byte_order, bool_unsigned
# It may have any shape -> reversed, non_contiguous, zero_dim_empty
# It may be read-only -> read_only, byte_order


# %% domain
@domain(
    reference,
    *("float32", "float16", "bool", "int8", "uint8", "uint16", "int64", "uint64", ">f8", ">f4", ">i2"),
    *("0-dim", "0-dim float32", "empty", "reversed", "reversed float32", "transposed", "every second", "broadcast"),
    *("read-only", "NaN and inf", "digits of float64", "digits of int64", "digits of uint64", "digits of >i8"),
)
def arguments(draw, edge):
    known = {"float32", "float16", "bool", "int8", "uint8", "uint16", "int64", "uint64", ">f8", ">f4", ">i2"}
    dtype = {"digits of int64": "int64", "digits of uint64": "uint64", "digits of >i8": ">i8"}.get(edge, "float64")
    dtype = "float32" if edge.endswith("float32") else edge if edge in known else dtype
    shape = {"0-dim": (), "0-dim float32": (), "empty": (0, 3)}.get(edge)
    shape = (draw(st.integers(2, 4)), draw(st.integers(2, 5))) if shape is None else shape
    numbers = torch.randint(-100, 100, shape, generator=draw.make_generator()).numpy()
    array = np.asarray(numbers / 4 if "f" in dtype else abs(numbers) if dtype[0] == "u" else numbers).astype(dtype)
    if dtype in ("uint16", "int64", "uint64"):  # numbers that a smaller dtype can't hold
        array[0, 0] = {"uint16": 65535, "int64": -(2**40), "uint64": 2**63}[dtype]
    if edge.startswith("digits of") and dtype != "float64":
        # Just above the midpoint of two float32 numbers, to which float64 rounds them.
        size = 2 ** draw(st.integers(60, 62))
        array[0, :2] = size + size // 2**24 + 1, size * 5 // 4 + size // 2**24 + draw(st.integers(1, 9))
        array[1, 0] = size // 2 + size // 2**25 + 1 if dtype == "uint64" else -(size + size // 2**24 + 1)
    if edge == "NaN and inf":
        array[0, :2] = float("nan"), -float("inf")
    if edge == "digits of float64":
        array = array / 3 + 1e5
    if edge.startswith("reversed"):
        array = array[::-1, ::-1] if draw(st.booleans()) else array[:, ::-1]
    if edge == "transposed":
        array = array.T
    if edge == "every second":
        array = array[:, ::2]
    if edge == "broadcast":
        array = np.broadcast_to(array[:1], shape)
    if edge == "read-only":
        array.flags.writeable = False
    return (array,)


# %% checks
# The device doesn't matter: torch.from_numpy stays on the CPU, torch.tensor uses the device of new tensors.
with check(
    "shape_dtype",
    "the result is a float32 tensor with the array's shape",
    required=True,
    hint=(
        "What is NumPy's default dtype for floats, and which one should you return?",
        "Specify the dtype when you convert: NumPy's astype() takes one.",
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
        "Which dtypes do the values pass through? What does each of them lose?",
        "One conversion from the array's dtype to float32 is enough. Nothing else may change the values.",
    ),
):
    want = torch.tensor([[1.5, 2.5, 3.5], [4.5, 5.5, 6.5]])
    explain(
        ingest(np.array([[1.5, 2.5, 3.5], [4.5, 5.5, 6.5]])),
        want,
        {"the tensor kept the array's dtype: float64 is NumPy's default, not PyTorch's": want.to(torch.float64)},
        check_device=False,
    )

# %% hidden checks
with check(
    "other_cases",
    "other shapes and dtypes",
    weight=2,
    required=True,
    hint="Does every value in the result come from the array?",
):
    arguments.assert_results(ingest, "", "float32", "float16", "int64", "uint8", "int8", check_device=False)
    arguments.assert_results(ingest, "NaN and inf", "digits of float64", check_device=False)
with check(
    "later_writes",
    "later writes to the array don't change the tensor",
    weight=2,
    hint="For which dtype does a conversion to float32 not make a copy?",
):
    for cut in (np.s_[1:], np.s_[:, 1], np.s_[::2], np.s_[:1, 1:], np.s_[:]):
        for turned in (False, True):
            a = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], dtype=np.float32)
            part = a[cut].T if turned else a[cut]
            want = torch.tensor(part.tolist())
            got = ingest(part)
            a += 10
            assert_close(got, want, check_device=False)
    arguments.assert_memory(ingest, "", "float32", "int64")
with check("tensor_writes", "writes to the tensor don't change the array", hint="What else uses this memory?"):
    a = np.array([1.0, 2.0, 3.0], dtype=np.float32)
    ingest(a).fill_(-1.0)
    assert_close(a, np.array([1.0, 2.0, 3.0], dtype=np.float32))
with check(
    "reversed", "reversed arrays", weight=2, hint="What does a negative stride mean, and does PyTorch support it?"
):
    arguments.assert_results(ingest, "reversed", "reversed float32", check_device=False)
with check("non_contiguous", "transposed arrays, strided slices and broadcast arrays"):
    arguments.assert_results(ingest, "transposed", "every second", "broadcast", check_device=False)
    arguments.assert_memory(ingest, "transposed", "every second")
with check("byte_order", "the opposite byte order", hint="Which library can swap the bytes?"):
    arguments.assert_results(ingest, ">f8", ">f4", ">i2", check_device=False)
    arguments.assert_arguments(ingest, ">f8", ">f4", ">i2")
with check(
    "long_integers",
    "integers with more digits than float64 keeps",
    hint="How many bits of an int64 does float64 keep? How often is the number rounded?",
):
    edges = "digits of int64", "digits of uint64", "digits of >i8"
    arguments.assert_results(ingest, *edges, check_device=False, rtol=0, atol=0)
with check("bool_unsigned", "bool, and unsigned integers that don't fit in int16"):
    arguments.assert_results(ingest, "bool", "uint16", "uint64", check_device=False)
with check(
    "zero_dim_empty",
    "0-dim and empty arrays keep their shape",
    hint="Which NumPy functions turn a 0-dim array into shape (1,)?",
):
    arguments.assert_results(ingest, "0-dim", "0-dim float32", "empty", check_device=False)
    arguments.assert_memory(ingest, "0-dim", "0-dim float32")
with check("read_only", "read-only arrays work, and the array isn't changed", guard=True):
    arguments.assert_results(ingest, "read-only", check_device=False)
    arguments.assert_arguments(ingest)


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


# %% wrong "ascontiguousarray keeps every shape" fails=zero_dim_empty
def ingest(array):
    return torch.tensor(np.ascontiguousarray(array, dtype=np.float32))


# %% wrong "PyTorch's default dtype wins" fails=shape_dtype,example,other_cases,reversed,non_contiguous,byte_order,long_integers,bool_unsigned,zero_dim_empty,read_only raises=ValueError
def ingest(array):
    return torch.tensor(np.ascontiguousarray(array))


# %% wrong "Python's numbers carry every digit" fails=long_integers
def ingest(array):
    return torch.tensor(array.tolist(), dtype=torch.float32).reshape(array.shape)


# %% wrong "16 bits are 16 bits" fails=bool_unsigned
def ingest(array):
    if array.dtype.kind in "iu" and array.dtype.itemsize == 2:
        array = array.astype(np.int16)
    return torch.from_numpy(np.array(array, dtype=np.float32))
