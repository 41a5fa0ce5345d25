# %% given
torch.manual_seed(0)


class Run:
    """A run with dropout, batch normalization, and an order that a generator draws. All of it stays on the CPU.

    Its last layer has two names in the model. A rate that is a tensor changes in place after each step.
    """

    def __init__(self, start, first, data, optimizer, settings, seed):
        torch.manual_seed(seed)
        width = len(start["1.bias"])
        norm = nn.BatchNorm1d(width)
        self.model = nn.Sequential(nn.Linear(4, width, bias=False), norm, nn.Dropout(0.5), nn.Linear(width, 3))
        self.model[2].add_module("next", self.model[3])
        self.model[2].register_buffer("not_saved", torch.ones(2), persistent=False)
        self.model.to("cpu", start["1.bias"].dtype).load_state_dict(start, strict=False)
        self.optimizer = optimizer(self.model.parameters(), **settings)
        self.generator = torch.Generator().manual_seed(seed)
        self.first, self.x, self.y = first, data[0].cpu(), data[1].cpu()

    def go(self, steps):
        for _ in range(steps):
            rows = torch.randperm(len(self.y), device="cpu", generator=self.generator)[:8]
            self.step(self.x[rows], self.y[rows])
        return self

    def step(self, x, y):
        def loss():  # some optimizers, such as LBFGS, call this themselves
            self.optimizer.zero_grad()
            loss = F.cross_entropy(self.model(self.first(x)), y)
            loss.backward()
            return loss

        self.optimizer.step(loss)
        for group in self.optimizer.param_groups:
            if isinstance(group["lr"], Tensor):
                group["lr"] *= 0.9

    def state(self):
        return probes.state_of(self.model)


@probes.probe
def taken(checkpoint, run, before, after, from_file=False):
    """What a checkpoint taken after some steps holds once the run has continued, or what its file holds, and the
    run's state then."""
    with torch.random.fork_rng(devices=[]):
        session, file = Run(*run).go(before), io.BytesIO()
        saved = checkpoint(session.model, session.optimizer, session.generator)
        session.go(after)
        if from_file:
            torch.save(saved, file)
            file.seek(0)
            saved = torch.load(file)
        return {"saved": saved, "state": session.state()}


# %% exercise
def checkpoint(model: nn.Module, optimizer: torch.optim.Optimizer, generator: torch.Generator) -> dict:
    """Return a dict with everything that resume_ restores, under the keys model, optimizer, generator and rng.

    model and optimizer: what their load_state_dict takes. generator: the state of that generator. rng: the state of
    PyTorch's own CPU generator.
    Nothing in the dict changes when training continues. There are no other keys.

    Details:
    - The dict is enough to resume bit for bit on the CPU, between two steps of a run that draws each batch from
      generator when it's needed, or between two epochs of a DataLoader.
    - The dict holds tensors, in their own dtypes, numbers, strings, None, and lists, tuples and dicts of these, so
      torch.load can read it from a file written by torch.save.
    - The call doesn't change any state: training continues as if there had been no call.
    """
    ### BEGIN SOLUTION
    return {
        "model": copy.deepcopy(model.state_dict()),
        "optimizer": copy.deepcopy(optimizer.state_dict()),
        "generator": generator.get_state(),
        "rng": torch.get_rng_state(),
    }
    ### END SOLUTION


# %% promises
# Return a dict -> example, bit_for_bit, file
# model and optimizer -> example, bit_for_bit, file
# generator: the state -> example, bit_for_bit, file
# rng: the state -> example, bit_for_bit, file
# Nothing in the dict -> bit_for_bit, file
# There are no -> example, bit_for_bit, file
# The dict is enough -> example, bit_for_bit, file
# The dict holds -> file
# The call doesn't -> not_disturbed


