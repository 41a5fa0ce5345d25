# %% given
@probes.probe
def counted(count, source, sizes, before=(), ask=len, times=1, needs_grad=False, limit=2):
    """What count(made, x) returns for an x of each of these sizes: ones, or minus ones if the size is negative.

    made is the function in this source, already compiled for the sizes in before. Here, Dynamo compiles a function at
    most limit times instead of eight (see "The recompile limit"). If made calls ask(x), which returns a number,
    Dynamo doesn't look into it. times: how often made gets the same x. needs_grad: x.requires_grad.
    """
    namespace = {"seen": [], "torch": torch, "ask": torch.compiler.disable(lambda x: ask(x))}
    exec(source, namespace)
    made = namespace["made"]
    compiled = torch.compile(made, backend="eager", dynamic=False)
    with torch._dynamo.config.patch(recompile_limit=limit):
        for size in before:
            compiled(torch.ones(size))
        inputs = [torch.full((abs(size),), math.copysign(1.0, size), requires_grad=needs_grad) for size in sizes]
        return [count(made, *[x] * times) for x in inputs]


def product_and_sum(x, y):
    z = x * y
    print("", end="")
    return z + x.sum()


# %% exercise
def n_graphs(fn: Callable[..., object], *args: Tensor) -> int:
    """How many graphs Dynamo creates for one call fn(*args) if none of fn is compiled yet: an int, 0 or more.

    torch.compile has its default settings. A graph that runs several times counts once. Earlier calls and compilations
    make no difference.
    """
    ### BEGIN SOLUTION
    torch.compiler.reset()
    seen = Recorder()
    torch.compile(fn, backend=seen)(*args)
    return len(seen.graphs)
    ### END SOLUTION


# %% promises
# How many graphs Dynamo -> example, several_breaks, break_at_end, called_once, same_arguments, two_tensors
# torch.compile has -> example, several_breaks, break_at_end, called_once, two_tensors
# A graph that runs -> repeated_graphs
# Earlier calls and -> called_again, compiled_before


# %% domain
# Each call compiles again, so the checks use a few functions that distinguish wrong answers.


# %% checks
with check(
    "example",
    "smooth makes one graph, printing and branching make two",
    weight=2,
    required=True,
    hint=(
        "What may already be compiled when your function is called? Which object receives each graph once?",
        "Forget everything first. How many graphs does a backend like Recorder hold after the call?",
    ),
):
    assert_close(n_graphs(smooth, torch.ones(3)), 1)
    assert_close(n_graphs(printing, torch.ones(3)), 2)
    explain(n_graphs(branching, torch.ones(3)), 2, {"the counters miss an if on values": 1})


# %% hidden checks
def written(*lines):
    return "\n    ".join(["def made(x):", *lines, "return x"])


MATH, SHAPE, APPEND = "x = x.sin() + 1", "x = x * 3 if x.shape[0] > 2 else x", "seen.append(x)"
PRINT, ITEM = "print('', end='')", "x = x * x.sum().item()"
PART = written("x = x.sin()", PRINT, "x = x.cos()").replace("made", "part") + "\n\n"


def ask(x):
    """2 or 0 if x was computed as in the compiled function, and 1 if not."""
    return {2.0: 2, 4.0: 0}.get(x.sum().item() / len(x), 1)


with check(
    "several_breaks",
    "functions with several breaks of several kinds",
    weight=3,
    required=True,
    hint="Which of the lines break the graph? Do operations follow each break?",
):
    assert_close(counted(n_graphs, written(MATH, SHAPE, APPEND, MATH), [4]), [1])
    assert_close(counted(n_graphs, written(MATH, ITEM, MATH), [4]), [2])
    t = [
        "x = x * len(x) if torch.compiler.is_compiling() else -x",
        "if ask(x) > 1:",
        "    x = x + 1",
        "    " + PRINT,
        MATH,
    ]
    assert_close(counted(n_graphs, written(*t), [2, 4], ask=ask), [3, 2])
with check(
    "repeated_graphs",
    "graphs that run several times",
    weight=2,
    hint="Do you count graphs when they're created, or when they run?",
):
    assert_close(counted(n_graphs, PART + written("x = part(part(x) + 1)"), [4]), [3])
    t = PART + written("x = part(x[:2]).sum() + part(x[:3]).sum() + part(x).sum()")
    assert_close(counted(n_graphs, t, [4], limit=8), [8])
with check(
    "break_at_end",
    "a break at the end, and a function without tensor operations",
    weight=2,
    hint="Is the number of graphs always the number of breaks plus one?",
):
    assert_close(counted(n_graphs, written(MATH, PRINT), [3]), [1])
    assert_close(counted(n_graphs, written(APPEND), [3]), [0])
    assert_close(counted(n_graphs, written("for _ in range(2):", "    " + PRINT, "    x = x + 1"), [3]), [0])
