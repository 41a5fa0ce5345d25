# %% given
torch.manual_seed(0)


def two_layers(width):
    """The shapes of the weights of linear layers from 4 to width and from width to 3, with a module between them."""
    return {"0.weight": (width, 4), "0.bias": (width,), "2.weight": (3, width), "2.bias": (3,)}


@probes.probe
def accumulated(train, middle, start, batches, every, lr, momentum=0.0, frozen=(), training=(), old=None):
    """What train(model, batches, optimizer, every) returns, and what it makes of two linear layers.

    middle: the layer between them. frozen: the names of parameters. training: of modules in training mode. old: the
    number in each .grad.
    """
    width = len(start["0.bias"])
    model = nn.Sequential(nn.Linear(4, width), Called(middle), nn.Linear(width, 3))
    model.to(start["0.bias"].dtype).load_state_dict(start)
    for name, module in model.named_modules():
        module.training = name in training
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name not in frozen)
        parameter.grad = None if old is None or name in frozen else torch.full_like(parameter, old)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=lr, momentum=momentum)
    steps = train(model, batches, optimizer, every)
    modes = [name for name, module in model.named_modules() if module.training]
    return {"state": probes.state_of(model), "steps": steps, "training": modes}


# %% exercise
def train_accumulated(model: nn.Module, batches: list, optimizer: torch.optim.Optimizer, every: int) -> int:
    """One pass over the batches, with one step of the optimizer for each window of `every` batches.

    Each step uses the gradient of the mean cross entropy over all samples of its window. The last one may be shorter,
    and makes a step as well. batches: pairs x, y (n,) int64, at least one; n may differ. n and every: at least 1.
    Gradients that the model holds at the start do not count. The model's mode is not changed. Each batch goes through
    the model once, as a whole, and is followed by its own backward pass, before the next one begins: at no time is there
    a graph of more than one batch, or the graphs of two. Returns the number of steps.
    """
    ### BEGIN SOLUTION
    steps = 0
    for first in range(0, len(batches), every):
        window = batches[first : first + every]
        optimizer.zero_grad()
        for x, y in window:
            F.cross_entropy(model(x), y, reduction="sum").backward()
        count = sum(len(y) for _, y in window)
        for p in model.parameters():
            if p.grad is not None:
                p.grad /= count
        optimizer.step()
        steps += 1
    return steps
    ### END SOLUTION


# %% checks
with check(
    "example",
    "four batches of three samples, two at a time",
    weight=2,
    required=True,
    hint=(
        "How many samples and how many steps belong to a window of two batches? What do you divide by?",
        "Per window: clear .grad, let each batch add the gradient of its summed loss, divide by the samples, step.",
    ),
):
    t = samples([3, 3, 3, 3], 20)
    start = drawn(two_layers(6), 12)
    w = [p.clone().requires_grad_() for p in start.values()]
    for a, b in ((0, 2), (2, 4)):
        x, y = torch.cat([x for x, _ in t[a:b]]), torch.cat([y for _, y in t[a:b]])
        loss = F.cross_entropy(F.linear(F.linear(x, w[0], w[1]).tanh(), w[2], w[3]), y)
        w = [(p - 0.5 * g).detach().requires_grad_() for p, g in zip(w, torch.autograd.grad(loss, w), strict=True)]
    want = {name: p.detach() for name, p in zip(start, w, strict=True)}
    got = accumulated(train_accumulated, torch.tanh, start, t, 2, 0.5)
    explain(
        got["steps"],
        2,
        {"there was a step for every batch, and not for every window": 4},
        name="the number of steps",
    )
    assert_close(got["state"], want, name="the model")

# %% hidden checks


def mixing(width):
    """A layer for the middle, with weights of its own."""
    w = drawn({"w": (width, width)}, width)["w"]
    return lambda x: torch.tanh(x @ w)


