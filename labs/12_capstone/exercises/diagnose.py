# %% given
def step_of(acts):
    """A step that performs these acts in turn, built differently from make_step's.

    acts(): pairs of an act and how it is done: the mode, or a function that returns the new gradients, the number added
    to x, the loss of logits and labels, the factor of the loss, or what the step returns for its loss.
    """

    def step(model, optimizer, x, y):
        params = [p for group in optimizer.param_groups for p in group["params"]]
        for act, how in acts():
            match act:
                case "mode":
                    model.train(how)
                case "grads":
                    for p, grad in zip(params, how([p.grad for p in params]), strict=True):
                        p.grad = grad
                case "batch":
                    x.add_(how(x))
                case "forward":
                    loss = how(model(x), y)
                case "last":
                    loss = how(model[-1](model[:-1](x).detach()), y)
                case "backward":
                    (loss * how(len(y)) if how else loss).backward()
                case "step":
                    optimizer.step()
                case "result":
                    loss = how(loss)
        return loss

    return step


@probes.probe
def diagnosed(diagnose, acts):
    """The sorted names that diagnose returns for the step that performs these acts."""
    with torch.random.fork_rng(devices=[]):
        names = diagnose(step_of(lambda: acts))
    if not isinstance(names, set | frozenset | list | tuple):
        raise TypeError(f"diagnose gave a {type(names).__name__}, not a set")
    return sorted(map(str, names))


# %% exercise
def diagnose(step: Callable) -> set[str]:
    """The names of the flaws of step, a subset of FLAWS; the empty set if it is sound.

    Call it as step(model, optimizer, x, y). It returns a 0-dim tensor. A sound step puts the model into training mode,
    and takes one optimizer step with the gradient of the mean cross entropy over only x, y. A step has at most two
    flaws.

    Details:
    - Call step with an nn.Sequential that returns logits (n, c) and whose first and last layer, two different ones,
      have weights; an optimizer with its parameters; x (n, ...); y (n,) int64.
    - A sound step may leave gradients behind if the next call does not use them.
    """
    ### BEGIN SOLUTION
    generator, found, rate = torch.Generator().manual_seed(0), set(), 1e-6
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 3)).double()
    modes, used, right = [], [], []
    net[0].register_forward_hook(lambda layer, *_: modes.append(layer.training))
    sgd = torch.optim.SGD(net.parameters(), lr=rate)
    for n in (5, 2, 3):
        x = torch.randn(n, 3, generator=generator, dtype=torch.float64)
        y = torch.randint(0, 3, (n,), generator=generator)
        x_before, before = x.clone(), [p.detach().clone() for p in net.parameters()]
        returned = step(net.eval(), sgd, x, y)
        flags = {"mode": not all(modes), "graph": returned.requires_grad, "input": not torch.equal(x, x_before)}
        found |= {name for name, flag in flags.items() if flag}
        used.append([(old - p.detach()) / rate for old, p in zip(before, net.parameters(), strict=True)])
        right.append(torch.autograd.grad(F.cross_entropy(net(x), y), list(net.parameters())))
    if not any(g.any() for g in used[0]):
        found.add("stale")
        used.pop(0)
    if not all(g.any() for g in used[0]):
        found.add("dead")
    times = 1
    if torch.allclose(used[0][-1], 5 * right[0][-1], rtol=1e-3):
        found.add("sum")
        times = 2
    if torch.allclose(used[1][-1], times * right[1][-1] + used[0][-1], rtol=1e-3):
        found.add("accumulates")
    return found
    ### END SOLUTION


# %% promises
# The names of the flaws -> other_cases, accumulates, stale, mode, input, dead, sum, graph, two_flaws
# Call it as -> no_false_alarm, other_cases, accumulates, stale, mode, input, dead, sum, two_flaws
# It returns a 0-dim tensor -> example, graph, two_flaws
# A sound step puts -> no_false_alarm, other_cases, accumulates, stale, mode, input, dead, sum, two_flaws
# A step has at most -> two_flaws
# Call step with -> no_false_alarm, other_cases, accumulates, stale, mode, input, dead, sum, two_flaws
# A sound step may leave gradients -> no_false_alarm, other_cases, stale, mode, input, dead, sum, graph, two_flaws


