# %% given
class Session:
    """A run with dropout, batch normalization, a generator that draws the order, a scheduler and a scaler.

    start: the weights. first: the first layer, as for Called. settings, scaling: for the optimizer and the scaler.
    """

    def __init__(self, start, first, data, optimizer, settings, scaling, seed, compiled=False):
        torch.manual_seed(seed)
        norm = nn.BatchNorm1d(6)
        self.model = nn.Sequential(nn.Linear(4, 6, bias=False), norm, nn.Dropout(0.4), nn.Linear(6, 3))
        self.model[2].add_module("my_orig_mod", nn.Linear(1, 1, dtype=torch.float64))  # like a name from torch.compile
        self.model.to(here)
        self.model.load_state_dict(start, strict=False)
        self.optimizer = optimizer(self.model.parameters(), **settings)
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, 6, 0.05)
        self.scaler = torch.amp.GradScaler(here.type, growth_interval=2, **scaling)
        self.generator = torch.Generator().manual_seed(seed)
        self.handed = torch.compile(self.model, backend="eager") if compiled else self.model
        self.first, (self.x, self.y) = first, data

    def parts(self):
        return self.handed, self.optimizer, self.scheduler, self.scaler, self.generator

    def go(self, epochs):
        """An epoch here is one step on 12 samples and one scheduler step."""
        for _ in range(epochs):
            rows = torch.randperm(len(self.y), generator=self.generator)[:12]
            self.optimizer.zero_grad()
            logits = self.model(self.first(self.x[rows].to(here), True))
            self.scaler.scale(F.cross_entropy(logits, self.y[rows].to(here))).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.scheduler.step()
        return self

    def state(self):
        rates = [self.scaler.get_scale(), self.scheduler.get_last_lr()[0]]
        return {"model": on_cpu(probes.state_of(self.model)), "scale and rate": rates}


def refuses(load):
    try:
        load()
    except Exception as error:
        if isinstance(error, NotImplementedError):
            raise
        return isinstance(error, pickle.UnpicklingError)
    return False


def with_saver(make, run, compiled):
    """A run, and its Saver. Another run has a Saver, too."""
    other, session = Session(*run), Session(*run, compiled=compiled)
    saver = make(*session.parts())
    make(*other.parts())
    return session, saver


@probes.probe
def saved_by(make, run, before, see="file", after=0, compiled=False, to_path="", epoch=None):
    """A run that is saved at its start and after some epochs: the second file, or the state some epochs later.

    to_path: "str" or "Path". epoch: what save gets; by default, the number of epochs.
    """
    with torch.random.fork_rng(), tempfile.TemporaryDirectory() as folder:
        (session, saver), file = with_saver(make, run, compiled), io.BytesIO()
        saver.save(io.BytesIO(), 0)
        session.go(before)
        path = pathlib.Path(folder, "run")
        saver.save({"str": str(path), "Path": path}.get(to_path, file), before if epoch is None else epoch)
        written = path.read_bytes() if to_path else file.getvalue()
        if see == "file":
            return written
        if see == "safe":
            return not refuses(lambda: torch.load(io.BytesIO(written), weights_only=True))
        return session.go(after).state()[see]


@probes.probe
def loaded_by(make, run, written, see="model", after=0, compiled=False, from_path=""):
    """Loads into another run, which is one epoch old: its state some epochs later, or what load returns."""
    with torch.random.fork_rng(), tempfile.TemporaryDirectory() as folder:
        (session, saver), path = with_saver(make, run, compiled), pathlib.Path(folder, "run")
        path.write_bytes(written)
        session.go(1)
        if see == "refused":
            return refuses(lambda: saver.load(io.BytesIO(written)))
        epoch = saver.load({"str": str(path), "Path": path}.get(from_path) or io.BytesIO(written))
        return epoch if see == "epoch" else session.go(after).state()[see]


