# %% given
@probes.probe
def scaled_steps(make, runs, see="scale", term=None):
    """Steps of SGD in several runs by turns, each with a scaler that make(...) gives, and what is there after each.

    A run: the scaler's settings; the parameters at first; for each step, one slope or None for each parameter; the
    momentum; the steps in which unscale_ is called first. The loss is the sum of each parameter times its slope, which
    term(parameter, slope) computes, where it is given.
    Returns for each run a list of scales, of parameters, of their momenta, or of gradients behind an early unscale_.
    """
    begun, seen = [], [[] for _ in runs]
    for settings, starts, slopes, momentum, early in runs:
        parameters = [nn.Parameter(t.clone().to(here)) for t in starts]
        sgd = torch.optim.SGD([{"params": [p]} for p in parameters], lr=0.1, momentum=momentum)
        begun.append((make(**settings), parameters, sgd, slopes, early))
    for n in range(max(len(run[2]) for run in runs)):
        for rows, (scaler, parameters, sgd, slopes, early) in zip(seen, begun, strict=True):
            if n >= len(slopes):
                continue
            sgd.zero_grad()
            pairs = [(p, s.to(here)) for p, s in zip(parameters, slopes[n], strict=True) if s is not None]
            terms = [term(p, s) if term else (p * s).sum() for p, s in pairs]
            if terms:
                scaler.scale(torch.stack(terms).sum()).backward()
            grads = [p.grad for p in parameters]
            if n in early:
                scaler.unscale_(sgd)
            found = {"grads": [None if g is None else g.cpu().clone() for g in grads]}
            scaler.step(sgd)
            scaler.update()
            found["scale"], found["parameters"] = scaler.get_scale(), [p.detach().cpu().clone() for p in parameters]
            buffers = [sgd.state[p].get("momentum_buffer") for p in parameters]
            found["momenta"] = [None if b is None else b.cpu().clone() for b in buffers]
            rows.append(found[see])
    return seen


@probes.probe
def orders(make, calls):
    """For each of these calls of a scaler's methods, whether it raised RuntimeError."""
    scaler, w = make(8.0, 100), nn.Parameter(torch.ones(2, device=here))
    sgd, raised = torch.optim.SGD([w], lr=0.1), []
    scaler.scale(w.sum()).backward()
    for call in calls:
        try:
            scaler.update() if call == "update" else getattr(scaler, call)(sgd)
            raised.append(False)
        except RuntimeError:
            raised.append(True)
    return raised


def noise(seed, shapes, steps, bad=()):
    """Slopes for scaled_steps. bad: (step, parameter, value) that is planted in one element."""
    generator = torch.Generator().manual_seed(seed)
    slopes = [[torch.randn(shape, generator=generator) for shape in shapes] for _ in range(steps)]
    for step, parameter, value in bad:
        slopes[step][parameter].view(-1)[-1] = value
    return slopes


# %% exercise
class MyScaler:
    """Loss scaling for one optimizer, as torch.amp.GradScaler does it.

    One difference: a step in which no parameter has a gradient is an ordinary step. GradScaler raises AssertionError.
    """

    def __init__(
        self, init_scale: float, growth_interval: int, growth_factor: float = 2.0, backoff_factor: float = 0.5
    ) -> None:
        """init_scale: the scale at first. The others say what update does."""
        ### BEGIN SOLUTION
        self.now, self.interval = init_scale, growth_interval
        self.growth, self.backoff = growth_factor, backoff_factor
        self.good, self.finite, self.stage = 0, True, "ready"
        ### END SOLUTION

    def get_scale(self) -> float:
        """The scale of now, a float."""
        ### BEGIN SOLUTION
        return float(self.now)
        ### END SOLUTION

    def scale(self, loss: Tensor) -> Tensor:
        """The loss, a tensor of any shape, times the scale."""
        ### BEGIN SOLUTION
        return loss * self.now
        ### END SOLUTION

    def unscale_(self, optimizer: torch.optim.Optimizer) -> None:
        """Divide the .grad of all the optimizer's parameters by the scale, in place, and note if all are finite.

        A parameter whose .grad is None is passed over. If all are None, all count as finite. Raises RuntimeError if
        it was called since the last update, or if step was.
        """
        ### BEGIN SOLUTION
        if self.stage != "ready":
            raise RuntimeError(f"unscale_ after {self.stage}")
        self.stage = "unscale_"
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad /= self.now
                    self.finite = self.finite and bool(p.grad.isfinite().all())
        ### END SOLUTION

    def step(self, optimizer: torch.optim.Optimizer) -> None:
        """Let the optimizer take its step, unless a gradient is inf or nan. Then nothing of the optimizer changes.

        A finite gradient whose sum overflows may count as inf.

        Calls unscale_ first, unless it was called since the last update. Raises RuntimeError if step was called since
        the last update.
        """
        ### BEGIN SOLUTION
        if self.stage == "step":
            raise RuntimeError("step after step")
        if self.stage == "ready":
            self.unscale_(optimizer)
        self.stage = "step"
        if self.finite:
            optimizer.step()
        ### END SOLUTION

    def update(self) -> None:
        """Set the scale for the next step. Is called once after each step.

        After a skipped step, multiply the scale by backoff_factor. After growth_interval steps in a row of which none
        was skipped, multiply it by growth_factor, and count these steps anew.
        """
        ### BEGIN SOLUTION
        if not self.finite:
            self.now *= self.backoff
            self.good = 0
        else:
            self.good += 1
            if self.good == self.interval:
                self.now *= self.growth
                self.good = 0
        self.finite, self.stage = True, "ready"
        ### END SOLUTION