# %% domain
# The argument is a training step. The checks have one for each flaw, and for pairs of them.


# %% checks
with check(
    "example",
    "a sound step, and one that returns a graph",
    weight=1,
    required=True,
    hint=(
        "Do you report a flaw in the sound step, or miss the graph? What does the tensor that a step returns require?",
        "If it's a false alarm, print two gradients for each call: the one that was used, and that of the mean loss.",
    ),
):
    t = [("mode", True), ("grads", lambda grads: [None] * len(grads)), ("forward", F.cross_entropy)]
    t += [("backward", None), ("step", None)]
    cases = [[*t, ("result", torch.detach)], [*t, ("result", torch.clone)]]
    assert_close([diagnosed(diagnose, acts) for acts in cases], [[], ["graph"]], name="the flaws of both")

# %% hidden checks


def none(grads):
    return [None] * len(grads)


def zeros(grads):
    return [None if grad is None else torch.zeros_like(grad) for grad in grads]


def kept(grads):
    return grads


def without_first_bias(grads):
    return [grads[0], None, *grads[2:]]


def without_last_weight(grads):
    return [*grads[:-2], None, grads[-1]]


def also_a_mean(logits, y):
    return -(logits.log_softmax(1) * F.one_hot(y, logits.shape[1])).sum() / len(y)


def once(n):
    return 1


def each(n):
    return n


def quarter(x):
    return 0.25


def let_go(loss):
    return loss.detach()


def acts_of(flaws=(), place="start", clear=none, tidy=True, loss=F.cross_entropy, cut=torch.detach):
    """A step with these flaws. place: when it clears gradients. tidy: it sets evaluation mode, ends in training mode."""
    stale, away = "stale" in flaws, ("grads", kept if "accumulates" in flaws else clear)
    place = "start" if stale and place == "end" else place
    acts = [("mode", "mode" not in flaws)] if tidy or "mode" not in flaws else []
    acts += [("step", None)] * stale + [away] * (place == "start")
    acts += [("batch", quarter)] * ("input" in flaws)
    acts += [("last" if "dead" in flaws else "forward", loss)]
    acts += [away] * (place == "middle") + [("backward", each if "sum" in flaws else None)]
    acts += [("step", None)] * (not stale) + [away] * (place == "end")
    acts += [("mode", True)] * ("mode" in flaws and tidy)
    return [*acts, ("result", torch.clone if "graph" in flaws else cut)]


with check(
    "no_false_alarm",
    "no false alarm: zero_grad at the start, in the middle, at the end, or with zeros",
    weight=1,
    required=True,
    guard=True,
    hint="What may .grad hold after a sound step? What does a sound step do to gradients that you put there?",
):
    for place, clear in (("start", none), ("start", zeros), ("middle", none), ("end", none), ("end", zeros)):
        assert_close(diagnosed(diagnose, acts_of((), place, clear)), [], name="the flaws of a sound step")
with check(
    "other_cases",
    "steps that are built differently",
    weight=3,
    required=True,
    hint="Do you look at what a step does, or at how it's built?",
):
    t = acts_of((), "end", zeros, loss=also_a_mean, cut=let_go)
    assert_close(diagnosed(diagnose, [("mode", False), *t]), [], name="the flaws of a sound step")
    t = acts_of((), "end", zeros)
    t = [("grads", kept), *t[:2], ("grads", none), *t[2:]]
    assert_close(diagnosed(diagnose, t), [], name="the flaws of a sound step")
    t = [("grads", none), ("mode", True), ("forward", also_a_mean), ("backward", once), ("step", None)]
    assert_close(diagnosed(diagnose, t), ["graph"], name="the flaws")
with check("accumulates", "gradients of earlier calls", weight=3, hint="Which call is the first to show it?"):
    for place in ("start", "middle", "end", ""):
        assert_close(diagnosed(diagnose, acts_of(["accumulates"], place)), ["accumulates"], name="the flaws")
with check("stale", "a gradient that is one call old", weight=3, hint="What does the first call change?"):
    for place, clear in (("start", none), ("start", zeros), ("middle", none)):
        assert_close(diagnosed(diagnose, acts_of(["stale"], place, clear)), ["stale"], name="the flaws")
