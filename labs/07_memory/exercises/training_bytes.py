# %% exercise
def training_bytes(parts: list[tuple[list[int], torch.dtype, bool]], optimizer: str, master: bool) -> dict[str, int]:
    """The bytes that training a model needs beside its activations: a dict of ints.

    parts: (shape, dtype, trained) for each parameter. dtype is float32, bfloat16 or float16.
    One that is not trained has weights, and nothing else. optimizer: "sgd" keeps no number for
    a parameter, "momentum" one, "adam" two. master: whether each trained parameter that is not
    float32 has a master copy in float32.

    Returns the keys weights; gradients, each in its parameter's dtype; master, the copies;
    states, in float32 for a parameter with a master copy, and in the parameter's dtype for
    others; and total. Step counts are left out.
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


# %% checks
with check(
    "example",
    "seven billion parameters, float32, Adam: 112 GB",
    weight=2,
    required=True,
    hint=(
        "Which of the five keys differs? How many numbers has a tensor of that shape?",
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
        "Which of the four kinds have two bytes a number here, and which have four?",
        "Weights and gradients have the parameter's dtype. The copy has not, and the states follow the copy.",
    ),
):
    n = 7 * 10**9
    want = {"weights": 2 * n, "gradients": 2 * n, "master": 4 * n, "states": 8 * n, "total": 16 * n}
    explain(
        training_bytes([([7000, 1000, 1000], torch.bfloat16, True)], "adam", True),
        want,
        {
            "Adam changes the master copy: it has two numbers of four bytes": {
                **want,
                "states": 4 * n,
                "total": 12 * n,
            },
            "a master copy is in float32, whatever dtype the weights have": {**want, "master": 2 * n, "total": 14 * n},
        },
    )

# %% hidden checks
with check(
    "optimizers", "each optimizer has its states", weight=2, required=True, hint="How many numbers does each one keep?"
):
    for optimizer_name, numbers in (("sgd", 0), ("momentum", 1), ("adam", 2)):
        w = 4 * (35 + 7)
        want = {"weights": w, "gradients": w, "master": 0, "states": numbers * w, "total": (2 + numbers) * w}
        t = [([7, 5], torch.float32, True), ([7], torch.float32, True)]
        assert_close(training_bytes(t, optimizer_name, False), want)
    w = 4 * 4097 * 4099  # float32 cannot count so far
    want = {"weights": w, "gradients": w, "master": 0, "states": 2 * w, "total": 4 * w}
    assert_close(training_bytes([([4097, 4099], torch.float32, True)], "adam", False), want, name="of a large matrix")
with check(
    "half_precision",
    "bfloat16 and float16, with a master copy and without",
    weight=3,
    required=True,
    hint="Which dtype have the states of a parameter with a master copy, and of one without? What has SGD?",
):
    for dtype, n in ((torch.bfloat16, 12), (torch.float16, 15)):
        t = [([3, n], dtype, True)]
        n = 3 * n
        want = {"weights": 2 * n, "gradients": 2 * n, "master": 4 * n, "states": 8 * n, "total": 16 * n}
        assert_close(training_bytes(t, "adam", True), want, name="with Adam and a master copy")
        want = {"weights": 2 * n, "gradients": 2 * n, "master": 0, "states": 2 * n, "total": 6 * n}
        assert_close(training_bytes(t, "momentum", False), want, name="with momentum and no master copy")
        want = {"weights": 2 * n, "gradients": 2 * n, "master": 4 * n, "states": 0, "total": 8 * n}
        assert_close(training_bytes(t, "sgd", True), want, name="with SGD and a master copy")
with check(
    "frozen", "one that is not trained has weights only", weight=2, hint="Which lines hold for trained parameters only?"
):
    t = [([9, 2], torch.float16, False), ([3, 4], torch.float16, True), ([5], torch.float32, True)]
    want = {"weights": 80, "gradients": 44, "master": 48, "states": 68, "total": 240}
    assert_close(training_bytes(t, "momentum", True), want)
with check("zero_dim_empty", "a number without dimensions, an empty tensor, and no parameter at all", guard=True):
    t = [([], torch.float32, True), ([0, 3], torch.float32, True)]
    want = {"weights": 4, "gradients": 4, "master": 0, "states": 8, "total": 16}
    assert_close(training_bytes(t, "adam", True), want)
    assert_close(training_bytes([], "adam", True), dict.fromkeys(want, 0))


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


# %% wrong "Adam keeps one number" fails=example,two_bytes,optimizers,half_precision,zero_dim_empty
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


# %% wrong "states have the parameter's dtype, beside a master copy too" fails=two_bytes,half_precision,frozen
def training_bytes(parts, optimizer, master):
    found = {"weights": 0, "gradients": 0, "master": 0, "states": 0}
    numbers = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
    for shape, dtype, trained in parts:
        count = math.prod(shape)
        found["weights"] += count * dtype.itemsize
        if trained:
            found["gradients"] += count * dtype.itemsize
            found["master"] += count * 4 * (master and dtype != torch.float32)
            found["states"] += count * numbers * dtype.itemsize
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


# %% wrong "states are always float32" fails=half_precision
def training_bytes(parts, optimizer, master):
    found = {"weights": 0, "gradients": 0, "master": 0, "states": 0}
    numbers = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
    for shape, dtype, trained in parts:
        count = math.prod(shape)
        copied = master and dtype != torch.float32
        found["weights"] += count * dtype.itemsize
        if trained:
            found["gradients"] += count * dtype.itemsize
            found["master"] += count * 4 * copied
            found["states"] += count * numbers * 4
    return {**found, "total": sum(found.values())}


# %% wrong "frozen ones have everything" fails=frozen
def training_bytes(parts, optimizer, master):
    found = {"weights": 0, "gradients": 0, "master": 0, "states": 0}
    numbers = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
    for shape, dtype, _ in parts:
        count = math.prod(shape)
        copied = master and dtype != torch.float32
        found["weights"] += count * dtype.itemsize
        found["gradients"] += count * dtype.itemsize
        found["master"] += count * 4 * copied
        found["states"] += count * numbers * (4 if copied else dtype.itemsize)
    return {**found, "total": sum(found.values())}


# %% wrong "gradients are not counted" fails=example,two_bytes,optimizers,half_precision,frozen,zero_dim_empty
def training_bytes(parts, optimizer, master):
    found = {"weights": 0, "gradients": 0, "master": 0, "states": 0}
    numbers = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
    for shape, dtype, trained in parts:
        count = math.prod(shape)
        copied = master and dtype != torch.float32
        found["weights"] += count * dtype.itemsize
        if trained:
            found["master"] += count * 4 * copied
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
