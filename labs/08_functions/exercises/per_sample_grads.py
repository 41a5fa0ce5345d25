# %% given
def small_of(state, frozen):
    """A Small of these tensors. frozen: the names of parameters that do not require grad."""
    weight, bias = state["first.weight"], state["last.bias"]
    model = Small(weight.shape[1], len(bias), weight.dtype)
    model.load_state_dict(state)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name not in frozen)
    return model


@probes.probe
def sample_gradients(per_sample, state, frozen, x, y, average=False):
    """What per_sample finds for a Small; its mean over the samples if average."""
    found = per_sample(small_of(state, frozen), x, y)
    return {name: t.detach().mean(0) if average else t.detach() for name, t in found.items()}


@probes.probe
def left_by(per_sample, state, frozen, modes, grads, x, y):
    """What per_sample leaves behind of a Small in these modes, and with these .grad."""
    model = small_of(state, frozen)
    for module, mode in zip(model.modules(), modes, strict=True):
        module.training = mode
    for name, parameter in model.named_parameters():
        parameter.grad = grads[name]
    found = per_sample(model, x, y)
    return {
        "history": [name for name, t in found.items() if t.requires_grad],
        "state": probes.state_of(model),
        "grads": probes.gradients_of(model),
        "modes": [module.training for module in model.modules()],
        "frozen": [name for name, p in model.named_parameters() if not p.requires_grad],
    }


# %% exercise
def per_sample_grads(model: nn.Module, x: Tensor, y: Tensor) -> dict[str, Tensor]:
    """The gradient of each sample's own cross entropy by each parameter that requires grad.

    model: from (n, ...) to logits (n, classes), each row from its own sample: no dropout, no batch normalisation in
    training mode. Some of its parameters may not require grad. x: (n, ...), n at least 1, does not either. y: (n,),
    int64.
    Returns the name of each parameter that requires grad, as in named_parameters(), with a tensor (n, *its shape) of
    the parameter's dtype, without history: zeros for one that the model does not use. The model stays as it is, with
    its modes and its .grad.
    """
    ### BEGIN SOLUTION
    trained: dict[str, Tensor] = {name: p for name, p in model.named_parameters() if p.requires_grad}

    def loss(parameters: dict[str, Tensor], one: Tensor, label: Tensor) -> Tensor:
        logits = torch.func.functional_call(model, parameters, (one[None],))
        return F.cross_entropy(logits, label[None])

    found: dict[str, Tensor] = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(trained, x, y)
    return {name: t.detach() for name, t in found.items()}
    ### END SOLUTION


# %% checks
with check(
    "mean",
    "the mean over the samples is the gradient of the mean loss",
    weight=2,
    required=True,
    hint=(
        "Is a name wrong, or a number? One parameter is frozen, and one is not used: what does each of them get?",
        "Differentiate the loss of one sample, by a dict of the parameters that require grad. Is anything divided twice?",
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


def drawn_state(inputs, outputs, dtype, generator):
    """Tensors of a Small."""
    state = Small(inputs, outputs, dtype).state_dict()
    drawn = {name: torch.randn(t.shape, dtype=dtype, generator=generator) for name, t in state.items()}
    count = {"norm.num_batches_tracked": torch.tensor(inputs)}
    return {**drawn, "norm.running_var": drawn["norm.running_var"].abs() + 0.5, **count}


def one_by_one(state, frozen, x, y):
    """The gradients of the samples."""
    model = small_of(state, frozen)
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
        t_state = drawn_state(inputs, outputs, dtype, generator)
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
                "each row holds the sum of all rows before it too": t_sums if n > 1 else None,
            },
        )
with check(
    "no_history", "no history, and .grad, modes and parameters as before", weight=2, hint="Which calls write to .grad?"
):
    generator = torch.Generator(here).manual_seed(8)
    t, t_y = torch.randn(4, 3, generator=generator), torch.tensor([2, 0, 1, 1])
    t_state = drawn_state(3, 4, torch.float32, generator)
    t_grads = {name: torch.randn(p.shape, generator=generator) for name, p in Small(3, 4).named_parameters()}
    t_grads = {**t_grads, "last.bias": None}
    want = {
        "history": [],
        "state": {name: part.clone() for name, part in t_state.items()},
        "grads": {name: None if part is None else part.clone() for name, part in t_grads.items()},
        "modes": [False, True, False, True],
        "frozen": ["norm.weight"],
    }
    got = left_by(per_sample_grads, t_state, ["norm.weight"], [False, True, False, True], t_grads, t, t_y)
    assert_close(got, want, name="what is there afterwards")


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


# %% wrong "the mean gradient for everybody" fails=each_sample
def per_sample_grads(model, x, y):
    trained = {n: p for n, p in model.named_parameters() if p.requires_grad}
    grads = torch.autograd.grad(F.cross_entropy(model(x), y), list(trained.values()), materialize_grads=True)
    return {n: g.expand(len(x), *g.shape) for n, g in zip(trained, grads)}