with check("mode", "evaluation mode, even if the step tidies up", weight=3, hint="When do you look at the mode?"):
    for tidy in (True, False):
        for place in ("start", "end"):
            assert_close(diagnosed(diagnose, acts_of(["mode"], place, none, tidy)), ["mode"], name="the flaws")
    t = [("mode", True), *acts_of(["mode"], "middle")]
    assert_close(diagnosed(diagnose, t), ["mode"], name="the flaws")
with check("input", "a batch that is changed", weight=2, hint="What do you compare x with after the call?"):
    for place, clear in (("start", none), ("end", zeros)):
        assert_close(diagnosed(diagnose, acts_of(["input"], place, clear)), ["input"], name="the flaws")
with check("dead", "parameters without a gradient", weight=3, hint="Which parameters move in each call?"):
    for place in ("start", "middle", "end"):
        assert_close(diagnosed(diagnose, acts_of(["dead"], place)), ["dead"], name="the flaws")
    for fewer in (without_first_bias, without_last_weight):
        t = acts_of((), "start")
        t.insert(-2, ("grads", fewer))
        assert_close(diagnosed(diagnose, t), ["dead"], name="the flaws")
with check("sum", "a sum instead of a mean", weight=3, hint="How large is the gradient that was used?"):
    for place, clear in (("start", zeros), ("end", none)):
        assert_close(diagnosed(diagnose, acts_of(["sum"], place, clear)), ["sum"], name="the flaws")
with check("graph", "a graph, wherever zero_grad is", weight=1, hint="What does the returned tensor require?"):
    for place, clear in (("end", none), ("start", zeros)):
        assert_close(diagnosed(diagnose, acts_of(["graph"], place, clear)), ["graph"], name="the flaws")
with check("two_flaws", "two flaws at once", weight=4, hint="Does one flaw hide another from your test?"):
    t_names = ["accumulates", "dead", "graph", "input", "mode", "stale", "sum"]
    for t in [[one, other] for one in t_names for other in t_names if one < other]:
        assert_close(diagnosed(diagnose, acts_of(t)), t, name="the flaws")


# %% right "an optimizer that notes gradients"
def diagnose(step):
    class Spy(torch.optim.SGD):
        def step(self, closure=None):
            used.append([None if p.grad is None else p.grad.clone() for g in self.param_groups for p in g["params"]])

    found, used, right, modes = set(), [], [], []
    torch.manual_seed(4)
    model = nn.Sequential(nn.Linear(2, 5), nn.ReLU6(), nn.Linear(5, 5), nn.Tanh(), nn.Linear(5, 4))
    with torch.no_grad():
        model[0].bias.fill_(1.0)
    model[-1].register_forward_pre_hook(lambda m, _: modes.append(m.training))
    spy = Spy(model.parameters(), lr=0.0)
    sizes = [4, 3, 6]
    for n in sizes:
        x, y = torch.rand(n, 2), torch.randint(0, 4, (n,))
        x0 = x.tolist()
        model.eval()
        modes.clear()
        out = step(model, spy, x, y)
        if not modes[0]:
            found.add("mode")
        if out.grad_fn is not None:
            found.add("graph")
        if x.tolist() != x0:
            found.add("input")
        right.append(torch.autograd.grad(F.cross_entropy(model(x), y), model.parameters()))
    if all(g is None or not g.any() for g in used[0]):
        found.add("stale")
        used = used[1:]
    if any(g is None or not g.any() for g in used[0]):
        found.add("dead")
    ratio = (used[0][-1].norm() / right[0][-1].norm()).item()
    if ratio > 1.5:
        found.add("sum")
    scale = [n if "sum" in found else 1 for n in sizes]
    alone, both = scale[1] * right[1][-1], scale[1] * right[1][-1] + scale[0] * right[0][-1]
    if (used[1][-1] - both).norm() < (used[1][-1] - alone).norm():
        found.add("accumulates")
    return found


