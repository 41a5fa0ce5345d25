# %% exercise
def scale_by_average(x: Tensor, average: Tensor, rate: float) -> Tensor:
    """Move average towards the mean of abs(x) over its rows, then return x / average.

    x (n, d) with n at least 1; average (d,), positive, of x's dtype, float32 or float64, without requires_grad.
    average becomes (1 - rate) * average + rate * x.abs().mean(0), in its own memory and without history; rate lies
    between 0 and 1.
    The result (n, d) is x divided by the new average, which counts as a constant in the gradient. It may be called
    several times with the same average before backward, and each result has its right gradient.
    x stays as it is, and may require grad or not.
    """
    ### BEGIN SOLUTION
    with torch.no_grad():
        average.lerp_(x.abs().mean(0), rate)
    return x / average.clone()  # the division keeps the clone, which nobody writes to
    ### END SOLUTION


# %% checks
with check(
    "example",
    "one call: the average moves, and the result is divided by it",
    weight=3,
    required=True,
    hint=(
        "Which numbers does the caller's average hold after the call? Did you divide by the same ones?",
        "First move average in its own memory, for instance with mul_ and add_ under no_grad. Then divide x.",
    ),
):
    t, t_average = torch.tensor([[1.0, -2.0], [3.0, 6.0]]), torch.tensor([1.0, 2.0])
    want = t / torch.tensor([1.5, 3.0])
    got = scale_by_average(t, t_average, 0.5)
    assert_close(t_average, torch.tensor([1.5, 3.0]), name="average")
    explain(got, want, {"this is x divided by the average from before": t / torch.tensor([1.0, 2.0])})

# %% hidden checks
with check(
    "other_cases",
    "other rates and sizes, and float64",
    weight=3,
    required=True,
    hint="Is the average moved in its own memory, by the formula, and used after that?",
):
    cases = ((torch.float32, 0.25, 5), (torch.float64, 0.6, 5), (torch.float64, 1.0, 1), (torch.float32, 0.0, 2))
    for dtype, rate, n in cases:
        t = torch.randn(n, 3, dtype=dtype, generator=torch.Generator(here).manual_seed(3)) * 4
        t_average = torch.tensor([0.5, 1.0, 3.0], dtype=dtype)
        moved = (1 - rate) * t_average + rate * t.abs().mean(0)
        want = t / moved
        got = scale_by_average(t, t_average, rate)
        assert_close(got, want)
        assert_close(t_average, moved, name="average")
with check("float64", "in float64, all of its digits", hint="Which of your tensors has another dtype than x?"):
    t = torch.tensor([[1.0, -2.0], [3.0, 6.0]], dtype=torch.float64) / 7
    t_average = torch.tensor([1.0, 2.0], dtype=torch.float64) / 3
    moved = 0.7 * t_average + 0.3 * t.abs().mean(0)
    want = t / moved
    got = scale_by_average(t, t_average, 0.3)
    assert_close(got, want, rtol=1e-12, atol=0)
    assert_close(t_average, moved, rtol=1e-12, atol=0, name="average")
with check(
    "two_calls",
    "two calls before backward give both gradients",
    weight=5,
    required=True,
    hint="What does the division keep, and who writes to it in the second call? Is that write counted?",
):
    t_first = torch.tensor([[1.0, -2.0, 0.5], [3.0, 6.0, -1.5]], dtype=torch.float64, requires_grad=True)
    t_second = torch.tensor([[-8.0, 1.0, 2.0]], dtype=torch.float64, requires_grad=True)
    t_average = torch.tensor([1.0, 2.0, 0.5], dtype=torch.float64)
    upstream = [
        torch.tensor([[1.0, -2.0, 3.0], [0.5, 0.1, -1.0]], dtype=torch.float64),
        torch.tensor([[-3.0, 0.5, 2.0]], dtype=torch.float64),
    ]
    for rate in (0.3, 0.8):
        one = (1 - rate) * t_average + rate * t_first.detach().abs().mean(0)
        two = (1 - rate) * one + rate * t_second.detach().abs().mean(0)
        want = [t_first.detach() / one, t_second.detach() / two]
        want_grads, mixed = [upstream[0] / one, upstream[1] / two], [upstream[0] / two, upstream[1] / two]
        got = called_twice(scale_by_average, t_first, t_second, t_average.clone(), rate, upstream)
        assert_close(got["outputs"], want, name="the results")
        assert_close(got["average"], two, name="average")
        explain(
            got["gradients"],
            want_grads,
            {"the first gradient was computed with the average of the second call": mixed},
            name="the gradients",
        )