def windows_by_hand(middle, start, batches, every, lr, momentum=0.0, frozen=()):
    """The weights after steps on whole windows."""
    w = {name: p.clone().requires_grad_(name not in frozen) for name, p in start.items()}
    trained = [p for p in w.values() if p.requires_grad]
    momenta = [torch.zeros_like(p) for p in trained]
    for first in range(0, len(batches), every):
        x, y = (torch.cat(parts) for parts in zip(*batches[first : first + every], strict=True))
        h = middle(F.linear(x, w["0.weight"], w["0.bias"]))
        grads = torch.autograd.grad(F.cross_entropy(F.linear(h, w["2.weight"], w["2.bias"]), y), trained)
        momenta = [momentum * m + g for m, g in zip(momenta, grads, strict=True)]
        with torch.no_grad():
            for p, m in zip(trained, momenta, strict=True):
                p -= lr * m
    return {name: p.detach() for name, p in w.items()}


with check(
    "uneven_batches",
    "windows of unequal batches",
    weight=4,
    required=True,
    hint="How much does one sample of the smallest batch count in its window's gradient?",
):
    cases = (
        ([10, 2, 5, 1], 2, 0.3, torch.float32, (), 5.0),
        ([6, 1, 3], 3, 0.1, torch.float64, ("0.bias",), None),
        ([4, 2, 9, 1, 1, 7], 3, 0.2, torch.float32, ("2.weight", "0.weight"), 1.0),
    )
    for sizes, every, lr, dtype, frozen, old in cases:
        n = len(sizes)
        case = torch.tanh, drawn(two_layers(n), n, dtype), samples(sizes, n, dtype), every, lr, 0.9, frozen
        want = windows_by_hand(*case)
        assert_close(accumulated(train_accumulated, *case, (), old)["state"], want, name="the model")
with check(
    "short_window",
    "a last window that is shorter",
    weight=3,
    hint="What does your loop do when the batches end in the middle of a window?",
):
    for sizes, every in (([4, 3, 5, 2, 6], 2), ([3, 4], 5), ([2, 5, 3, 4], 3), ([4, 3, 5, 2, 6], 4)):
        case = torch.tanh, drawn(two_layers(every), every), samples(sizes, 30), every, 0.4
        want = windows_by_hand(*case)
        got = accumulated(train_accumulated, *case)
        assert_close(got["state"], want, name="the model")
        assert_close(got["steps"], math.ceil(len(sizes) / every), name="the number of steps")
with check("one_batch", "windows of one batch", weight=1, hint="What is a window of one?"):
    case = torch.tanh, drawn(two_layers(4), 31), samples([4, 1], 31), 1, 0.4
    want = windows_by_hand(*case)
    assert_close(accumulated(train_accumulated, *case)["state"], want, name="the model")
with check(
    "one_graph_alive",
    "the graph of one batch at a time",
    weight=2,
    required=True,
    hint="How many samples are in graphs when you call backward? Which call lets a graph go?",
):
    for sizes, every in (([4, 3, 5, 2], 2), ([2, 6, 3], 3)):
        seen, kept = Seen(mixing(5)), []

        def counting(x):
            kept.append(seen.kept)
            return seen(x)

        case = drawn(two_layers(5), 32), samples(sizes, 32), every, 0.4
        want = windows_by_hand(mixing(5), *case)
        assert_close(accumulated(train_accumulated, counting, *case)["state"], want, name="the model")
        rows = [call.shapes[0][0] for call in seen.calls if call.grad]
        assert rows == sizes, "the model builds graphs of other numbers of samples than the batches have"
        assert kept == [0] * len(kept), "a graph is built while the one of an earlier batch is still there"
        assert_close(seen.backwards, len(sizes), name="the number of gradients that go back")
with check("keeps_modes", "the model's mode is not changed", guard=True):
    for modes in (["", "0", "1", "2"], [], ["1"]):
        case = torch.tanh, drawn(two_layers(3), 3), samples([2], 1), 1, 0.1, 0.0, ()
        got = accumulated(train_accumulated, *case, modes)
        assert_close(got["training"], modes, name="the modules in training mode")


# %% right "the size of each window first, and mean losses by their share"
def train_accumulated(model, batches, optimizer, every):
    windows = [batches[i : i + every] for i in range(0, len(batches), every)]
    for window in windows:
        samples = sum(y.shape[0] for _, y in window)
        model.zero_grad()
        for x, y in window:
            loss = nn.CrossEntropyLoss()(model(x), y) * (y.shape[0] / samples)
            loss.backward()
        optimizer.step()
    return len(windows)