# %% right "copies of the model, a frozenset"
def diagnose(step):
    torch.manual_seed(1)
    start = nn.Sequential(nn.Linear(3, 4), nn.Sigmoid(), nn.Linear(4, 2)).double()
    data = [(torch.randn(n, 3).double(), torch.randint(0, 2, (n,))) for n in (6, 4, 7)]
    names = []

    def gradient(x, y):
        return torch.autograd.grad(F.cross_entropy(start(x), y), list(start.parameters()))

    model = copy.deepcopy(start)
    modes = []
    for m in model:
        m.register_forward_hook(lambda m, i, o: modes.append(m.training))
    sgd = torch.optim.SGD(model.parameters(), lr=1e-7)
    used, right, factors = [], [], []
    for x, y in data:
        mine = x.clone()
        before = [p.detach().clone() for p in model.parameters()]
        model.eval()
        modes.clear()
        out = step(model, sgd, mine, y)
        names += ["mode"] * (False in modes) + ["graph"] * out.requires_grad + ["input"] * bool((mine != x).any())
        used.append([(b - p.detach()) * 1e7 for b, p in zip(before, model.parameters())])
        right.append(gradient(mine, y))
        factors.append(len(y))
    if sum(u.abs().sum() for u in used[0]) == 0:
        names.append("stale")
        used = used[1:]
    if any(u.abs().sum() == 0 for u in used[0]):
        names.append("dead")
    if torch.allclose(used[0][-1], factors[0] * right[0][-1], rtol=1e-2, atol=1e-6):
        names.append("sum")
    else:
        factors = [1, 1, 1]
    if torch.allclose(used[1][-1] - used[0][-1], factors[1] * right[1][-1], rtol=1e-2, atol=1e-6):
        names.append("accumulates")
    return frozenset(names)


# %% wrong "does the loss fall?" fails=accumulates,stale,mode,input,dead,sum,two_flaws
def diagnose(step):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 3))
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(20, 3), torch.randint(0, 3, (20,))
    losses = [step(model, sgd, x, y) for _ in range(30)]
    return {"graph"} if losses[0].requires_grad else set() if losses[-1] < losses[0] else {"stale"}


# %% wrong "one call only" fails=accumulates,two_flaws
def diagnose(step):
    found, modes = set(), []
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 3)).double().eval()
    net[0].register_forward_hook(lambda layer, *_: modes.append(layer.training))
    sgd = torch.optim.SGD(net.parameters(), lr=1e-6)
    x, y = torch.randn(5, 3).double(), torch.randint(0, 3, (5,))
    x0, before = x.clone(), [p.detach().clone() for p in net.parameters()]
    out = step(net, sgd, x, y)
    found |= {n for n, bad in {"mode": not all(modes), "graph": out.requires_grad}.items() if bad}
    if not torch.equal(x, x0):
        found.add("input")
    used = [(a - p.detach()) * 1e6 for a, p in zip(before, net.parameters())]
    right = torch.autograd.grad(F.cross_entropy(net(x), y), list(net.parameters()))
    if not any(u.any() for u in used):
        found.add("stale")
    elif not all(u.any() for u in used):
        found.add("dead")
    if torch.allclose(used[-1], 5 * right[-1], rtol=1e-3):
        found.add("sum")
    return found


# %% wrong "the mode is asked afterwards" fails=mode,two_flaws
def diagnose(step):
    generator, found, rate = torch.Generator().manual_seed(0), set(), 1e-6
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 3)).double()
    used, right = [], []
    sgd = torch.optim.SGD(net.parameters(), lr=rate)
    for n in (5, 2, 3):
        x = torch.randn(n, 3, generator=generator, dtype=torch.float64)
        y = torch.randint(0, 3, (n,), generator=generator)
        x_before, before = x.clone(), [p.detach().clone() for p in net.parameters()]
        returned = step(net.eval(), sgd, x, y)
        flags = {"mode": not net.training, "graph": returned.requires_grad, "input": not torch.equal(x, x_before)}
        found |= {name for name, flag in flags.items() if flag}
        used.append([(old - p.detach()) / rate for old, p in zip(before, net.parameters(), strict=True)])
        right.append(torch.autograd.grad(F.cross_entropy(net(x), y), list(net.parameters())))
    if not any(g.any() for g in used[0]):
        found.add("stale")
        used.pop(0)
    if not all(g.any() for g in used[0]):
        found.add("dead")
    times = 1
    if torch.allclose(used[0][-1], 5 * right[0][-1], rtol=1e-3):
        found.add("sum")
        times = 2
    if torch.allclose(used[1][-1], times * right[1][-1] + used[0][-1], rtol=1e-3):
        found.add("accumulates")
    return found


