# %% exercise
def backpropagate(tape: list, values: dict[str, float], result: str) -> dict[str, float]:
    """The slope of one result with respect to each value on a tape, without autograd.

    tape: steps (operation, inputs, output), in the order in which they ran. ("add", ("a", "b"), "c") is c = a + b,
    "sub" is a - b, and "mul" is a * b. ("tanh", ("a",), "c") is c = tanh(a).
    values: the value of each name, from the forward pass.
    Returns {name: slope} for every name in values. A slope is a float: how much the value called result changes per
    unit of that name's value.

    Details:
    - The slope for result itself is 1. It's 0 for a value that result doesn't depend on.
    - result may be any name in values: one that other steps follow, or one that no step computed.
    - A value may be an input of several steps, and both inputs of one step.
    - No two steps have the same output. The tape may be empty, and has at most 400 steps.
    - Any value may be 0, and two names may have the same value.
    - Billions of paths may lead from a value to the result, so don't follow each of them.
    - tape and values aren't changed. Works inside torch.no_grad() and torch.inference_mode() too.
    """
    ### BEGIN SOLUTION
    slopes = dict.fromkeys(values, 0.0)
    slopes[result] = 1.0
    for operation, inputs, output in reversed(tape):
        if operation == "tanh":
            factors = [1 - values[output] ** 2]
        elif operation == "mul":
            factors = [values[inputs[1]], values[inputs[0]]]
        else:
            factors = [1, 1 if operation == "add" else -1]
        for name, factor in zip(inputs, factors):
            slopes[name] += slopes[output] * factor  # the output's slope is complete by now
    return slopes
    ### END SOLUTION


# %% promises
# The slope of one result -> example, other_cases, zero, recording_off, by_hand
# tape: steps (operation -> example, other_cases
# ("add", ("a", "b") -> example, other_cases
# ("tanh", ("a",), "c") -> example, other_cases
# values: the value of -> other_cases
# Returns {name -> other_cases, independent
# A slope is a float -> example, other_cases, independent
# The slope for result -> independent
# It's 0 for a value -> independent
# result may be any -> independent
# A value may be an input -> used_again
# No two steps have -> other_cases
# The tape may be empty -> independent
# Any value may be 0 -> zero
# Billions of paths -> many_paths
# tape and values -> keeps_input
# Works inside torch -> recording_off


# %% domain
@domain(
    reference,
    *("used again", "one value for both inputs", "unused values", "steps that follow", "result from no step"),
    *("no steps", "a value of 0", "equal values", "many paths", "recording off", "inference mode"),
    contexts={"recording off": torch.no_grad, "inference mode": torch.inference_mode},
)
def arguments(draw, edge):
    names = draw(st.permutations([*"abcdefgh"]))
    kinds = draw(st.permutations(["add", "sub", "sub", "mul", "mul", "tanh", "tanh"]))
    tape, last = [], names[-1]
    if edge == "a value of 0":
        kinds, last = ["mul", *kinds], "zero"
    if edge == "equal values":
        kinds = ["mul", *kinds]  # of two inputs
    for place, kind in enumerate([] if edge == "no steps" else kinds):  # each step uses the last one's output
        other = names[place]
        if edge == "used again" and place > 1:
            other = draw(st.sampled_from([names[0], *(output for _, _, output in tape[:-1])]))
        inputs = (last,) if kind == "tanh" else tuple(draw(st.permutations([last, other])))
        if edge == "one value for both inputs" and kind in ("add", "mul"):
            inputs = (last, last)
        tape.append((kind, inputs, last := f"t{place}"))
    if edge == "many paths":
        tape = [("add", (f"t{k}", f"t{k + 1}"), f"t{k + 2}") for k in range(60)]
        last = "t61"
    if edge == "unused values":
        tape.insert(0, ("mul", ("unused", names[-1]), "side"))
    outputs = {output for _, _, output in tape}
    start = sorted({name for _, inputs, _ in tape for name in inputs} - outputs) or names[:3]
    numbers = torch.randn(len(start), generator=draw.make_generator(), dtype=torch.float64, device="cpu").tolist()
    if edge == "equal values":
        numbers = [numbers[0]] * len(start)
    values = dict(zip(start, numbers, strict=True))
    if edge == "a value of 0":
        values["zero"] = 0.0
    values = run_forward(tape, values)
    if edge == "steps that follow":
        last = f"t{draw(st.integers(1, 4))}"
    if edge in ("no steps", "result from no step"):
        last = draw(st.sampled_from(start))
    return tape, {name: values[name] for name in draw(st.permutations(sorted(values)))}, last


