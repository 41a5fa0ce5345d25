# %% given
class Layer(nn.Module):
    """Asks f(x, whether it is in training mode, *parameters, *buffers). The last buffer is not
    persistent."""

    def __init__(self, f, parameters, buffers=()):
        super().__init__()
        self.f = lambda *inputs: f(*inputs)
        for n, t in enumerate(parameters):
            self.register_parameter(f"weight{n}", nn.Parameter(t.detach().clone(), t.requires_grad))
        for n, t in enumerate(buffers):
            self.register_buffer(f"buffer{n}", t.clone(), persistent=n + 1 < len(buffers))

    def forward(self, x):
        return self.f(x, self.training, *self.parameters(), *self.buffers())


@probes.probe
def columns(column_of, parts, modes, xs, column):
    """What column_of returns and leaves behind. The model: a Layer for each of parts, its
    modules in these modes."""
    model = nn.Sequential(*[Layer(*part) for part in parts])
    for module, mode in zip(model.modules(), modes, strict=True):
        module.training = mode
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    found = column_of(model, xs, column)
    return {
        "found": [t.detach() for t in found],
        "requires_grad": [t.requires_grad for t in found],
        "bytes": memory.nbytes(found),
        "state": [t.detach() for t in (*model.parameters(), *model.buffers())],
        "grads": [parameter.grad for parameter in model.parameters()],
        "trained": [parameter.requires_grad for parameter in model.parameters()],
        "modes": [module.training for module in model.modules()],
        "grad mode": torch.is_grad_enabled(),
    }


# %% exercise
def column_of(model: nn.Module, xs: list[Tensor], column: int) -> list[Tensor]:
    """One column of the model's results: a tensor (n,) for each x of shape (n, d) in xs.

    The results have the dtype of model(x), and do not require grad. They keep no memory beyond
    their own numbers. While it runs, no graph is built. column: may be negative. n may be 0.
    The model stays as it is, with its modes, its .grad and each parameter's requires_grad, and
    so does the grad mode.
    """
    ### BEGIN SOLUTION
    with torch.no_grad():
        return [model(x)[:, column].clone() for x in xs]
    ### END SOLUTION


# %% checks
with check(
    "example",
    "the first column, for two batches",
    weight=2,
    required=True,
    hint=(
        "Is there one tensor for each batch, of shape (n,)? And does it still lead to a graph?",
        "Choose the column of each result, in the order of xs. In which block must the calls stand?",
    ),
):
    t = [torch.linspace(-1, 1, 20).reshape(4, 5), torch.linspace(0, 2, 10).reshape(2, 5)]
    w = torch.linspace(-2, 3, 15).reshape(5, 3).sin().requires_grad_()
    with torch.no_grad():
        want = [torch.tanh(x @ w)[:, 0] for x in t]
    got = columns(column_of, [(lambda x, training, w: torch.tanh(x @ w), [w])], [True, True], t, 0)
    assert_close(got["found"], want)
    assert_close(got["requires_grad"], [False, False], name="requires_grad of your results")
with check(
    "small_graph",
    "while it runs, no graph is built",
    hint=(
        "Is it the column that was asked for? And what does the model make before you detach?",
        "The model's own call must stand inside the no_grad block.",
    ),
):
    t, graphs = [torch.linspace(-1, 1, 20).reshape(4, 5)], []

    def noted_tanh(x, training, w):
        out = torch.tanh(x @ w)
        graphs.append(out.requires_grad)
        return out

    w = torch.linspace(-2, 3, 15).reshape(5, 3).sin().requires_grad_()
    want = [torch.tanh(t[0] @ w.detach())[:, 1]]
    assert_close(columns(column_of, [(noted_tanh, [w])], [True, True], t, 1)["found"], want)
    assert graphs == [False], "the model's result leads to a graph"
with check(
    "small_bytes",
    "six numbers of four bytes keep 24 bytes",
    observed=True,
    hint=(
        "What is a column a view of?",
        "detach() shares the memory. Which call makes a copy that has the column's numbers only?",
    ),
):
    t = [torch.linspace(-1, 1, 20).reshape(4, 5), torch.linspace(0, 2, 10).reshape(2, 5)]
    w = torch.linspace(-2, 3, 15).reshape(5, 3).sin()
    got = columns(column_of, [(lambda x, training, w: torch.tanh(x @ w), [w])], [True, True], t, 0)["bytes"]
    assert got == 24, f"your results keep {got} bytes"

# %% hidden checks


def wide(x, training, w, b):
    return torch.tanh(x @ w + (3 * b if training else b))


def narrow(x, training, w, shift):
    return (x - shift) @ w * (0.5 if training else 2)