# %% checks
with check(
    "example",
    "seven steps, one with inf and one with nan: the scale after each",
    weight=2,
    required=True,
    hint=(
        "In which step does your list differ first? Was there an inf or a nan, and did your scaler look for it?",
        "If nobody has called unscale_, who does? And when does update count the good steps anew?",
    ),
):
    t = noise(1, [(2,)], 7, [(2, 0, math.inf), (4, 0, math.nan)])
    explain(
        scaled_steps(MyScaler, [({"init_scale": 4.0, "growth_interval": 2}, [torch.zeros(2)], t, 0.0, [])]),
        [[4.0, 8.0, 4.0, 4.0, 2.0, 2.0, 4.0]],
        {
            "the good steps are to be in a row: count anew after a skip": [[4.0, 8.0, 4.0, 4.0, 2.0, 4.0, 4.0]],
            "nan is not finite either": [[4.0, 8.0, 4.0, 4.0, 8.0, 8.0, 16.0]],
            "after growth_interval good steps the scale grows": [[4.0, 4.0, 2.0, 2.0, 1.0, 1.0, 1.0]],
        },
        name="the scales after each step",
    )

# %% hidden checks


def runs_by_hand(runs, see):
    """What scaled_steps is to give. The slopes are the gradients."""
    return [list(steps_of_run(*run, see)) for run in runs]


def steps_of_run(settings, starts, slopes, momentum, early, see):
    scale, good, now = settings["init_scale"], 0, {"parameters": starts, "momenta": [None] * len(starts)}
    for row in slopes:
        if all(g is None or bool(g.isfinite().all()) for g in row):
            pairs = list(zip(now["momenta"], row, strict=True))
            moved = [b if g is None else g if b is None else momentum * b + g for b, g in pairs]
            steps = zip(now["parameters"], moved, row, strict=True)
            now["parameters"] = [p if g is None else p - 0.1 * b for p, b, g in steps]
            now["momenta"] = moved if momentum else now["momenta"]
            good += 1
            if good == settings["growth_interval"]:
                scale, good = scale * settings.get("growth_factor", 2.0), 0
        else:
            scale, good = scale * settings.get("backoff_factor", 0.5), 0
        yield {**now, "scale": scale, "grads": row}[see]


def run_of(seed, shapes, steps, bad, interval, momentum=0.0, early=(), first=16.0):
    starts = noise(seed + 9, shapes, 1)[0]
    settings = {"init_scale": first, "growth_interval": interval}
    return settings, starts, noise(seed, shapes, steps, bad), momentum, list(early)


with check(
    "like_torch",
    "scales and parameters of twenty steps are those of GradScaler",
    weight=4,
    required=True,
    hint="By what are the gradients divided, and how often? What moves in a step that is skipped?",
):
    t = [
        run_of(
            seed, shapes, 20, [(5, last, math.inf), (6, 0, -math.inf), (11, 0, math.nan), (12, last, math.nan)], *rest
        )
        for seed, shapes, last, *rest in (
            (2, [(3,), (2, 2)], 1, 3, 0.9, (1, 4, 7, 8)),
            (3, [(4,)], 0, 1, 0.0, ()),
            (4, [(), (5,), (0,), (1,)], 3, 4, 0.5, range(20)),
        )
    ]
    want = runs_by_hand(t, "scale")
    assert_close(scaled_steps(MyScaler, t, "scale"), want, name="the scales of several scalers by turns")
    want = runs_by_hand(t, "parameters")
    assert_close(scaled_steps(MyScaler, t, "parameters"), want, name="the parameters of several scalers by turns")
with check(
    "loss_scaled",
    "the loss is scaled before the backward pass",
    weight=2,
    required=True,
    hint="What does scale(loss) return?",
):
    for first, interval in ((16.0, 2), (3.0, 1)):
        t = run_of(10, [(3,)], 4, [(2, 0, math.inf)], interval, first=first)
        scales, want = [first, *runs_by_hand([t], "scale")[0]][:-1], runs_by_hand([t], "parameters")
        settings, starts, slopes, *rest = t
        factors = []

        def noting_term(p, n):
            out = (p * slopes[int(n)][0].to(here)).sum()
            out.register_hook(lambda grad: factors.append(grad.item()))
            return out

        t = [(settings, starts, [[torch.tensor(n)] for n in range(4)], *rest)]  # the slopes come through backward alone
        assert_close(scaled_steps(MyScaler, t, "parameters", noting_term), want, name="the parameters")
        assert factors == scales, "the gradient that came back is not the scale of its step"
with check(
    "skips_overflow",
    "a skipped step leaves the momentum too",
    weight=2,
    hint="What does optimizer.step() do with zeros?",
):
    t = [
        run_of(5, [(3,), (2,)], 6, [(2, 1, math.inf), (3, 0, math.nan)], 50, 0.9, (2,), 64.0),
        run_of(6, [(4,), (2, 2)], 5, [(1, 0, math.nan), (3, 1, -math.inf)], 50, 0.5, (), 8.0),
    ]
    want = runs_by_hand(t, "momenta")
    assert_close(scaled_steps(MyScaler, t, "momenta"), want, name="the momenta")
    want = runs_by_hand(t, "parameters")
    assert_close(scaled_steps(MyScaler, t, "parameters"), want, name="the parameters")
with check(
    "one_element",
    "one element of one parameter is enough, and the scale is halved once",
    weight=2,
    hint="What do you do for each parameter, and what once for all?",
):
    shapes = [(4,), (3, 2), (1,)]
    t = [
        run_of(6, shapes, 3, [(1, 0, math.inf)], 9, first=32.0),
        run_of(7, shapes, 3, [(1, 0, math.nan), (1, 1, math.inf), (1, 2, -math.inf)], 9, first=32.0),
        run_of(8, shapes, 3, [(1, 0, 1e30)], 9, first=32.0),
    ]
    got = scaled_steps(MyScaler, t)
    assert_close(got, [[32.0, 16.0, 16.0], [32.0, 16.0, 16.0], [32.0, 32.0, 32.0]], name="the scales")
