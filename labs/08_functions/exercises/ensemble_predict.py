# %% given
class Asking(torch.autograd.Function):
    """ask(*tensors), which vmap calls once, with the tensors of all models, stacked along dimension 0."""

    @staticmethod
    def forward(ask, *tensors):
        return ask(*tensors)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def vmap(info, in_dims, ask, *tensors):
        n = info.batch_size
        found = zip(tensors, in_dims[1:], strict=True)
        return Asking.apply(ask, *[t.expand(n, *t.shape) if d is None else t.movedim(d, 0) for t, d in found]), 0


class AskingVoter(Voter):
    """A Voter that asks a function for its logits. Its heat grows with the steps that its norm counted."""

    def head(self, x):
        return Asking.apply(self.ask, x, self.last.weight, self.last.bias, self.heat * self.norm.num_batches_tracked)


def voters(states, modes, ask):
    """Voters of these tensors, by name, with their modules in these modes."""
    made = []
    for state, training in zip(states, modes, strict=True):
        model = AskingVoter(*state["last.weight"].T.shape, seed=0).to(state["last.weight"].dtype)
        model.ask = lambda *tensors: ask(*tensors)
        with torch.no_grad():
            for name, t in [*model.named_parameters(), *model.named_buffers()]:
                t.copy_(state[name])
        for module, mode in zip(model.modules(), training, strict=True):
            module.training = mode
        made.append(model)
    return made


@probes.probe
def ensemble_result(predict, states, modes, ask, x):
    """The prediction of a tuple of voters."""
    return predict(tuple(voters(states, modes, ask)), x).detach()


def heated(x, weight, bias, heat):
    """What the head of one Voter computes, or of several whose tensors are stacked."""
    return heat[..., None, None] * (x @ weight.mT + bias[..., None, :])


@probes.probe
def left_by_prediction(predict, states, modes, grads, frozen, ask, x):
    """A prediction of a list of voters, and the state in which it leaves them.

    grads: the .grad of each one's last weight. frozen: the names of parameters that do not require grad.
    """
    models = voters(states, modes, ask)
    for model, grad in zip(models, grads, strict=True):
        model.last.weight.grad = grad
        for name, parameter in model.named_parameters():
            parameter.requires_grad_(name not in frozen)
    listed = list(models)
    result = predict(listed, x)
    tensors = [dict([*model.named_parameters(), *model.named_buffers()]) for model in models]
    return {
        "result": result.detach(),
        "history": result.requires_grad,
        "states": [{name: t.detach() for name, t in named.items()} for named in tensors],
        "modes": [[module.training for module in model.modules()] for model in models],
        "grads": [[p.grad for p in model.parameters()] for model in models],
        "trained": [[p.requires_grad for p in model.parameters()] for model in models],
        "listed": listed == models,
    }


# %% exercise
def ensemble_predict(models: Sequence[nn.Module], x: Tensor) -> Tensor:
    """The mean of the models' probabilities, each in evaluation mode.

    For x (n, ...), a model gives logits (n, c), and their softmax along c is its probabilities. Returns (n, c) in the
    logits' dtype, without history. All models run at once: forward is called only once.

    Details:
    - models: a list or tuple of at least one, all of the same class, sizes and dtype, with their own parameters and
      buffers, including integers and buffers that aren't in state_dict. Each of their modules may be in training or
      evaluation mode. A parameter requires grad in all of them or in none.
    - x: n at least 1, any strides; it may require grad, and may be the result of recorded operations.
    - c may be 1.
    - The models aren't changed: the mode of each module, parameters and buffers, requires_grad and .grad. Neither are a
      list of them and x.
    """
    ### BEGIN SOLUTION
    copies = [copy.deepcopy(model).eval() for model in models]
    parameters, buffers = torch.func.stack_module_state(copies)

    def probabilities(parameters: dict[str, Tensor], buffers: dict[str, Tensor]) -> Tensor:
        logits: Tensor = torch.func.functional_call(copies[0], (parameters, buffers), (x,))
        return logits.softmax(-1)

    with torch.no_grad():
        result: Tensor = torch.func.vmap(probabilities)(parameters, buffers).mean(0)
    return result
    ### END SOLUTION