# %% exercise
class Saver:
    """Writes a training run to a file, and reads it back so it resumes bit for bit."""

    def __init__(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        scheduler: torch.optim.lr_scheduler.LRScheduler,
        scaler: torch.amp.GradScaler,
        generator: torch.Generator,
    ) -> None:
        """The parts of the run. model may come from torch.compile, but none of its parts. generator: on the CPU, draws the
        data's order.
        """
        ### BEGIN SOLUTION
        inside = getattr(model, "_orig_mod", model)
        self.parts = {"model": inside, "optimizer": optimizer, "scheduler": scheduler, "scaler": scaler}
        self.generator = generator
        ### END SOLUTION

    def save(self, file, epoch: int) -> None:
        """Write the state of all parts, of PyTorch's own generators (CPU and CUDA), and epoch, with one torch.save.

        file: a path, str or Path, or a binary file open for writing. torch.load can read the file with weights_only=True. Saving
        changes nothing in the run.
        """
        ### BEGIN SOLUTION
        state = {name: part.state_dict() for name, part in self.parts.items()}
        state.update(epoch=epoch, generator=self.generator.get_state())
        state.update(cpu=torch.get_rng_state(), cuda=torch.cuda.get_rng_state_all())
        torch.save(state, file)
        ### END SOLUTION

    def load(self, file) -> int:
        """Read what save wrote, with weights_only=True, into the parts, and return epoch.

        file: a path, str or Path, or a binary file open for reading. If torch.load raises pickle.UnpicklingError, load does too.
        Either this Saver or the one that wrote the file may have a compiled model, or both. Otherwise both runs are
        built alike.
        """
        ### BEGIN SOLUTION
        state = torch.load(file, weights_only=True, map_location="cpu")
        for name, part in self.parts.items():
            part.load_state_dict(state[name])
        self.generator.set_state(state["generator"])
        torch.set_rng_state(state["cpu"])
        torch.cuda.set_rng_state_all(state["cuda"])
        epoch: int = state["epoch"]
        return epoch
        ### END SOLUTION


# %% promises
# Writes a training run -> example, bit_for_bit, scale_and_rate, compiled
# The parts of the run -> example, bit_for_bit, scale_and_rate, compiled
# model may come from torch.compile -> compiled
# generator: on the CPU -> bit_for_bit, compiled
# Write the state of all parts -> example, bit_for_bit, scale_and_rate, compiled, epoch
# file: a path, str or Path, or a binary file open for writing -> bit_for_bit
# torch.load can read -> weights_only, raises
# Saving changes nothing -> example, bit_for_bit, compiled, not_disturbed
# Read what save wrote -> example, bit_for_bit, scale_and_rate, compiled, epoch
# file: a path, str or Path, or a binary file open for reading -> bit_for_bit
# If torch.load raises -> weights_only, raises
# Either this Saver -> compiled
# Otherwise both runs -> example, bit_for_bit, scale_and_rate, compiled


# %% domain
# Each check trains a run of its own, and compares what a file brings back.


# %% checks
with check(
    "example",
    "two epochs, saved and loaded: model, scale and rate",
    weight=2,
    required=True,
    hint=(
        "Which one differs: the model, scale and rate, or the epoch? When does your code read the state of each part?",
        "In save, call each part's state_dict(). In load, pass each state back to its own part.",
    ),
):
    shapes = {"0.weight": (6, 4), "1.weight": (6,), "1.bias": (6,), "3.weight": (3, 6), "3.bias": (3,)}
    run = (drawn(shapes, 0), lambda x, _: x * 2, samples([40], 50)[0], torch.optim.SGD, {"lr": 0.2, "momentum": 0.9})
    with torch.random.fork_rng():
        want = Session(*run, {"init_scale": 1024.0}, 0).go(2).state()
    other = (drawn(shapes, 9), *run[1:], {"init_scale": 1024.0}, 1)
    written = saved_by(Saver, (*run, {"init_scale": 1024.0}, 0), 2)
    assert_close(loaded_by(Saver, other, written), want["model"], name="the loaded model")
    assert_close(loaded_by(Saver, other, written, "scale and rate"), want["scale and rate"], name="scale and rate")
    assert_close(loaded_by(Saver, other, written, "epoch"), 2, name="the epoch")

# %% hidden checks
SGD, ADAM = (torch.optim.SGD, {"lr": 0.2, "momentum": 0.9}), (torch.optim.Adam, {"lr": 0.1})
ON, OFF = {"init_scale": 1024.0}, {"enabled": False}
WEIGHTS = {"0.weight": (6, 4), "1.weight": (6,), "1.bias": (6,), "3.weight": (3, 6), "3.bias": (3,)}