# %% checks
with check(
    "example",
    "the slopes on the tape above are those that autograd computes",
    weight=3,
    required=True,
    hint=(
        "Which step do you visit first? What's the slope of its output, and of each of its inputs?",
        "Start with a slope of 1 for the result and 0 for everything else. Visit the steps in reverse order. Multiply "
        "the slope of the step's output by the step's own slope for each input, and add the product to that input's.",
    ),
):
    t = {name: torch.tensor(neuron_values[name], dtype=torch.float64, requires_grad=True) for name in "wxby"}
    t["product"] = t["w"] * t["x"]
    t["total"] = t["product"] + t["b"]
    t["guess"] = t["total"].tanh()
    t["residual"] = t["guess"] - t["y"]
    t["loss"] = t["residual"] * t["residual"]
    slopes = torch.autograd.grad(t["loss"], list(t.values()))
    want = {name: slope.item() for name, slope in zip(t, slopes, strict=True)}
    got = backpropagate(neuron_tape, neuron_values, "loss")
    explain(
        got,
        want,
        {
            "residual is both inputs of the last step, but only one of its two slopes counted": {
                name: slope if name == "loss" else slope / 2 for name, slope in want.items()
            },
            "the walk went forward, so most slopes were still 0 when they were passed on": {
                name: slope if name in ("loss", "residual") else 0.0 for name, slope in want.items()
            },
            "w's slope needs the value of x, and x's slope that of w": {**want, "w": want["x"], "x": want["w"]},
            "if the second input of sub grows, the output falls": {**want, "y": -want["y"]},
        },
    )

# %% hidden checks
with check(
    "other_cases",
    "other tapes",
    weight=3,
    required=True,
    hint="What's the slope of each operation's output for its first input, and for its second?",
):
    arguments.assert_results(backpropagate, "", rtol=1e-9, atol=1e-12)
with check(
    "used_again",
    "a value that's used again, or twice in one step",
    weight=3,
    required=True,
    hint="Slopes arrive along several paths. Is the sum complete when you pass it on?",
):
    arguments.assert_results(backpropagate, "used again", "one value for both inputs")
    t = [("tanh", ("a",), "b"), ("sub", ("b", "b"), "c"), ("add", ("c", "a"), "d")]
    assert_close(backpropagate(t, run_forward(t, {"a": 0.5}), "d"), {"a": 1.0, "b": 0.0, "c": 1.0, "d": 1.0})
with check(
    "independent",
    "values that the result doesn't depend on, and a result in the middle or at the start",
    weight=2,
    hint="Where does your walk start, and what are the slopes of values that it doesn't reach?",
):
    arguments.assert_results(backpropagate, "unused values", "steps that follow", "result from no step", "no steps")
    t = [("add", ("a", "b"), "c"), ("sub", ("d", "c"), "e"), ("mul", ("e", "e"), "f")]
    got = backpropagate(t, run_forward(t, {"a": 0.5, "b": 2.0, "d": -1.0}), "e")
    assert_close(got, {"a": -1.0, "b": -1.0, "c": -1.0, "d": 1.0, "e": 1.0, "f": 0.0})
    assert all(isinstance(slope, float) for slope in got.values()), "a slope isn't a float"
with check("zero", "values of 0, and equal values", hint="Does any line divide by a value, or compare two of them?"):
    arguments.assert_results(backpropagate, "a value of 0", "equal values")
with check("many_paths", "60 steps with billions of paths", hint="How often does your code visit each step?"):
    arguments.assert_results(backpropagate, "many paths")
with check("recording_off", "recording is off", weight=2, hint="Which of your lines need autograd?"):
    arguments.assert_results(backpropagate, "recording off", "inference mode")
with check("by_hand", "without autograd", observed=True, hint="Which of your lines asks autograd for a slope?"):
    for kinds in (("add", "sub"), ("mul", "add"), ("mul", "sub")):
        t = [(kinds[0], ("a", "b"), "c"), (kinds[1], ("c", "a"), "d"), *[("tanh", ("d",), "e")] * (kinds[0] == "mul")]
        calls = probes.derivatives(backpropagate, t, run_forward(t, {"a": 0.5, "b": -2.0}), t[-1][2])
        assert_close(calls["backward"] + calls["forward"], 0, name="the calls of autograd")
with check("keeps_input", "the tape and the values aren't changed", guard=True, hint="Which line changes an argument?"):
    arguments.assert_arguments(backpropagate)