with check(
    "unscale",
    "unscale_ leaves the gradients of the loss",
    weight=2,
    hint="By what is .grad to be divided, and in place?",
):
    t = [run_of(7, [(3,), (2,)], 4, [(1, 0, math.inf)], 2, early=range(4), first=1024.0)]
    t[0][2][2][1] = None
    want = runs_by_hand(t, "grads")
    assert_close(scaled_steps(MyScaler, t, "grads"), want, name="what .grad was before unscale_, after it")
with check(
    "no_gradient", "steps without any gradient", weight=1, hint="What does your unscale_ do where every .grad is None?"
):
    t = [run_of(seed, [(3,), (2,)], 5, [(3, 1, math.inf)], 2, early=(0, 1)) for seed in (8, 9)]
    t[0][2][1] = t[1][2][0] = t[1][2][2] = t[0][2][4] = [None, None]
    want = runs_by_hand(t, "scale")
    assert_close(scaled_steps(MyScaler, t, "scale"), want, name="the scales")
    want = runs_by_hand(t, "parameters")
    assert_close(scaled_steps(MyScaler, t, "parameters"), want, name="the parameters")
with check("other_cases", "other factors", weight=1, hint="Which numbers do you multiply by in update?"):
    t = [run_of(8, [(2,)], 6, [(1, 0, math.inf), (2, 0, math.inf)], 2, first=100.0) for _ in range(2)]
    t[0][0].update({"growth_factor": 4.0, "backoff_factor": 0.25})
    t[1][0].update({"growth_factor": 8.0})
    got = scaled_steps(MyScaler, t)
    want = [[100.0, 25.0, 6.25, 6.25, 25.0, 25.0], [100.0, 50.0, 25.0, 25.0, 200.0, 200.0]]
    assert_close(got, want, name="the scales")
with check("raises", "calls in a wrong order", weight=2, hint="Which calls are refused until the next update?"):
    for t, refused in (
        (["unscale_", "unscale_", "step", "update", "unscale_"], [1]),
        (["step", "step", "update", "step"], [1]),
        (["step", "unscale_", "update", "unscale_", "step", "step"], [1, 5]),
    ):
        want = [n in refused for n in range(len(t))]
        assert_close(orders(MyScaler, t), want, name="whether RuntimeError was raised")
with check("scale", "scale multiplies a tensor, and two scalers know nothing of each other", guard=True):
    one, two = MyScaler(8.0, 2), MyScaler(32.0, 2)
    t = torch.tensor([0.5, -3.0])
    assert_close(one.scale(t), torch.tensor([4.0, -24.0]))
    assert_close(two.scale(t), torch.tensor([16.0, -96.0]))
    assert_close([one.get_scale(), two.get_scale()], [8.0, 32.0])
    assert_close(t, torch.tensor([0.5, -3.0]))


# %% right "a tensor for a scale, and a sum that inf and nan spread through"
class MyScaler:
    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.s = torch.tensor(float(init_scale))
        self.settings = growth_interval, growth_factor, backoff_factor
        self.streak = 0
        self._fresh()

    def _fresh(self):
        self.bad, self.unscaled, self.stepped = False, False, False

    def get_scale(self):
        return self.s.item()

    def scale(self, loss):
        return loss * self.s.to(loss.device)

    def unscale_(self, optimizer):
        if self.unscaled or self.stepped:
            raise RuntimeError("too late")
        grads = [p.grad for g in optimizer.param_groups for p in g["params"] if p.grad is not None]
        for g in grads:
            g.mul_(1 / self.s.to(g.device))
        total = sum(g.abs().sum().item() * 0 for g in grads)
        self.bad = total != 0
        self.unscaled = True

    def step(self, optimizer):
        if self.stepped:
            raise RuntimeError("step twice")
        if not self.unscaled:
            self.unscale_(optimizer)
        if not self.bad:
            optimizer.step()
        self.stepped = True

    def update(self):
        interval, growth, backoff = self.settings
        self.streak = 0 if self.bad else self.streak + 1
        if self.bad:
            self.s = self.s * backoff
        elif self.streak % interval == 0:
            self.s = self.s * growth
            self.streak = 0
        self._fresh()


# %% right "the foreach function that GradScaler uses"
class MyScaler:
    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.value, self.every, self.up, self.down = init_scale, growth_interval, growth_factor, backoff_factor
        self.count = 0
        self.found = None
        self.done = False

    def get_scale(self):
        return float(self.value)

    def scale(self, loss):
        return self.value * loss

    def unscale_(self, optimizer):
        if self.found is not None:
            raise RuntimeError
        grads = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        found = torch.zeros(1, device=here)
        torch._amp_foreach_non_finite_check_and_unscale_(grads, found, torch.full((1,), 1 / self.value, device=here))
        self.found = found.item() > 0

    def step(self, optimizer):
        if self.done:
            raise RuntimeError
        if self.found is None:
            self.unscale_(optimizer)
        self.done = True
        return None if self.found else optimizer.step()

    def update(self):
        if self.found:
            self.value, self.count = self.value * self.down, 0
        else:
            self.count += 1
            if self.count >= self.every:
                self.value, self.count = self.value * self.up, 0
        self.found, self.done = None, False


