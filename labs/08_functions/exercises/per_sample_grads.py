# %% given
class Shared(nn.Module):
    """(n, i) -> (n, i). Its two layers share their weight. In training mode, the result is doubled."""

    def __init__(self, size):
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(size)
            self.part = nn.Linear(size, size)
            self.part_2 = nn.Linear(size, size)
        self.part_2.weight = self.part.weight

    def forward(self, x):
        logits = self.part_2(self.part(x).tanh())
        return 2 * logits if self.training else logits


def model_of(state, frozen):
    """A Small of these tensors, or a Shared. frozen: the names of parameters that don't require grad."""
    if "part.weight" in state:
        model = Shared(len(state["part.bias"])).to(state["part.bias"].dtype)
        model.load_state_dict({**state, "part_2.weight": state["part.weight"]})
    else:
        weight, bias = state["first.weight"], state["last.bias"]
        model = Small(weight.shape[1], len(bias), weight.dtype)
        model.load_state_dict(state)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name not in frozen)
    return model


@probes.probe
def sample_gradients(per_sample, state, frozen, x, y, average=False):
    """What per_sample finds for a Small; its mean over the samples if average."""
    found = per_sample(model_of(state, frozen), x, y)
    return {name: t.detach().mean(0) if average else t.detach() for name, t in found.items()}


@probes.probe
def left_by(per_sample, state, frozen, modes, grads, x, y):
    """What per_sample finds for a model with these modes and .grad, and the state in which it leaves it."""
    model = model_of(state, frozen)
    for module, mode in zip(model.modules(), modes, strict=True):
        module.training = mode
    for name, parameter in model.named_parameters():
        parameter.grad = grads[name]
    found = per_sample(model, x, y)
    return {
        "found": {name: t.detach() for name, t in found.items()},
        "history": [name for name, t in found.items() if t.requires_grad],
        "state": probes.state_of(model),
        "grads": [parameter.grad for parameter in model.parameters()],
        "modes": [module.training for module in model.modules()],
        "frozen": [name for name, p in model.named_parameters() if not p.requires_grad],
    }


# %% exercise
def per_sample_grads(model: nn.Module, x: Tensor, y: Tensor) -> dict[str, Tensor]:
    """The gradient of each sample's own cross entropy with respect to each parameter that requires grad.

    model maps x (n, ...) to logits (n, classes), each row from its own sample. y: (n,), int64, from 0 to
    classes - 1.
    Returns a dict from the name of each parameter that requires grad, as in named_parameters(), to a tensor
    (n, *its shape) of the parameter's dtype, without history.

    Details:
    - model: no dropout, and no batch normalization in training mode. It is called in its current modes, and a call
      changes nothing in it.
    - Some of the model's parameters may not require grad; at least one that it uses does. The dict has zeros for a
      parameter that requires grad but isn't used by the model.
    - Two of the model's modules may share a parameter. named_parameters() lists a shared one once.
    - x: n at least 1, any strides, of the parameters' dtype, without requires_grad. Recording is on.
    - The model isn't changed: the mode of each module, and the requires_grad and .grad of each parameter. Neither are x
      and y.
    """
    ### BEGIN SOLUTION
    trained: dict[str, Tensor] = {name: p for name, p in model.named_parameters() if p.requires_grad}

    def loss(parameters: dict[str, Tensor], one: Tensor, label: Tensor) -> Tensor:
        logits = torch.func.functional_call(model, parameters, (one[None],))
        return F.cross_entropy(logits, label[None])

    found: dict[str, Tensor] = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(trained, x, y)
    return {name: t.detach() for name, t in found.items()}
    ### END SOLUTION


# %% promises
# The gradient of each sample's -> mean, each_sample
# model maps x -> each_sample
# y: (n,), int64 -> each_sample
# Returns a dict -> mean, each_sample, no_history
# model: no dropout -> each_sample
# It is called in -> each_sample, shared
# Some of the model's parameters -> each_sample
# The dict has zeros -> mean, each_sample
# Two of the model's modules -> shared
# named_parameters() lists -> shared
# x: n at least 1 -> each_sample
# Recording is on -> each_sample
# The model isn't changed -> no_history
# Neither are x -> keeps_input


# %% domain
def drawn_state(model, generator):
    """Tensors of a Small or a Shared, by name."""
    state = {}
    for name, t in [*model.named_parameters(), *model.named_buffers()]:
        whole = not t.is_floating_point()
        state[name] = torch.tensor(7) if whole else torch.randn(t.shape, dtype=t.dtype, generator=generator)
    if "norm.running_var" in state:
        state["norm.running_var"] = state["norm.running_var"].abs() + 0.5
    return state