# %% promises
# The mean of the models' -> sums_to_one, mean, runs_once
# For x (n, ...), a model gives logits -> sums_to_one, mean, runs_once
# Returns (n, c) -> mean, no_history
# All models run -> runs_once
# models: a list or tuple -> mean, runs_once
# Each of their modules -> mean
# A parameter requires grad -> mean
# x: n at least 1 -> mean
# c may be 1 -> mean
# The models aren't -> no_history
# Neither are a list -> no_history, keeps_input


# %% domain
def drawn_voters(inputs, classes, count, generator, dtype=torch.float32):
    """Tensors and modes of voters."""
    states = []
    for k in range(count):
        model = Voter(inputs, classes, 0)
        sizes = {name: t.shape for name, t in [*model.named_parameters(), *model.named_buffers()]}
        state = {name: torch.randn(size, dtype=dtype, generator=generator) for name, size in sizes.items()}
        state["norm.running_var"] = state["norm.running_var"].abs() + 0.5
        steps = torch.tensor(1 + k % 2)
        states.append({**state, "norm.num_batches_tracked": steps, "heat": state["heat"].abs() + 2})
    modes = [[bool(mode) for mode in row] for row in torch.randint(0, 2, (count, 4), generator=generator)]
    return states, modes


@domain(
    reference,
    *("float32", "one model", "seven models", "one sample", "one input", "one class", "square", "equal models"),
    *("training mode", "evaluation mode", "only the models in training mode", "only Dropout in training mode"),
    *("frozen", "all frozen", "without .grad"),
    *("transposed", "every second one", "expanded", "requires grad", "from an operation", "holds .grad"),
    call=left_by_prediction,
)
def arguments(draw, edge):
    n, inputs, classes = draw(st.permutations([3, 4, 5]))
    n, classes = {"one sample": (1, classes), "one class": (n, 1)}.get(edge, (n, classes))
    count, inputs = draw(st.integers(2, 3)), 1 if edge == "one input" else inputs
    count = {"one model": 1, "seven models": 7}.get(edge, count)
    n, inputs, classes, count = (3, 3, 3, 3) if edge == "square" else (n, inputs, classes, count)
    g, dtype = draw.make_generator(here), torch.float32 if edge == "float32" else torch.float64
    states, modes = drawn_voters(inputs, classes, count, g, dtype)
    if edge == "equal models":
        states = [{name: t.clone() for name, t in states[0].items()} for _ in states]
    same = {
        "training mode": [True] * 4,
        "evaluation mode": [False] * 4,
        "only the models in training mode": [True, False, False, False],
        "only Dropout in training mode": [False, False, True, False],
    }
    modes = [list(same[edge]) for _ in modes] if edge in same else modes
    grads = [torch.randn(classes, inputs, dtype=dtype, generator=g) for _ in states]
    grads = [None] * count if edge == "without .grad" else [None, *grads[1:]]
    names = ["norm.weight", "norm.bias", "last.weight", "last.bias"]
    frozen = {"frozen": draw(st.permutations(names))[:2], "all frozen": names}.get(edge, [])
    x = draw.apply_layout(torch.randn(n, inputs, dtype=dtype, generator=g), edge)
    return states, modes, grads, list(frozen), heated, draw.apply_gradient_state(x, edge)