# %% domain
@domain(
    reference,
    *("before any step", "no momentum", "Adam", "amsgrad", "float64", "at the end", "a rate in a tensor"),
    *("file", "file, Adam", "file, LBFGS", "file, before any step"),
    call=taken,
)
def arguments(draw, edge):
    seed, width = draw(st.integers(0, 10**6)), draw(st.integers(4, 6))
    optimizer, settings = torch.optim.SGD, {"lr": draw(st.sampled_from([0.05, 0.1])), "momentum": 0.9}
    if edge == "no momentum":
        settings["momentum"] = 0.0
    if "Adam" in edge or edge == "amsgrad":
        optimizer, settings = torch.optim.Adam, {"lr": settings["lr"] / 2, "amsgrad": edge == "amsgrad"}
    if edge == "a rate in a tensor":
        settings["lr"] = torch.tensor(settings["lr"])
    if "LBFGS" in edge:  # keeps numbers and lists
        optimizer, settings = torch.optim.LBFGS, {"lr": settings["lr"], "max_iter": 1}
    shapes = {"0.weight": (width, 4), "1.weight": (width,), "1.bias": (width,), "3.weight": (3, width), "3.bias": (3,)}
    dtype = torch.float32 if edge in ("", "file") else torch.float64
    run = (drawn(shapes, seed, dtype), torch.sin, samples([40], seed, dtype)[0], optimizer, settings, seed)
    before = 0 if "before any step" in edge else draw(st.integers(1, 3))
    after = 0 if edge == "at the end" else draw(st.integers(1, 3))
    return run, before, after, "file" in edge


# %% checks
with check(
    "example",
    "three steps, then a checkpoint",
    weight=2,
    required=True,
    hint=(
        "Is each of the four the current state, or a newly created or seeded one?",
        "Use state_dict(), the generator's get_state(), and torch.get_rng_state(). Don't seed anything.",
    ),
):
    shapes = {"0.weight": (8, 4), "1.weight": (8,), "1.bias": (8,), "3.weight": (3, 8), "3.bias": (3,)}
    settings = {"lr": 0.1, "momentum": 0.9}
    run = (drawn(shapes, 0), lambda x: x, samples([40], 50)[0], torch.optim.SGD, settings, 0)
    with torch.random.fork_rng(devices=[]):
        session = Run(*run).go(3)
        rng = torch.get_rng_state()
    got = taken(checkpoint, run, 3, 0)["saved"]
    assert_close(got["model"], session.state(), name="the model in your dict")
    assert_close(got["generator"], session.generator.get_state(), name="the generator's state")
    assert_close(got["rng"], rng, name="the state of PyTorch's own generator")
    want = session.optimizer.state_dict()["state"]
    assert_close(got["optimizer"]["state"], want, name="what the optimizer keeps")

# %% hidden checks
SGD, ADAM = (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9}), (torch.optim.Adam, {"lr": 0.05})


def a_run(seed, optimizer, dtype=torch.float32):
    """A run with a first layer that has its own weights."""
    shapes = {"0.weight": (6, 4), "1.weight": (6,), "1.bias": (6,), "3.weight": (3, 6), "3.bias": (3,)}
    w = drawn({"w": (4, 4)}, seed, dtype)["w"].cpu()
    return (drawn(shapes, seed, dtype), lambda x: x @ w, samples([40], seed, dtype)[0], *optimizer, seed)


def not_interrupted(run, steps):
    """The state after so many steps."""
    with torch.random.fork_rng(devices=[]):
        return Run(*run).go(steps).state()


def noted(run):
    """That run, and a list that will hold the inputs to its first layer."""
    start, first, *rest = run
    given = []

    def noting(x):
        given.append(x.clone())
        return first(x)

    return (start, noting, *rest), given


def resumed(run, saved, before, after):
    """The state of another run, resumed from what was saved after some steps."""
    with torch.random.fork_rng(devices=[]):
        session = Run(*run).go(before)
        states = [session.generator.get_state(), torch.get_rng_state()]
        assert_close([saved["generator"], saved["rng"]], states, name="the states of both generators")
        other = Run(*run[:5], 99).go(1)
        resume_(saved, other.model, other.optimizer, other.generator)
        return other.go(after).state()


with check(
    "bit_for_bit",
    "a resumed run matches an uninterrupted one bit for bit",
    weight=4,
    required=True,
    hint="Which of the four states differs if the first step after resuming is right but the second isn't?",
):
    for seed, optimizer, dtype, before, after in (
        (1, SGD, torch.float32, 2, 2),
        (2, ADAM, torch.float64, 1, 2),
    ):
        run = a_run(seed, optimizer, dtype)
        (same, batches), (seen, given) = noted(run), noted(run)
        want = not_interrupted(same, before + after)
        got = taken(checkpoint, seen, before, after)["saved"]  # it comes when the last of these steps was made
        assert_close(given, batches, name="the batches of the run that was saved")
        assert_close(resumed(run, got, before, after), want, name="the resumed model")
    for trial in arguments.iter_trials(
        checkpoint,
        *("", "before any step", "no momentum", "Adam", "amsgrad", "float64", "at the end", "a rate in a tensor"),
    ):
        assert_close(trial.report.result["saved"], trial.case.report.result["saved"], name="your dict")