# %% wrong "divided by n once more" fails=mean,each_sample
def per_sample_grads(model, x, y):
    trained = {n: p.detach() for n, p in model.named_parameters() if p.requires_grad}

    def loss(parameters, one, label):
        return F.cross_entropy(torch.func.functional_call(model, parameters, one[None]), label[None]) / len(x)

    return torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(trained, x, y)


# %% wrong "backward adds up" fails=mean,each_sample,no_history
def per_sample_grads(model, x, y):
    model.zero_grad()
    found = {n: [] for n, p in model.named_parameters() if p.requires_grad}
    for one, label in zip(x.split(1), y.split(1)):
        F.cross_entropy(model(one), label).backward()
        for n in found:
            p = model.get_parameter(n)
            found[n].append(torch.zeros_like(p) if p.grad is None else p.grad.clone())
    return {n: torch.stack(rows) for n, rows in found.items()}


# %% wrong "backward, and .grad is left" fails=no_history
def per_sample_grads(model, x, y):
    found = {n: [] for n, p in model.named_parameters() if p.requires_grad}
    for one, label in zip(x.split(1), y.split(1)):
        model.zero_grad()
        F.cross_entropy(model(one), label).backward()
        for n in found:
            p = model.get_parameter(n)
            found[n].append(torch.zeros_like(p) if p.grad is None else p.grad.clone())
    return {n: torch.stack(rows) for n, rows in found.items()}


# %% wrong "frozen parameters too" fails=mean,each_sample
def per_sample_grads(model, x, y):
    def loss(parameters, one, label):
        return F.cross_entropy(torch.func.functional_call(model, parameters, one[None]), label[None])

    everything = {n: p.detach() for n, p in model.named_parameters()}
    return torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(everything, x, y)


# %% wrong "evaluation mode, and training mode afterwards" fails=no_history
def per_sample_grads(model, x, y):
    model.eval()
    trained = {n: p.detach() for n, p in model.named_parameters() if p.requires_grad}

    def loss(parameters, one, label):
        return F.cross_entropy(torch.func.functional_call(model, parameters, one[None]), label[None])

    found = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(trained, x, y)
    model.train()
    return found


# %% wrong "the largest logit instead of the loss" fails=mean,each_sample
def per_sample_grads(model, x, y):
    trained = {n: p.detach() for n, p in model.named_parameters() if p.requires_grad}

    def loss(parameters, one, label):
        return -torch.func.functional_call(model, parameters, one[None])[0].amax()

    return torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(trained, x, y)


# %% wrong "every parameter is used" fails=mean,each_sample,no_history raises=RuntimeError
def per_sample_grads(model, x, y):
    named = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    rows = []
    for one, label in zip(x.split(1), y.split(1)):
        rows.append(torch.autograd.grad(F.cross_entropy(model(one), label), [p for _, p in named]))
    return {n: torch.stack(column) for (n, _), column in zip(named, zip(*rows))}


# %% wrong "a parameter that is not used has no entry" fails=mean,each_sample
def per_sample_grads(model, x, y):
    trained = {n: p for n, p in model.named_parameters() if p.requires_grad}
    losses = F.cross_entropy(model(x), y, reduction="none")
    eye = torch.eye(len(x), dtype=losses.dtype)
    grads = torch.autograd.grad(losses, list(trained.values()), eye, is_grads_batched=True, allow_unused=True)
    return {n: g for n, g in zip(trained, grads) if g is not None}


# %% wrong "through float32" fails=each_sample
def per_sample_grads(model, x, y):
    trained = {n: p.detach().float() for n, p in model.named_parameters() if p.requires_grad}
    base = copy.deepcopy(model).float()

    def loss(parameters, one, label):
        return F.cross_entropy(torch.func.functional_call(base, parameters, one[None]), label[None])

    found = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(trained, x.float(), y)
    return {n: t.to(x.dtype) for n, t in found.items()}


# %% wrong "the first sample is asked for its shape, and left out" fails=mean,each_sample
def per_sample_grads(model, x, y):
    trained = {n: p for n, p in model.named_parameters() if p.requires_grad}
    found = {n: torch.zeros(len(x), *p.shape, dtype=p.dtype) for n, p in trained.items()}
    for k in range(1, len(x)):
        loss = F.cross_entropy(model(x[k : k + 1]), y[k : k + 1])
        for n, g in zip(trained, torch.autograd.grad(loss, list(trained.values()), materialize_grads=True)):
            found[n][k] = g
    return found


# %% wrong "the results are left in a graph" fails=no_history
def per_sample_grads(model, x, y):
    trained = {n: p for n, p in model.named_parameters() if p.requires_grad}

    def loss(parameters, one, label):
        return F.cross_entropy(torch.func.functional_call(model, parameters, one[None]), label[None])

    return torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(trained, x, y)


# %% wrong "everything is trained afterwards" fails=no_history
def per_sample_grads(model, x, y):
    trained = {n: p.detach() for n, p in model.named_parameters() if p.requires_grad}
    model.requires_grad_(False)

    def loss(parameters, one, label):
        return F.cross_entropy(torch.func.functional_call(model, parameters, one[None]), label[None])

    found = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(trained, x, y)
    model.requires_grad_()
    return found