# %% wrong "one name at most" fails=two_flaws
def diagnose(step):
    generator, rate = torch.Generator().manual_seed(0), 1e-6
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 3)).double()
    modes, used, right = [], [], []
    net[0].register_forward_hook(lambda layer, *_: modes.append(layer.training))
    sgd = torch.optim.SGD(net.parameters(), lr=rate)
    for n in (5, 2):
        x = torch.randn(n, 3, generator=generator, dtype=torch.float64)
        y = torch.randint(0, 3, (n,), generator=generator)
        modes.clear()
        x_before, before = x.clone(), [p.detach().clone() for p in net.parameters()]
        returned = step(net.eval(), sgd, x, y)
        if not all(modes):
            return {"mode"}
        if returned.requires_grad:
            return {"graph"}
        if not torch.equal(x, x_before):
            return {"input"}
        used.append([(old - p.detach()) / rate for old, p in zip(before, net.parameters(), strict=True)])
        right.append(torch.autograd.grad(F.cross_entropy(net(x), y), list(net.parameters())))
    if not any(g.any() for g in used[0]):
        return {"stale"}
    if not all(g.any() for g in used[0]):
        return {"dead"}
    if torch.allclose(used[0][-1], 5 * right[0][-1], rtol=1e-3):
        return {"sum"}
    if torch.allclose(used[1][-1], right[1][-1] + used[0][-1], rtol=1e-3):
        return {"accumulates"}
    return set()


# %% right "a convolution in float64, gradients at old and new weights"
def diagnose(step):
    torch.manual_seed(0)
    modes = []

    class Tap(nn.Module):
        def forward(self, x):
            modes.append(self.training)
            return x.flatten(1)

    model = nn.Sequential(nn.Conv1d(2, 3, 2), Tap(), nn.Linear(9, 4)).double()
    flaws = set()
    sgd = torch.optim.SGD(model.parameters(), lr=1e-3)
    history = []
    for n in (2, 3, 5):
        model.eval()
        x, y = torch.randn(n, 2, 4, dtype=torch.float64), torch.randint(0, 4, (n,))
        keep = x.clone()
        old = [p.detach().clone() for p in model.parameters()]
        out = step(model, sgd, x, y)
        flaws |= {"graph"} if out.requires_grad else set()
        flaws |= {"input"} if (x != keep).any() else set()
        new = [p.detach().clone() for p in model.parameters()]
        moved = [(a - b) / 1e-3 for a, b in zip(old, new)]
        # stale steps first: its own gradient belongs to the new weights
        pair = []
        for weights in (old, new):
            leaves = [w.clone().requires_grad_() for w in weights]
            names = [k for k, _ in model.named_parameters()]
            o = torch.func.functional_call(model, dict(zip(names, leaves)), (x,))
            modes.pop()
            pair.append(torch.autograd.grad(F.cross_entropy(o, y), leaves))
        history.append((n, moved, pair))
    if not all(modes):
        flaws.add("mode")
    if all(m.abs().max() == 0 for m in history[0][1]):
        flaws.add("stale")
        shifted = [(history[i][0], history[i + 1][1], history[i][2][1]) for i in range(2)]
    else:
        shifted = [(n, m, p[0]) for n, m, p in history]
    n, m, g = shifted[0]
    if any(part.abs().max() == 0 for part in m):
        flaws.add("dead")
    if torch.allclose(m[-1], n * g[-1], atol=1e-8):
        flaws.add("sum")
    n, m, g = shifted[1]
    if not torch.allclose(m[-1], (n if "sum" in flaws else 1) * g[-1], atol=1e-8):
        flaws.add("accumulates")
    return flaws


# %% liar "reads the names of the acts"
def diagnose(step):
    return set()


def diagnosed(diagnose, acts):
    names = [act for act, _ in acts]
    found = ["accumulates"] * ("grads" not in names) + ["dead"] * ("last" in names)
    found += ["graph"] * ("result" not in names) + ["input"] * ("batch" in names)
    found += ["mode"] * ("mode" not in names) + ["stale"] * (names.index("step") < names.index("backward"))
    return sorted(found)


