# %% exercise
def kept_bytes(sizes: list[int], activation: str, batch: int, dtype: torch.dtype) -> int:
    """The bytes that stack(sizes, activation) keeps for backward, counting each storage once.

    sizes: two to ten ints from 1 to 100, possibly with repeats. activation: "relu", "tanh", "gelu" or "silu".
    batch: the number of samples, 0 to 100. dtype: that of the model and its input, float32, float64 or bfloat16. The
    model's input and its parameters don't count. Returns an int. The list isn't changed.
    """
    ### BEGIN SOLUTION
    storages = 2 if activation in ("gelu", "silu") else 1
    return storages * batch * sum(sizes[1:-1]) * dtype.itemsize
    ### END SOLUTION


# %% promises
# The bytes that -> example, other_cases
# sizes: two to ten -> one_layer, other_cases
# activation: -> example, other_cases
# batch: -> one_layer, other_cases
# dtype: -> dtypes
# The model's input -> example, other_cases, dtypes, one_layer
# Returns an int -> other_cases
# The list isn't -> keeps_list


# %% domain
@domain(
    reference,
    *("relu", "tanh", "gelu", "silu", "one layer", "one hidden layer", "equal sizes", "deep", "sizes of one"),
    *("no sample", "one sample", "float64", "float64, gelu", "bfloat16", "bfloat16, silu", "no sample, bfloat16"),
    "recording off",
    contexts={"recording off": torch.no_grad},
)
def arguments(draw, edge):
    activation = edge.split(", ")[-1]
    if activation not in ACTIVATIONS:
        activation = draw(st.sampled_from(["relu", "tanh", "gelu", "silu"]))
    count = {"one layer": 2, "one hidden layer": 3, "deep": 8}.get(edge, draw(st.integers(4, 5)))
    sizes = list(draw(st.permutations([2, 3, 5, 7, 8, 11, 13, 17])))[:count]
    if edge == "equal sizes":
        sizes = [sizes[0]] * 3 + sizes
    if edge == "sizes of one":
        sizes = [1] * count
    batch = 0 if "no sample" in edge else 1 if edge == "one sample" else draw(st.integers(2, 9))
    dtype = next((dtype for dtype in (torch.float64, torch.bfloat16) if str(dtype)[6:] in edge), torch.float32)
    return sizes, activation, batch, dtype


# %% checks
with check(
    "example",
    "the models above: 56 bytes for tanh, 112 for gelu and for silu",
    weight=2,
    required=True,
    hint=(
        "Which storages did the list above show, besides the batch itself? How many numbers does each have?",
        "Storages, times samples, times the hidden sizes, times the bytes of one number. Which activations keep two?",
    ),
):
    explain(
        kept_bytes([5, 7, 3], "tanh", 2, torch.float32),
        56,
        {
            "the first and the last size don't count: only results of hidden layers are kept": 120,
            "the last layer's result isn't kept: nothing needs it": 80,
            "the model's input doesn't count: it existed before": 96,
            "tanh's result is kept twice, but in one storage": 112,
            "14 is how many numbers are kept: how many bytes does each take?": 14,
            "a hidden layer has a row of numbers for each sample in the batch": 28,
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
        {"silu needs its input, as gelu does: that's a second storage": 56},
        name="your result for silu",
    )

# %% hidden checks
with check(
    "other_cases",
    "other models",
    weight=5,
    required=True,
    hint="Does every hidden layer count, for each sample, and once or twice? What about the last layer and the batch?",
):
    arguments.assert_results(kept_bytes, "", "relu", "tanh", "gelu", "silu", "one hidden layer", "equal sizes")
    arguments.assert_results(kept_bytes, "deep", "sizes of one", "one sample", "recording off")
    for trial in arguments.iter_trials(kept_bytes, ""):
        assert not isinstance(trial.report.result, float), "your result is a float"
with check("dtypes", "float64 and bfloat16", weight=3, hint="How many bytes does a number of each dtype take?"):
    arguments.assert_results(kept_bytes, "float64", "float64, gelu", "bfloat16", "bfloat16, silu")
with check("one_layer", "a single layer keeps nothing of its own, and neither does an empty batch", guard=True):
    arguments.assert_results(kept_bytes, "one layer", "no sample", "no sample, bfloat16")
with check("keeps_list", "the list isn't changed", guard=True, hint="Which of your calls change a list?"):
    arguments.assert_arguments(kept_bytes)


# %% right "measured on a model of that kind"
@torch.enable_grad()
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


# %% wrong "silu is like relu" fails=example,other_cases,dtypes
def kept_bytes(sizes, activation, batch, dtype):
    return (2 if activation == "gelu" else 1) * batch * sum(sizes[1:-1]) * dtype.itemsize
