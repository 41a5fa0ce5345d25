# %% exercise
def scale_by_average(x: Tensor, average: Tensor, rate: float) -> Tensor:
    """Move average toward the mean of abs(x) over its rows, then return x / average.

    x is (n, d), and average is (d,). average becomes (1 - rate) * average + rate * x.abs().mean(0), in its own memory
    and without history.
    The result is a new tensor (n, d): x divided by the new average, which counts as a constant in the gradient.
    Several calls with the same average tensor may come before backward, each with a rate of its own. The gradient of
    each result uses the numbers that average held at the end of that call.

    Details:
    - x: finite, with n and d at least 1. It may require grad or not, and may be the result of operations. x and its
      .grad aren't changed.
    - average: of x's dtype, float32 or float64, without requires_grad, with numbers from 0.1 to 100 both before and
      after the call.
    - x and average may have any strides, and no two elements of average share memory.
    - rate is from 0 to 1.
    - Recording is on or off, and stays so.
    """
    ### BEGIN SOLUTION
    with torch.no_grad():
        average.lerp_(x.abs().mean(0), rate)
    return x / average.clone()  # the division keeps the clone, and nothing writes to that
    ### END SOLUTION


# %% promises
# Move average toward -> example, own_memory, other_cases, float64, two_calls, aliases
# x is (n, d), and -> other_cases, float64, two_calls, constant_average
# average becomes -> own_memory, other_cases, float64, two_calls, constant_average, aliases
# The result is a new -> constant_average, two_calls, keeps_input
# Several calls with -> two_calls
# The gradient of each -> two_calls
# x: finite, with -> other_cases, float64, two_calls, constant_average
# It may require grad -> other_cases
# x and its .grad -> keeps_input
# average: of x's dtype -> other_cases, float64, two_calls, constant_average
# x and average may -> other_cases, constant_average, aliases
# rate is from 0 -> other_cases, float64, two_calls, constant_average, aliases
# Recording is on -> keeps_input


# %% domain
def draw_batch(draw, edge, d):
    """A batch whose numbers are at least 0.5 in size, and so is the mean of each column."""
    n = 1 if edge == "one row" else d if edge == "square" else draw(st.integers(2, 4))
    x = torch.rand(n + (n == d and edge != "square"), d, dtype=torch.float64, generator=draw.make_generator(here))
    return (x * 6 - 3) + (x * 6 - 3).sign() * 0.5


@domain(
    reference,
    *("float32", "one row", "one column", "square", "zeros in x", "rate 0", "rate 0 and ones", "rate 1"),
    *("transposed", "every second one", "expanded", "without grad", "without grad, rate 0 and ones"),
    *("from an operation", "holds .grad", "recording off", "recording off, without grad"),
    contexts={"recording off": torch.no_grad, "recording off, without grad": torch.no_grad},
)
def arguments(draw, edge):
    x = draw_batch(draw, edge, {"one column": 1, "without grad": 3}.get(edge, draw(st.integers(2, 4))))
    x = x[:2] if edge == "without grad" else x  # two inputs of one size
    average = 0.5 + 2 * torch.rand(x.shape[1], dtype=torch.float64, generator=draw.make_generator(here))
    if edge == "zeros in x":
        x[0], x[:, 0] = 0.0, 0.0
    if "ones" in edge:
        average[:] = 1.0
    x, average = ((t.float() if edge == "float32" else t) for t in (x, average))
    x = draw.apply_layout(x, edge)
    average = draw.apply_layout(average, edge) if edge == "every second one" else average
    x.requires_grad_("without grad" not in edge)
    if edge == "from an operation":
        x = x * 1
    if edge == "holds .grad":
        x.grad = torch.full_like(x, 1000.0)
    rate = {"rate 0": 0.0, "rate 1": 1.0}.get(edge, draw(st.sampled_from([0.1, 0.3, 0.75])))
    return x, average, 0.0 if "ones" in edge else rate


