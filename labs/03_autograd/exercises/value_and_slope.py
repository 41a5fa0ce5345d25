# %% exercise
def value_and_slope(coefficients: list[float], x: Tensor) -> tuple[Tensor, Tensor]:
    """Value and derivative of a polynomial at every element of x, without autograd.

    coefficients: at least one number, with the highest power first: [1.0, 3.0, 2.0] is x**2 + 3*x + 2.
    Returns (value, slope), both of x's shape and dtype.

    Details:
    - x: any shape, float32 or float64; zero is allowed. coefficients and x aren't changed.
    - Works with autograd turned off too, inside torch.no_grad() or torch.inference_mode().
    - x may require grad: then the derivative that autograd finds for value equals slope. With only one coefficient,
      value is constant, and needn't be connected to x.
    """
    ### BEGIN SOLUTION
    value = slope = torch.zeros_like(x)
    for c in coefficients:
        slope = slope * x + value  # product rule, with the value before this step
        value = value * x + c
    return value, slope
    ### END SOLUTION


# %% promises
# Value and derivative -> polynomial, other_cases, by_hand
# coefficients: at least -> polynomial, constant, other_cases
# Returns (value, slope) -> constant, empty, other_cases
# x: any shape -> other_cases, zero, empty
# coefficients and x -> keeps_input
# Works with autograd -> recording_off
# x may require grad -> gradient
# With only one -> constant


# %% domain
@domain(
    reference,
    *("float64", "0-dim", "empty", "a zero", "one coefficient", "the coefficient 0", "zeros first"),
    *("steep", "transposed", "expanded", "requires grad", "from an operation"),
    *("a zero, requires grad", "zeros first, requires grad"),
    *("recording off", "inference mode"),
    contexts={"recording off": torch.no_grad, "inference mode": torch.inference_mode},
)
def arguments(draw, edge):
    coefficients = [draw(st.integers(-30, 30)) / 10 for _ in range(draw(st.integers(2, 5)))]
    if edge in ("one coefficient", "the coefficient 0"):
        coefficients = [0.0 if edge == "the coefficient 0" else 2.5]
    if "zeros first" in edge:
        coefficients = [0.0, 0.0, *coefficients]
    columns = draw(st.integers(2 if edge == "transposed" else 1, 3))
    shape = {"0-dim": (), "empty": (0, 2)}.get(edge, (draw(st.integers(2, 4)), columns))
    g, dtype = draw.make_generator(here), torch.float64 if edge in ("float64", "steep") else torch.float32
    x = torch.rand(shape, generator=g, dtype=dtype) * 2.8 - 1.4
    if "a zero" in edge:
        x[0] = 0
    if edge == "steep":
        x = x * 1e4
    return coefficients, draw.apply_gradient_state(draw.apply_layout(x, edge), edge)


# %% checks
with check(
    "polynomial",
    "the polynomial above: values 9 and 33, slopes 15 and 34 at 2 and 3",
    weight=2,
    required=True,
    hint=(
        "If you follow your steps on paper for x**2 + 3*x + 1 at 2, is the slope 7?",
        "The product rule has two terms, and both use numbers from before the step. Which line has to come first?",
    ),
):
    t = torch.tensor([2.0, 3.0])
    want = (torch.tensor([9.0, 33.0]), torch.tensor([15.0, 34.0]))
    explain(
        value_and_slope([1.0, 2.0, -5.0, 3.0], t),
        want,
        {
            "the coefficients were read with the lowest power first": (
                torch.tensor([9.0, 43.0]),
                torch.tensor([18.0, 53.0]),
            ),
            "value was updated before slope used it: the product rule needs the old value": (
                want[0],
                torch.tensor([39.0, 135.0]),
            ),
        },
    )

# %% hidden checks
with check(
    "other_cases",
    "other polynomials, other shapes, and float64",
    weight=2,
    required=True,
    hint="Does every number in the result come from the arguments?",
):
    arguments.assert_results(value_and_slope, "", "0-dim", "transposed", "expanded", "zeros first", atol=5e-5)
    t = torch.tensor([0.5, -0.25])
    want = (2 * t + 1, torch.full_like(t, 2.0))
    assert_close(value_and_slope([0.0] * 1998 + [2.0, 1.0], t), want)
    arguments.assert_results(value_and_slope, "float64", "steep", rtol=1e-11)