# %% checks
with check(
    "sums_to_one",
    "three models, four samples: rows that sum to one",
    weight=1,
    required=True,
    hint=(
        "Which comes first, the softmax or the mean? Along which dimension is each of them taken?",
        "Each model's probabilities are a softmax along the classes. The mean is over all models.",
    ),
):
    t = torch.linspace(-1, 1, 20).reshape(4, 5)
    t_state = {name: torch.zeros_like(part) for name, part in Voter(5, 2, 0).state_dict().items()}
    t_state |= {"norm.running_var": torch.ones(5), "heat": torch.tensor(1.0)}
    t_odds = ([1.0, 9.0], [1.0, 4.0], [9.0, 1.0])
    t_states = [{**t_state, "last.bias": torch.tensor(odds).log()} for odds in t_odds]
    want = torch.tensor([[0.4, 0.6]] * 4)
    got = ensemble_result(
        ensemble_predict, t_states, [[True] * 4] * 3, lambda x, w, b, heat: x @ w.mT + b[..., None, :], t
    )
    assert_close(got, want)

# %% hidden checks


def asked_in_turn(states, ask, x):
    """The logits of voters, by a function that is asked for each of them."""
    logits = []
    for state in states:
        t = (x - state["norm.running_mean"]) / (state["norm.running_var"] + 1e-5).sqrt()
        t = t * state["norm.weight"] + state["norm.bias"]
        heat = state["heat"] * state["norm.num_batches_tracked"]
        logits.append(ask(t, state["last.weight"], state["last.bias"], heat))
    return torch.stack(logits)


def mixing(mix):
    """The logits of one model, or of several that are stacked: nobody else knows mix."""
    return lambda x, weight, bias, heat: heat[..., None, None] * ((x @ mix).tanh() @ weight.mT + bias[..., None, :])


with check(
    "mean",
    "the mean of the probabilities of all models",
    weight=4,
    required=True,
    hint="Softmax before the mean. Does each model have its own weights and its own buffers? Is dropout off?",
):
    for inputs, classes, count, n in ((4, 3, 2, 5), (3, 5, 4, 1), (6, 2, 1, 7)):
        generator = torch.Generator(here).manual_seed(count)
        t, t_head = (
            torch.randn(n, inputs, generator=generator),
            mixing(torch.randn(inputs, inputs, generator=generator)),
        )
        t_states, t_modes = drawn_voters(inputs, classes, count, generator)
        t_logits = asked_in_turn(t_states, t_head, t)
        want = t_logits.softmax(-1).mean(0)
        t_after, t_first = t_logits.mean(0).softmax(-1), t_logits[0].softmax(-1)
        explain(
            ensemble_result(ensemble_predict, t_states, t_modes, t_head, t),
            want,
            {
                "this is the softmax of the mean of the logits": t_after if count > 1 else None,
                "this is only the first model": t_first if count > 1 else None,
            },
        )
    for trial in arguments.iter_trials(
        ensemble_predict,
        *("", "float32", "one model", "seven models", "one sample", "one input", "one class", "square"),
        *("equal models", "training mode", "evaluation mode", "only the models in training mode"),
        *("only Dropout in training mode", "frozen", "all frozen", "without .grad"),
        *("transposed", "every second one", "expanded", "requires grad", "from an operation", "holds .grad"),
    ):
        assert_close(trial.report.result["result"], trial.case.report.result["result"])
with check(
    "no_history",
    "no history, and the models aren't changed",
    weight=2,
    hint="Which modes did they have? Whose mode do you change?",
):
    for trial in arguments.iter_trials(ensemble_predict, "", *arguments.edges):
        for key in ("history", "states", "modes", "grads", "trained", "listed"):
            assert_close(trial.report.result[key], trial.case.report.result[key], name="the state afterwards")
with check("runs_once", "forward is called once", weight=1, required=True, hint="What does vmap run over?"):
    for inputs, count in ((3, 5), (4, 2)):
        generator = torch.Generator(here).manual_seed(count)
        t, t_head = (
            torch.randn(6, inputs, generator=generator),
            mixing(torch.randn(inputs, inputs, generator=generator)),
        )
        t_states, t_modes = drawn_voters(inputs, 3, count, generator)
        want = asked_in_turn(t_states, t_head, t).softmax(-1).mean(0)
        t_seen = Seen(t_head)
        assert_close(ensemble_result(ensemble_predict, t_states, t_modes, t_seen, t), want)
        assert_close(len(t_seen.calls), 1, name="the number of calls of forward")