@domain(reference, "one row", "the same batch twice", "rate 0 first", "rate 0", "rate 1", "float32", call=called_twice)
def twice(draw, edge):
    d = draw(st.integers(2, 4))
    batches = [draw_batch(draw, edge, d), draw_batch(draw, edge, d)]
    batches = batches[:1] * 2 if edge == "the same batch twice" else batches
    upstream = [torch.randn(x.shape, dtype=torch.float64, generator=draw.make_generator(here)) for x in batches]
    average = 0.5 + 2 * torch.rand(d, dtype=torch.float64, generator=draw.make_generator(here))
    if edge == "float32":
        batches, upstream, average = [x.float() for x in batches], [x.float() for x in upstream], average.float()
    rates = [draw(st.sampled_from([0.1, 0.3, 0.75])) for _ in range(2)]
    rates = {"rate 0 first": [0.0, rates[1]], "rate 0": [0.0, 0.0], "rate 1": [1.0, 1.0]}.get(edge, rates)
    first, second = (x.requires_grad_() for x in batches)
    return first, second, average, rates, upstream


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
    explain(got, want, {"this is x divided by the average from before the call": t / torch.tensor([1.0, 2.0])})
with check(
    "own_memory",
    "two calls: another name for the average sees both, and the first result keeps its divisor",
    weight=2,
    hint=(
        "Which memory does the second call write to? Who else uses it: the caller, or the division of the first call?",
        "Move average with in-place methods, not by average.data = ... Divide by a tensor that nothing writes to.",
    ),
):
    t, t_average = torch.tensor([[4.0, -1.0]]), torch.tensor([2.0, 3.0])
    held, old = t_average[:], t_average.clone()
    first, second = torch.tensor([3.0, 2.0]), torch.tensor([1.5, 1.0])
    got = scale_by_average(t, t_average, 0.5)
    scale_by_average(torch.zeros(1, 2), t_average, 0.5)
    assert_close(t_average, second, name="average")
    explain(
        held,
        second,
        {"the new numbers are in new memory: assigning to average.data isn't a write into average's own": old},
        name="the memory that average had before",
    )
    assert_close(got, t / first)

# %% hidden checks
with check(
    "other_cases",
    "other rates and sizes, and float32",
    weight=3,
    required=True,
    hint="Is the average moved in its own memory, by the formula, before you divide by it?",
):
    arguments.assert_results(scale_by_average, "", "float32", "one row", "one column", "square", "zeros in x")
    arguments.assert_results(scale_by_average, "rate 0", "rate 0 and ones", "rate 1", "transposed", "expanded")
    arguments.assert_results(scale_by_average, "without grad", "without grad, rate 0 and ones", "from an operation")
    arguments.assert_arguments(scale_by_average, "", "float32", "one row", "rate 0", "rate 1")
with check("float64", "float64, to full precision", hint="Which of your tensors has a different dtype from x?"):
    arguments.assert_results(scale_by_average, "", rtol=1e-12, atol=0)
    arguments.assert_arguments(scale_by_average, "", rtol=1e-12, atol=0)
