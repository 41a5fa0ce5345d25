# %% given
class ByMode(nn.Module):
    """Returns f(x, training), where training says which mode the module is in."""

    def __init__(self, f):
        super().__init__()
        self.f = lambda *inputs: f(*inputs)

    def forward(self, x):
        return self.f(x, self.training)


def make_state(width, seed=2):
    """Weights and running values of a classifier, by name."""
    numbers = torch.randn(9, width, generator=torch.Generator(here).manual_seed(seed))
    return {
        "0.0.weight": numbers[:3].T,
        "0.0.bias": numbers[3],
        "0.1.weight": numbers[4],
        "0.1.bias": numbers[5],
        "0.1.running_mean": numbers[6],
        "0.1.running_var": numbers[7].square() + 0.5,
        "0.1.num_batches_tracked": torch.tensor(width),
        "1.1.weight": numbers[7:],
        "1.1.bias": numbers[8, :2],
    }


def make_classifier(state, f):
    """A body and a head, with one dropout layer that is a part of both, and f at the end."""
    width = len(state["0.0.bias"])
    dropout = nn.Dropout(0.5)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        body = nn.Sequential(nn.Linear(3, width), nn.BatchNorm1d(width), nn.Tanh(), dropout)
        head = nn.Sequential(dropout, nn.Linear(width, 2))
    model = nn.Sequential(body, head, ByMode(f))
    model.load_state_dict(state)
    return model


def marked(x, training):
    """x, with 100 added in training mode and 1000 if operations are recorded."""
    return x + 100 * training + 1000 * torch.is_grad_enabled()


@probes.probe
def predicted(predict, state, f, x, modes, learning, earlier=None):
    """What predict returns for a classifier, and how it leaves the classifier.

    modes: the training flag of each module before. learning: requires_grad of each parameter. Each .grad holds ones.
    earlier: the training flags in an earlier call, when the model had another last layer.
    """
    model = make_classifier(state, f)
    if earlier is not None:
        for module, training in zip(model.modules(), earlier, strict=True):
            module.training = training
        last, model[1][1] = model[1][1], nn.Linear(len(state["0.0.bias"]), 3)
        predict(model, x)
        model[1][1] = last
    for module, training in zip(model.modules(), modes, strict=True):
        module.training = training
    for parameter, flag in zip(model.parameters(), learning, strict=True):
        parameter.requires_grad_(flag)
        parameter.grad = torch.ones_like(parameter)
    result = raised = None
    try:
        result = predict(model, x)
    except ArithmeticError as error:  # f may raise one
        raised = type(error).__name__
    return {
        "result": result,
        "raised": raised,
        "modes": [module.training for module in model.modules()],
        "state": probes.state_of(model),
        "gradients": [parameter.grad for parameter in model.parameters()],
        "learning": [parameter.requires_grad for parameter in model.parameters()],
        "recording": torch.is_grad_enabled(),
    }


@probes.probe
def handed_back(predict, x):
    """What predict returns for a model that returns its input."""
    return predict(nn.Identity(), x)


@probes.probe
def parameter_back(predict, values, recorded=False):
    """What predict returns for a model that returns its parameter, and the parameter's requires_grad afterwards.

    recorded: the model returns a copy of its parameter instead, and turns recording on for it.
    """
    model = ByMode(lambda x, training: torch.enable_grad()(model.values.clone)() if recorded else model.values)
    model.values = nn.Parameter(values.clone())
    result = predict(model, torch.zeros(2))
    return {"result": result.clone(), "result learns": result.requires_grad, "learning": model.values.requires_grad}