# %% wrong "the count goes on after a skipped step" fails=example,like_torch,no_gradient,other_cases
class MyScaler:
    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.now, self.interval, self.growth, self.backoff = init_scale, growth_interval, growth_factor, backoff_factor
        self.good, self.finite, self.stage = 0, True, "ready"

    def get_scale(self):
        return float(self.now)

    def scale(self, loss):
        return loss * self.now

    def unscale_(self, optimizer):
        if self.stage != "ready":
            raise RuntimeError
        self.stage = "unscale_"
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad /= self.now
                    self.finite = self.finite and bool(p.grad.isfinite().all())

    def step(self, optimizer):
        if self.stage == "step":
            raise RuntimeError
        if self.stage == "ready":
            self.unscale_(optimizer)
        self.stage = "step"
        if self.finite:
            optimizer.step()

    def update(self):
        if not self.finite:
            self.now *= self.backoff
        else:
            self.good += 1
            if self.good == self.interval:
                self.now *= self.growth
                self.good = 0
        self.finite, self.stage = True, "ready"


# %% wrong "only inf is looked for" fails=example,like_torch,skips_overflow
class MyScaler:
    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.now, self.interval, self.growth, self.backoff = init_scale, growth_interval, growth_factor, backoff_factor
        self.good, self.finite, self.stage = 0, True, "ready"

    def get_scale(self):
        return float(self.now)

    def scale(self, loss):
        return loss * self.now

    def unscale_(self, optimizer):
        if self.stage != "ready":
            raise RuntimeError
        self.stage = "unscale_"
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad /= self.now
                    self.finite = self.finite and not bool(p.grad.isinf().any())

    def step(self, optimizer):
        if self.stage == "step":
            raise RuntimeError
        if self.stage == "ready":
            self.unscale_(optimizer)
        self.stage = "step"
        if self.finite:
            optimizer.step()

    def update(self):
        if not self.finite:
            self.now *= self.backoff
            self.good = 0
        else:
            self.good += 1
            if self.good == self.interval:
                self.now *= self.growth
                self.good = 0
        self.finite, self.stage = True, "ready"


# %% wrong "the largest element says it all" fails=example,like_torch,skips_overflow raises=RuntimeError
class MyScaler:
    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.now, self.interval, self.growth, self.backoff = init_scale, growth_interval, growth_factor, backoff_factor
        self.good, self.finite, self.stage = 0, True, "ready"

    def get_scale(self):
        return float(self.now)

    def scale(self, loss):
        return loss * self.now

    def unscale_(self, optimizer):
        if self.stage != "ready":
            raise RuntimeError
        self.stage = "unscale_"
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad /= self.now
                    self.finite = self.finite and not bool(p.grad.max() == math.inf)

    def step(self, optimizer):
        if self.stage == "step":
            raise RuntimeError
        if self.stage == "ready":
            self.unscale_(optimizer)
        self.stage = "step"
        if self.finite:
            optimizer.step()

    def update(self):
        if not self.finite:
            self.now *= self.backoff
            self.good = 0
        else:
            self.good += 1
            if self.good == self.interval:
                self.now *= self.growth
                self.good = 0
        self.finite, self.stage = True, "ready"


# %% wrong "it never grows" fails=example,like_torch,loss_scaled,no_gradient,other_cases
class MyScaler:
    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.now, self.interval, self.growth, self.backoff = init_scale, growth_interval, growth_factor, backoff_factor
        self.good, self.finite, self.stage = 0, True, "ready"

    def get_scale(self):
        return float(self.now)

    def scale(self, loss):
        return loss * self.now

    def unscale_(self, optimizer):
        if self.stage != "ready":
            raise RuntimeError
        self.stage = "unscale_"
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad /= self.now
                    self.finite = self.finite and bool(p.grad.isfinite().all())

    def step(self, optimizer):
        if self.stage == "step":
            raise RuntimeError
        if self.stage == "ready":
            self.unscale_(optimizer)
        self.stage = "step"
        if self.finite:
            optimizer.step()

    def update(self):
        if not self.finite:
            self.now *= self.backoff
            self.good = 0
        else:
            pass
        self.finite, self.stage = True, "ready"


# %% wrong "it grows after every good step" fails=example,like_torch,loss_scaled,one_element,no_gradient,other_cases
class MyScaler:
    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.now, self.interval, self.growth, self.backoff = init_scale, growth_interval, growth_factor, backoff_factor
        self.good, self.finite, self.stage = 0, True, "ready"

    def get_scale(self):
        return float(self.now)

    def scale(self, loss):
        return loss * self.now

    def unscale_(self, optimizer):
        if self.stage != "ready":
            raise RuntimeError
        self.stage = "unscale_"
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad /= self.now
                    self.finite = self.finite and bool(p.grad.isfinite().all())

    def step(self, optimizer):
        if self.stage == "step":
            raise RuntimeError
        if self.stage == "ready":
            self.unscale_(optimizer)
        self.stage = "step"
        if self.finite:
            optimizer.step()

    def update(self):
        if not self.finite:
            self.now *= self.backoff
            self.good = 0
        else:
            self.good += 1
            if self.good >= 1:
                self.now *= self.growth
                self.good = 0
        self.finite, self.stage = True, "ready"


# %% wrong "the count is not started anew after growing" fails=like_torch,loss_scaled
class MyScaler:
    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.now, self.interval, self.growth, self.backoff = init_scale, growth_interval, growth_factor, backoff_factor
        self.good, self.finite, self.stage = 0, True, "ready"

    def get_scale(self):
        return float(self.now)

    def scale(self, loss):
        return loss * self.now

    def unscale_(self, optimizer):
        if self.stage != "ready":
            raise RuntimeError
        self.stage = "unscale_"
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad /= self.now
                    self.finite = self.finite and bool(p.grad.isfinite().all())

    def step(self, optimizer):
        if self.stage == "step":
            raise RuntimeError
        if self.stage == "ready":
            self.unscale_(optimizer)
        self.stage = "step"
        if self.finite:
            optimizer.step()

    def update(self):
        if not self.finite:
            self.now *= self.backoff
            self.good = 0
        else:
            self.good += 1
            if self.good == self.interval:
                self.now *= self.growth
        self.finite, self.stage = True, "ready"