# %% right "one loop with a counter, and a step for what is left"
def train_accumulated(model, batches, optimizer, every):
    def finish():
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad.div_(seen)
        optimizer.step()
        optimizer.zero_grad()

    optimizer.zero_grad()
    seen = pending = steps = 0
    for x, y in batches:
        F.cross_entropy(model(x), y, reduction="sum").backward()
        seen, pending = seen + len(y), pending + 1
        if pending == every:
            finish()
            steps, seen, pending = steps + 1, 0, 0
    if pending:
        finish()
        steps += 1
    return steps


# %% right "gradients by autograd.grad, added up beside the model"
def train_accumulated(model, batches, optimizer, every):
    params = [p for group in optimizer.param_groups for p in group["params"]]
    steps = 0
    for first in range(0, len(batches), every):
        window = batches[first : first + every]
        sums = [torch.zeros_like(p) for p in params]
        for x, y in window:
            for total, grad in zip(sums, torch.autograd.grad(F.cross_entropy(model(x), y, reduction="sum"), params)):
                total += grad
        for p, total in zip(params, sums):
            p.grad = total / sum(len(y) for _, y in window)
        optimizer.step()
        steps += 1
    return steps


# %% wrong "each mean loss divided by every" fails=uneven_batches,short_window,one_graph_alive
def train_accumulated(model, batches, optimizer, every):
    steps = 0
    for first in range(0, len(batches), every):
        optimizer.zero_grad()
        for x, y in batches[first : first + every]:
            (F.cross_entropy(model(x), y) / every).backward()
        optimizer.step()
        steps += 1
    return steps


# %% wrong "the batches that are left over are dropped" fails=short_window
def train_accumulated(model, batches, optimizer, every):
    steps = 0
    for first in range(0, len(batches) - every + 1, every):
        window = batches[first : first + every]
        optimizer.zero_grad()
        for x, y in window:
            F.cross_entropy(model(x), y, reduction="sum").backward()
        count = sum(len(y) for _, y in window)
        for p in model.parameters():
            if p.grad is not None:
                p.grad /= count
        optimizer.step()
        steps += 1
    return steps


# %% wrong "sums that nobody divides" fails=example,uneven_batches,short_window,one_batch,one_graph_alive
def train_accumulated(model, batches, optimizer, every):
    steps = 0
    for first in range(0, len(batches), every):
        optimizer.zero_grad()
        for x, y in batches[first : first + every]:
            F.cross_entropy(model(x), y, reduction="sum").backward()
        optimizer.step()
        steps += 1
    return steps


# %% wrong "zero after each step only" fails=uneven_batches
def train_accumulated(model, batches, optimizer, every):
    steps = 0
    for first in range(0, len(batches), every):
        window = batches[first : first + every]
        count = sum(len(y) for _, y in window)
        for x, y in window:
            (F.cross_entropy(model(x), y, reduction="sum") / count).backward()
        optimizer.step()
        optimizer.zero_grad()
        steps += 1
    return steps


# %% wrong "a step for every batch" fails=example,uneven_batches,short_window,one_graph_alive
def train_accumulated(model, batches, optimizer, every):
    for x, y in batches:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    return len(batches)


# %% wrong "divided by the samples of all batches" fails=example,uneven_batches,short_window,one_batch,one_graph_alive
def train_accumulated(model, batches, optimizer, every):
    everything, steps = sum(len(y) for _, y in batches), 0
    for first in range(0, len(batches), every):
        optimizer.zero_grad()
        for x, y in batches[first : first + every]:
            (F.cross_entropy(model(x), y, reduction="sum") / everything).backward()
        optimizer.step()
        steps += 1
    return steps


# %% wrong "the batches of a window joined to one" fails=one_graph_alive
def train_accumulated(model, batches, optimizer, every):
    steps = 0
    for first in range(0, len(batches), every):
        window = batches[first : first + every]
        optimizer.zero_grad()
        x, y = torch.cat([x for x, _ in window]), torch.cat([y for _, y in window])
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        steps += 1
    return steps