@domain(
    reference,
    *("float32", "one sample", "one input", "one class", "square", "two axes", "the same class"),
    *("nothing frozen", "one parameter trained", "only the unused one frozen", "training mode", "evaluation mode"),
    *("shared", "shared, evaluation mode", "shared, weight frozen", "shared, weight trained"),
    *("transposed", "every second one", "expanded", "logits far apart"),
    call=left_by,
)
def arguments(draw, edge):
    n, inputs, outputs = draw(st.permutations([3, 4, 5]))
    n, inputs, outputs = {
        "one sample": (1, inputs, outputs),
        "one input": (n, 1, outputs),
        "one class": (n, inputs, 1),
        "square": (4, 4, 4),
    }.get(edge, (n, inputs, outputs))
    g, dtype = draw.make_generator(here), torch.float32 if edge in ("float32", "logits far apart") else torch.float64
    x = torch.randn(n, inputs, 2, dtype=dtype, generator=g)
    x = x if edge == "two axes" else x[..., 0].clone()
    y = torch.randint(0, inputs if "shared" in edge else outputs, (n,), generator=g)
    if edge == "the same class":
        y[:] = y[0]
    model = Shared(inputs).to(dtype) if "shared" in edge else Small(inputs, outputs, dtype)
    state = drawn_state(model, g)
    if edge == "logits far apart":  # the first class has a probability below float32's smallest number
        state["last.bias"] += torch.linspace(-100.0, 100.0, outputs)
        y[0] = 0
    names = [name for name, _ in model.named_parameters()]
    grads = {name: torch.randn(state[name].shape, dtype=dtype, generator=g) for name in names}
    grads[draw(st.sampled_from(names))] = None
    frozen = draw(st.permutations(["first.weight", "first.bias", "norm.weight", "norm.bias", "spare"]))[:2]
    modes = [draw(st.booleans()), draw(st.booleans()), False, True]
    if edge == "one parameter trained":
        frozen = [name for name in names if name != "norm.weight"]
    if edge in ("nothing frozen", "only the unused one frozen"):
        frozen = ["spare"] if "unused" in edge else []
    if "mode" in edge:
        modes = [True, True, False, True] if edge == "training mode" else [False] * 4
    if "shared" in edge:
        frozen = {"shared, weight frozen": ["part.weight"], "shared, weight trained": ["part.bias", "part_2.bias"]}.get(
            edge, []
        )
        modes = [edge != "shared, evaluation mode", draw(st.booleans()), False]
    return state, list(frozen), modes, grads, draw.apply_layout(x, edge), draw.apply_layout(y, edge)


# %% checks
with check(
    "mean",
    "the mean over the samples is the gradient of the mean loss",
    weight=2,
    required=True,
    hint=(
        "Is a name wrong, or a number? One parameter is frozen, and one isn't used: what should each of them get?",
        "Differentiate one sample's loss with respect to a dict of its trained parameters. Is anything divided twice?",
    ),
):
    t = torch.linspace(-1, 1, 15).reshape(5, 3)
    t_y = torch.tensor([0, 1, 1, 0, 1])
    t_model = Small(3, 2)
    t_parts = {name: p for name, p in t_model.named_parameters() if p.requires_grad}
    t_loss = F.cross_entropy(t_model(t), t_y)
    t_grads = torch.autograd.grad(t_loss, list(t_parts.values()), materialize_grads=True)
    want = dict(zip(t_parts, t_grads, strict=True))
    assert_close(sample_gradients(per_sample_grads, t_model.state_dict(), ["first.bias"], t, t_y, average=True), want)

# %% hidden checks


def one_by_one(state, frozen, x, y):
    """The gradients of the samples."""
    model = model_of(state, frozen)
    parts = {name: p for name, p in model.named_parameters() if p.requires_grad}
    losses = [F.cross_entropy(model(x[k : k + 1]), y[k : k + 1]) for k in range(len(x))]
    rows = [torch.autograd.grad(loss, list(parts.values()), materialize_grads=True) for loss in losses]
    return {name: torch.stack([row[k] for row in rows]) for k, name in enumerate(parts)}