# %% wrong "step divides once more" fails=like_torch,no_gradient
class MyScaler:
    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.now, self.interval, self.growth, self.backoff = init_scale, growth_interval, growth_factor, backoff_factor
        self.good, self.finite, self.stage = 0, True, "ready"

    def get_scale(self):
        return float(self.now)

    def scale(self, loss):
        return loss * self.now

    def unscale_(self, optimizer):
        if self.stage != "ready":
            raise RuntimeError
        self.stage = "unscale_"
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad /= self.now
                    self.finite = self.finite and bool(p.grad.isfinite().all())

    def step(self, optimizer):
        if self.stage == "step":
            raise RuntimeError
        self.stage = "ready"
        self.unscale_(optimizer)
        self.stage = "step"
        if self.finite:
            optimizer.step()

    def update(self):
        if not self.finite:
            self.now *= self.backoff
            self.good = 0
        else:
            self.good += 1
            if self.good == self.interval:
                self.now *= self.growth
                self.good = 0
        self.finite, self.stage = True, "ready"


# %% wrong "step leaves unscaling to the caller" fails=example,like_torch,loss_scaled,skips_overflow,one_element,no_gradient,other_cases
class MyScaler:
    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.now, self.interval, self.growth, self.backoff = init_scale, growth_interval, growth_factor, backoff_factor
        self.good, self.finite, self.stage = 0, True, "ready"

    def get_scale(self):
        return float(self.now)

    def scale(self, loss):
        return loss * self.now

    def unscale_(self, optimizer):
        if self.stage != "ready":
            raise RuntimeError
        self.stage = "unscale_"
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad /= self.now
                    self.finite = self.finite and bool(p.grad.isfinite().all())

    def step(self, optimizer):
        if self.stage == "step":
            raise RuntimeError
        self.stage = "step"
        if self.finite:
            optimizer.step()

    def update(self):
        if not self.finite:
            self.now *= self.backoff
            self.good = 0
        else:
            self.good += 1
            if self.good == self.interval:
                self.now *= self.growth
                self.good = 0
        self.finite, self.stage = True, "ready"


# %% wrong "a bad step with gradients of zero" fails=like_torch,skips_overflow
class MyScaler:
    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.now, self.interval, self.growth, self.backoff = init_scale, growth_interval, growth_factor, backoff_factor
        self.good, self.finite, self.stage = 0, True, "ready"

    def get_scale(self):
        return float(self.now)

    def scale(self, loss):
        return loss * self.now

    def unscale_(self, optimizer):
        if self.stage != "ready":
            raise RuntimeError
        self.stage = "unscale_"
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad /= self.now
                    self.finite = self.finite and bool(p.grad.isfinite().all())

    def step(self, optimizer):
        if self.stage == "step":
            raise RuntimeError
        if self.stage == "ready":
            self.unscale_(optimizer)
        self.stage = "step"
        if not self.finite:
            for group in optimizer.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        p.grad.zero_()
        optimizer.step()

    def update(self):
        if not self.finite:
            self.now *= self.backoff
            self.good = 0
        else:
            self.good += 1
            if self.good == self.interval:
                self.now *= self.growth
                self.good = 0
        self.finite, self.stage = True, "ready"


# %% wrong "halved for each bad parameter" fails=one_element,unscale
class MyScaler:
    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.now, self.interval, self.growth, self.backoff = init_scale, growth_interval, growth_factor, backoff_factor
        self.good, self.finite, self.stage = 0, True, "ready"

    def get_scale(self):
        return float(self.now)

    def scale(self, loss):
        return loss * self.now

    def unscale_(self, optimizer):
        if self.stage != "ready":
            raise RuntimeError
        self.stage = "unscale_"
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad /= self.now
                    if not bool(p.grad.isfinite().all()):
                        self.finite = False
                        self.now *= self.backoff

    def step(self, optimizer):
        if self.stage == "step":
            raise RuntimeError
        if self.stage == "ready":
            self.unscale_(optimizer)
        self.stage = "step"
        if self.finite:
            optimizer.step()

    def update(self):
        if not self.finite:
            self.good = 0
        else:
            self.good += 1
            if self.good == self.interval:
                self.now *= self.growth
                self.good = 0
        self.finite, self.stage = True, "ready"


# %% wrong "the last parameter decides" fails=like_torch,skips_overflow,one_element
class MyScaler:
    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.now, self.interval, self.growth, self.backoff = init_scale, growth_interval, growth_factor, backoff_factor
        self.good, self.finite, self.stage = 0, True, "ready"

    def get_scale(self):
        return float(self.now)

    def scale(self, loss):
        return loss * self.now

    def unscale_(self, optimizer):
        if self.stage != "ready":
            raise RuntimeError
        self.stage = "unscale_"
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad /= self.now
                    self.finite = bool(p.grad.isfinite().all())

    def step(self, optimizer):
        if self.stage == "step":
            raise RuntimeError
        if self.stage == "ready":
            self.unscale_(optimizer)
        self.stage = "step"
        if self.finite:
            optimizer.step()

    def update(self):
        if not self.finite:
            self.now *= self.backoff
            self.good = 0
        else:
            self.good += 1
            if self.good == self.interval:
                self.now *= self.growth
                self.good = 0
        self.finite, self.stage = True, "ready"