# %% exercise
def predict(model: nn.Module, x: Tensor) -> Tensor:
    """model(x) in evaluation mode, with recording off.

    Returns the result, which doesn't require grad, even if the model's own result does.
    Afterward, each module in model is in the mode that it was in. Everything else is as before too: parameters and
    buffers, x, every .grad and requires_grad, and whether operations are recorded.
    All of this also holds if the model raises an error, which reaches the caller.

    Details:
    - model: a module from a tensor to a tensor, whose own tensors are parameters and buffers. In evaluation mode, it
      changes neither itself nor x. It may return x or a parameter itself, or a result that still requires grad. Its
      modules may be in any mixture of modes, and a module may be part of two others.
    - x may require grad or be the result of recorded operations.
    """
    ### BEGIN SOLUTION
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        with torch.no_grad():
            return model(x).detach()
    finally:
        for module, training in modes.items():
            module.training = training
    ### END SOLUTION


# %% promises
# model(x) in evaluation -> example, other_cases
# Returns the result -> returns_input, other_cases
# Afterward, each module -> training_mode, keeps_modes, after_error, returns_input
# Everything else is -> keeps_model, keeps_grad_mode, returns_input, keeps_input
# All of this also -> after_error
# model: a module from -> other_cases
# In evaluation mode, it -> other_cases
# It may return -> returns_input, other_cases
# Its modules may -> keeps_modes, after_error, returns_input
# x may require -> other_cases


# %% domain
@domain(
    reference,
    *("one sample", "training mode", "evaluation mode", "BatchNorm evaluated", "only the model evaluated"),
    *("only the model in training mode", "frozen", "all frozen", "transposed", "recording off"),
    *("changed since an earlier call", "evaluation mode since an earlier call"),
    *("x requires grad", "x from an operation", "x holds .grad"),
    *("an error", "an error, training mode", "an error, recording off"),
    call=predicted,
    contexts={"recording off": torch.no_grad, "an error, recording off": torch.no_grad},
)
def arguments(draw, edge):
    state = make_state(draw(st.integers(3, 5)), draw(st.integers(0, 1000)))
    x = torch.randn(1 if edge == "one sample" else draw(st.integers(2, 5)), 3, generator=draw.make_generator(here))
    mixed = draw(st.lists(st.booleans(), min_size=9, max_size=9))
    mixed[6] = not mixed[5]  # the dropout layer, and the second of the two parts that it's in
    modes = {
        "one sample": [True] * 9,
        "training mode": [True] * 9,
        "an error, training mode": [True] * 9,
        "evaluation mode": [False] * 9,
        "evaluation mode since an earlier call": [False] * 9,
        "BatchNorm evaluated": [True, True, True, False, True, True, True, True, True],
        "only the model evaluated": [False] + [True] * 8,
        "only the model in training mode": [True] + [False] * 8,
    }.get(edge, mixed)
    learning = [True] * 6
    if "frozen" in edge:
        learning = (
            [False] * 6 if edge == "all frozen" else draw(st.permutations([True, True, True, True, False, False]))
        )
    x = draw.apply_gradient_state(draw.apply_layout(x, edge), edge)
    f = marked
    if "an error" in edge:

        def f(x, training):
            raise ZeroDivisionError("the model failed")

    earlier = None
    if edge == "evaluation mode since an earlier call":
        earlier = [True] * 9
    if edge == "changed since an earlier call":
        earlier = [not training for training in modes]
    return state, f, x, modes, list(learning), earlier


# %% checks
with check(
    "example",
    "the result in evaluation mode, with recording off",
    weight=2,
    required=True,
    hint=(
        "While the model runs, which mode is each module in, and is recording off?",
        "model.eval() reaches every module inside. It doesn't turn recording off; no_grad does.",
    ),
):
    t = torch.tensor([[1.0, 2.0, 3.0], [-1.0, 0.5, 2.0]])
    s = make_state(5)
    hidden = t @ s["0.0.weight"].T + s["0.0.bias"]
    scale = s["0.1.weight"] / (s["0.1.running_var"] + 1e-5).sqrt()
    hidden = torch.tanh((hidden - s["0.1.running_mean"]) * scale + s["0.1.bias"])
    want = hidden @ s["1.1.weight"].T + s["1.1.bias"]
    explain(
        predicted(
            predict,
            s,
            lambda x, training: 7 * x if training or torch.is_grad_enabled() else x,
            t,
            [True] * 9,
            [True] * 6,
        )["result"],
        want,
        {"operations were recorded, or the last module was in training mode": 7 * want},
    )