with check("zero", "at x = 0, both results are finite", hint="Which power of x in your code isn't finite at 0?"):
    t = torch.tensor([0.0, 1.0])
    want = (torch.tensor([5.0, 6.0]), torch.tensor([-2.0, 4.0]))
    assert_close(value_and_slope([3.0, -2.0, 5.0], t), want)
    arguments.assert_results(value_and_slope, "a zero", atol=5e-5)
with check(
    "constant",
    "a constant has a slope of zero, with x's shape and dtype",
    hint="What do you return if the loop runs only once?",
):
    arguments.assert_results(value_and_slope, "one coefficient", "the coefficient 0")
    t = torch.tensor([[1.0], [-4.0]], dtype=torch.float64)
    want = (torch.full_like(t, 2.5), torch.zeros_like(t))
    assert_close(value_and_slope([2.5], t), want)
with check(
    "gradient",
    "autograd's gradient of value is slope",
    weight=2,
    required=True,
    hint="Does your code turn x into a Python number or a new torch.tensor?",
):
    arguments.assert_gradients(value_and_slope, "requires grad", "from an operation", of=(0,), atol=5e-5)
    arguments.assert_results(value_and_slope, "requires grad", "from an operation", atol=5e-5)
    edges = ("a zero, requires grad", "zeros first, requires grad")
    arguments.assert_gradients(value_and_slope, *edges, of=(0,), atol=5e-5)
    arguments.assert_results(value_and_slope, *edges, atol=5e-5)
with check(
    "keeps_input",
    "the coefficients and x aren't changed",
    guard=True,
    hint="Which line changes x in place?",
):
    arguments.assert_arguments(value_and_slope)
with check("recording_off", "recording is off", weight=2, hint="Which of your lines need a graph?"):
    arguments.assert_results(value_and_slope, "recording off", "inference mode", atol=5e-5)
with check("by_hand", "without autograd", observed=True, hint="Which of your lines asks autograd for a slope?"):
    for needs in (False, True):
        t = torch.tensor([0.5, -2.0, 3.0]).requires_grad_(needs)
        calls = probes.derivatives(value_and_slope, [1.0, 2.0, -5.0, 3.0], t)
        assert_close(calls["backward"] + calls["forward"], 0, name="the calls of autograd")
with check("empty", "an empty x gives empty results", guard=True):
    arguments.assert_results(value_and_slope, "empty")


# %% right "the power rule, term by term"
def value_and_slope(coefficients, x):
    degree = len(coefficients) - 1
    value, slope = torch.zeros_like(x), torch.zeros_like(x)
    for i, c in enumerate(coefficients):
        power = degree - i
        value = value + c * x**power
        if power > 0:
            slope = slope + c * power * x ** (power - 1)
    return value, slope


# %% right "Horner twice, with the coefficients of the derivative"
def value_and_slope(coefficients, x):
    def horner(numbers):
        result = torch.zeros_like(x)
        for number in numbers:
            result = result * x + number
        return result

    degree = len(coefficients) - 1
    return horner(coefficients), horner([c * (degree - i) for i, c in enumerate(coefficients[:-1])])


# %% wrong "autograd computes the slope" fails=recording_off,by_hand raises=RuntimeError
def value_and_slope(coefficients, x):
    value = 0.0
    for c in coefficients:
        value = value * x + c
    inner = x.detach().clone().requires_grad_()
    again = 0.0
    for c in coefficients:
        again = again * inner + c
    again.sum().backward()
    return [value, inner.grad]


# %% wrong "the value first, then the slope with the new value" fails=polynomial,other_cases,zero,constant,gradient,recording_off
def value_and_slope(coefficients, x):
    value = slope = torch.zeros_like(x)
    for c in coefficients:
        value = value * x + c
        slope = slope * x + value
    return value, slope


# %% wrong "the lowest power comes first" fails=polynomial,other_cases,zero,gradient,recording_off
def value_and_slope(coefficients, x):
    value = slope = torch.zeros_like(x)
    for c in reversed(coefficients):
        slope = slope * x + value
        value = value * x + c
    return value, slope


# %% wrong "autograd is switched on again" fails=recording_off,by_hand raises=RuntimeError
def value_and_slope(coefficients, x):
    def value_at(x):
        value = torch.zeros_like(x)
        for c in coefficients:
            value = value * x + c
        return value

    with torch.enable_grad():
        inner = x.detach().clone().requires_grad_()
        return value_at(x), torch.autograd.grad(value_at(inner).sum(), inner)[0]