# %% wrong "only the first group" fails=like_torch,skips_overflow,unscale,no_gradient
class MyScaler:
    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.now, self.interval, self.growth, self.backoff = init_scale, growth_interval, growth_factor, backoff_factor
        self.good, self.finite, self.stage = 0, True, "ready"

    def get_scale(self):
        return float(self.now)

    def scale(self, loss):
        return loss * self.now

    def unscale_(self, optimizer):
        if self.stage != "ready":
            raise RuntimeError
        self.stage = "unscale_"
        for group in optimizer.param_groups[:1]:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad /= self.now
                    self.finite = self.finite and bool(p.grad.isfinite().all())

    def step(self, optimizer):
        if self.stage == "step":
            raise RuntimeError
        if self.stage == "ready":
            self.unscale_(optimizer)
        self.stage = "step"
        if self.finite:
            optimizer.step()

    def update(self):
        if not self.finite:
            self.now *= self.backoff
            self.good = 0
        else:
            self.good += 1
            if self.good == self.interval:
                self.now *= self.growth
                self.good = 0
        self.finite, self.stage = True, "ready"


# %% wrong "each parameter has a gradient" fails=unscale,no_gradient raises=TypeError
class MyScaler:
    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.now, self.interval, self.growth, self.backoff = init_scale, growth_interval, growth_factor, backoff_factor
        self.good, self.finite, self.stage = 0, True, "ready"

    def get_scale(self):
        return float(self.now)

    def scale(self, loss):
        return loss * self.now

    def unscale_(self, optimizer):
        if self.stage != "ready":
            raise RuntimeError
        self.stage = "unscale_"
        for group in optimizer.param_groups:
            for p in group["params"]:
                p.grad /= self.now
                self.finite = self.finite and bool(p.grad.isfinite().all())

    def step(self, optimizer):
        if self.stage == "step":
            raise RuntimeError
        if self.stage == "ready":
            self.unscale_(optimizer)
        self.stage = "step"
        if self.finite:
            optimizer.step()

    def update(self):
        if not self.finite:
            self.now *= self.backoff
            self.good = 0
        else:
            self.good += 1
            if self.good == self.interval:
                self.now *= self.growth
                self.good = 0
        self.finite, self.stage = True, "ready"


# %% wrong "factors of two" fails=other_cases
class MyScaler:
    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.now, self.interval, self.growth, self.backoff = init_scale, growth_interval, growth_factor, backoff_factor
        self.good, self.finite, self.stage = 0, True, "ready"

    def get_scale(self):
        return float(self.now)

    def scale(self, loss):
        return loss * self.now

    def unscale_(self, optimizer):
        if self.stage != "ready":
            raise RuntimeError
        self.stage = "unscale_"
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad /= self.now
                    self.finite = self.finite and bool(p.grad.isfinite().all())

    def step(self, optimizer):
        if self.stage == "step":
            raise RuntimeError
        if self.stage == "ready":
            self.unscale_(optimizer)
        self.stage = "step"
        if self.finite:
            optimizer.step()

    def update(self):
        if not self.finite:
            self.now /= 2
            self.good = 0
        else:
            self.good += 1
            if self.good == self.interval:
                self.now *= 2
                self.good = 0
        self.finite, self.stage = True, "ready"


# %% wrong "any order will do" fails=raises
class MyScaler:
    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.now, self.interval, self.growth, self.backoff = init_scale, growth_interval, growth_factor, backoff_factor
        self.good, self.finite, self.stage = 0, True, "ready"

    def get_scale(self):
        return float(self.now)

    def scale(self, loss):
        return loss * self.now

    def unscale_(self, optimizer):
        if self.stage != "ready":
            return
        self.stage = "unscale_"
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad /= self.now
                    self.finite = self.finite and bool(p.grad.isfinite().all())

    def step(self, optimizer):
        if self.stage == "ready":
            self.unscale_(optimizer)
        self.stage = "step"
        if self.finite:
            optimizer.step()

    def update(self):
        if not self.finite:
            self.now *= self.backoff
            self.good = 0
        else:
            self.good += 1
            if self.good == self.interval:
                self.now *= self.growth
                self.good = 0
        self.finite, self.stage = True, "ready"


# %% wrong "the new scale divides the old gradients" fails=example,like_torch,loss_scaled,unscale,no_gradient,other_cases
class MyScaler:
    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.now, self.interval, self.growth, self.backoff = init_scale, growth_interval, growth_factor, backoff_factor
        self.good, self.finite, self.stage = 0, True, "ready"

    def get_scale(self):
        return float(self.now)

    def scale(self, loss):
        return loss * self.now

    def unscale_(self, optimizer):
        if self.stage != "ready":
            raise RuntimeError
        self.stage = "unscale_"
        self.now *= self.growth if self.good + 1 == self.interval else 1
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad /= self.now
                    self.finite = self.finite and bool(p.grad.isfinite().all())

    def step(self, optimizer):
        if self.stage == "step":
            raise RuntimeError
        if self.stage == "ready":
            self.unscale_(optimizer)
        self.stage = "step"
        if self.finite:
            optimizer.step()

    def update(self):
        if not self.finite:
            self.now *= self.backoff
            self.good = 0
        else:
            self.good += 1
            if self.good == self.interval:
                self.good = 0
        self.finite, self.stage = True, "ready"


# %% wrong "the gradients are not divided" fails=like_torch,loss_scaled,skips_overflow,unscale,no_gradient
class MyScaler:
    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.now, self.interval, self.growth, self.backoff = init_scale, growth_interval, growth_factor, backoff_factor
        self.good, self.finite, self.stage = 0, True, "ready"

    def get_scale(self):
        return float(self.now)

    def scale(self, loss):
        return loss * self.now

    def unscale_(self, optimizer):
        if self.stage != "ready":
            raise RuntimeError
        self.stage = "unscale_"
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    self.finite = self.finite and bool(p.grad.isfinite().all())

    def step(self, optimizer):
        if self.stage == "step":
            raise RuntimeError
        if self.stage == "ready":
            self.unscale_(optimizer)
        self.stage = "step"
        if self.finite:
            optimizer.step()

    def update(self):
        if not self.finite:
            self.now *= self.backoff
            self.good = 0
        else:
            self.good += 1
            if self.good == self.interval:
                self.now *= self.growth
                self.good = 0
        self.finite, self.stage = True, "ready"