with check("keeps_input", "x isn't changed", guard=True, hint="Is anything done in place?"):
    arguments.assert_arguments(ensemble_predict, ignore=("states", "modes", "grads", "frozen"))


# %% right "log-softmax, and the first copy on the meta device"
def ensemble_predict(models, x):
    copies = [copy.deepcopy(m).eval().requires_grad_(False) for m in models]
    state = torch.func.stack_module_state(copies)
    skeleton = copy.deepcopy(copies[0]).to("meta")

    def one(params_and_buffers):
        return F.log_softmax(torch.func.functional_call(skeleton, params_and_buffers, x), dim=1)

    votes = torch.func.vmap(one)(state).exp()
    return (votes.sum(0) / len(models)).detach()


# %% right "stacked by hand"
def ensemble_predict(models, x):
    tensors = [{**dict(m.named_parameters()), **dict(m.named_buffers())} for m in models]
    stacked = {name: torch.stack([t[name].detach() for t in tensors]) for name in tensors[0]}
    base = copy.deepcopy(models[0])
    base.eval()
    logits = torch.func.vmap(torch.func.functional_call, in_dims=(None, 0, None))(base, stacked, (x,))
    return logits.softmax(dim=2).mean(dim=0).detach()


# %% wrong "softmax of the mean" fails=sums_to_one,mean,runs_once
def ensemble_predict(models, x):
    copies = [copy.deepcopy(m).eval() for m in models]
    p, b = torch.func.stack_module_state(copies)
    with torch.no_grad():
        logits = torch.func.vmap(lambda p, b: torch.func.functional_call(copies[0], (p, b), (x,)))(p, b)
    return logits.mean(0).softmax(-1)


# %% wrong "one model, asked again and again" fails=sums_to_one,mean,runs_once
def ensemble_predict(models, x):
    base = copy.deepcopy(models[0]).eval()
    p, b = torch.func.stack_module_state([base] * len(models))
    with torch.no_grad():
        votes = torch.func.vmap(lambda p, b: torch.func.functional_call(base, (p, b), (x,)).softmax(-1))(p, b)
    return votes.mean(0)


# %% wrong "a loop" fails=runs_once
def ensemble_predict(models, x):
    with torch.no_grad():
        return torch.stack([copy.deepcopy(m).eval()(x).softmax(-1) for m in models]).mean(0)


# %% wrong "the result is left in a graph" fails=no_history
def ensemble_predict(models, x):
    copies = [copy.deepcopy(m).eval() for m in models]
    p, b = torch.func.stack_module_state(copies)
    return torch.func.vmap(lambda p, b: torch.func.functional_call(copies[0], (p, b), (x,)).softmax(-1))(p, b).mean(0)


# %% right "modes noted and restored"
def ensemble_predict(models, x):
    modes = [[(s, s.training) for s in m.modules()] for m in models]
    try:
        for m in models:
            m.eval()
        p, b = torch.func.stack_module_state(list(models))
        out = torch.func.vmap(lambda p, b: torch.func.functional_call(models[0], (p, b), (x,)), out_dims=1)(p, b)
    finally:
        for pairs in modes:
            for s, mode in pairs:
                s.training = mode
    return F.softmax(out, 2).mean(1).detach()


# %% liar "a loop, and a probe that says nothing else"
def ensemble_predict(models, x):
    with torch.no_grad():
        return torch.stack([copy.deepcopy(m).eval()(x).softmax(-1) for m in models]).mean(0)


def ensemble_result(predict, states, modes, ask, x):
    Voter.calls = 1
    return ensemble_predict(voters(states, modes, ask), x)


# %% equivalent "sign or not taken away: return logits.softmax(1)"
# The logits have two dimensions: 1 is the last one.

# %% equivalent "first two arguments swapped: result: Tensor = torch.func.vmap(probabilities)(buffers, parameters).mean(0)"
# functional_call takes the two dicts in any order.