with check(
    "training_mode",
    "afterward, the model is in training mode, as before",
    hint=(
        "Which of your lines changes a mode, and which line restores each module's mode?",
        "Before eval(), note the flag of each module in model.modules(). Restore each of them after the call.",
    ),
):
    t = torch.tensor([[1.0, 2.0, 3.0], [-1.0, 0.5, 2.0]])
    want = torch.tensor([[4.0], [1.5]])
    got = predicted(predict, make_state(4), lambda x, training: x[:, :1] * 0 + want, t, [True] * 9, [True] * 6)
    assert_close(got["result"], want)
    assert got["modes"] == [True] * 9, "not every module is in training mode now"

# %% hidden checks
with check(
    "other_cases",
    "other weights, one sample, and a model that's already in evaluation mode",
    weight=2,
    required=True,
    hint="Is there a layer that needs more than one sample in training mode? Which part of the model is recorded?",
):
    t = torch.linspace(-1, 2, 12).reshape(3, 4).T
    asked = Seen(lambda x, training: -2 * x if training else -3 * x)
    now = make_state(5, 3)
    want = reference.function(make_classifier(now, asked), t)
    asked.calls.clear()
    assert_close(predicted(predict, now, asked, t, [True] * 9, [True] * 6)["result"], want)
    assert not any(call.grad for call in asked.calls), "operations of the model were recorded"
    for trial in arguments.iter_trials(predict, "", "one sample", "training mode", "evaluation mode", "transposed"):
        assert_close(trial.report.result["result"], trial.case.report.result["result"])
    for trial in arguments.iter_trials(predict, "x requires grad", "x from an operation", "x holds .grad"):
        assert_close(trial.report.result["result"], trial.case.report.result["result"])
with check(
    "keeps_modes",
    "each module is in the mode that it was in",
    weight=4,
    hint=(
        "Is one flag enough for a whole model? Which modules does train(flag) reach, if one has two parents? Do you look "
        "at the flags in each call?"
    ),
):
    for trial in arguments.iter_trials(
        predict,
        *("", "training mode", "evaluation mode", "BatchNorm evaluated", "only the model evaluated"),
        *("only the model in training mode", "changed since an earlier call", "evaluation mode since an earlier call"),
    ):
        got, want = trial.report.result, trial.case.report.result
        assert_close(got["result"], want["result"])
        assert got["modes"] == want["modes"], "the modules in evaluation mode aren't the same as before"
with check(
    "keeps_model",
    "the running values of BatchNorm, all weights, and their .grad and requires_grad are as before",
    weight=2,
    hint="Was the model in evaluation mode every time it ran?",
):
    for trial in arguments.iter_trials(predict, "", "training mode", "frozen", "all frozen"):
        got, want = trial.report.result, trial.case.report.result
        assert_close(got["result"], want["result"])
        assert_close(got["state"], want["state"], rtol=0, atol=0, name="the state of the model")
        assert_close(got["gradients"], want["gradients"], name="the .grad of the model")
        assert got["learning"] == want["learning"], "the frozen parameters aren't the same as before"
with check(
    "after_error",
    "the modes are restored even after an error, which reaches the caller",
    weight=2,
    guard=True,
    hint="Which lines run after an error? What does a return in finally do to the error?",
):
    for trial in arguments.iter_trials(predict, "an error", "an error, training mode", "an error, recording off"):
        got, want = trial.report.result, trial.case.report.result
        assert got["raised"] == "ZeroDivisionError", "the model raised an error, but your function didn't"
        assert got["modes"] == want["modes"], "the modules in evaluation mode aren't the same as before"
        assert got["recording"] == want["recording"], "the call turned recording on or off"
        assert_close(got["gradients"], want["gradients"], name="the .grad of the model")
        assert got["learning"] == want["learning"], "the frozen parameters aren't the same as before"