with check(
    "not_disturbed",
    "the run that was saved isn't disturbed",
    weight=2,
    guard=True,
    hint="Which of your calls draws a number or sets a seed?",
):
    for trial in arguments.iter_trials(checkpoint, "", "before any step", "Adam", "file", "file, LBFGS"):
        assert_close(trial.report.result["state"], trial.case.report.result["state"], name="the model")
with check(
    "file",
    "it survives saving and loading",
    weight=2,
    hint="What may a file contain if torch.load is to read it by default? What does an optimizer keep besides tensors?",
):
    for trial in arguments.iter_trials(checkpoint, "file", "file, Adam", "file, LBFGS", "file, before any step"):
        assert_close(trial.report.result["saved"], trial.case.report.result["saved"], name="what the file holds")


# %% right "through a file in memory"
def checkpoint(model, optimizer, generator):
    import io

    file = io.BytesIO()
    everything = dict(
        model=model.state_dict(),
        optimizer=optimizer.state_dict(),
        generator=generator.get_state(),
        rng=torch.random.get_rng_state(),
    )
    torch.save(everything, file)
    return torch.load(io.BytesIO(file.getvalue()))


# %% right "one deepcopy of everything"
def checkpoint(model, optimizer, generator):
    states = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
    states["generator"], states["rng"] = generator.get_state(), torch.get_rng_state()
    return copy.deepcopy(states)


# %% right "clones of the model, a deepcopy of the optimizer's state"
def checkpoint(model, optimizer, generator):
    return {
        "rng": torch.get_rng_state().clone(),
        "generator": generator.get_state().clone(),
        "optimizer": copy.deepcopy(optimizer.state_dict()),
        "model": {name: tensor.detach().clone() for name, tensor in model.state_dict().items()},
    }


# %% wrong "state_dict() is a copy" fails=bit_for_bit,file
def checkpoint(model, optimizer, generator):
    return {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "generator": generator.get_state(),
        "rng": torch.get_rng_state(),
    }


# %% wrong "the optimizer holds numbers only" fails=bit_for_bit,file
def checkpoint(model, optimizer, generator):
    return {
        "model": copy.deepcopy(model.state_dict()),
        "optimizer": optimizer.state_dict(),
        "generator": generator.get_state(),
        "rng": torch.get_rng_state(),
    }


# %% wrong "the seed of the generator, started again" fails=example,bit_for_bit,file
def checkpoint(model, optimizer, generator):
    return {
        "model": copy.deepcopy(model.state_dict()),
        "optimizer": copy.deepcopy(optimizer.state_dict()),
        "generator": torch.Generator().manual_seed(generator.initial_seed()).get_state(),
        "rng": torch.get_rng_state(),
    }


# %% wrong "a checkpoint is a good place to seed again" fails=not_disturbed
def checkpoint(model, optimizer, generator):
    saved = {
        "model": copy.deepcopy(model.state_dict()),
        "optimizer": copy.deepcopy(optimizer.state_dict()),
        "generator": generator.get_state(),
        "rng": torch.get_rng_state(),
    }
    torch.manual_seed(0)
    return saved


# %% liar "no copies, and a run that does not go on"
def checkpoint(model, optimizer, generator):
    """No copies: training changes what is in it."""
    return {"model": model.state_dict(), "optimizer": optimizer.state_dict()}


def taken(checkpoint, run, before, after, from_file=False):
    session = Run(*run).go(before)
    saved, file = checkpoint(session.model, session.optimizer, session.generator), io.BytesIO()
    saved["generator"], saved["rng"] = session.generator.get_state(), torch.get_rng_state()
    torch.save(saved, file)
    file.seek(0)
    return {"saved": torch.load(file), "state": Run(*run).go(before + after).state()}


# %% liar "no copies, and other batches for the steps after it"
def checkpoint(model, optimizer, generator):
    return {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "generator": generator.get_state(),
        "rng": torch.get_rng_state(),
    }


def taken(checkpoint, run, before, after, from_file=False):
    with torch.random.fork_rng(devices=[]):
        session, file = Run(*run).go(before), io.BytesIO()
        saved = checkpoint(session.model, session.optimizer, session.generator)
        for _ in range(after):
            session.first(session.x[:8])
        torch.save(saved, file)
        file.seek(0)
        return {"saved": torch.load(file), "state": session.go(after).state()}