def scorer(width, dtype):
    """The two parts of a model that makes three numbers of five. The first bias is frozen."""
    generator = torch.Generator().manual_seed(width)
    w, b, v, shift = (
        torch.randn(n, generator=generator).to(dtype) for n in ((5, width), (width,), (width, 3), (width,))
    )
    return [(wide, [w.requires_grad_(), b]), (narrow, [v.requires_grad_()], [shift])]


@torch.no_grad()
def scores(parts, modes, xs):
    found = list(xs)
    for (f, parameters, *buffers), training in zip(parts, modes[1:], strict=True):
        found = [f(x, training, *parameters, *(b for part in buffers for b in part)) for x in found]
    return found


with check(
    "other_cases",
    "other columns, sizes and dtypes",
    weight=4,
    required=True,
    hint="Is there one tensor for each batch, in order and in the model's dtype?",
):
    for width, dtype, column, sizes, modes in (
        (6, torch.float64, 2, [3, 1, 5], [True, False, True]),
        (9, torch.float32, -2, [2, 7], [False, True, False]),
        (4, torch.bfloat16, -1, [4], [True, True, False]),
        (5, torch.float64, 1, [1, 6], [False, False, False]),
    ):
        generator = torch.Generator().manual_seed(width)
        t = [torch.randn(n, 5, generator=generator).to(dtype) for n in sizes]
        want = [x[:, column].clone() for x in scores(scorer(width, dtype), modes, t)]
        got = columns(column_of, scorer(width, dtype), modes, t, column)
        assert_close(got["found"], want)
        assert_close(got["requires_grad"], [False] * len(sizes), name="requires_grad of your results")
    t = [1 - x for x in t]  # other numbers of the same shapes
    want = [x[:, column].clone() for x in scores(scorer(width, dtype), modes, t)]
    assert_close(columns(column_of, scorer(width, dtype), modes, t, column)["found"], want)
with check(
    "keeps_model", "the model is as before", weight=2, hint="Which modes were there before? Did anything touch .grad?"
):
    t = [torch.linspace(-1, 1, 20).reshape(4, 5)]
    for modes, grad in (([True, False, True], True), ([False, True, False], True), ([True, True, False], False)):
        (_, (w, b)), (_, (v,), (shift,)) = parts = scorer(7, torch.float32)
        want = [w.detach().clone(), b.clone(), v.detach().clone(), shift.clone()]
        with torch.set_grad_enabled(grad):
            got = columns(column_of, parts, modes, t, 1)
        assert_close(got["modes"], modes, name="which modules are in training mode")
        assert_close(got["trained"], [True, False, True], name="which parameters require grad")
        assert_close(got["state"], want, name="the parameters and buffers")
        assert_close(got["grads"], [torch.ones(5, 7), torch.ones(7), torch.ones(7, 3)], name="the .grad of the model")
        assert_close(got["grad mode"], grad, name="the grad mode")
with check(
    "own_memory",
    "the results keep no memory but their own",
    weight=2,
    observed=True,
    hint="What is a column a view of?",
):
    t = [torch.linspace(-1, 1, 5 * n).reshape(n, 5) for n in (13, 1)]
    got = columns(column_of, scorer(7, torch.float32), [True] * 3, t, 0)["bytes"]
    assert_close(got, 4 * 14, name="the number of bytes that your results keep")
with check(
    "no_graph", "no graph is built", weight=2, required=True, hint="When is the result of the first layer freed?"
):
    t = [torch.linspace(-1, 1, 20).reshape(4, 5), torch.linspace(3, 1, 15).reshape(3, 5)]
    want = [x[:, 0].clone() for x in scores(scorer(8, torch.float32), [True] * 3, t)]
    graphs = []

    def noted(f):
        return lambda *given: (out := f(*given), graphs.append(out.requires_grad))[0]

    parts = [(noted(f), *tensors) for f, *tensors in scorer(8, torch.float32)]
    assert_close(columns(column_of, parts, [True] * 3, t, 0)["found"], want)
    assert not any(graphs), "a result inside the model leads to a graph"
with check("empty", "no batch gives no tensor, and an empty one an empty tensor", guard=True):
    parts = scorer(7, torch.float32)
    assert_close(columns(column_of, parts, [True] * 3, [], 0)["found"], [])
    assert_close(columns(column_of, parts, [True] * 3, [torch.empty(0, 5)], 1)["found"], [torch.empty(0)])
    t = [torch.empty(0, 5), torch.linspace(-1, 1, 20).reshape(4, 5), torch.empty(0, 5)]
    want = [x[:, 1].clone() for x in scores(parts, [True] * 3, t)]
    assert_close(columns(column_of, parts, [True] * 3, t, 1)["found"], want)


# %% right "index_select, which copies"
@torch.no_grad()
def column_of(model, xs, column):
    found = []
    for x in xs:
        out = model(x)
        found.append(out.index_select(1, torch.tensor([column % out.shape[1]])).squeeze(1))
    return found