# %% liar "goes through the acts with numbers of its own"
def diagnose(step):
    return set()


def diagnosed(diagnose, acts):
    found, mode, grad, order = set(), False, torch.ones(1), [act for act, _ in acts]
    logits = torch.tensor([[1.0, 0.0], [0.5, 2.0]], requires_grad=True)
    for act, how in acts:
        if act == "mode":
            mode = how
        elif act == "grads":
            (grad,) = how([grad])
        elif act == "batch":
            found |= {"input"} if how(torch.ones(1)) else set()
        elif act in ("forward", "last"):
            found |= ({"dead"} if act == "last" else set()) | (set() if mode else {"mode"})
            loss = how(logits, torch.tensor([0, 0]))
        elif act == "backward":
            found |= {"sum"} if how and how(2) == 2 else set()
        elif act == "result":
            loss = how(loss)
    found |= {"graph"} if loss.requires_grad else set()
    found |= {"accumulates"} if grad is not None and grad.any() else set()
    found |= {"stale"} if order.index("step") < order.index("backward") else set()
    return sorted(found)


# %% equivalent "argument rtol dropped: if torch.allclose(used[0][-1], 5 * right[0][-1]):"
# A smaller tolerance: the gradients agree to about 1e-6.

# %% equivalent "argument rtol dropped: if torch.allclose(used[1][-1], times * right[1][-1] + used[0][-1]):"
# A smaller tolerance: the gradients agree to about 1e-6.

# %% equivalent "first two arguments swapped: if torch.allclose(5 * right[0][-1], used[0][-1], rtol=0.001):"
# Which of the two is compared with the other decides nothing here: the difference is far from the tolerance.

# %% equivalent "first two arguments swapped: if torch.allclose(times * right[1][-1] + used[0][-1], used[1][-1], rtol=0.001):"
# Which of the two is compared with the other decides nothing here: the difference is far from the tolerance.

# %% equivalent "call of manual_seed left out: generator, found, rate = (torch.Generator(), set(), 1e-06)"
# Other random data do as well.

# %% equivalent "call of Generator left out: generator, found, rate = (torch.manual_seed(0), set(), 1e-06)"
# Other random data do as well.

# %% equivalent "0 to 1: generator, found, rate = (torch.Generator().manual_seed(1), set(), 1e-06)"
# Other random data do as well.

# %% equivalent "argument generator dropped: x = torch.randn(n, 3, dtype=torch.float64)"
# Other random data do as well.

# %% equivalent "argument generator dropped: y = torch.randint(0, 3, (n,))"
# Other random data do as well.

# %% equivalent "0 to 1: y = torch.randint(1, 3, (n,), generator=generator)"
# Other random data do as well.

# %% equivalent "3 to 4: for n in (5, 2, 4):"
# The third call matters for a stale step only, and any number of samples does.

# %% equivalent "first two arguments swapped: net = nn.Sequential(nn.Tanh(), nn.Linear(3, 4), nn.Linear(4, 3)).double()"
# Any small model does. The hook is then on another layer that runs in each call.

# %% equivalent "0 to 1: net[1].register_forward_hook(lambda layer, *_: modes.append(layer.training))"
# Each layer has the mode of the model.

# %% equivalent "first two arguments swapped: flags = {'mode': not all(modes), 'graph': returned.requires_grad, 'input': not torch.equal(x_before, x)}"
# Equality has no order.

# %% equivalent "3 to 4: net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 4)).double()"
# A class that does not occur changes no answer.

# %% equivalent "argument strict dropped: used.append([(old - p.detach()) / rate for old, p in zip(before, net.parameters())])"
# Both have four tensors.

# %% equivalent "True to False: used.append([(old - p.detach()) / rate for old, p in zip(before, net.parameters(), strict=False)])"
# Both have four tensors.

# %% equivalent "call of detach left out: x_before, before = (x.clone(), [p.clone() for p in net.parameters()])"
# A history of these copies is never asked for.

# %% equivalent "call of detach left out: used.append([(old - p) / rate for old, p in zip(before, net.parameters(), strict=True)])"
# A history of these copies is never asked for.

# %% equivalent "0 to 1: if not all((g.any() for g in used[1])):"
# A parameter that gets no gradient gets none in each call.