# %% right "recursion over the uses of a value, with a memory"
def backpropagate(tape, values, result):
    slopes = {result: 1.0}

    def slope_of(name):
        if name in slopes:
            return slopes[name]
        total = 0.0
        for operation, inputs, output in tape:
            for place, other in enumerate(inputs):
                if other == name:
                    if operation == "tanh":
                        factor = 1 - values[output] ** 2
                    elif operation == "mul":
                        factor = values[inputs[1 - place]]
                    else:
                        factor = -1 if operation == "sub" and place == 1 else 1
                    total += factor * slope_of(output)
        slopes[name] = total
        return total

    return {name: slope_of(name) for name in values}


# %% right "forward, once for each value"
def backpropagate(tape, values, result):
    answer = {}
    for chosen in values:
        slopes = dict.fromkeys(values, 0.0)
        slopes[chosen] = 1.0
        for operation, inputs, output in tape:
            if output == chosen:
                continue
            if operation == "tanh":
                slopes[output] = slopes[inputs[0]] * (1 - math.tanh(values[inputs[0]]) ** 2)
                continue
            a, b = inputs
            if operation == "mul":
                slopes[output] = slopes[a] * values[b] + values[a] * slopes[b]
            else:
                slopes[output] = slopes[a] + slopes[b] if operation == "add" else slopes[a] - slopes[b]
        answer[chosen] = slopes[result]
    return answer


# %% right "a function for each operation, and tensors without autograd"
def backpropagate(tape, values, result):
    rules = {
        "add": lambda up, out, a, b: (up, up),
        "sub": lambda up, out, a, b: (up, -up),
        "mul": lambda up, out, a, b: (up * b, up * a),
        "tanh": lambda up, out, a: (up - up * out * out,),
    }
    numbers = {name: torch.tensor(value, dtype=torch.float64) for name, value in values.items()}
    slopes = {name: torch.zeros((), dtype=torch.float64) for name in values}
    slopes[result] = torch.ones((), dtype=torch.float64)
    for operation, inputs, output in tape[::-1]:
        sent = rules[operation](slopes[output], numbers[output], *(numbers[name] for name in inputs))
        for name, slope in zip(inputs, sent):
            slopes[name] = slopes[name] + slope
    return {name: slope.item() for name, slope in slopes.items()}


# %% wrong "a dict of factors has room for both inputs" fails=example,used_again
def backpropagate(tape, values, result):
    slopes = dict.fromkeys(values, 0.0)
    slopes[result] = 1.0
    for operation, inputs, output in reversed(tape):
        a, b = inputs[0], inputs[-1]
        if operation == "tanh":
            factors = {a: 1 - values[output] ** 2}
        elif operation == "mul":
            factors = {a: values[b], b: values[a]}
        else:
            factors = {a: 1, b: 1 if operation == "add" else -1}
        for name, factor in factors.items():
            slopes[name] += slopes[output] * factor
    return slopes


# %% wrong "the steps are visited in the order in which they ran" fails=example,other_cases,used_again,independent,zero,many_paths,recording_off
def backpropagate(tape, values, result):
    slopes = dict.fromkeys(values, 0.0)
    slopes[result] = 1.0
    for operation, inputs, output in tape:
        if operation == "tanh":
            factors = [1 - values[output] ** 2]
        elif operation == "mul":
            factors = [values[inputs[1]], values[inputs[0]]]
        else:
            factors = [1, 1 if operation == "add" else -1]
        for name, factor in zip(inputs, factors):
            slopes[name] += slopes[output] * factor
    return slopes


# %% wrong "a factor's slope is its own value" fails=example,other_cases,used_again,independent,zero,recording_off
def backpropagate(tape, values, result):
    slopes = dict.fromkeys(values, 0.0)
    slopes[result] = 1.0
    for operation, inputs, output in reversed(tape):
        if operation == "tanh":
            factors = [1 - values[output] ** 2]
        elif operation == "mul":
            factors = [values[inputs[0]], values[inputs[1]]]
        else:
            factors = [1, 1 if operation == "add" else -1]
        for name, factor in zip(inputs, factors):
            slopes[name] += slopes[output] * factor
    return slopes


# %% wrong "a difference passes the same slope to both inputs" fails=example,other_cases,used_again,independent,zero,recording_off
def backpropagate(tape, values, result):
    slopes = dict.fromkeys(values, 0.0)
    slopes[result] = 1.0
    for operation, inputs, output in reversed(tape):
        if operation == "tanh":
            factors = [1 - values[output] ** 2]
        elif operation == "mul":
            factors = [values[inputs[1]], values[inputs[0]]]
        else:
            factors = [1, 1]
        for name, factor in zip(inputs, factors):
            slopes[name] += slopes[output] * factor
    return slopes