with check(
    "called_once",
    "a function that changes its argument",
    hint="How often does your function call fn? What is in the arguments the second time?",
):
    t = written("large = ask(x) > 5", "x.add_(1)", "if large:", "    x = x * 2", "    " + PRINT, MATH)
    assert_close(counted(n_graphs, t, [3], ask=lambda x: x.sum().item()), [1])
with check(
    "same_arguments",
    "functions that ask whether x is y, and whether x requires grad",
    hint="Does fn get the arguments themselves, or copies of them?",
):
    t = written("if x is y:", "    x = x + 1", "    " + PRINT, MATH).replace("made(x)", "made(x, y)")
    assert_close(counted(n_graphs, t, [3], times=2), [2])
    t = written("if x.requires_grad:", "    x = x + 1", "    " + PRINT, MATH)
    assert_close(counted(n_graphs, t, [3], needs_grad=True), [2])
with check(
    "called_again", "the same size again, and other sizes", weight=2, hint="What is left over from earlier calls?"
):
    assert_close(counted(n_graphs, written(MATH, "if x.shape[0] > 3:", "    " + PRINT, MATH), [3, 5, 3]), [1, 2, 1])
    t = written("if x.sum().item() > 0:", "    " + PRINT, "    x = x + 1", "    " + PRINT, MATH)  # other values
    assert_close(counted(n_graphs, t, [4, -4, 4]), [3, 2, 3])
with check(
    "compiled_before",
    "functions that are already compiled",
    weight=2,
    hint="Does your count start with nothing compiled?",
):
    assert_close(counted(n_graphs, written(MATH), [5], before=[3, 4]), [1])
    assert_close(counted(n_graphs, PART + written("x = part(x) + 1"), [5], before=[3, 4]), [3])
with check("two_tensors", "a function of two tensors", guard=True):
    assert_close(n_graphs(product_and_sum, torch.ones(3), torch.ones(2, 3)), 2)


# %% right "explain"
def n_graphs(fn, *args):
    torch.compiler.reset()
    return torch._dynamo.explain(fn)(*args).graph_count


# %% right "Dynamo's own counting backend"
from torch._dynamo.testing import CompileCounter


def n_graphs(fn, *args):
    forget()
    counter = CompileCounter()
    torch.compile(fn, backend=counter)(*args)
    torch.compiler.reset()
    return counter.frame_count


# %% right "a function as backend"
def n_graphs(fn, *args):
    torch.compiler.reset()
    count = 0

    def backend(graph, example_inputs):
        nonlocal count
        count += 1
        return graph

    torch.compile(fn, backend=backend)(*args)
    return count


# %% wrong "breaks plus one, by the counters" fails=example,repeated_graphs,break_at_end,called_once,called_again
def n_graphs(fn, *args):
    forget()
    torch.compile(fn, backend="eager")(*args)
    return sum(counters["graph_break"].values()) + 1


# %% wrong "the runs of the graphs in one call" fails=repeated_graphs
def n_graphs(fn, *args):
    torch.compiler.reset()
    runs = 0

    def backend(graph, example_inputs):
        def run(*inputs):
            nonlocal runs
            runs += 1
            return graph.forward(*inputs)

        return run

    torch.compile(fn, backend=backend)(*args)
    return runs


# %% wrong "what fullgraph takes is one graph, in each case" fails=several_breaks
def n_graphs(fn, *args):
    for fullgraph in (True, False):
        forget()
        recorder = Recorder()
        try:
            torch.compile(fn, backend=recorder, fullgraph=fullgraph)(*args)
            return len(recorder.graphs)
        except Exception:
            if not fullgraph:
                raise


# %% liar "runs the function, and counts what lies between the breaks"
import builtins


def n_graphs(fn, *args):
    found = {"now": 0, "graphs": set()}

    def broken(old):
        def breaks(*args, **kwargs):
            found["now"] = 0
            return old(*args, **kwargs)

        return breaks

    class Segments(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, f, types, args=(), kwargs=None):
            if f.__name__ in ("item", "__bool__"):
                found["now"] = 0
            elif f.__name__ != "__get__" and not found["now"]:
                found["now"] = 1
                found["graphs"].add(f.__name__ + str(len(found["graphs"])))
            return f(*args, **(kwargs or {}))

    with mock.patch.object(builtins, "print", broken(print)), Segments():
        fn(*args)
    return len(found["graphs"])


def counted(count, source, sizes, before=(), ask=len, times=1, needs_grad=False, limit=2):
    namespace = {"seen": [], "torch": torch, "ask": lambda x: ask(x)}
    exec(source, namespace)
    inputs = [torch.ones(size, requires_grad=needs_grad) for size in sizes]
    return [count(namespace["made"], *[x] * times) for x in inputs]


# %% right "the number of unique graphs, counted by Dynamo"
def n_graphs(fn, *args):
    forget()
    torch.compile(fn, backend="eager")(*args)
    return counters["stats"].get("unique_graphs", 0)


# %% wrong "forgotten behind, not before" fails=compiled_before
def n_graphs(fn, *args):
    recorder = Recorder()
    torch.compile(fn, backend=recorder)(*args)
    torch.compiler.reset()
    return len(recorder.graphs)
