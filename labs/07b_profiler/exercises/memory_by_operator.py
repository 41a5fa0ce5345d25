# %% given
def standardized(x):
    return (x - x.mean(0)) / x.std(0)


def scaled(x):
    with record_function("scale"):
        y = x * 3 + 1
    return y.exp()


def one_backward(x):
    w = torch.full((x.shape[1], 3), 0.5, requires_grad=True)
    (x @ w).square().mean().backward()
    return w.grad


# %% exercise
def memory_by_operator(f: Callable[[Tensor], Tensor], x: Tensor) -> dict[str, int]:
    """The bytes that each operator allocated in f(x) on the CPU, less those that it freed: name -> bytes.

    An operator is a row of the profile whose name begins with "aten::". What it called counts
    for what was called, and not once more for itself. The calls of one operator are added up.
    Operators that come to 0 are left out. x is there before, and stays as it is.
    """
    ### BEGIN SOLUTION
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        f(x)
    found = {one.key: one.self_cpu_memory_usage for one in profiler.key_averages()}
    return {name: nbytes for name, nbytes in found.items() if name.startswith("aten::") and nbytes}
    ### END SOLUTION


# %% checks
with check("example", "tanh and exp: one result each, of 140 bytes and of 24", weight=2, required=True):
    explain(
        memory_by_operator(torch.tanh, torch.ones(5, 7)),
        {"aten::tanh": 140},
        {
            "the row [memory] is no operator: it is what was freed outside of all of them": {
                "aten::tanh": 140,
                "[memory]": -140,
            },
            "nothing was asked to note memory": {},
        },
    )
    assert_close(memory_by_operator(torch.exp, torch.ones(3, 2)), {"aten::exp": 24})

# %% hidden checks


def noted(f, x):
    """What memory_by_operator should say."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        f(x)
    rows = profiler.key_averages()
    return {one.key: one.self_cpu_memory_usage for one in rows if one.key[:6] == "aten::" and one.self_cpu_memory_usage}


with check(
    "other_functions",
    "other functions and sizes: the bytes of each operator itself",
    weight=4,
    required=True,
    hint="Which of the two columns of bytes leaves out what was called inside?",
):
    for f, size in ((torch.nn.functional.softplus, (4, 9)), (standardized, (6, 5)), (torch.cov, (3, 8))):
        t = torch.linspace(-1, 2, size[0] * size[1]).reshape(size)
        assert_close(memory_by_operator(f, t), noted(f, t))
with check(
    "regions",
    "a function with a region of its own",
    weight=2,
    hint="Which rows of a profile are no operators? How do an operator's names begin?",
):
    for rows, columns in ((2, 3), (11, 4)):
        t = torch.linspace(-1, 1, rows * columns).reshape(rows, columns)
        assert_close(memory_by_operator(scaled, t), noted(scaled, t))
with check(
    "backward",
    "a forward and a backward pass",
    weight=2,
    hint="What is freed by an operator counts with a minus sign. Which rows belong to autograd, and are no operators?",
):
    for rows, columns in ((4, 7), (9, 2)):
        t = torch.linspace(-1, 1, rows * columns).reshape(rows, columns)
        assert_close(memory_by_operator(one_backward, t), noted(one_backward, t))
with check(
    "dtypes", "float64 and a function that allocates nothing", weight=1, hint="How many bytes has a number of float64?"
):
    t = torch.linspace(0.1, 1, 12, dtype=torch.float64).reshape(4, 3)
    assert_close(memory_by_operator(torch.sqrt, t), {"aten::sqrt": 96})
    assert_close(memory_by_operator(torch.t, t), {})


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


# %% wrong "what was called inside counts again" fails=other_functions,regions,backward
def memory_by_operator(f, x):
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        f(x)
    found = {one.key: one.cpu_memory_usage for one in profiler.key_averages()}
    return {name: nbytes for name, nbytes in found.items() if name.startswith("aten::") and nbytes}


# %% wrong "every row of the profile" fails=example,other_functions,regions,backward,dtypes
def memory_by_operator(f, x):
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        f(x)
    found = {one.key: one.self_cpu_memory_usage for one in profiler.key_averages()}
    return {name: nbytes for name, nbytes in found.items() if nbytes}


# %% wrong "all but the row of freed memory" fails=regions,backward
def memory_by_operator(f, x):
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        f(x)
    found = {one.key: one.self_cpu_memory_usage for one in profiler.key_averages()}
    return {name: nbytes for name, nbytes in found.items() if name != "[memory]" and nbytes}


# %% wrong "all names with two colons" fails=backward
def memory_by_operator(f, x):
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        f(x)
    found = {one.key: one.self_cpu_memory_usage for one in profiler.key_averages()}
    return {name: nbytes for name, nbytes in found.items() if "::" in name and nbytes}


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


# %% wrong "operators of no bytes too" fails=other_functions,regions,backward,dtypes
def memory_by_operator(f, x):
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        f(x)
    return {r.key: r.self_cpu_memory_usage for r in profiler.key_averages() if r.key.startswith("aten::")}


# %% wrong "the bytes of one call" fails=other_functions,regions,backward
def memory_by_operator(f, x):
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        f(x)
    found = {e.name: e.self_cpu_memory_usage for e in profiler.events() if e.self_cpu_memory_usage}
    return {name: nbytes for name, nbytes in found.items() if name.startswith("aten::")}


# %% wrong "f is called twice" fails=example,other_functions,regions,backward,dtypes
def memory_by_operator(f, x):
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        f(x)
        f(x)
    found = {one.key: one.self_cpu_memory_usage for one in profiler.key_averages()}
    return {name: nbytes for name, nbytes in found.items() if name.startswith("aten::") and nbytes}


# %% equivalent "argument activities dropped: with profile(profile_memory=True) as profiler:"
# Without it all supported activities are noted, the CPU's among them; self_cpu_memory_usage is the CPU's in either case.