with check(
    "returns_input",
    "a model that returns its input, a parameter, or a recorded result",
    hint="If x requires grad, does your result require it too?",
):
    for flag in (True, False):
        t = torch.tensor([[1.0, -2.0, 0.5]])
        want = t.clone()
        t.requires_grad_(flag)
        got = handed_back(predict, t)
        assert_close(got, want)
        assert not got.requires_grad, "your result requires grad"
        assert t.requires_grad is flag, "x doesn't have the same requires_grad as before"
    t = torch.tensor([1.0, -2.0])
    for recorded in (False, True):
        got = parameter_back(predict, t, recorded)
        assert_close(got, {"result": t, "result learns": False, "learning": True})
with check(
    "keeps_grad_mode",
    "afterward, recording is on or off as before",
    guard=True,
    hint="Do you turn recording on by hand?",
):
    for trial in arguments.iter_trials(predict, "", "recording off"):
        got, want = trial.report.result, trial.case.report.result
        assert_close(got["result"], want["result"])
        assert got["recording"] == want["recording"], "the call turned recording on or off"
    arguments.assert_settings(predict, "", "recording off")
with check("keeps_input", "x isn't changed", guard=True, hint="Which of your calls change x?"):
    arguments.assert_arguments(predict)


# %% right "inference mode, and the flag of each module"
def predict(model, x):
    training = [m for m in model.modules() if m.training]
    for m in training:
        m.training = False
    try:
        with torch.inference_mode():
            return model(x).clone()
    finally:
        for m in training:
            m.training = True


# %% right "a copy of the model, which may be changed"
def predict(model, x):
    import copy

    other = copy.deepcopy(model).eval()
    return torch.no_grad()(other)(x).detach()


# %% right "the grad mode by hand"
def predict(model, x):
    before = [(m, m.training) for m in model.modules()]
    recording = torch.is_grad_enabled()
    model.train(False)
    torch.set_grad_enabled(False)
    try:
        return model(x).detach()
    finally:
        torch.set_grad_enabled(recording)
        for m, training in before:
            m.training = training


# %% wrong "a return in finally" fails=after_error
def predict(model, x):
    modes = [(m, m.training) for m in model.modules()]
    model.eval()
    result = None
    try:
        with torch.no_grad():
            result = model(x).detach()
    finally:
        for m, training in modes:
            m.training = training
        return result


# %% wrong "inside no_grad nothing requires grad" fails=returns_input
def predict(model, x):
    modes = [(m, m.training) for m in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            return model(x)
    finally:
        for m, training in modes:
            m.training = training


# %% liar "evaluation mode for good, and a probe that says each module is as it was"
def predict(model, x):
    model.eval()
    with torch.no_grad():
        return model(x).detach()


def predicted(predict, state, f, x, modes, learning, earlier=None):
    model = make_classifier(state, f)
    result = raised = None
    try:
        result = predict(model, x)
    except ArithmeticError as error:
        raised = type(error).__name__
    return {
        "result": result,
        "raised": raised,
        "modes": modes,
        "state": state,
        "gradients": [torch.ones_like(p) for p in model.parameters()],
        "learning": learning,
        "recording": torch.is_grad_enabled(),
    }


# %% wrong "eval() switches recording off, and detach makes sure" fails=example,other_cases,keeps_modes,keeps_model,keeps_grad_mode
def predict(model, x):
    modes = [(m, m.training) for m in model.modules()]
    model.eval()
    try:
        return model(x).detach()
    finally:
        for m, training in modes:
            m.training = training


# %% wrong "nothing goes wrong in a model" fails=after_error,returns_input
def predict(model, x):
    modes = [(m, m.training) for m in model.modules()]
    model.eval()
    with torch.no_grad():
        result = model(x)
    for m, training in modes:
        m.training = training
    return result


# %% equivalent "copies of results that share memory with an argument"
# The docstring does not say whose memory the result has: it leaves x as it is, and so does a copy.
