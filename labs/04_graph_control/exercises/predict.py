# %% exercise
def predict(model: nn.Module, x: Tensor) -> Tensor:
    """model(x) in evaluation mode, with recording off.

    model: any module that takes and returns a tensor, which may be its input, with any mixture of modules in training
    and in evaluation mode.
    Returns the result, which does not require grad, also where x does and the model returns it. x stays as it is.
    Afterwards each module in model is in the mode that it was in, also where model
    raised an error, which goes on to the caller. Parameters, buffers, requires_grad flags and whether operations are
    recorded are as before.
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


# %% checks
with check(
    "example",
    "the result of evaluation mode, with recording off",
    weight=2,
    required=True,
    hint=(
        "While the model runs: in which mode is each module, and is recording off?",
        "model.eval() reaches every module inside. It does not switch recording off: no_grad does.",
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
    "afterwards the model is in training mode, as it was",
    hint=(
        "Which of your lines changes a mode, and which line gives each module its mode back?",
        "Before eval(), note the flag of each module in model.modules(). Set each of them again after the call.",
    ),
):
    t = torch.tensor([[1.0, 2.0, 3.0], [-1.0, 0.5, 2.0]])
    want = torch.tensor([[4.0], [1.5]])
    got = predicted(predict, make_state(4), lambda x, training: x[:, :1] * 0 + want, t, [True] * 9, [True] * 6)
    assert_close(got["result"], want)
    assert got["modes"] == [True] * 9, "not every module is in training mode now"

# %% hidden checks


def classified(state, x):
    """What the classifier gives in evaluation mode, without its last part."""
    x = nn.functional.linear(x, state["0.0.weight"], state["0.0.bias"])
    mean, var = state["0.1.running_mean"], state["0.1.running_var"]
    x = nn.functional.batch_norm(x, mean, var, state["0.1.weight"], state["0.1.bias"])
    return nn.functional.linear(x.tanh(), state["1.1.weight"], state["1.1.bias"])


with check(
    "other_cases",
    "other weights, one sample, and a model that is in evaluation mode already",
    weight=2,
    required=True,
    hint="Is there a layer that needs more than one sample in training mode? Which part of the model is recorded?",
):
    for seed, count, modes in (
        (3, 1, [True] * 9),
        (4, 5, [True, True, True, False, True, True, True, True, True]),
        (5, 2, [False] * 9),
    ):
        t = torch.linspace(-1, 2, 3 * count).reshape(3, count).T
        now = make_state(seed + 2, seed)
        want = -3 * classified(now, t)
        asked = Seen(lambda x, training: -2 * x if training else -3 * x)
        assert_close(predicted(predict, now, asked, t, modes, [True] * 6)["result"], want)
        assert not any(call.grad for call in asked.calls), "operations of the model were recorded"
with check(
    "keeps_modes",
    "each module is in the mode that it was in",
    weight=4,
    hint="Is one flag enough for a whole model? And which modules does train(flag) reach, if one has two parents?",
):
    t = torch.tensor([[1.0, 2.0, 3.0], [-1.0, 0.5, 2.0]])
    for seed, modes in enumerate(
        (
            [True] * 9,
            [True, True, True, False, True, True, True, True, True],
            [True, False, True, False, True, False, True, True, True],
            [False, True, True, True, True, True, False, True, False],
            [True, False, True, True, True, True, True, True, True],
            [False] * 9,
        )
    ):
        now = make_state(4, seed)
        want = classified(now, t) + seed
        got = predicted(predict, now, lambda x, training, seed=seed: x + seed, t, modes, [True] * 6)
        assert_close(got["result"], want)
        assert got["modes"] == modes, "another set of modules is in evaluation mode than before"
with check(
    "keeps_model",
    "the running values of BatchNorm and all weights are as before",
    weight=2,
    hint="Was the model in evaluation mode at each moment when it ran?",
):
    for seed, learning in ((2, [True] * 6), (6, [False, True, True, True, True, False])):
        t = torch.tensor([[1.0, 2.0, 30.0], [-1.0, 0.5, 2.0]])
        now = make_state(seed + 3, seed)
        want, before = classified(now, t) * 2, {name: value.clone() for name, value in now.items()}
        got = predicted(predict, now, lambda x, training: x * 2, t, [True] * 9, learning)
        assert_close(got["result"], want)
        assert_close(got["state"], before, rtol=0, atol=0, name="the state of the model")
        assert got["learning"] == learning, "other parameters are frozen than before"
with check(
    "after_error",
    "the modes come back after an error too, and the error goes on",
    weight=2,
    guard=True,
    hint="Which lines run after an error? What does a return in finally do to it?",
):

    def failing(x, training):
        raise ZeroDivisionError("the model failed")

    for modes in ([True] * 9, [True, True, True, False, True, True, False, True, True]):
        got = predicted(predict, make_state(4), failing, torch.zeros(2, 3), modes, [True] * 6)
        assert got["raised"] == "ZeroDivisionError", "the model raised an error, and your function did not"
        assert got["modes"] == modes, "another set of modules is in evaluation mode than before"
        assert got["recording"] is True, "recording was on before the call, and is off now"
with check("returns_input", "a model that returns its input", hint="Does x require grad, and so your result?"):
    for flag in (True, False):
        t = torch.tensor([[1.0, -2.0, 0.5]])
        want = t.clone()
        t.requires_grad_(flag)
        got = handed_back(predict, t)
        assert_close(got, want)
        assert not got.requires_grad, "your result requires grad"
        assert t.requires_grad is flag, "x has another requires_grad than before"
with check(
    "keeps_grad_mode",
    "recording is afterwards as it was, on or off",
    guard=True,
    hint="Do you switch recording on by hand?",
):
    t = torch.tensor([[1.0, 2.0, 3.0], [-1.0, 0.5, 2.0]])
    for flag in (True, False):
        with torch.set_grad_enabled(flag):
            got = predicted(predict, make_state(3), lambda x, training: x, t, [True] * 9, [True] * 6)
            assert got["recording"] is flag, "recording was switched by the call"
    assert not t.requires_grad, "x requires grad now"


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


def predicted(predict, state, f, x, modes, learning):
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
        "learning": learning,
        "recording": torch.is_grad_enabled(),
    }


# %% wrong "train() from the outside to the inside" fails=keeps_modes,after_error,returns_input
def predict(model, x):
    before = [(m, m.training) for m in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            return model(x)
    finally:
        for m, training in before:
            m.train(training)


# %% wrong "no_grad is evaluation" fails=example,other_cases,keeps_modes,keeps_model,returns_input raises=ValueError
def predict(model, x):
    with torch.no_grad():
        return model(x)


# %% wrong "eval() switches recording off, and detach makes sure" fails=example,other_cases
def predict(model, x):
    modes = [(m, m.training) for m in model.modules()]
    model.eval()
    try:
        return model(x).detach()
    finally:
        for m, training in modes:
            m.training = training


# %% wrong "a model stays in evaluation mode" fails=training_mode,keeps_modes,after_error,returns_input
def predict(model, x):
    model.eval()
    with torch.no_grad():
        return model(x)


# %% wrong "after a prediction, training goes on" fails=keeps_modes,after_error,returns_input
def predict(model, x):
    model.eval()
    try:
        with torch.no_grad():
            return model(x)
    finally:
        model.train()


# %% wrong "the model has one mode" fails=keeps_modes,after_error,returns_input
def predict(model, x):
    was = model.training
    model.eval()
    try:
        with torch.no_grad():
            return model(x)
    finally:
        model.train(was)


# %% wrong "nothing goes wrong in a model" fails=after_error,returns_input
def predict(model, x):
    modes = [(m, m.training) for m in model.modules()]
    model.eval()
    with torch.no_grad():
        result = model(x)
    for m, training in modes:
        m.training = training
    return result


# %% wrong "recording is on outside" fails=returns_input,keeps_grad_mode
def predict(model, x):
    modes = [(m, m.training) for m in model.modules()]
    model.eval()
    torch.set_grad_enabled(False)
    try:
        return model(x)
    finally:
        torch.set_grad_enabled(True)
        for m, training in modes:
            m.training = training


# %% wrong "without gradients a model does not change" fails=example,training_mode,other_cases,keeps_modes,keeps_model,returns_input raises=ValueError
def predict(model, x):
    with torch.no_grad():
        model(x)
        return model.eval()(x)


# %% wrong "only BatchNorm and Dropout have a mode" fails=example,other_cases,returns_input
def predict(model, x):
    modes = [(m, m.training) for m in model.modules() if isinstance(m, nn.BatchNorm1d | nn.Dropout)]
    for m, _ in modes:
        m.training = False
    try:
        with torch.no_grad():
            return model(x)
    finally:
        for m, training in modes:
            m.training = training


# %% wrong "afterwards every parameter requires grad" fails=keeps_model,returns_input
def predict(model, x):
    modes = [(m, m.training) for m in model.modules()]
    model.eval().requires_grad_(False)
    try:
        with torch.no_grad():
            return model(x)
    finally:
        model.requires_grad_(True)
        for m, training in modes:
            m.training = training


# %% equivalent "copies of results that share memory with an argument"
# The docstring does not say whose memory the result has: it leaves x as it is, and so does a copy.