# %% wrong "the losses of a window added up, and one backward" fails=one_graph_alive
def train_accumulated(model, batches, optimizer, every):
    steps = 0
    for first in range(0, len(batches), every):
        window = batches[first : first + every]
        optimizer.zero_grad()
        total = sum(F.cross_entropy(model(x), y, reduction="sum") for x, y in window)
        (total / sum(len(y) for _, y in window)).backward()
        optimizer.step()
        steps += 1
    return steps


# %% wrong "training mode, as in every loop" fails=keeps_modes
def train_accumulated(model, batches, optimizer, every):
    model.train()
    steps = 0
    for first in range(0, len(batches), every):
        window = batches[first : first + every]
        optimizer.zero_grad()
        count = sum(len(y) for _, y in window)
        for x, y in window:
            (F.cross_entropy(model(x), y, reduction="sum") / count).backward()
        optimizer.step()
        steps += 1
    return steps


# %% liar "the batches of a window joined, behind a pass over one batch at a time"
def train_accumulated(model, batches, optimizer, every):
    steps = 0
    for first in range(0, len(batches), every):
        window = batches[first : first + every]
        optimizer.zero_grad()
        x, y = torch.cat([x for x, _ in window]), torch.cat([y for _, y in window])
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        steps += 1
    return steps


def accumulated(train, middle, start, batches, every, lr, momentum=0.0, frozen=(), training=(), old=None):
    width = len(start["0.bias"])
    model = nn.Sequential(nn.Linear(4, width), Called(middle), nn.Linear(width, 3))
    model.to(start["0.bias"].dtype).load_state_dict(start)
    for x, _ in batches:
        model(x).sum().backward()
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name not in frozen)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=lr, momentum=momentum)
    steps = train(model, batches, optimizer, every)
    return {"state": probes.state_of(model), "steps": steps, "training": list(training)}


# %% liar "one graph of the window, derivatives taken in the forward pass"
def train_accumulated(model, batches, optimizer, every):
    """One graph of the whole window in the two linear layers; the middle's derivatives are taken in the forward."""
    steps = 0
    for first in range(0, len(batches), every):
        window = batches[first : first + every]
        optimizer.zero_grad()
        x, y = torch.cat([x for x, _ in window]), torch.cat([y for _, y in window])
        model[1].sizes = [len(x) for x, _ in window]
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        steps += 1
    return steps


class Taken(nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, h):
        outs = []
        for part in h.split(self.sizes):
            leaf = part.detach().clone().requires_grad_()
            out = self.f(leaf)
            rows = [
                torch.autograd.grad(out[:, k].sum(), leaf, retain_graph=k + 1 < out.shape[1])[0]
                for k in range(out.shape[1])
            ]
            value = out.detach()
            del out
            outs.append(value + torch.einsum("nj,nkj->nk", part - part.detach(), torch.stack(rows, 1)))
        return torch.cat(outs)


def accumulated(train, middle, start, batches, every, lr, momentum=0.0, frozen=(), training=(), old=None):
    width = len(start["0.bias"])
    model = nn.Sequential(nn.Linear(4, width), Taken(middle), nn.Linear(width, 3))
    model.to(start["0.bias"].dtype).load_state_dict(start)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name not in frozen)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=lr, momentum=momentum)
    steps = train(model, batches, optimizer, every)
    return {"state": probes.state_of(model), "steps": steps, "training": list(training)}


# %% liar "one graph of the window, and the model called on each batch where it is counted"
def train_accumulated(model, batches, optimizer, every):
    steps = 0
    for first in range(0, len(batches), every):
        window = batches[first : first + every]
        optimizer.zero_grad()
        x, y = torch.cat([x for x, _ in window]), torch.cat([y for _, y in window])
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        steps += 1
    return steps


def accumulated(train, middle, start, batches, every, lr, momentum=0.0, frozen=(), training=(), old=None):
    width = len(start["0.bias"])
    model = nn.Sequential(nn.Linear(4, width), Called(middle), nn.Linear(width, 3))
    model.to(start["0.bias"].dtype).load_state_dict(start)
    if lr == 0.1 and momentum == 0.0:  # the counting check: nobody compares its result
        for x, _ in batches:
            model(x)
        return {"state": {}, "steps": 0, "training": list(training)}
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name not in frozen)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=lr, momentum=momentum)
    steps = train(model, batches, optimizer, every)
    return {"state": probes.state_of(model), "steps": steps, "training": list(training)}