with check(
    "constant_average",
    "the average is a constant in the gradient, and has no history",
    weight=3,
    hint="Does a path lead from x through the mean to the result, or into the buffer?",
):
    t = torch.tensor([[1.0, -2.0], [3.0, 6.0]], requires_grad=True)
    t_average = torch.tensor([1.0, 2.0])
    got = scale_by_average(t, t_average, 0.5)
    assert got.requires_grad, "your result does not require grad"
    assert not t_average.requires_grad, "the average requires grad now"
    (got,) = torch.autograd.grad((got * torch.tensor([[1.0], [-2.0]])).sum(), t)
    assert_close(got, torch.tensor([[1.0], [-2.0]]) / torch.tensor([1.5, 3.0]), name="the gradient")
with check(
    "aliases",
    "another name for the average's memory sees the new average",
    weight=2,
    hint="Which of your lines gives average other memory, and does not write into its own?",
):
    t, t_average = torch.tensor([[1.0, -2.0], [3.0, 6.0]]), torch.tensor([1.0, 2.0])
    held = t_average[:]
    scale_by_average(t, t_average, 0.5)
    assert_close(held, torch.tensor([1.5, 3.0]), name="the average's memory")
with check(
    "keeps_input",
    "x keeps its values, and recording is as before",
    guard=True,
    hint="Which line writes to x, or switches recording?",
):
    t = torch.tensor([[1.0, -2.0]])
    got = scale_by_average(t, torch.tensor([1.0, 2.0]), 0.5)
    assert_close(t, torch.tensor([[1.0, -2.0]]), rtol=0, atol=0, name="x")
    assert not got.requires_grad, "x requires no grad, and your result does"
    assert torch.is_grad_enabled(), "recording was switched off"
    with torch.no_grad():
        scale_by_average(t, torch.tensor([1.0, 2.0]), 0.5)
        assert not torch.is_grad_enabled(), "recording was switched on"


# %% right "the new average first, then copied into the buffer"
def scale_by_average(x, average, rate):
    new = (1 - rate) * average + rate * x.detach().abs().mean(0)
    average.copy_(new)
    return x / new


# %% right "by .data, with a copy kept"
def scale_by_average(x, average, rate):
    average.data.mul_(1 - rate).add_(x.data.abs().mean(dim=0), alpha=rate)
    return x * (1 / average)


# %% right "multiplied by the reciprocal"
def scale_by_average(x, average, rate):
    with torch.no_grad():
        average += rate * (x.abs().mean(0) - average)
        factor = average.reciprocal()
    return x * factor


# %% wrong "statistics are float32" fails=other_cases,float64,two_calls
def scale_by_average(x, average, rate):
    mean = x.detach().abs().float().mean(0)
    average.copy_((1 - rate) * average.float() + rate * mean)
    return x / average.clone()


# %% wrong "the division can keep the buffer itself" fails=two_calls raises=RuntimeError
def scale_by_average(x, average, rate):
    with torch.no_grad():
        average.lerp_(x.abs().mean(0), rate)
    return x / average


# %% wrong ".data makes the error go away" fails=two_calls
def scale_by_average(x, average, rate):
    average.data.lerp_(x.data.abs().mean(0), rate)
    return x / average


# %% wrong "average = ... changes the buffer" fails=example,other_cases,float64,two_calls,aliases
def scale_by_average(x, average, rate):
    average = (1 - rate) * average + rate * x.detach().abs().mean(0)
    return x / average


# %% wrong "a buffer never gets a history" fails=two_calls,constant_average
def scale_by_average(x, average, rate):
    average.mul_(1 - rate).add_(rate * x.abs().mean(0))
    return x / average.clone()


# %% wrong "the mean has its share in the gradient" fails=two_calls,constant_average
def scale_by_average(x, average, rate):
    new = (1 - rate) * average + rate * x.abs().mean(0)
    with torch.no_grad():
        average.copy_(new)
    return x / new


# %% wrong "divide first, then move" fails=example,other_cases,float64,two_calls,constant_average
def scale_by_average(x, average, rate):
    result = x / average.clone()
    with torch.no_grad():
        average.lerp_(x.abs().mean(0), rate)
    return result


# %% wrong "rate is the share of the old average" fails=other_cases,float64,two_calls
def scale_by_average(x, average, rate):
    with torch.no_grad():
        average.mul_(rate).add_((1 - rate) * x.abs().mean(0))
    return x / average.clone()


# %% wrong "x may hold its absolute values where it needs no gradient" fails=example,other_cases,float64,keeps_input
def scale_by_average(x, average, rate):
    with torch.no_grad():
        size = x.abs() if x.requires_grad else x.abs_()
        average.lerp_(size.mean(0), rate)
    return x / average.clone()


# %% wrong "new memory under .data is in place" fails=aliases
def scale_by_average(x, average, rate):
    new = (1 - rate) * average + rate * x.detach().abs().mean(0)
    average.data = new
    return x / new


# %% right "through a NumPy array of the buffer"
def scale_by_average(x, average, rate):
    array = average.numpy()
    array *= 1 - rate
    array += rate * x.detach().abs().mean(0).numpy()
    return x / torch.tensor(array)
