# %% exercise
def training_bytes(parts: list[tuple[list[int], torch.dtype, bool]], optimizer: str, master: bool) -> dict[str, int]:
    """The bytes that training a model needs besides its activations, as a dict of ints.

    parts: (shape, dtype, trained) for each parameter. A parameter that isn't trained has only weights.
    optimizer: for each number in a trained parameter, "sgd" keeps no numbers, "momentum" one, and "adam" two.
    master: whether each trained parameter that isn't float32 has a master copy in float32.
    The key weights covers all parameters. gradients have the dtype of their parameter. The key master covers the
    copies. states are in float32 for a parameter with a master copy, and in the parameter's dtype for others. total is
    the sum of the other four. There are no other keys.

    Details:
    - parts: there may be none, two may be equal, shape may be [], and a size may be 0. dtype is float32, bfloat16 or
      float16. The parts list isn't changed.
    - Step counts are left out.
    """
    ### BEGIN SOLUTION
    found = {"weights": 0, "gradients": 0, "master": 0, "states": 0}
    numbers = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
    for shape, dtype, trained in parts:
        count = math.prod(shape)
        copied = master and dtype != torch.float32
        found["weights"] += count * dtype.itemsize
        if trained:
            found["gradients"] += count * dtype.itemsize
            found["master"] += count * 4 * copied
            found["states"] += count * numbers * (4 if copied else dtype.itemsize)
    return {**found, "total": sum(found.values())}
    ### END SOLUTION


# %% promises
# The bytes that training -> example, two_bytes, optimizers, half_precision
# parts: (shape -> example, optimizers, frozen
# A parameter that isn't -> frozen
# optimizer: for each -> example, two_bytes, optimizers, half_precision, zero_dim_empty
# master: whether each -> half_precision
# The key weights covers -> frozen
# gradients have the -> two_bytes, half_precision
# The key master covers -> half_precision
# states are in -> half_precision
# total is the sum -> example, two_bytes, optimizers, half_precision, frozen
# There are no other -> example, two_bytes, optimizers, half_precision, frozen, zero_dim_empty
# parts: there may be none -> zero_dim_empty, optimizers
# dtype is float32 -> two_bytes, half_precision
# The parts list isn't -> keeps_list
# Step counts are left -> example, two_bytes, optimizers, half_precision, frozen, zero_dim_empty


# %% domain
@domain(
    reference,
    *("sgd", "momentum", "adam", "copies of float32", "many numbers", "equal parts", "one part"),
    *("bfloat16, copies", "float16, copies", "sgd, copies", "bfloat16", "float16", "mixed dtypes", "mixed, copies"),
    *("some frozen", "some frozen, copies", "all frozen, copies", "no parts", "no sizes", "a size of 0"),
)
def arguments(draw, edge):
    optimizer, master = draw(st.sampled_from(["sgd", "momentum", "adam"])), draw(st.booleans())
    if edge and edge != "no parts":
        optimizer = "momentum" if edge in ("momentum", "float16", "some frozen") else "adam"
        optimizer, master = "sgd" if "sgd" in edge else optimizer, "copies" in edge
    dtypes = {"bfloat16": [torch.bfloat16] * 3, "float16": [torch.float16] * 3}.get(edge.split(",")[0])
    if edge.startswith(("sgd, ", "mixed", "some", "all")):
        dtypes = draw(st.permutations([torch.float32, torch.bfloat16, torch.float16]))
    dtypes = dtypes or [torch.float32] * 3
    if edge.startswith("mixed"):
        dtypes = [*dtypes, dtypes[0]]
    trained = [not edge.startswith("all")] * 4
    if edge.startswith("some"):
        trained[draw(st.integers(0, 2))] = False
    sizes = st.integers(2, 40)
    shapes = [[draw(sizes), draw(sizes)], [draw(sizes)], [draw(sizes), draw(sizes), draw(sizes)], [draw(sizes)]]
    if edge == "many numbers":
        shapes[0] = [4097 + 2 * draw(sizes), 70001]
    if edge == "no sizes":
        shapes[0] = shapes[2] = []
    if edge == "a size of 0":
        shapes[0], shapes[1] = [draw(sizes), 0], [0]
    parts = [(shape, dtype, flag) for shape, dtype, flag in zip(shapes, dtypes, trained, strict=False)]
    if edge == "equal parts":
        parts = [parts[0], *parts, parts[0], parts[2]]
    return parts[: {"no parts": 0, "one part": 1}.get(edge, 6)], optimizer, master