with check(
    "two_calls",
    "two calls before backward give both gradients",
    weight=4,
    required=True,
    hint="What does the division keep, and what writes to it in the second call? Is that write counted?",
):
    t_first = torch.tensor([[1.0, -2.0, 0.5], [3.0, 6.0, -1.5]], dtype=torch.float64, requires_grad=True)
    t_second = torch.tensor([[-8.0, 1.0, 2.0]], dtype=torch.float64, requires_grad=True)
    t_average = torch.tensor([1.0, 2.0, 0.5], dtype=torch.float64)
    upstream = [
        torch.tensor([[1.0, -2.0, 3.0], [0.5, 0.1, -1.0]], dtype=torch.float64),
        torch.tensor([[-3.0, 0.5, 2.0]], dtype=torch.float64),
    ]
    one = 0.7 * t_average + 0.3 * t_first.detach().abs().mean(0)
    two = 0.7 * one + 0.3 * t_second.detach().abs().mean(0)
    want = [t_first.detach() / one, t_second.detach() / two]
    want_grads, mixed = [upstream[0] / one, upstream[1] / two], [upstream[0] / two, upstream[1] / two]
    got = called_twice(scale_by_average, t_first, t_second, t_average, [0.3, 0.3], upstream)
    assert_close(got["outputs"], want, name="the results")
    explain(
        got["gradients"],
        want_grads,
        {"the first gradient was computed with the average of the second call": mixed},
        name="the gradients",
    )
    twice.assert_results(scale_by_average, "", "one row", "the same batch twice", "float32")
    twice.assert_results(scale_by_average, "rate 0 first", "rate 0", "rate 1")
with check(
    "constant_average",
    "the average is a constant in the gradient, and has no history",
    weight=3,
    hint="Is there a path from x through the mean to the result, or into the buffer?",
):
    t = torch.tensor([[1.0, -2.0], [3.0, 6.0]], requires_grad=True)
    t_average = torch.tensor([1.0, 2.0])
    want = t.detach() / torch.tensor([1.5, 3.0])
    got = scale_by_average(t, t_average, 0.5)
    assert_close(got.detach(), want)
    assert not t_average.requires_grad, "the average requires grad now"
    arguments.assert_gradients(scale_by_average)
with check(
    "aliases",
    "another name for the average's memory sees the new average, whatever its strides",
    hint="Which of your lines gives average new memory instead of writing into its own?",
):
    t, t_average = torch.tensor([[1.0, -2.0], [3.0, 6.0]]), torch.tensor([1.0, 2.0])
    held = t_average[:]
    scale_by_average(t, t_average, 0.5)
    assert_close(held, torch.tensor([1.5, 3.0]), name="the average's memory")
    arguments.assert_results(scale_by_average, "every second one")
    arguments.assert_arguments(scale_by_average, "every second one")
with check(
    "keeps_input",
    "x isn't changed, and recording is as before",
    guard=True,
    hint="Which line writes to x, or switches recording?",
):
    arguments.assert_results(scale_by_average, "holds .grad", "recording off", "recording off, without grad")
    arguments.assert_arguments(scale_by_average, ignore=("average",))
    arguments.assert_memory(scale_by_average)
    arguments.assert_settings(scale_by_average)


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


# %% wrong "no_grad is all that a buffer needs" fails=two_calls raises=RuntimeError
def scale_by_average(x, average, rate):
    with torch.no_grad():
        average.lerp_(x.abs().mean(0), rate)
    return x / average


# %% wrong ".data makes the error go away" fails=two_calls
def scale_by_average(x, average, rate):
    average.data.lerp_(x.data.abs().mean(0), rate)
    return x / average


# %% wrong "divide first, then move" fails=example,own_memory,other_cases,float64,two_calls,constant_average,aliases,keeps_input
def scale_by_average(x, average, rate):
    result = x / average.clone()
    with torch.no_grad():
        average.lerp_(x.abs().mean(0), rate)
    return result


# %% wrong "new memory under .data is in place" fails=own_memory,aliases
def scale_by_average(x, average, rate):
    new = (1 - rate) * average + rate * x.detach().abs().mean(0)
    average.data = new
    return x / new


# %% wrong "a new result makes the old gradient invalid" fails=keeps_input
def scale_by_average(x, average, rate):
    if x.is_leaf:
        x.grad = None
    with torch.no_grad():
        average.lerp_(x.abs().mean(0), rate)
    return x / average.clone()


# %% right "through a NumPy array of the buffer"
def scale_by_average(x, average, rate):
    array = average.numpy()
    array *= 1 - rate
    array += rate * x.detach().abs().mean(0).numpy()
    return x / torch.tensor(array)
