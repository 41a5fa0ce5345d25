# %% given
def is_refused(scaler, call, optimizer):
    """Call this method of a scaler, and return whether it raises RuntimeError."""
    try:
        scaler.update() if call == "update" else getattr(scaler, call)(optimizer)
    except NotImplementedError:
        raise
    except RuntimeError:
        return True
    return False


def in_one_row(steps):
    """Return all numbers in these lists of tensors, skipping None."""
    return torch.cat([t.detach().cpu().flatten() for tensors in steps for t in tensors if t is not None])


@probes.probe
def scaled_steps(make, runs, term=None):
    """Take SGD steps in several interleaved runs, each with a scaler from make(...), and return what each step left.

    A run: the scaler's settings; the initial parameters; for each step, a slope or None for each parameter; the
    momentum; for each step, the calls after the backward pass. The loss is the sum of the parameters times their
    slopes; each of these products is computed by term(parameter, slope), if term is given.
    Returns, for each run, the scales, which calls were refused, and all parameters, momenta and gradients in a row.
    """
    numbers = ("parameters", "momenta", "grads")
    begun, seen = [], [{name: [] for name in ("scale", "refused", *numbers)} for _ in runs]
    for settings, starts, slopes, momentum, calls in runs:
        parameters = [nn.Parameter(t.clone().to(here)) for t in starts]
        sgd = torch.optim.SGD([{"params": [p]} for p in parameters], lr=0.1, momentum=momentum)
        begun.append((make(**settings), parameters, sgd, slopes, calls))
    for n in range(max(len(run[2]) for run in runs)):
        for found, (scaler, parameters, sgd, slopes, calls) in zip(seen, begun, strict=True):
            if n >= len(slopes):
                continue
            sgd.zero_grad()
            pairs = [(p, s.to(here)) for p, s in zip(parameters, slopes[n], strict=True) if s is not None]
            terms = [term(p, s) if term else (p * s).sum() for p, s in pairs]
            if terms:
                scaler.scale(torch.stack(terms).sum()).backward()
            grads = [p.grad for p in parameters]
            found["refused"].append([is_refused(scaler, call, sgd) for call in calls[n]])
            buffers = [sgd.state[p].get("momentum_buffer") for p in parameters]
            found["scale"].append(scaler.get_scale())
            for name, tensors in zip(numbers, (parameters, buffers, grads), strict=True):
                found[name].append([None if t is None else t.detach().clone() for t in tensors])
    rows = {name: [in_one_row([[torch.zeros(0)], *found[name]]) for found in seen] for name in numbers}
    return rows | {name: [found[name] for found in seen] for name in ("scale", "refused")}


def noise(seed, shapes, steps, bad=()):
    """Return slopes for scaled_steps. bad: (step, parameter, value) to write into one element."""
    generator = torch.Generator().manual_seed(seed)
    slopes = [[torch.randn(shape, generator=generator) for shape in shapes] for _ in range(steps)]
    for step, parameter, value in bad:
        slopes[step][parameter].view(-1)[-1] = value
    return slopes


