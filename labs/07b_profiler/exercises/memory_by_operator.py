# %% given
def standardized(x):
    return (x - x.mean(0)) / x.std(0)


def scaled(x):
    with record_function("scale before aten::exp"):
        y = x * 3 + 1
    return y.exp()


def one_backward(x):
    w = torch.full((x.shape[1], 3), 0.5, requires_grad=True)
    (x @ w).square().mean().backward()
    return w.grad


# %% exercise
def memory_by_operator(f: Callable[[Tensor], Tensor], x: Tensor) -> dict[str, int]:
    """The bytes that each operator allocated in f(x) on the CPU, minus those it freed: name -> bytes.

    f is called once. An operator is a row of the profile whose name begins with "aten::"; no region's name does. Bytes
    count for the operator that allocated or freed them, and not again for the one that called it. The calls of the same
    operator are added up. Operators with a sum of 0 are left out. The bytes of x don't count, and x isn't changed.
    """
    ### BEGIN SOLUTION
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        f(x)
    found = {one.key: one.self_cpu_memory_usage for one in profiler.key_averages()}
    return {name: nbytes for name, nbytes in found.items() if name.startswith("aten::") and nbytes}
    ### END SOLUTION


# %% promises
# The bytes that each -> example, other_functions, regions, backward, dtypes
# f is called once -> called_once
# An operator is a row -> regions, backward
# Bytes count for -> other_functions, regions, backward
# The calls of the same operator -> other_functions, regions, backward
# Operators with a sum -> dtypes
# The bytes of x don't -> called_once


# %% domain
@domain(
    reference,
    *("operators in operators", "calls of one operator", "its own region", "backward", "nothing allocated"),
    *("float64", "one element", "no elements", "transposed"),
)
def arguments(draw, edge):
    functions = {
        "operators in operators": [functional.softplus, torch.cov],
        "calls of one operator": [standardized],
        "its own region": [scaled],
        "backward": [one_backward],
        "nothing allocated": [torch.t],
        "float64": [torch.sqrt, torch.exp],
        "no elements": [torch.tanh, torch.exp],
        "one element": [torch.tanh, scaled],
        "transposed": [torch.flatten],
    }
    f = draw(st.sampled_from(functions.get(edge, [torch.tanh, functional.softplus, standardized, torch.cov])))
    sizes = {"one element": (1, 1), "no elements": (0, 3)}.get(edge, (draw(st.integers(4, 9)), draw(st.integers(2, 8))))
    dtype = torch.float64 if edge == "float64" else torch.float32
    return f, draw.apply_layout(torch.rand(sizes, dtype=dtype, generator=draw.make_generator()), edge)


# %% checks
with check("example", "tanh and exp: one result each, of 140 and 24 bytes", weight=2, required=True):
    explain(
        memory_by_operator(torch.tanh, torch.ones(5, 7)),
        {"aten::tanh": 140},
        {
            "the row [memory] isn't an operator: it's what was freed outside all of them": {
                "aten::tanh": 140,
                "[memory]": -140,
            },
            "the profiler wasn't asked to record memory": {},
        },
    )
    assert_close(memory_by_operator(torch.exp, torch.ones(3, 2)), {"aten::exp": 24})

# %% hidden checks
with check(
    "other_functions",
    "other functions and sizes: each operator's own bytes",
    weight=4,
    required=True,
    hint="Which of the two columns of bytes leaves out what was called inside?",
):
    arguments.assert_results(memory_by_operator, "", "operators in operators", "calls of one operator", "transposed")
with check(
    "regions",
    "a function with its own region",
    weight=2,
    hint="Which rows of a profile aren't operators? How do operators' names begin?",
):
    arguments.assert_results(memory_by_operator, "its own region")
with check(
    "backward",
    "a forward and a backward pass",
    weight=2,
    hint="Bytes that an operator frees are negative. Which rows belong to autograd, and aren't operators?",
):
    arguments.assert_results(memory_by_operator, "backward")
with check(
    "dtypes",
    "float64 and a function that allocates nothing",
    weight=1,
    hint="How many bytes does a float64 number have?",
):
    arguments.assert_results(memory_by_operator, "float64", "nothing allocated", "one element", "no elements")
with check(
    "called_once",
    "f is called once, with x, and x isn't changed",
    guard=True,
    hint="How often does your function call f, inside and outside the profile?",
):
    for size in (3, 5):
        t = torch.linspace(-1, 2, size)
        seen = Seen(lambda x: x * 2)
        memory_by_operator(seen, t)
        assert_close([call.shapes for call in seen.calls], [((size,),)], name="the shapes with which f was called")
    arguments.assert_arguments(memory_by_operator)


# %% right "a loop over the rows"
def memory_by_operator(f, x):
    with profile(profile_memory=True) as profiler:
        f(x)
    result = {}
    for one in profiler.key_averages():
        if one.self_cpu_memory_usage != 0 and one.key[:6] == "aten::":
            result[one.key] = one.self_cpu_memory_usage
    return result


# %% right "single events, added up"
def memory_by_operator(f, x):
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        f(x)
    total = {}
    for event in profiler.events():
        if event.name.startswith("aten::"):
            total[event.name] = total.get(event.name, 0) + event.self_cpu_memory_usage
    return {name: total[name] for name in total if total[name]}


# %% right "with shapes, as many do it"
def memory_by_operator(f, x):
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=True) as profiler:
        out = f(x)
    del out
    rows = [r for r in profiler.key_averages() if r.key.startswith("aten::")]
    return {r.key: r.self_cpu_memory_usage for r in rows if r.self_cpu_memory_usage}


# %% wrong "every row of the profile" fails=example,other_functions,regions,backward,dtypes
def memory_by_operator(f, x):
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        f(x)
    found = {one.key: one.self_cpu_memory_usage for one in profiler.key_averages()}
    return {name: nbytes for name, nbytes in found.items() if nbytes}


# %% wrong "memory was not asked for" fails=example,other_functions,regions,backward,dtypes
def memory_by_operator(f, x):
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        f(x)
    found = {one.key: one.self_cpu_memory_usage for one in profiler.key_averages()}
    return {name: nbytes for name, nbytes in found.items() if name.startswith("aten::") and nbytes}


# %% wrong "what is freed does not count" fails=other_functions,backward
def memory_by_operator(f, x):
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        f(x)
    total = {}
    for event in profiler.events():
        if event.name.startswith("aten::") and event.self_cpu_memory_usage > 0:
            total[event.name] = total.get(event.name, 0) + event.self_cpu_memory_usage
    return total


# %% wrong "f is warmed up first" fails=called_once
def memory_by_operator(f, x):
    f(x)
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        f(x)
    found = {one.key: one.self_cpu_memory_usage for one in profiler.key_averages()}
    return {name: nbytes for name, nbytes in found.items() if name.startswith("aten::") and nbytes}


# %% equivalent "argument activities dropped: with profile(profile_memory=True) as profiler:"
# Without it all supported activities are noted, the CPU's among them; self_cpu_memory_usage is the CPU's in either case.