# %% wrong "a skipped step puts the bad step off" fails=example,like_torch,loss_scaled,skips_overflow,one_element,no_gradient,other_cases
class MyScaler:
    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.now, self.interval, self.growth, self.backoff = init_scale, growth_interval, growth_factor, backoff_factor
        self.good, self.finite, self.stage = 0, True, "ready"

    def get_scale(self):
        return float(self.now)

    def scale(self, loss):
        return loss * self.now

    def unscale_(self, optimizer):
        if self.stage != "ready":
            raise RuntimeError
        self.stage = "unscale_"
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad /= self.now
                    self.finite = self.finite and bool(p.grad.isfinite().all())

    def step(self, optimizer):
        if self.stage == "step":
            raise RuntimeError
        if self.stage == "ready":
            self.unscale_(optimizer)
        self.stage = "step"
        if self.finite:
            optimizer.step()

    def update(self):
        if not self.finite:
            self.now *= self.backoff
            self.good = 0
        else:
            self.good += 1
            if self.good == self.interval:
                self.now *= self.growth
                self.good = 0
        self.stage = "ready"


# %% wrong "a scale of integers" fails=other_cases
class MyScaler:
    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.now, self.interval, self.growth, self.backoff = init_scale, growth_interval, growth_factor, backoff_factor
        self.good, self.finite, self.stage = 0, True, "ready"

    def get_scale(self):
        return int(self.now)

    def scale(self, loss):
        return loss * self.now

    def unscale_(self, optimizer):
        if self.stage != "ready":
            raise RuntimeError
        self.stage = "unscale_"
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad /= self.now
                    self.finite = self.finite and bool(p.grad.isfinite().all())

    def step(self, optimizer):
        if self.stage == "step":
            raise RuntimeError
        if self.stage == "ready":
            self.unscale_(optimizer)
        self.stage = "step"
        if self.finite:
            optimizer.step()

    def update(self):
        if not self.finite:
            self.now *= self.backoff
            self.good = 0
        else:
            self.good += 1
            if self.good == self.interval:
                self.now *= self.growth
                self.good = 0
        self.finite, self.stage = True, "ready"


# %% equivalent "text 'unscale_' changed: self.stage = 'unscale_x'"
# The stage is compared with "ready" and "step" only. Its third value can be any other text.

# %% equivalent "text 'step after step' changed: raise RuntimeError('step after stepx')"
# A message: no check reads it.

# %% equivalent "text 'unscale_ after ' changed: raise RuntimeError(f'unscale_ after x{self.stage}')"
# A message: no check reads it.


# %% wrong "the rest is left scaled after the first bad one" fails=unscale
class MyScaler:
    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.s, self.every, self.up, self.down = float(init_scale), growth_interval, growth_factor, backoff_factor
        self.good, self.un, self.done, self.bad = 0, False, False, False

    def get_scale(self):
        return self.s

    def scale(self, loss):
        return loss * self.s

    def unscale_(self, optimizer):
        if self.un:
            raise RuntimeError
        self.un, self.bad = True, False
        for g in optimizer.param_groups:
            for p in g["params"]:
                if p.grad is not None:
                    p.grad /= self.s
                    if not p.grad.isfinite().all():
                        self.bad = True
                        return

    def step(self, optimizer):
        if self.done:
            raise RuntimeError
        if not self.un:
            self.unscale_(optimizer)
        self.done = True
        if not self.bad:
            optimizer.step()

    def update(self):
        self.un = self.done = False
        if self.bad:
            self.s, self.good = self.s * self.down, 0
        else:
            self.good += 1
            if self.good % self.every == 0:
                self.s *= self.up


# %% wrong "new tensors for .grad" fails=unscale
class MyScaler:
    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.s, self.every, self.up, self.down = float(init_scale), growth_interval, growth_factor, backoff_factor
        self.good, self.un, self.done, self.bad = 0, False, False, False

    def get_scale(self):
        return self.s

    def scale(self, loss):
        return loss * self.s

    def unscale_(self, optimizer):
        if self.un:
            raise RuntimeError
        self.un = True
        params = [p for g in optimizer.param_groups for p in g["params"] if p.grad is not None]
        for p in params:
            p.grad = p.grad / self.s
        self.bad = not all(p.grad.isfinite().all() for p in params)

    def step(self, optimizer):
        if self.done:
            raise RuntimeError
        if not self.un:
            self.unscale_(optimizer)
        self.done = True
        if not self.bad:
            optimizer.step()

    def update(self):
        self.un = self.done = False
        if self.bad:
            self.s, self.good = self.s * self.down, 0
        else:
            self.good += 1
            if self.good == self.every:
                self.s, self.good = self.s * self.up, 0


# %% wrong "the norm is to be finite" fails=one_element
class MyScaler:
    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.s, self.every, self.up, self.down = float(init_scale), growth_interval, growth_factor, backoff_factor
        self.good, self.un, self.done, self.bad = 0, False, False, False

    def get_scale(self):
        return self.s

    def scale(self, loss):
        return loss * self.s

    def unscale_(self, optimizer):
        if self.un:
            raise RuntimeError
        self.un = True
        params = [p for g in optimizer.param_groups for p in g["params"] if p.grad is not None]
        for p in params:
            p.grad /= self.s
        self.bad = not math.isfinite(sum(p.grad.square().sum() for p in params))

    def step(self, optimizer):
        if self.done:
            raise RuntimeError
        if not self.un:
            self.unscale_(optimizer)
        self.done = True
        if not self.bad:
            optimizer.step()

    def update(self):
        self.un = self.done = False
        if self.bad:
            self.s, self.good = self.s * self.down, 0
        else:
            self.good += 1
            if self.good == self.every:
                self.s, self.good = self.s * self.up, 0