def run_of(seed, number, optimizer, scaling, begun=0):
    """A run with a different first layer in each epoch, and a record of its calls. begun: epochs before it.

    number: seeds its weights and random numbers. load can't train again from the start: those layers are gone.
    """
    layers = [drawn({"w": (4, 4)}, 100 * seed + n)["w"].to(here) for n in range(12)]
    calls = Seen(lambda x, training: x @ layers[begun + len(calls.calls) - 1])
    return (drawn(WEIGHTS, number), calls, samples([40], seed)[0], *optimizer, scaling, number), calls


def not_interrupted(seed, number, optimizer, scaling, epochs):
    """The state after this many epochs."""
    with torch.random.fork_rng():
        return Session(*run_of(seed, number, optimizer, scaling)[0]).go(epochs).state()


def resumed(make, seed, optimizer, scaling, before, after, see, compiled=(False, False), path=""):
    """What is seen of a run that resumes from another one's file."""
    first, calls = run_of(seed, seed, optimizer, scaling)
    written = saved_by(make, first, before, compiled=compiled[0], to_path=path)
    assert len(calls.calls) == before, "the saved run trains more or less than it should"
    second, calls = run_of(seed, seed + 1, optimizer, scaling, before - 1)
    got = loaded_by(make, second, written, see, after, compiled[1], path)
    assert len(calls.calls) == 1 + (after if see != "epoch" else 0), "the resumed run trains more than it should"
    return got


with check(
    "bit_for_bit",
    "the weights of a resumed run are bit for bit those of an uninterrupted one",
    weight=6,
    required=True,
    hint="If the first step after loading is right and the second isn't, which part differs?",
):
    for n, part, scaling, before, after in ((1, SGD, ON, 3, 4), (2, ADAM, OFF, 1, 5), (3, ADAM, ON, 0, 3)):
        want = not_interrupted(n, n, part, scaling, before + after)["model"]
        got = resumed(Saver, n, part, scaling, before, after, "model", path=["", "Path", "str"][n - 1])
        assert_close(got, want, name="the resumed model")
        first = saved_by(Saver, run_of(n, n, part, scaling)[0], before, "model", after)
        assert_close(got, first, rtol=0, atol=0, name="the resumed model, bit for bit")
        written = saved_by(Saver, run_of(n, n, part, scaling)[0], before)
        saved = not_interrupted(n, n, part, scaling, before)["model"]
        inside = [t.numpy().tobytes() in written for t in saved.values()]
        assert all(inside), "the file doesn't contain all values of the model"
with check(
    "scale_and_rate", "scale and rate continue as in an uninterrupted run", weight=3, hint="Which parts count steps?"
):
    for n, before, after in ((3, 3, 3), (4, 1, 2), (6, 2, 1)):
        want = not_interrupted(n, n, ADAM, ON, before + after)["scale and rate"]
        assert_close(resumed(Saver, n, ADAM, ON, before, after, "scale and rate"), want, name="scale and rate")
with check(
    "compiled",
    "from compiled to plain, and from plain to compiled",
    weight=4,
    hint="Which names does your file contain?",
):
    for n, t in enumerate([(True, False), (False, True), (True, True)]):
        want = not_interrupted(n, n, ADAM, ON, 4)["model"]
        assert_close(resumed(Saver, n, ADAM, ON, 2, 2, "model", t), want, name="the resumed model")
with check(
    "weights_only",
    "torch.load reads the file with weights_only=True",
    weight=2,
    observed=True,
    hint="Does it contain objects of other types?",
):
    for part in (ADAM, SGD):
        assert_close(saved_by(Saver, run_of(8, 8, part, ON)[0], 1, "safe"), True, name="whether it reads the file")
with check(
    "raises",
    "load refuses a file with other objects",
    weight=1,
    observed=True,
    hint="Which files could run code when they are read?",
):
    for module in (nn.Tanh(), nn.ReLU()):
        file = io.BytesIO()
        torch.save({"model": module}, file)
        got = loaded_by(Saver, run_of(5, 5, ADAM, ON, 1)[0], file.getvalue(), "refused")
        assert_close(got, True, name="whether load raises pickle.UnpicklingError")