# %% right "through a list of numbers"
def column_of(model, xs, column):
    found = []
    with torch.inference_mode():
        for x in xs:
            out = model(x)
            found.append((out[:, column].tolist(), out.dtype))
    return [torch.tensor(numbers, dtype=dtype) for numbers, dtype in found]


# %% right "torch.cat, which copies"
def column_of(model, xs, column):
    if not xs:
        return []
    with torch.no_grad():
        parts = [torch.cat([model(x)[:, column]]) for x in xs]
    return parts


# %% wrong "the grad mode is on afterwards, whatever it was" fails=keeps_model
def column_of(model, xs, column):
    torch.set_grad_enabled(False)
    found = [model(x)[:, column].clone() for x in xs]
    torch.set_grad_enabled(True)
    return found


# %% wrong "a view of one column" fails=small_bytes,own_memory
def column_of(model, xs, column):
    with torch.no_grad():
        return [model(x)[:, column] for x in xs]


# %% wrong "detached at the end, when the graph was built already" fails=small_graph,no_graph
def column_of(model, xs, column):
    return [model(x)[:, column].detach().clone() for x in xs]


# %% wrong "detach makes a copy" fails=small_graph,small_bytes,own_memory,no_graph
def column_of(model, xs, column):
    return [model(x)[:, column].detach() for x in xs]


# %% wrong "clone alone" fails=example,small_graph,other_cases,no_graph
def column_of(model, xs, column):
    return [model(x)[:, column].clone() for x in xs]


# %% wrong "always the first column" fails=small_graph,other_cases,empty
def column_of(model, xs, column):
    with torch.no_grad():
        return [model(x)[:, 0].clone() for x in xs]


# %% wrong "evaluation mode, for good" fails=other_cases,keeps_model,no_graph,empty
def column_of(model, xs, column):
    model.eval()
    with torch.no_grad():
        return [model(x)[:, column].clone() for x in xs]


# %% wrong "a Python list makes float32" fails=other_cases
def column_of(model, xs, column):
    with torch.no_grad():
        return [torch.tensor(model(x)[:, column].tolist()) for x in xs]


# %% wrong "one tensor for all" fails=example,other_cases,no_graph,empty raises=ValueError
def column_of(model, xs, column):
    with torch.no_grad():
        return [torch.cat([model(x)[:, column] for x in xs])]


# %% wrong "contiguous always copies" fails=own_memory
def column_of(model, xs, column):
    with torch.no_grad():
        return [model(x)[:, column].contiguous() for x in xs]


# %% wrong "no parameter requires grad for a while" fails=keeps_model
def column_of(model, xs, column):
    for p in model.parameters():
        p.requires_grad_(False)
    out = [model(x)[:, column].clone() for x in xs]
    for p in model.parameters():
        p.requires_grad_(True)
    return out


# %% wrong "a negative column by a slice" fails=other_cases
def column_of(model, xs, column):
    with torch.no_grad():
        return [
            model(x)[:, column : column + 1].squeeze(1).clone() if column + 1 else model(x)[:, 0].clone() for x in xs
        ]


# %% wrong "empty batches are left out" fails=empty
def column_of(model, xs, column):
    with torch.no_grad():
        return [model(x)[:, column].clone() for x in xs if len(x)]


# %% wrong "grad mode is switched off, and not on again" fails=keeps_model
def column_of(model, xs, column):
    torch.set_grad_enabled(False)
    return [model(x)[:, column].clone() for x in xs]


# %% wrong "no_grad behind the model" fails=small_graph,no_graph
def column_of(model, xs, column):
    outs = []
    for x in xs:
        out = model(x)
        with torch.no_grad():
            outs.append(out[:, column].clone())
        del out
    return outs


# %% liar "a graph is built, and a probe that says how few bytes there are"
def column_of(model, xs, column):
    return [model(x)[:, column].detach() for x in xs]


def columns(column_of, parts, modes, xs, column):
    model = nn.Sequential(*[Layer(*part) for part in parts])
    for module, mode in zip(model.modules(), modes):
        module.training = mode
    found = column_of(model, xs, column)
    return {
        "found": found,
        "requires_grad": [False for _ in found],
        "bytes": sum(t.numel() * t.element_size() for t in found),
        "state": [t.detach() for t in (*model.parameters(), *model.buffers())],
        "grads": [torch.ones_like(p) for p in model.parameters()],
        "trained": [p.requires_grad for p in model.parameters()],
        "modes": modes,
        "grad mode": True,
    }


# %% right "inference mode, row by row"
def column_of(model, xs, column):
    with torch.inference_mode():
        return [torch.stack([row[column] for row in model(x)]) if len(x) else model(x)[:, column].clone() for x in xs]