with check(
    "each_sample",
    "the gradient of each sample",
    weight=4,
    required=True,
    hint="The mean was right. Is row i really the gradient of sample i's loss, and not divided by n?",
):
    for n, inputs, outputs, dtype, frozen in (
        (4, 2, 3, torch.float32, ["first.bias"]),
        (1, 5, 2, torch.float64, []),
        (6, 3, 5, torch.float64, ["last.weight", "norm.bias", "spare"]),
    ):
        generator = torch.Generator(here).manual_seed(n)
        t = torch.randn(n, inputs, 2, dtype=dtype, generator=generator)
        t_y = torch.randint(0, outputs, (n,), generator=generator)
        t_state = drawn_state(Small(inputs, outputs, dtype), generator)
        want = one_by_one(t_state, frozen, t, t_y)
        t_means = {name: part.mean(0).expand_as(part) for name, part in want.items()}
        t_parts = {name: part / n for name, part in want.items()}
        t_sums = {name: part.cumsum(0) for name, part in want.items()}
        explain(
            sample_gradients(per_sample_grads, t_state, frozen, t, t_y),
            want,
            {
                "this is the gradient of the mean loss, once for each sample": t_means if n > 1 else None,
                "this was divided by n": t_parts if n > 1 else None,
                "each row also contains the sum of all rows before it": t_sums if n > 1 else None,
            },
        )
    for trial in arguments.iter_trials(
        per_sample_grads,
        *("", "float32", "one sample", "one input", "one class", "square", "two axes", "the same class"),
        *("nothing frozen", "one parameter trained", "only the unused one frozen", "training mode", "evaluation mode"),
        *("transposed", "every second one", "expanded", "logits far apart"),
    ):
        assert_close(trial.report.result["found"], trial.case.report.result["found"])
with check(
    "shared",
    "a model that depends on its mode and whose layers share a weight",
    hint="What's the name of a parameter that two modules use? In which mode is the model called?",
):
    for trial in arguments.iter_trials(
        per_sample_grads, "shared", "shared, evaluation mode", "shared, weight frozen", "shared, weight trained"
    ):
        assert_close(trial.report.result["found"], trial.case.report.result["found"])
with check(
    "no_history",
    "no history, and .grad, modes and parameters as before",
    weight=2,
    hint="Which calls write to .grad?",
):
    for trial in arguments.iter_trials(per_sample_grads, "", *arguments.edges):
        for key in ("history", "state", "grads", "modes", "frozen"):
            assert_close(trial.report.result[key], trial.case.report.result[key], name="the state afterwards")
with check("keeps_input", "x and y aren't changed", guard=True, hint="Is anything done in place?"):
    arguments.assert_arguments(per_sample_grads)


# %% right "a loop"
def per_sample_grads(model, x, y):
    named = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    rows = []
    for one, label in zip(x.split(1), y.split(1)):
        loss = F.cross_entropy(model(one), label)
        rows.append(torch.autograd.grad(loss, [p for _, p in named], materialize_grads=True))
    return {n: torch.stack(column) for (n, _), column in zip(named, zip(*rows))}


# %% right "is_grads_batched"
def per_sample_grads(model, x, y):
    trained = {n: p for n, p in model.named_parameters() if p.requires_grad}
    losses = F.cross_entropy(model(x), y, reduction="none")
    eye = torch.eye(len(x), dtype=losses.dtype)
    grads = torch.autograd.grad(losses, list(trained.values()), eye, is_grads_batched=True, allow_unused=True)
    return {n: p.new_zeros(len(x), *p.shape) if g is None else g for (n, p), g in zip(trained.items(), grads)}


# %% right "jacrev of the losses"
def per_sample_grads(model, x, y):
    trained = {n: p.detach() for n, p in model.named_parameters() if p.requires_grad}

    def losses(parameters):
        return F.cross_entropy(torch.func.functional_call(model, parameters, x), y, reduction="none")

    return torch.func.jacrev(losses)(trained)


# %% wrong "the mean gradient for everybody" fails=each_sample,shared
def per_sample_grads(model, x, y):
    trained = {n: p for n, p in model.named_parameters() if p.requires_grad}
    grads = torch.autograd.grad(F.cross_entropy(model(x), y), list(trained.values()), materialize_grads=True)
    return {n: g.expand(len(x), *g.shape) for n, g in zip(trained, grads)}


# %% wrong "divided by n once more" fails=mean,each_sample,shared
def per_sample_grads(model, x, y):
    trained = {n: p.detach() for n, p in model.named_parameters() if p.requires_grad}

    def loss(parameters, one, label):
        return F.cross_entropy(torch.func.functional_call(model, parameters, one[None]), label[None]) / len(x)

    return torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(trained, x, y)


# %% wrong "backward adds up" fails=mean,each_sample,shared,no_history
def per_sample_grads(model, x, y):
    model.zero_grad()
    found = {n: [] for n, p in model.named_parameters() if p.requires_grad}
    for one, label in zip(x.split(1), y.split(1)):
        F.cross_entropy(model(one), label).backward()
        for n in found:
            p = model.get_parameter(n)
            found[n].append(torch.zeros_like(p) if p.grad is None else p.grad.clone())
    return {n: torch.stack(rows) for n, rows in found.items()}


# %% wrong "the results are left in a graph" fails=no_history
def per_sample_grads(model, x, y):
    trained = {n: p for n, p in model.named_parameters() if p.requires_grad}

    def loss(parameters, one, label):
        return F.cross_entropy(torch.func.functional_call(model, parameters, one[None]), label[None])

    return torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(trained, x, y)