# %% checks
with check(
    "example",
    "seven billion parameters, float32, Adam: 112 GB",
    weight=2,
    required=True,
    hint=(
        "Which of the five keys differs? How many numbers does a tensor of that shape have?",
        "math.prod(shape) numbers of dtype.itemsize bytes each. The total is the sum of the other four.",
    ),
):
    n = 7 * 10**9
    want = {"weights": 4 * n, "gradients": 4 * n, "master": 0, "states": 8 * n, "total": 16 * n}
    explain(
        training_bytes([([7000, 1000, 1000], torch.float32, True)], "adam", False),
        want,
        {
            "Adam keeps two numbers for each parameter": {**want, "states": 4 * n, "total": 12 * n},
            "a float32 parameter needs no master copy": {**want, "master": 4 * n, "total": 20 * n},
        },
    )
with check(
    "two_bytes",
    "the same in bfloat16, with a master copy",
    weight=1,
    hint=(
        "Which of the four kinds take two bytes per number here, and which take four?",
        "Weights and gradients have the parameter's dtype. The copy doesn't, and the states have the copy's dtype.",
    ),
):
    n = 7 * 10**9
    want = {"weights": 2 * n, "gradients": 2 * n, "master": 4 * n, "states": 8 * n, "total": 16 * n}
    explain(
        training_bytes([([7000, 1000, 1000], torch.bfloat16, True)], "adam", True),
        want,
        {
            "Adam updates the master copy: it keeps two numbers of four bytes": {
                **want,
                "states": 4 * n,
                "total": 12 * n,
            },
            "a master copy is in float32, whatever dtype the weights have": {**want, "master": 2 * n, "total": 14 * n},
        },
    )

# %% hidden checks


def assert_ints(trials):
    for trial in trials:
        assert not any(isinstance(n, float) for n in trial.report.result.values()), "one of your numbers is a float"


with check(
    "optimizers", "each optimizer has its states", weight=2, required=True, hint="How many numbers does each one keep?"
):
    arguments.assert_results(training_bytes, "", "sgd", "momentum", "adam", "one part", "equal parts")
    arguments.assert_results(training_bytes, "copies of float32", "many numbers")
    assert_ints(arguments.iter_trials(training_bytes, ""))
with check(
    "half_precision",
    "bfloat16 and float16, with and without a master copy",
    weight=3,
    required=True,
    hint="Which dtype do the states have with a master copy, and without one? What does SGD keep?",
):
    arguments.assert_results(training_bytes, "bfloat16, copies", "float16, copies", "bfloat16", "float16")
    arguments.assert_results(training_bytes, "sgd, copies", "mixed dtypes", "mixed, copies")
with check(
    "frozen", "a frozen parameter has only weights", weight=2, hint="Which lines apply only to trained parameters?"
):
    arguments.assert_results(training_bytes, "some frozen", "some frozen, copies", "all frozen, copies")
with check("zero_dim_empty", "a 0-dim tensor, an empty tensor, and no parameters at all", guard=True):
    arguments.assert_results(training_bytes, "no parts", "no sizes", "a size of 0")
    assert_ints(arguments.iter_trials(training_bytes, "no parts", "no sizes", "a size of 0"))
with check("keeps_list", "the list isn't changed", guard=True, hint="Which of your calls change a list?"):
    arguments.assert_arguments(training_bytes)