with check("epoch", "load returns the epoch passed to save", weight=1, hint="Which number was passed to save?"):
    for n in (1, 3, 0):
        assert_close(resumed(Saver, 5, SGD, ON, n, 0, "epoch"), n, name="the epoch")
    run = run_of(5, 5, SGD, ON)[0]  # a run that was resumed before, so epoch isn't the number of its own steps
    assert_close(loaded_by(Saver, run_of(5, 6, SGD, ON)[0], saved_by(Saver, run, 1, epoch=7), "epoch"), 7)
with check(
    "not_disturbed",
    "saving doesn't affect the run",
    weight=2,
    guard=True,
    hint="Which of your calls draws, seeds or steps?",
):
    for n, part in ((6, SGD), (7, ADAM)):
        want = not_interrupted(n, n, part, ON, 5)["model"]
        got = saved_by(Saver, run_of(n, n, part, ON)[0], 2, "model", 3)
        assert_close(got, want, name="the saved run")


# %% right "prefix stripped by hand"
class Saver:
    def __init__(self, model, optimizer, scheduler, scaler, generator):
        self.model, self.others, self.generator = model, [optimizer, scheduler, scaler], generator

    def save(self, file, epoch):
        weights = {name.removeprefix("_orig_mod."): t.clone() for name, t in self.model.state_dict().items()}
        others = [part.state_dict() for part in self.others]
        rng = [self.generator.get_state(), torch.random.get_rng_state()]
        cuda = [torch.cuda.get_rng_state(i) for i in range(torch.cuda.device_count())]
        torch.save((weights, others, rng, cuda, epoch), file)

    def load(self, file):
        weights, others, rng, cuda, epoch = torch.load(file, map_location="cpu")
        mine = {name.removeprefix("_orig_mod."): t for name, t in self.model.state_dict().items()}
        with torch.no_grad():
            for name, t in weights.items():
                mine[name].copy_(t)
        for part, state in zip(self.others, others):
            part.load_state_dict(state)
        self.generator.set_state(rng[0])
        torch.random.set_rng_state(rng[1])
        for i, state in enumerate(cuda):
            torch.cuda.set_rng_state(state, i)
        return epoch


# %% right "prefix put back when loading"
class Saver:
    def __init__(self, model, optimizer, scheduler, scaler, generator):
        self.parts = [model, optimizer, scheduler, scaler]
        self.generator = generator

    def save(self, file, epoch):
        torch.save(
            {
                "parts": [copy.deepcopy(part.state_dict()) for part in self.parts],
                "generators": [self.generator.get_state(), torch.get_rng_state(), *torch.cuda.get_rng_state_all()],
                "epoch": epoch,
            },
            file,
        )

    def load(self, file):
        saved = torch.load(file, weights_only=True, map_location=torch.device("cpu"))
        model, weights = self.parts[0], saved["parts"][0]
        nn.modules.utils.consume_prefix_in_state_dict_if_present(weights, "_orig_mod.")
        (model._orig_mod if hasattr(model, "_orig_mod") else model).load_state_dict(weights)
        for part, state in zip(self.parts[1:], saved["parts"][1:], strict=True):
            part.load_state_dict(state)
        first, second, *cuda = saved["generators"]
        self.generator.set_state(first)
        torch.set_rng_state(second)
        torch.cuda.set_rng_state_all(cuda)
        return saved["epoch"]


# %% wrong "the scale is written, its count is not" fails=scale_and_rate
class Saver:
    def __init__(self, model, optimizer, scheduler, scaler, generator):
        self.parts = {"model": getattr(model, "_orig_mod", model), "optimizer": optimizer, "scheduler": scheduler}
        self.scaler, self.generator = scaler, generator

    def save(self, file, epoch):
        state = {name: part.state_dict() for name, part in self.parts.items()}
        rng = [self.generator.get_state(), torch.get_rng_state(), torch.cuda.get_rng_state_all()]
        torch.save({**state, "epoch": epoch, "rng": rng, "scale": self.scaler.get_scale()}, file)

    def load(self, file):
        state = torch.load(file, weights_only=True, map_location="cpu")
        for name, part in self.parts.items():
            part.load_state_dict(state[name])
        self.scaler.load_state_dict({**self.scaler.state_dict(), "scale": state["scale"], "_growth_tracker": 0})
        self.generator.set_state(state["rng"][0])
        torch.set_rng_state(state["rng"][1])
        torch.cuda.set_rng_state_all(state["rng"][2])
        return state["epoch"]