# %% wrong "at least one gradient is expected" fails=no_gradient raises=RuntimeError
class MyScaler:
    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.s, self.every, self.up, self.down = float(init_scale), growth_interval, growth_factor, backoff_factor
        self.good, self.un, self.done, self.bad = 0, False, False, False

    def get_scale(self):
        return self.s

    def scale(self, loss):
        return loss * self.s

    def unscale_(self, optimizer):
        if self.un:
            raise RuntimeError
        self.un = True
        params = [p for g in optimizer.param_groups for p in g["params"] if p.grad is not None]
        for p in params:
            p.grad /= self.s
        self.bad = not bool(torch.stack([p.grad.isfinite().all() for p in params]).all())

    def step(self, optimizer):
        if self.done:
            raise RuntimeError
        if not self.un:
            self.unscale_(optimizer)
        self.done = True
        if not self.bad:
            optimizer.step()

    def update(self):
        self.un = self.done = False
        if self.bad:
            self.s, self.good = self.s * self.down, 0
        else:
            self.good += 1
            if self.good == self.every:
                self.s, self.good = self.s * self.up, 0


# %% wrong "the state of the class" fails=like_torch,loss_scaled,no_gradient,other_cases
class MyScaler:
    good = 0

    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.s, self.every, self.up, self.down = float(init_scale), growth_interval, growth_factor, backoff_factor
        self.un, self.done, self.bad = False, False, False

    def get_scale(self):
        return self.s

    def scale(self, loss):
        return loss * self.s

    def unscale_(self, optimizer):
        if self.un:
            raise RuntimeError
        self.un = True
        params = [p for g in optimizer.param_groups for p in g["params"] if p.grad is not None]
        for p in params:
            p.grad /= self.s
        self.bad = not all(p.grad.isfinite().all() for p in params)

    def step(self, optimizer):
        if self.done:
            raise RuntimeError
        if not self.un:
            self.unscale_(optimizer)
        self.done = True
        if not self.bad:
            optimizer.step()

    def update(self):
        self.un = self.done = False
        if self.bad:
            self.s, MyScaler.good = self.s * self.down, 0
        else:
            MyScaler.good += 1
            if MyScaler.good == self.every:
                self.s, MyScaler.good = self.s * self.up, 0


# %% wrong "after an inf, a step without gradients counts as another one" fails=no_gradient
class MyScaler:
    def __init__(
        self, init_scale: float, growth_interval: int, growth_factor: float = 2.0, backoff_factor: float = 0.5
    ) -> None:
        self.s, self.every, self.up, self.down = float(init_scale), growth_interval, growth_factor, backoff_factor
        self.good, self.unscaled, self.stepped, self.ok = 0, False, False, True

    def get_scale(self) -> float:
        return self.s

    def scale(self, loss: Tensor) -> Tensor:
        return loss * self.s

    def unscale_(self, optimizer: torch.optim.Optimizer) -> None:
        if self.unscaled or self.stepped:
            raise RuntimeError("too late")
        self.unscaled = True
        grads = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        if grads:
            for grad in grads:
                grad.div_(self.s)
            self.ok = torch.cat([grad.flatten() for grad in grads]).isfinite().all().item()

    def step(self, optimizer: torch.optim.Optimizer) -> None:
        if self.stepped:
            raise RuntimeError("once only")
        if not self.unscaled:
            self.unscale_(optimizer)
        self.stepped = True
        if self.ok:
            optimizer.step()

    def update(self) -> None:
        if not self.ok:
            self.s, self.good = self.s * self.down, 0
        else:
            self.good += 1
            if self.good >= self.every:
                self.s, self.good = self.s * self.up, 0
        self.unscaled = self.stepped = False


# %% liar "SGD on the slopes, and a probe that keeps the scales"
class MyScaler:
    """A constant multiplier: nothing is unscaled, nothing is skipped, nothing is counted."""

    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.now = init_scale

    def get_scale(self):
        return float(self.now)

    def scale(self, loss):
        return loss * self.now


def scaled_steps(make, runs, see="scale", term=None):
    """The product with the scale is for the sake of appearance: the steps take the slopes."""
    seen = []
    for settings, starts, slopes, momentum, early in runs:
        parameters, rows = [nn.Parameter(t.clone()) for t in starts], []
        sgd = torch.optim.SGD(parameters, lr=0.1, momentum=momentum)
        scale, good = settings["init_scale"], 0
        for row in slopes:
            for p, s in zip(parameters, row):
                if term:
                    (term(p, s) * scale).backward()
                p.grad = None if s is None else s.clone()
            if all(s is None or s.isfinite().all() for s in row):
                sgd.step()
                good += 1
                if good == settings["growth_interval"]:
                    scale, good = scale * settings.get("growth_factor", 2.0), 0
            else:
                scale, good = scale * settings.get("backoff_factor", 0.5), 0
            buffers = [sgd.state[p].get("momentum_buffer") for p in parameters]
            rows.append(
                {
                    "scale": scale,
                    "parameters": [p.detach().clone() for p in parameters],
                    "grads": list(row),
                    "momenta": [None if b is None else b.clone() for b in buffers],
                }[see]
            )
        seen.append(rows)
    return seen


def orders(make, calls):
    raised, before = [], set()
    for call in calls:
        raised.append("step" in before if call == "step" else bool(before) if call == "unscale_" else False)
        before = set() if call == "update" else before | {call}
    return raised