# %% right "columns as sums"
def training_bytes(parts, optimizer, master):
    per = ["sgd", "momentum", "adam"].index(optimizer)
    rows = [(torch.Size(s).numel(), d.itemsize, t, master and d.itemsize == 2) for s, d, t in parts]
    out = {
        "weights": sum(n * b for n, b, _, _ in rows),
        "gradients": sum(n * b for n, b, t, _ in rows if t),
        "master": sum(4 * n for n, _, t, m in rows if t and m),
        "states": sum(per * n * (4 if m else b) for n, b, t, m in rows if t),
    }
    out["total"] = out["weights"] + out["gradients"] + out["master"] + out["states"]
    return out


# %% right "real tensors on the meta device"
def training_bytes(parts, optimizer, master):
    weights = [torch.empty(s, dtype=d, device="meta") for s, d, _ in parts]
    trained = [w for w, (_, _, t) in zip(weights, parts) if t]
    copies = [w.float() for w in trained if master and w.dtype != torch.float32]
    worked_on = [w.float() if master else w for w in trained]
    number = {"sgd": 0, "momentum": 1}.get(optimizer, 2)

    def size(ts):
        return sum(t.numel() * t.element_size() for t in ts)

    result = dict(weights=size(weights), gradients=size(trained), master=size(copies), states=number * size(worked_on))
    result["total"] = sum(result.values())
    return result


# %% wrong "Adam keeps one number" fails=example,two_bytes,optimizers,half_precision,frozen,zero_dim_empty
def training_bytes(parts, optimizer, master):
    found = {"weights": 0, "gradients": 0, "master": 0, "states": 0}
    numbers = {"sgd": 0, "momentum": 1, "adam": 1}[optimizer]
    for shape, dtype, trained in parts:
        count = math.prod(shape)
        copied = master and dtype != torch.float32
        found["weights"] += count * dtype.itemsize
        if trained:
            found["gradients"] += count * dtype.itemsize
            found["master"] += count * 4 * copied
            found["states"] += count * numbers * (4 if copied else dtype.itemsize)
    return {**found, "total": sum(found.values())}


# %% wrong "a master copy for everything" fails=example,optimizers,half_precision,frozen,zero_dim_empty
def training_bytes(parts, optimizer, master):
    found = {"weights": 0, "gradients": 0, "master": 0, "states": 0}
    numbers = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
    for shape, dtype, trained in parts:
        count = math.prod(shape)
        found["weights"] += count * dtype.itemsize
        if trained:
            found["gradients"] += count * dtype.itemsize
            found["master"] += count * 4
            found["states"] += count * numbers * 4
    return {**found, "total": sum(found.values())}


# %% wrong "the master copy has the parameter's dtype" fails=two_bytes,half_precision,frozen
def training_bytes(parts, optimizer, master):
    found = {"weights": 0, "gradients": 0, "master": 0, "states": 0}
    numbers = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
    for shape, dtype, trained in parts:
        count = math.prod(shape)
        copied = master and dtype != torch.float32
        found["weights"] += count * dtype.itemsize
        if trained:
            found["gradients"] += count * dtype.itemsize
            found["master"] += count * dtype.itemsize * copied
            found["states"] += count * numbers * (4 if copied else dtype.itemsize)
    return {**found, "total": sum(found.values())}


# %% wrong "sgd has no master copy" fails=half_precision
def training_bytes(parts, optimizer, master):
    per = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
    d = {"weights": 0, "gradients": 0, "master": 0, "states": 0}
    for shape, dtype, trained in parts:
        n = math.prod(shape)
        d["weights"] += n * dtype.itemsize
        if trained:
            d["gradients"] += n * dtype.itemsize
            if master and dtype != torch.float32 and optimizer != "sgd":
                d["master"] += 4 * n
            d["states"] += per * n * (4 if master else dtype.itemsize)
    d["total"] = sum(d.values())
    return d