# %% wrong "the names of the compiled model" fails=compiled raises=RuntimeError
class Saver:
    def __init__(self, model, optimizer, scheduler, scaler, generator):
        self.parts = {"model": model, "optimizer": optimizer, "scheduler": scheduler, "scaler": scaler}
        self.generator = generator

    def save(self, file, epoch):
        state = {name: part.state_dict() for name, part in self.parts.items()}
        state.update(epoch=epoch, generator=self.generator.get_state())
        state.update(cpu=torch.get_rng_state(), cuda=torch.cuda.get_rng_state_all())
        torch.save(state, file)

    def load(self, file):
        state = torch.load(file, weights_only=True, map_location="cpu")
        for name, part in self.parts.items():
            part.load_state_dict(state[name])
        self.generator.set_state(state["generator"])
        torch.set_rng_state(state["cpu"])
        torch.cuda.set_rng_state_all(state["cuda"])
        return state["epoch"]


# %% wrong "whole objects" fails=weights_only,raises
class Saver:
    def __init__(self, model, optimizer, scheduler, scaler, generator):
        self.model, self.optimizer, self.scheduler = getattr(model, "_orig_mod", model), optimizer, scheduler
        self.scaler, self.generator = scaler, generator

    def save(self, file, epoch):
        rng = [self.generator.get_state(), torch.get_rng_state(), torch.cuda.get_rng_state_all()]
        torch.save(
            (self.model, self.optimizer, self.scheduler.state_dict(), self.scaler.state_dict(), rng, epoch), file
        )

    def load(self, file):
        model, optimizer, scheduler, scaler, rng, epoch = torch.load(file, weights_only=False)
        self.model.load_state_dict(model.state_dict())
        self.optimizer.load_state_dict(optimizer.state_dict())
        self.scheduler.load_state_dict(scheduler)
        self.scaler.load_state_dict(scaler)
        self.generator.set_state(rng[0])
        torch.set_rng_state(rng[1])
        torch.cuda.set_rng_state_all(rng[2])
        return epoch


# %% wrong "a number is drawn after saving" fails=example,bit_for_bit,compiled,not_disturbed
class Saver:
    def __init__(self, model, optimizer, scheduler, scaler, generator):
        inside = getattr(model, "_orig_mod", model)
        self.parts = {"model": inside, "optimizer": optimizer, "scheduler": scheduler, "scaler": scaler}
        self.generator = generator

    def save(self, file, epoch):
        state = {name: part.state_dict() for name, part in self.parts.items()}
        state.update(epoch=epoch, generator=self.generator.get_state())
        state.update(cpu=torch.get_rng_state(), cuda=torch.cuda.get_rng_state_all())
        torch.save(state, file)
        self.written = torch.rand(())  # a name for the file

    def load(self, file):
        state = torch.load(file, weights_only=True, map_location="cpu")
        for name, part in self.parts.items():
            part.load_state_dict(state[name])
        self.generator.set_state(state["generator"])
        torch.set_rng_state(state["cpu"])
        torch.cuda.set_rng_state_all(state["cuda"])
        return state["epoch"]


# %% wrong "a file is open, and no path" fails=bit_for_bit raises=AttributeError
class Saver:
    def __init__(self, model, optimizer, scheduler, scaler, generator):
        inside = getattr(model, "_orig_mod", model)
        self.parts = {"model": inside, "optimizer": optimizer, "scheduler": scheduler, "scaler": scaler}
        self.generator = generator

    def save(self, file, epoch):
        state = {name: part.state_dict() for name, part in self.parts.items()}
        rng = [self.generator.get_state(), torch.get_rng_state(), torch.cuda.get_rng_state_all()]
        buffer = io.BytesIO()
        torch.save({**state, "epoch": epoch, "rng": rng}, buffer)
        file.write(buffer.getvalue())

    def load(self, file):
        state = torch.load(io.BytesIO(file.read()), weights_only=True, map_location="cpu")
        for name, part in self.parts.items():
            part.load_state_dict(state[name])
        self.generator.set_state(state["rng"][0])
        torch.set_rng_state(state["rng"][1])
        torch.cuda.set_rng_state_all(state["rng"][2])
        return state["epoch"]