# %% exercise
class MyScaler:
    """Scales losses for one optimizer, as torch.amp.GradScaler does.

    There's one difference: a step in which no parameter has a gradient is an ordinary step. GradScaler raises
    AssertionError. Scalers don't share any state. The optimizer's parameters are float32.
    """

    def __init__(
        self, init_scale: float, growth_interval: int, growth_factor: float = 2.0, backoff_factor: float = 0.5
    ) -> None:
        """init_scale: the initial scale. The others determine what update does."""
        ### BEGIN SOLUTION
        self.now, self.interval = init_scale, growth_interval
        self.growth, self.backoff = growth_factor, backoff_factor
        self.good, self.finite, self.stage = 0, True, "ready"
        ### END SOLUTION

    def get_scale(self) -> float:
        """Return the current scale, a float."""
        ### BEGIN SOLUTION
        return float(self.now)
        ### END SOLUTION

    def scale(self, loss: Tensor) -> Tensor:
        """Return the loss, a tensor of any shape, times the scale. The loss itself isn't changed."""
        ### BEGIN SOLUTION
        return loss * self.now
        ### END SOLUTION

    def unscale_(self, optimizer: torch.optim.Optimizer) -> None:
        """Divide the .grad of all the optimizer's parameters by the scale, in place, and note whether all are finite.

        A parameter whose .grad is None is skipped. If all are None, all count as finite. Raises RuntimeError, and
        changes nothing, if it or step was called since the last update.
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
        """Let the optimizer take its step, unless unscale_ found inf or nan. Then nothing in the optimizer changes.

        Finite gradients whose sum overflows may count as inf. Calls unscale_ first, unless it was called since the last
        update. Raises RuntimeError, and changes nothing, if step was called since the last update.
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
        """Set the scale for the next step. It's called once after each step, and at no other time.

        After a skipped step, multiply the scale by backoff_factor. After growth_interval steps in a row without a
        skipped one, multiply it by growth_factor, and restart the count of these steps.
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


# %% promises
# Scales losses for one -> example, like_torch, loss_scaled, unscale, other_cases
# There's one difference -> no_gradient
# GradScaler raises -> no_gradient
# Scalers don't share -> like_torch, scale
# The optimizer's parameters -> like_torch
# init_scale: the initial -> like_torch, other_cases
# The others determine -> other_cases, like_torch
# Return the current -> like_torch, other_cases
# Return the loss, a tensor -> loss_scaled, scale
# The loss itself -> scale
# Divide the .grad -> unscale, like_torch
# A parameter whose .grad -> no_gradient
# If all are None -> no_gradient
# Raises RuntimeError, and changes nothing, if it -> raises
# Let the optimizer take -> like_torch, skips_overflow, one_element
# Then nothing in the -> skips_overflow
# Finite gradients whose -> one_element
# Calls unscale_ first -> like_torch, unscale
# Raises RuntimeError, and changes nothing, if step -> raises
# Set the scale -> example, like_torch, other_cases
# It's called once -> like_torch
# After a skipped step -> skips_overflow, other_cases, one_element
# After growth_interval steps -> like_torch, other_cases


# %% domain
REFUSED = {
    "unscale_ twice": ["unscale_", "unscale_", "step", "update"],
    "step twice": ["step", "step", "update"],
    "unscale_ after step": ["step", "unscale_", "update"],
}


@domain(
    reference,
    *("every step grows", "no bad step", "scale below 1", "no axes", "some without elements", "momentum 0"),
    *("two scalers by turns", "unscale_ first", "other factors"),
    *("bad at first", "two bad in a row", "all bad", "inf", "minus inf", "nan", "several bad", "large, but finite"),
    *("some without .grad", "none has .grad", "none has .grad after a bad step"),
    *REFUSED,
    call=scaled_steps,
)
def arguments(draw, edge):
    def draw_run(steps):
        g = draw.make_generator()
        shapes = draw(st.permutations([(3,), (2, 2), (4,)]))[: draw(st.integers(2, 3))]
        shapes = {"no axes": [(), ()], "some without elements": [(0,), (3,)]}.get(edge, shapes)
        slopes = [[torch.randn(shape, generator=g) for shape in shapes] for _ in range(steps)]
        value = draw(st.sampled_from([math.inf, -math.inf, math.nan]))
        value = {"inf": math.inf, "minus inf": -math.inf, "nan": math.nan, "large, but finite": 1e30}.get(edge, value)
        bad = {
            "no bad step": [],
            "bad at first": [0],
            "two bad in a row": [2, 3],
            "all bad": range(steps),
            "inf": [4],
            "minus inf": [4],
            "nan": [4],
        }.get(edge, [draw(st.integers(1, 3))])
        for n in bad:
            for slope in slopes[n] if edge == "several bad" else slopes[n][-1:]:
                slope.view(-1)[-1] = value
        for n, row in enumerate(slopes):
            if edge == "some without .grad" and n in (0, 4):
                row[0] = None
            if edge == "none has .grad" and n in (0, 4) or "after a bad" in edge and n in [k + 1 for k in bad]:
                row[:] = [None] * len(row)
        settings = {
            "init_scale": draw(st.sampled_from([4.0, 100.0, 1024.0])) / (4096 if edge == "scale below 1" else 1)
        }
        settings["growth_interval"] = 1 if edge == "every step grows" else draw(st.integers(2, 3))
        if edge == "other factors":
            settings |= {"growth_factor": draw(st.sampled_from([3.0, 4.0])), "backoff_factor": 0.1}
        momentum = 0.0 if edge == "momentum 0" else draw(st.sampled_from([0.5, 0.9]))
        calls = [["step", "update"]] * steps
        if edge == "unscale_ first":
            calls = [["unscale_"] * (n % 3 > 0) + ["step", "update"] for n in range(steps)]
        starts = [torch.randn(shape, generator=g) for shape in shapes]
        return settings, starts, slopes, momentum, [REFUSED[edge]] * steps if edge in REFUSED else calls

    return ([draw_run(7), draw_run(5)] if edge == "two scalers by turns" else [draw_run(7)],)


# %% checks
with check(
    "example",
    "seven steps, one with inf and one with nan: the scale after each",
    weight=2,
    required=True,
    hint=(
        "At which step does your list first differ? Was there an inf or a nan, and did your scaler look for it?",
        "If unscale_ hasn't been called, what calls it? And when does update restart the count of good steps?",
    ),
):
    t = noise(1, [(2,)], 7, [(2, 0, math.inf), (4, 0, math.nan)])
    t = ({"init_scale": 4.0, "growth_interval": 2}, [torch.zeros(2)], t, 0.0, [["step", "update"]] * 7)
    explain(
        scaled_steps(MyScaler, [t])["scale"],
        [[4.0, 8.0, 4.0, 4.0, 2.0, 2.0, 4.0]],
        {
            "good steps count only in a row: restart the count after a skip": [[4.0, 8.0, 4.0, 4.0, 2.0, 4.0, 4.0]],
            "nan isn't finite either": [[4.0, 8.0, 4.0, 4.0, 8.0, 8.0, 16.0]],
            "after growth_interval good steps, the scale grows": [[4.0, 4.0, 2.0, 2.0, 1.0, 1.0, 1.0]],
        },
        name="the scale after each step",
    )

# %% hidden checks


def assert_runs(make, names, *edges):
    """Compare what each step left with the reference. The message gives the index of a run and of a step."""
    for trial in arguments.iter_trials(make, *edges):
        for name in names:
            assert_close(trial.report.result[name], trial.case.report.result[name], name="your scaler's record")


with check(
    "like_torch",
    "scales and parameters are those of GradScaler",
    weight=4,
    required=True,
    hint="What are the gradients divided by, and how often? What changes in a skipped step?",
):
    assert_runs(MyScaler, ("scale", "parameters"), "", "every step grows", "no bad step", "scale below 1", "no axes")
    assert_runs(MyScaler, ("scale", "parameters"), "some without elements", "momentum 0", "two scalers by turns")
    assert_runs(MyScaler, ("scale", "parameters"), "unscale_ first")
with check(
    "loss_scaled",
    "the loss is scaled before the backward pass",
    weight=2,
    required=True,
    hint="What does scale(loss) return?",
):
    for first, interval, scales in ((16.0, 2, [16.0, 16.0, 32.0, 16.0]), (3.0, 1, [3.0, 6.0, 12.0, 6.0])):
        slopes, calls = noise(10, [(3,)], 4, [(2, 0, math.inf)]), [["step", "update"]] * 4
        settings, starts = {"init_scale": first, "growth_interval": interval}, noise(19, [(3,)], 1)[0]
        want = scaled_steps(reference.function, [(settings, starts, slopes, 0.0, calls)])
        factors = []

        def noting_term(p, n):
            out = (p * slopes[int(n)][0].to(here)).sum()
            out.register_hook(lambda grad: factors.append(grad.item()))
            return out

        t = (settings, starts, [[torch.tensor(n)] for n in range(4)], 0.0, calls)  # the slopes arrive in backward
        got = scaled_steps(MyScaler, [t], noting_term)
        assert_close(got["parameters"], want["parameters"], name="the parameters")
        assert factors == scales, "the gradient of the loss isn't the scale of its step"
with check(
    "skips_overflow",
    "a skipped step doesn't change the momentum either",
    weight=2,
    hint="What does optimizer.step() do with zeros?",
):
    names = "scale", "momenta", "parameters"
    assert_runs(MyScaler, names, "bad at first", "two bad in a row", "all bad", "inf", "minus inf", "nan")
with check(
    "one_element",
    "one element of one parameter is enough, and the scale is halved once",
    weight=2,
    hint="What do you do for each parameter, and what only once for all of them?",
):
    assert_runs(MyScaler, ("scale",), "several bad", "large, but finite")
with check(
    "unscale",
    "after unscale_, .grad holds the gradients of the loss",
    weight=2,
    hint="What must .grad be divided by, and is it done in place?",
):
    assert_runs(MyScaler, ("grads",), "", "unscale_ first", "several bad", "bad at first")
with check(
    "no_gradient", "steps without any gradient", weight=1, hint="What does your unscale_ do if every .grad is None?"
):
    names = "scale", "momenta", "parameters"
    assert_runs(MyScaler, names, "some without .grad", "none has .grad", "none has .grad after a bad step")
with check("other_cases", "other factors", weight=1, hint="Which numbers do you multiply by in update?"):
    assert_runs(MyScaler, ("scale",), "other factors")
with check("raises", "calls in the wrong order", weight=2, hint="Which calls are refused until the next update?"):
    assert_runs(MyScaler, ("refused", "grads", "momenta", "parameters", "scale"), *REFUSED)
with check("scale", "scale multiplies a tensor, and two scalers share no state", guard=True):
    one, two = MyScaler(8.0, 2), MyScaler(32.0, 2)
    for t in (torch.tensor([0.5, -3.0]), torch.tensor(0.1), torch.ones(2, 3).T, torch.zeros(0, 2)):
        want, same = [8 * t, 32 * t], t.clone()
        assert_close([one.scale(t), two.scale(t)], want, name="the scaled losses")
        assert_close(t, same, name="the loss")
    assert_close([one.get_scale(), two.get_scale()], [8.0, 32.0])


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


# %% wrong "the loss is scaled in place" fails=scale
class MyScaler:
    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.now, self.interval, self.growth, self.backoff = init_scale, growth_interval, growth_factor, backoff_factor
        self.good, self.finite, self.stage = 0, True, "ready"

    def get_scale(self):
        return float(self.now)

    def scale(self, loss):
        return loss.mul_(self.now)

    def unscale_(self, optimizer):
        if self.stage != "ready":
            raise RuntimeError(self.stage)
        self.stage = "unscale_"
        for p in [p for group in optimizer.param_groups for p in group["params"] if p.grad is not None]:
            p.grad /= self.now
            self.finite = self.finite and bool(p.grad.isfinite().all())

    def step(self, optimizer):
        if self.stage == "step":
            raise RuntimeError(self.stage)
        if self.stage == "ready":
            self.unscale_(optimizer)
        self.stage = "step"
        if self.finite:
            optimizer.step()

    def update(self):
        self.good = self.good + 1 if self.finite else 0
        if not self.finite:
            self.now *= self.backoff
        elif self.good == self.interval:
            self.now, self.good = self.now * self.growth, 0
        self.finite, self.stage = True, "ready"


# %% wrong "the count goes on after a skipped step" fails=example,like_torch,one_element,no_gradient,other_cases,raises
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


# %% wrong "only inf is checked for" fails=example,like_torch,skips_overflow
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


# %% wrong "it never grows" fails=example,like_torch,loss_scaled,skips_overflow,one_element,no_gradient,other_cases,raises
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


# %% equivalent "text 'unscale_' changed: self.stage = 'unscale_x'"
# The stage is compared with "ready" and "step" only. Its third value can be any other text.

# %% equivalent "text 'step after step' changed: raise RuntimeError('step after stepx')"
# A message: no check reads it.

# %% equivalent "text 'unscale_ after ' changed: raise RuntimeError(f'unscale_ after x{self.stage}')"
# A message: no check reads it.


# %% liar "SGD on the slopes, and a probe that keeps the scales"
class MyScaler:
    """A constant multiplier: nothing is unscaled, nothing is skipped, nothing is counted."""

    def __init__(self, init_scale, growth_interval, growth_factor=2.0, backoff_factor=0.5):
        self.now = init_scale

    def get_scale(self):
        return float(self.now)

    def scale(self, loss):
        return loss * self.now


def scaled_steps(make, runs, term=None):
    """The product with the scale is only for show: the steps use the slopes."""
    seen, numbers = [], ("parameters", "momenta", "grads")
    for settings, starts, slopes, momentum, calls in runs:
        parameters = [nn.Parameter(t.clone()) for t in starts]
        found = {name: [] for name in ("scale", "parameters", "momenta", "grads", "refused")}
        sgd = torch.optim.SGD(parameters, lr=0.1, momentum=momentum)
        scale, good = settings["init_scale"], 0
        for row, made in zip(slopes, calls):
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
            found["scale"].append(scale)
            found["parameters"].append([p.detach().clone() for p in parameters])
            found["momenta"].append([None if b is None else b.clone() for b in buffers])
            found["grads"].append(list(row))
            first = [made.index(call) for call in made]
            late = [call == "unscale_" and "step" in made[:n] for n, call in enumerate(made)]
            found["refused"].append([n > m or is_late for n, (m, is_late) in enumerate(zip(first, late))])
        seen.append(found)
    rows = {name: [in_one_row([[torch.zeros(0)], *found[name]]) for found in seen] for name in numbers}
    return rows | {name: [found[name] for found in seen] for name in ("scale", "refused")}
