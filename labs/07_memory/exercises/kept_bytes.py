# %% exercise
def kept_bytes(sizes: list[int], activation: str, batch: int, dtype: torch.dtype) -> int:
    """The bytes that stack(sizes, activation) keeps for backward, each storage once.

    sizes: at least two ints. activation: "relu", "tanh", "gelu" or "silu". batch: the number
    of samples, 0 or more. dtype: float32, float64 or bfloat16, of the model and its input. The
    model's input and its parameters do not count. Returns an int.
    """
    ### BEGIN SOLUTION
    storages = 2 if activation in ("gelu", "silu") else 1
    return storages * batch * sum(sizes[1:-1]) * dtype.itemsize
    ### END SOLUTION


# %% checks
with check(
    "example",
    "the models above: 56 bytes for tanh, 112 for gelu and for silu",
    weight=2,
    required=True,
    hint=(
        "Which storages did the list above show, beside the batch itself? How many numbers has each?",
        "Storages, times samples, times the hidden sizes, times the bytes of one number. Which activations keep two?",
    ),
):
    explain(
        kept_bytes([5, 7, 3], "tanh", 2, torch.float32),
        56,
        {
            "the first and the last size do not count: only results of hidden layers are kept": 120,
            "the last layer's result is not kept: nothing needs it": 80,
            "the model's input does not count: it was there before": 96,
            "tanh's result is kept twice, but it is one storage": 112,
            "14 numbers are kept, and bytes are wanted: how many has each number?": 14,
            "a hidden layer has a row of numbers for each sample of the batch": 28,
        },
        name="your result for tanh",
    )
    explain(
        kept_bytes([5, 7, 3], "gelu", 2, torch.float32),
        112,
        {"gelu keeps its input, and the next layer keeps its result": 56},
        name="your result for gelu",
    )
    explain(
        kept_bytes([5, 7, 3], "silu", 2, torch.float32),
        112,
        {"silu needs its input, as gelu does: that is a second storage": 56},
        name="your result for silu",
    )

# %% hidden checks
with check(
    "other_cases",
    "other models: what was measured",
    weight=5,
    required=True,
    hint="Does every hidden layer count, for each of its samples, and once or twice? And the last one, the batch?",
):
    for sizes, activation, n in (
        ([3, 8, 5, 2], "relu", 6),
        ([4, 6, 9, 7, 5], "silu", 3),
        ([6, 3, 11, 4], "gelu", 1),
        ([2, 5, 13, 3, 1], "tanh", 4),
        ([5, 7, 7, 3, 7, 2], "silu", 2),
    ):
        want = probes.saved_bytes(stack(sizes, activation), torch.zeros(n, sizes[0]))
        got = kept_bytes(sizes, activation, n, torch.float32)
        assert_close(got, want)
with check("dtypes", "float64 and bfloat16", weight=3, hint="How many bytes has a number of each dtype?"):
    for dtype in (torch.float64, torch.bfloat16):
        for activation in ("relu", "gelu"):
            want = probes.saved_bytes(stack([5, 4, 7, 2], activation).to(dtype), torch.zeros(3, 5, dtype=dtype))
            got = kept_bytes([5, 4, 7, 2], activation, 3, dtype)
            assert_close(got, want)
with check("one_layer", "one layer keeps nothing of its own, nor does an empty batch", guard=True):
    for sizes, n in (([5, 3], 4), ([5, 7, 3], 0)):
        assert_close(kept_bytes(sizes, "silu", n, torch.float32), 0)


# %% right "measured on a model of that kind"
def kept_bytes(sizes, activation, batch, dtype):
    model = stack(sizes, activation).to(dtype)
    return probes.saved_bytes(model, torch.zeros(batch, sizes[0], dtype=dtype))


# %% right "a loop over the hidden layers"
def kept_bytes(sizes, activation, batch, dtype):
    total = 0
    for size in sizes[1:-1]:
        one = torch.empty(batch, size, dtype=dtype, device="meta")
        total += one.numel() * one.element_size()
        if activation not in {"relu", "tanh"}:
            total += one.numel() * one.element_size()
    return total


# %% wrong "one storage for every activation function" fails=example,other_cases,dtypes
def kept_bytes(sizes, activation, batch, dtype):
    return batch * sum(sizes[1:-1]) * dtype.itemsize


# %% wrong "each tensor counted as often as it is kept" fails=example,other_cases,dtypes
def kept_bytes(sizes, activation, batch, dtype):
    return 2 * batch * sum(sizes[1:-1]) * dtype.itemsize


# %% wrong "the last layer's result too" fails=example,other_cases,dtypes,one_layer
def kept_bytes(sizes, activation, batch, dtype):
    storages = 2 if activation in ("gelu", "silu") else 1
    return batch * (storages * sum(sizes[1:-1]) + sizes[-1]) * dtype.itemsize


# %% wrong "all sizes" fails=example,other_cases,dtypes,one_layer
def kept_bytes(sizes, activation, batch, dtype):
    storages = 2 if activation in ("gelu", "silu") else 1
    return storages * batch * sum(sizes) * dtype.itemsize


# %% wrong "the model's input too" fails=example,other_cases,dtypes,one_layer
def kept_bytes(sizes, activation, batch, dtype):
    storages = 2 if activation in ("gelu", "silu") else 1
    return storages * batch * sum(sizes[:-1]) * dtype.itemsize


# %% wrong "numbers in place of bytes" fails=example,other_cases,dtypes
def kept_bytes(sizes, activation, batch, dtype):
    storages = 2 if activation in ("gelu", "silu") else 1
    return storages * batch * sum(sizes[1:-1])


# %% wrong "one sample stands for all" fails=example,other_cases,dtypes,one_layer
def kept_bytes(sizes, activation, batch, dtype):
    storages = 2 if activation in ("gelu", "silu") else 1
    return storages * sum(sizes[1:-1]) * dtype.itemsize


# %% wrong "every number has four bytes" fails=dtypes
def kept_bytes(sizes, activation, batch, dtype):
    return (2 if activation in ("gelu", "silu") else 1) * batch * sum(sizes[1:-1]) * 4


# %% wrong "silu is like relu" fails=example,other_cases
def kept_bytes(sizes, activation, batch, dtype):
    return (2 if activation == "gelu" else 1) * batch * sum(sizes[1:-1]) * dtype.itemsize


# %% wrong "the first hidden layer only" fails=other_cases,dtypes
def kept_bytes(sizes, activation, batch, dtype):
    return (2 if activation in ("gelu", "silu") else 1) * batch * sizes[1] * dtype.itemsize * (len(sizes) > 2)


# %% wrong "each size once" fails=other_cases
def kept_bytes(sizes, activation, batch, dtype):
    storages = 2 if activation in ("gelu", "silu") else 1
    return storages * sum(set(sizes[1:-1])) * batch * dtype.itemsize