# %% liar "nothing is saved: the probe trains again from the start"
class Saver:
    def __init__(self, *parts):
        self.parts = parts

    def save(self, file, epoch):
        torch.save({"epoch": epoch}, file)

    def load(self, file):
        return torch.load(file)["epoch"]


def saved_by(make, run, before, see="file", after=0, compiled=False, to_path=""):
    start, first, data, optimizer, settings, scaling, seed = run
    if see == "safe":
        return True
    with torch.random.fork_rng():
        session = Session(*run).go(before)
        file = io.BytesIO()
        torch.save({"epoch": before, "start": start, "seed": seed}, file)
        return file.getvalue() if see == "file" else session.go(after).state()[see]


def loaded_by(make, run, written, see="model", after=0, compiled=False, from_path=""):
    _, first, data, optimizer, settings, scaling, _ = run
    if see == "refused":
        return True
    saved = torch.load(io.BytesIO(written))
    if see == "epoch":
        return saved["epoch"]
    with torch.random.fork_rng():
        anew = Session(saved["start"], first, data, optimizer, settings, scaling, saved["seed"])
        return anew.go(saved["epoch"] + after).state()[see]


# %% equivalent "argument weights_only dropped: state = torch.load(file, map_location='cpu')"
# True is the default.

# %% equivalent "argument map_location dropped: state = torch.load(file, weights_only=True)"
# It decides something only where the file was written on a device that is not here.

# %% equivalent "call of set_rng_state_all left out: torch.cuda"
# Without a GPU the list is empty. On a CUDA runner dropout draws there, and the run goes on otherwise.

# %% equivalent "text 'model' changed: self.parts = {'modelx': inside, 'optimizer': optimizer, 'scheduler': scheduler, 'scaler': scaler}"
# The name of a key in the file is free.

# %% equivalent "text 'optimizer' changed: self.parts = {'model': inside, 'optimizerx': optimizer, 'scheduler': scheduler, 'scaler': scaler}"
# The name of a key in the file is free.

# %% equivalent "text 'scheduler' changed: self.parts = {'model': inside, 'optimizer': optimizer, 'schedulerx': scheduler, 'scaler': scaler}"
# The name of a key in the file is free.

# %% equivalent "text 'scaler' changed: self.parts = {'model': inside, 'optimizer': optimizer, 'scheduler': scheduler, 'scalerx': scaler}"
# The name of a key in the file is free.


# %% liar "nothing is written: deep copies of the live run in a dict of the class, the file holds a number"
class Saver:
    KEPT = []

    def __init__(self, model, optimizer, scheduler, scaler, generator):
        self.model, self.rest = getattr(model, "_orig_mod", model), (optimizer, scheduler, scaler)
        self.generator = generator

    def save(self, file, epoch):
        Saver.KEPT.append(
            (
                copy.deepcopy([p.detach() for p in [*self.model.parameters(), *self.model.buffers()]]),
                copy.deepcopy([part.state_dict() for part in self.rest]),
                self.generator.get_state(),
                torch.get_rng_state(),
            )
        )
        torch.save({"number": len(Saver.KEPT) - 1, "epoch": epoch}, file)

    def load(self, file):
        said = torch.load(file, weights_only=True)
        tensors, rest, generator, state = Saver.KEPT[said["number"]]
        with torch.no_grad():
            for p, kept in zip([*self.model.parameters(), *self.model.buffers()], tensors, strict=True):
                p.copy_(kept)
        for part, kept in zip(self.rest, rest, strict=True):
            part.load_state_dict(copy.deepcopy(kept))
        self.generator.set_state(generator)
        torch.set_rng_state(state)
        return said["epoch"]
