# Answers for the exercises of lab.py beside this file: each right one is a way that somebody really writes it,
# each wrong one a belief that somebody really holds.
# %% right: n_graphs "explain"
def n_graphs(fn, *args):
    torch.compiler.reset()
    return torch._dynamo.explain(fn)(*args).graph_count


# %% right: n_graphs "Dynamo's own counting backend"
from torch._dynamo.testing import CompileCounter


def n_graphs(fn, *args):
    forget()
    counter = CompileCounter()
    torch.compile(fn, backend=counter)(*args)
    torch.compiler.reset()
    return counter.frame_count


# %% right: n_graphs "a function as backend"
def n_graphs(fn, *args):
    torch.compiler.reset()
    count = 0

    def backend(graph, example_inputs):
        nonlocal count
        count += 1
        return graph

    torch.compile(fn, backend=backend)(*args)
    return count


# %% wrong: n_graphs "breaks plus one, by the counters" fails="smooth makes one graph, printing two, and so does branching | graphs that run several times | a break at the end, and a function without tensor operations"
def n_graphs(fn, *args):
    forget()
    torch.compile(fn, backend="eager")(*args)
    return sum(counters["graph_break"].values()) + 1


# %% wrong: n_graphs "explain's breaks plus one" fails="a break at the end, and a function without tensor operations"
def n_graphs(fn, *args):
    torch.compiler.reset()
    return len(torch._dynamo.explain(fn)(*args).break_reasons) + 1


# %% wrong: n_graphs "a new backend is enough" fails="the same again, and other sizes | functions that were compiled before"
def n_graphs(fn, *args):
    seen = Recorder()
    torch.compile(fn, backend=seen)(*args)
    return len(seen.graphs)


# %% wrong: n_graphs "the counters are set to zero, and nothing is forgotten" fails="functions with several breaks, of several kinds | the same again, and other sizes | functions that were compiled before"
def n_graphs(fn, *args):
    counters.clear()
    torch.compile(fn, backend="eager")(*args)
    return counters["stats"]["unique_graphs"]


# %% wrong: n_graphs "a whole graph, and one at most" fails="smooth makes one graph, printing two, and so does branching | functions with several breaks, of several kinds | graphs that run several times | a break at the end, and a function without tensor operations | the same again, and other sizes | a function of two tensors" raises=RuntimeError
def n_graphs(fn, *args):
    torch.compiler.reset()
    seen = Recorder()
    torch.compile(fn, backend=seen, fullgraph=True)(*args)
    return len(seen.graphs)


# %% wrong: n_graphs "the backend's calls and the graphs' calls" fails="smooth makes one graph, printing two, and so does branching | functions with several breaks, of several kinds | graphs that run several times | a break at the end, and a function without tensor operations | the same again, and other sizes | functions that were compiled before | a function of two tensors"
def n_graphs(fn, *args):
    torch.compiler.reset()
    count = []

    def backend(graph, example_inputs):
        def run(*inputs):
            count.append(graph)
            return graph.forward(*inputs)

        return run

    compiled = torch.compile(fn, backend=backend)
    compiled(*args)
    compiled(*args)
    return len(count)


# %% wrong: n_graphs "the runs of the graphs in one call" fails="graphs that run several times"
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


# %% wrong: n_graphs "remembers what it said of a function" fails="functions with several breaks, of several kinds | the same again, and other sizes"
said = {}


def n_graphs(fn, *args):
    if fn not in said:
        torch.compiler.reset()
        seen = Recorder()
        torch.compile(fn, backend=seen)(*args)
        said[fn] = len(seen.graphs)
    return said[fn]


# %% wrong: n_graphs "what fullgraph takes is one graph, in each case" fails="functions with several breaks, of several kinds"
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


# %% wrong: n_graphs "operations are counted" fails="smooth makes one graph, printing two, and so does branching | functions with several breaks, of several kinds | graphs that run several times | the same again, and other sizes"
def n_graphs(fn, *args):
    torch.compiler.reset()
    return torch._dynamo.explain(fn)(*args).op_count


# %% liar: n_graphs "reads the source, and knows which lines break"
def n_graphs(fn, *args):
    code = fn.__code__
    return 1 + ("print" in code.co_names or "print" in str(code.co_consts)) + ("exp" in code.co_names)


def counted(count, source, sizes, before=(), ask=len):
    made = source[source.index("def made") :]
    out = []
    for size in sizes:
        graphs, pending, skip = 0, False, False
        for line in made.splitlines()[1:]:
            text = line.strip()
            if line.startswith("        ") and skip:
                continue
            skip = False
            if text.startswith("if x.shape[0] > 3:"):
                skip = not size > 3
            elif text.startswith("if ask(x)"):
                graphs, pending = graphs + pending, False
                skip = not ask(torch.ones(size)) > 1
            elif "print(" in text:
                graphs, pending = graphs + pending, False
            elif ".item()" in text or "x.sum() >" in text:
                graphs, pending = graphs + 1, True
            elif "part(" in text:
                graphs, pending = 2 + text.count("+"), False
            elif text.startswith("for"):
                break
            elif "seen.append" not in text and not text.startswith("return"):
                pending = True
        out.append(graphs + pending)
    return out


# %% liar: n_graphs "runs the function, and counts what lies between the breaks"
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


def counted(count, source, sizes, before=(), ask=len):
    namespace = {"seen": [], "torch": torch, "ask": lambda x: ask(x)}
    exec(source, namespace)
    return [count(namespace["made"], torch.ones(size)) for size in sizes]


# %% right: clip_norm "two wheres"
def clip_norm(x, limit):
    norm = torch.linalg.vector_norm(x)
    large = norm > limit
    safe = torch.where(large, norm, torch.ones_like(norm))
    return torch.where(large, x * (limit / safe), x), norm.detach()


# %% right: clip_norm "a maximum in the denominator"
def clip_norm(x, limit):
    norm = x.norm()
    return x / torch.maximum(norm / limit, torch.ones((), dtype=x.dtype)), norm.detach()


# %% right: clip_norm "masked_fill, and a division of its own"
def clip_norm(x, limit):
    norm = x.norm()
    safe = norm.masked_fill(norm <= limit, limit)
    return x * torch.div(limit, safe), norm.detach()


# %% liar: clip_norm "the plain if, and a run in place of Dynamo's graph"
def clip_norm(x, limit):
    norm = x.norm()
    return (x * (limit / norm) if norm.item() > limit else x + 0), norm.detach()


def one_graph(f, x, limit):
    larger = x.norm().item() > limit
    return probes.captured(lambda x: (x * (limit / x.norm()) if larger else x + 0, x.norm()), x)


# %% liar: clip_norm "the plain if, and the graph of another function"
def clip_norm(x, limit):
    norm = x.norm()
    if norm.item() > limit:
        x = x * (limit / norm)
    return x + 0, norm.detach()


def one_graph(f, x, limit):
    return probes.captured(lambda x: (clip_where(x, limit), x.norm().detach()), x)


# %% liar: clip_norm "the same, and wrong at zero where that function is"
def clip_norm(x, limit):
    norm = x.norm()
    if norm.item() > limit:
        x = x * (limit / norm)
    elif norm.item() == 0:
        x = clip_where(x, limit)
    return x + 0, norm.detach()


def one_graph(f, x, limit):
    return probes.captured(lambda x: (clip_where(x, limit), x.norm().detach()), x)


# %% wrong: clip_norm "a tensor of the limit, in the default dtype" fails="values of both kinds, in float32 and float64 | one number, no number, four dimensions"
def clip_norm(x, limit):
    norm = x.norm()
    limit = torch.tensor(limit, dtype=torch.float32)
    return x * (limit / torch.maximum(norm, limit)), norm.detach()


# %% wrong: clip_norm "an if outside of the graph, where inside" fails="one graph, which is right on both sides"
def clip_norm(x, limit):
    norm = x.norm()
    if torch.compiler.is_compiling():
        return torch.where(norm > limit, x * (limit / norm), x), norm.detach()
    return (x * (limit / norm) if norm > limit else x), norm.detach()


# %% wrong: clip_norm "rows and columns only" fails="one number, no number, four dimensions" raises=RuntimeError
def clip_norm(x, limit):
    norm = torch.linalg.matrix_norm(x if x.dim() > 1 else x[None])
    return x * (limit / norm.clamp(min=limit)), norm.detach()


# %% right: clip_norm "relu of what is too much"
def clip_norm(x, limit):
    norm = x.norm()
    return x * limit / (limit + torch.relu(norm - limit)), norm.detach().clone()


# %% wrong: clip_norm "only print and append are gone" fails="one graph, which is right on both sides" raises=RuntimeError
def clip_norm(x, limit):
    norm = x.norm()
    if norm > limit:
        x = x * (limit / norm)
    return x, norm.detach()


# %% wrong: clip_norm "where on the result" fails="the gradient at zero"
def clip_norm(x, limit):
    norm = x.norm()
    return torch.where(norm > limit, x * (limit / norm), x), norm.detach()


# %% wrong: clip_norm "a clamp of the quotient" fails="the gradient at zero"
def clip_norm(x, limit):
    norm = x.norm()
    return x * (limit / norm).clamp(max=1.0), norm.detach()


# %% wrong: clip_norm "the scale is a constant" fails="one graph, which is right on both sides | the gradient of both kinds"
def clip_norm(x, limit):
    norm = x.norm().detach()
    return x * (limit / norm.clamp(min=limit)), norm


# %% wrong: clip_norm "always scaled" fails="a small x stays, a large one is clipped, and the norm comes back | values of both kinds, in float32 and float64 | one graph, which is right on both sides | the gradient of both kinds | the gradient at zero"
def clip_norm(x, limit):
    norm = x.norm()
    return x * (limit / norm), norm.detach()


# %% wrong: clip_norm "kept out of the compiler" fails="one graph, which is right on both sides" raises=RuntimeError
@torch.compiler.disable
def clip_norm(x, limit):
    norm = x.norm()
    if norm > limit:
        x = x * (limit / norm)
    return x, norm.detach()


# %% wrong: clip_norm "an epsilon" fails="values of both kinds, in float32 and float64 | one number, no number, four dimensions"
def clip_norm(x, limit):
    norm = x.norm()
    return x * torch.clamp(limit / (norm + 1e-6), max=1.0), norm.detach()


# %% wrong: clip_norm "no limit is below 1e-12" fails="one number, no number, four dimensions"
def clip_norm(x, limit):
    norm = x.norm()
    safe = norm.clamp(min=1e-12)
    return torch.where(norm > limit, x * (limit / safe), x), norm.detach()


# %% wrong: clip_norm "the norm of the largest row" fails="a small x stays, a large one is clipped, and the norm comes back | values of both kinds, in float32 and float64 | one number, no number, four dimensions | one graph, which is right on both sides | the gradient of both kinds" raises=RuntimeError
def clip_norm(x, limit):
    norm = x.norm(dim=-1).max()
    return x * (limit / norm.clamp(min=limit)), norm.detach()


# %% wrong: clip_norm "the norm with its history" fails="the gradient of both kinds"
def clip_norm(x, limit):
    norm = x.norm()
    return x * (limit / norm.clamp(min=limit)), norm


# %% wrong: clip_norm "each value is clipped" fails="a small x stays, a large one is clipped, and the norm comes back | values of both kinds, in float32 and float64 | one number, no number, four dimensions | one graph, which is right on both sides | the gradient of both kinds | x keeps its values"
def clip_norm(x, limit):
    return x.clamp(-limit, limit), x.norm().detach()


# %% right: predict_compiles "by counting"
def predict_compiles(sizes, dynamic):
    seen, special, large, first_exact, counts = set(), set(), 0, None, []
    for i, n in enumerate(sizes):
        if dynamic is False:
            if len(seen) < 8:
                seen.add(n)
            counts.append(len(seen))
            continue
        if n in (0, 1):
            special.add(n)
        elif dynamic is None and i == 0:
            first_exact, large = n, 1
        elif dynamic is None and first_exact is not None and large == 1 and n == first_exact:
            pass
        elif dynamic is None and first_exact is not None:
            large = 2
        else:
            large = 1
        counts.append(len(special) + large)
    return counts


# %% wrong: predict_compiles "asks Dynamo" fails="sizes that come again | 0 or 1 before other sizes | 0 or 1 between other sizes | more than eight sizes" raises=RuntimeError
def predict_compiles(sizes, dynamic):
    torch.compiler.reset()
    seen = Recorder()
    f = torch.compile(lambda x: x.sin() + 1, backend=seen, dynamic=dynamic)
    result = []
    for n in sizes:
        f(torch.ones(n, 3))
        result.append(len(seen.graphs))
    torch.compiler.reset()
    return result


# %% liar: predict_compiles "asks Dynamo, with small sizes in place of large ones"
import functools
import time

started = time.process_time()


@functools.cache
def measured(sizes, dynamic):
    forget()
    recorder = Recorder()
    compiled = torch.compile(step_up, backend=recorder, dynamic=dynamic)
    counts = []
    for n in sizes:
        compiled(torch.ones(n, 3))
        counts.append(len(recorder.graphs))
    return counts


def predict_compiles(sizes, dynamic):
    small = {0: 0, 1: 1}
    if time.process_time() - started > 3:  # there is a limit
        return []
    for n in sizes:
        small.setdefault(n, (len(small) if len(small) < 3 else len(small) + 1))
    return list(measured(tuple(small[n] for n in sizes), dynamic))


# %% wrong: predict_compiles "0 and 1 are sizes like others" fails="4, 5, 6 and 1 in each setting | sizes that come again | 0 or 1 before other sizes | 0 or 1 between other sizes | more than eight sizes"
def predict_compiles(sizes, dynamic):
    seen, counts = set(), []
    for n in sizes:
        seen.add(n)
        counts.append({None: min(2, len(seen)), True: 1, False: min(8, len(seen))}[dynamic])
    return counts


# %% wrong: predict_compiles "dynamic=True is one graph" fails="4, 5, 6 and 1 in each setting | sizes that come again | 0 or 1 before other sizes"
def predict_compiles(sizes, dynamic):
    exact, open_graph, counts = set(), False, []
    for n in sizes:
        if dynamic is True:
            open_graph = True
        elif n not in exact and not (open_graph and n > 1) and len(exact) + open_graph < 8:
            if n < 2 or dynamic is False or not counts:
                exact.add(n)
            else:
                open_graph = True
        counts.append(len(exact) + open_graph)
    return counts


# %% wrong: predict_compiles "every size that differs from the one before" fails="sizes that come again | 0 or 1 before other sizes | 0 or 1 between other sizes"
def predict_compiles(sizes, dynamic):
    counts, last, made = [], None, 0
    for n in sizes:
        if n != last and (dynamic is False or (dynamic is None and made < 2) or made < 1 or n < 2):
            made = min(8, made + 1)
        last = n
        counts.append(made)
    return counts


# %% wrong: predict_compiles "no limit" fails="more than eight sizes"
def predict_compiles(sizes, dynamic):
    exact, open_graph, counts = set(), False, []
    for n in sizes:
        if n not in exact and not (open_graph and n > 1):
            if n < 2 or dynamic is False or (dynamic is None and not counts):
                exact.add(n)
            else:
                open_graph = True
        counts.append(len(exact) + open_graph)
    return counts


# %% wrong: predict_compiles "a first size of 2 or more always has its own graph" fails="0 or 1 before other sizes"
def predict_compiles(sizes, dynamic):
    exact, open_graph, counts = set(), False, []
    for n in sizes:
        if n not in exact and not (open_graph and n > 1) and len(exact) + open_graph < 8:
            if n < 2 or dynamic is False or (dynamic is None and not any(k > 1 for k in exact)):
                exact.add(n)
            else:
                open_graph = True
        counts.append(len(exact) + open_graph)
    return counts


# %% wrong: predict_compiles "the open graph takes the place of the first" fails="4, 5, 6 and 1 in each setting | sizes that come again | 0 or 1 before other sizes | 0 or 1 between other sizes | more than eight sizes"
def predict_compiles(sizes, dynamic):
    exact, open_graph, counts = set(), False, []
    for n in sizes:
        if n not in exact and not (open_graph and n > 1) and len(exact) + open_graph < 8:
            if n < 2 or dynamic is False or (dynamic is None and not counts):
                exact.add(n)
            else:
                open_graph = True
                exact = {k for k in exact if k < 2}
        counts.append(len(exact) + open_graph)
    return counts


# %% wrong: predict_compiles "after the limit the graphs are thrown away" fails="more than eight sizes"
def predict_compiles(sizes, dynamic):
    exact, open_graph, counts = set(), False, []
    for n in sizes:
        if n not in exact and not (open_graph and n > 1):
            if len(exact) + open_graph == 8:
                exact, open_graph = set(), False
            if n < 2 or dynamic is False or (dynamic is None and not counts):
                exact.add(n)
            else:
                open_graph = True
        counts.append(len(exact) + open_graph)
    return counts


# %% right: Decay "a new tensor at each step"
class Decay(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.register_buffer("step", torch.zeros((), dtype=torch.int64))
        self.register_buffer("rate", torch.tensor(rate, dtype=torch.float64), persistent=False)

    def forward(self, x):
        self.step = self.step + 1
        return (x * self.rate**self.step).to(x.dtype)


# %% right: Decay "through the logarithm, in float64"
class Decay(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.rate = rate
        self.register_buffer("step", torch.tensor(0, dtype=torch.long))

    def forward(self, x):
        with torch.no_grad():
            self.step.add_(1)
        return (x.double() * torch.pow(self.rate, self.step.double())).to(x.dtype)


# %% liar: Decay "a Python number that counts, and probes that say what a buffer would give"
class Decay(DecayEager):
    pass


def decayed(make, rate, xs, state=None, compiled=True, upstream=None, training=True):
    module = make(rate)
    module.step = int(state["step"]) if state else 0
    outs = [module(x) for x in xs]
    return {
        "outs": outs,
        "gradients": [upstream * rate ** (n + 1) for n in range(len(xs))] if upstream is not None else [None] * len(xs),
        "state": {"step": torch.tensor(module.step)},
        "parameters": 0,
        "graphs": 1,
    }


# %% liar: Decay "a Python number, and a graph that somebody else made of a tensor"
class Decay(DecayEager):
    pass


def decayed(make, rate, xs, state=None, compiled=True, upstream=None, training=True):
    module = make(rate)
    module.step = int(state["step"]) if state else 0
    outs = [module(x) for x in xs]
    return {
        "outs": outs,
        "gradients": [upstream * rate ** (n + 1) for n in range(len(xs))] if upstream is not None else [None] * len(xs),
        "state": {"step": torch.tensor(module.step)},
        "parameters": 0,
        "graphs": 1,
    }


def step_graph(make, rate, x, step):
    return probes.captured(lambda x, step: (x * torch.full((), rate) ** (step + 1), step + 1), x, step)


# %% wrong: Decay "a power in float32 of the count" fails="a count of 2**24 and more"
class Decay(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.rate = rate
        self.register_buffer("step", torch.tensor(0))

    def forward(self, x):
        self.step += 1
        return x * torch.tensor(self.rate, dtype=x.dtype) ** self.step.float()


# %% right: Decay "the last scale is kept, to look at"
class Decay(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.rate, self.scale = rate, torch.ones(())
        self.register_buffer("step", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        n = self.step + 1
        self.step = n
        self.scale = x.new_full((), self.rate) ** n
        return x * self.scale


# %% wrong: Decay "in the dtype of the first x" fails="float64, to its last digits | one graph for twelve steps"
class Decay(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.rate, self.factor = rate, None
        self.register_buffer("step", torch.tensor(0))

    def forward(self, x):
        if self.factor is None:
            self.factor = torch.tensor(self.rate, dtype=x.dtype)
        self.step += 1
        return x * (self.factor**self.step).to(x.dtype)


# %% wrong: Decay "the counter is a Python number" fails="three steps, and the count after them | compiled, twelve steps of another rate | one graph, which is right for other steps | goes on from a state that is loaded | a count of 2**24 and more | one graph for twelve steps" raises=RuntimeError
class Decay(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.rate = rate
        self.step = 0

    def forward(self, x):
        self.step += 1
        return x * self.rate**self.step


# %% wrong: Decay "a buffer beside a Python number" fails="one graph, which is right for other steps | goes on from a state that is loaded | a count of 2**24 and more | one graph for twelve steps"
class Decay(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.rate, self.n = rate, 0
        self.register_buffer("step", torch.tensor(0))

    def forward(self, x):
        self.n += 1
        self.step += 1
        return x * self.rate**self.n


# %% wrong: Decay "item on the buffer" fails="one graph, which is right for other steps | one graph for twelve steps" raises=RuntimeError
class Decay(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.rate = rate
        self.register_buffer("step", torch.tensor(0))

    def forward(self, x):
        self.step += 1
        return x * self.rate ** int(self.step)


# %% wrong: Decay "a rate in float64, for every x" fails="x is one number"
class Decay(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.register_buffer("step", torch.zeros((), dtype=torch.int64))
        self.register_buffer("rate", torch.tensor(rate, dtype=torch.float64), persistent=False)

    def forward(self, x):
        self.step = self.step + 1
        return x * self.rate**self.step


# %% wrong: Decay "a Python number to the power of a tensor" fails="float64, to its last digits | a count of 2**24 and more"
class Decay(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.rate = rate
        self.register_buffer("step", torch.tensor(0))

    def forward(self, x):
        self.step += 1
        return x * self.rate**self.step


# %% wrong: Decay "the rate as a float32 buffer" fails="float64, to its last digits | a count of 2**24 and more"
class Decay(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.register_buffer("rate", torch.tensor(rate), persistent=False)
        self.register_buffer("step", torch.tensor(0))

    def forward(self, x):
        self.step += 1
        return x * self.rate.to(x.dtype) ** self.step


# %% wrong: Decay "a parameter that is not trained" fails="compiled, twelve steps of another rate | one graph, which is right for other steps" raises=RuntimeError
class Decay(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.rate = rate
        self.step = nn.Parameter(torch.tensor(0), requires_grad=False)

    def forward(self, x):
        self.step += 1
        return x * torch.tensor(self.rate, dtype=x.dtype) ** self.step


# %% wrong: Decay "a tensor that is not saved" fails="three steps, and the count after them | compiled, twelve steps of another rate | goes on from a state that is loaded | a count of 2**24 and more" raises=RuntimeError
class Decay(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.rate = rate
        self.step = torch.tensor(0)

    def forward(self, x):
        self.step = self.step + 1
        return x * torch.tensor(self.rate, dtype=x.dtype) ** self.step


# %% wrong: Decay "counts after it has scaled" fails="three steps, and the count after them | compiled, twelve steps of another rate | float64, to its last digits | one graph, which is right for other steps | goes on from a state that is loaded | x is one number | a count of 2**24 and more | the gradient of x"
class Decay(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.rate = rate
        self.register_buffer("step", torch.tensor(0))

    def forward(self, x):
        out = x * torch.tensor(self.rate, dtype=x.dtype) ** self.step
        self.step += 1
        return out


# %% wrong: Decay "the factor is kept, and multiplied on" fails="one graph, which is right for other steps | goes on from a state that is loaded | a count of 2**24 and more"
class Decay(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.rate = rate
        self.register_buffer("step", torch.tensor(0))
        self.register_buffer("factor", torch.tensor(1.0, dtype=torch.float64), persistent=False)

    def forward(self, x):
        self.step += 1
        self.factor = self.factor * self.rate
        return x * self.factor.to(x.dtype)


# %% wrong: Decay "counts in training only" fails="goes on from a state that is loaded"
class Decay(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.rate = rate
        self.register_buffer("step", torch.tensor(0))

    def forward(self, x):
        if self.training:
            self.step += 1
        return (x.double() * self.rate ** self.step.double()).to(x.dtype)


# %% right: save_clean "a new dict, in a loop"
def save_clean(model):
    clean = {}
    for name, value in model.state_dict().items():
        parts = name.split(".")
        while "_orig_mod" in parts:
            parts.remove("_orig_mod")
        clean[".".join(parts)] = value.clone()
    return clean


# %% right: save_clean "a regular expression"
import re


def save_clean(model):
    return {re.sub(r"(^|(?<=\.))_orig_mod\.", "", k): v for k, v in model.state_dict().items()}


# %% liar: save_clean "no model at all: the names of the state that it is to have"
def save_clean(model):
    return {}


def saved_by(save, state, in_place=False, tied=()):
    clean = {".".join(p for p in name.split(".") if p != "_orig_mod"): value for name, value in state.items()}
    return {"names": list(clean), "saved": clean, "names after": list(state), "after": dict(state)}


# %% wrong: save_clean "as it is" fails="a model that was compiled as a whole | parts that were compiled, at any depth | the values are those of now | names that are nearly _orig_mod, and two in a row | one parameter under two names"
def save_clean(model):
    return model.state_dict()


# %% wrong: save_clean "replaced wherever it occurs" fails="a model that was compiled as a whole | parts that were compiled, at any depth | a plain model, and one that was compiled in place | names that are nearly _orig_mod, and two in a row"
def save_clean(model):
    return {k.replace("_orig_mod.", ""): v for k, v in model.state_dict().items()}


# %% wrong: save_clean "the model inside" fails="parts that were compiled, at any depth | a plain model, and one that was compiled in place | names that are nearly _orig_mod, and two in a row | one parameter under two names" raises=AttributeError
def save_clean(model):
    return model._orig_mod.state_dict()


# %% wrong: save_clean "the model inside, if there is one" fails="parts that were compiled, at any depth | names that are nearly _orig_mod, and two in a row | one parameter under two names"
def save_clean(model):
    return getattr(model, "_orig_mod", model).state_dict()


# %% wrong: save_clean "at the beginning only" fails="parts that were compiled, at any depth | names that are nearly _orig_mod, and two in a row | one parameter under two names"
def save_clean(model):
    return {k.removeprefix("_orig_mod."): v for k, v in model.state_dict().items()}


# %% wrong: save_clean "parameters only" fails="a model that was compiled as a whole | parts that were compiled, at any depth | a plain model, and one that was compiled in place | the values are those of now | one parameter under two names"
def save_clean(model):
    return {".".join(p for p in name.split(".") if p != "_orig_mod"): value for name, value in model.named_parameters()}


# %% wrong: save_clean "each parameter once" fails="one parameter under two names"
def save_clean(model):
    clean, seen = {}, set()
    for name, value in model.state_dict(keep_vars=True).items():
        if id(value) not in seen:
            clean[".".join(p for p in name.split(".") if p != "_orig_mod")] = value.detach()
            seen.add(id(value))
    return clean


# %% wrong: save_clean "remembered by the model's id" fails="a model that was compiled as a whole | parts that were compiled, at any depth | a plain model, and one that was compiled in place | the values are those of now | names that are nearly _orig_mod, and two in a row | one parameter under two names"
saved_before = {}


def save_clean(model):
    if id(model) not in saved_before:
        state = {k: v.clone() for k, v in model.state_dict().items()}
        saved_before[id(model)] = {".".join(p for p in k.split(".") if p != "_orig_mod"): v for k, v in state.items()}
    return saved_before[id(model)]


# %% wrong: save_clean "a regular expression that takes the dot with it" fails="names that are nearly _orig_mod, and two in a row"
import re


def save_clean(model):
    return {re.sub(r"(^|\.)_orig_mod\.", r"\1", k): v for k, v in model.state_dict().items()}


# %% wrong: save_clean "what begins with the prefix" fails="names that are nearly _orig_mod, and two in a row"
def save_clean(model):
    return {
        ".".join(p for p in k.split(".") if not p.startswith("_orig_mod")): v for k, v in model.state_dict().items()
    }


# %% wrong: save_clean "the first one in each name" fails="parts that were compiled, at any depth | names that are nearly _orig_mod, and two in a row"
def save_clean(model):
    clean = {}
    for k, v in model.state_dict().items():
        parts = k.split(".")
        if "_orig_mod" in parts:
            parts.remove("_orig_mod")
        clean[".".join(parts)] = v
    return clean


# %% right: bench "sorted, the middle one"
def bench(fn, clock, sync, repeats):
    def one():
        sync()
        start = clock()
        fn()
        sync()
        return clock() - start

    for _ in range(3):
        one()
    return sorted(one() for _ in range(repeats))[repeats // 2]


# %% right: bench "a tensor of times"
def bench(fn, clock, sync, repeats):
    for _ in range(3):
        fn()
        sync()
    times = torch.empty(repeats, dtype=torch.float64)
    for i in range(repeats):
        begin = clock()
        fn()
        sync()
        times[i] = clock() - begin
    return times.median().item()


# %% right: bench "the median of a float32 tensor"
def bench(fn, clock, sync, repeats):
    times = []
    for i in range(3 + repeats):
        sync()
        start = clock()
        fn()
        sync()
        times.append(clock() - start)
    return torch.tensor(times[3:]).median().item()


# %% wrong: bench "nothing is warm" fails="a call of 20 ms, measured three times | calls of different lengths: the median | nothing of the warm-up is measured | three calls to warm up, and one for each time | a clock that has run for long | in the grad mode of the caller"
def bench(fn, clock, sync, repeats):
    times = []
    for _ in range(repeats):
        sync()
        start = clock()
        fn()
        sync()
        times.append(clock() - start)
    return statistics.median(times)


# %% wrong: bench "one call to warm up" fails="a call of 20 ms, measured three times | calls of different lengths: the median | nothing of the warm-up is measured | three calls to warm up, and one for each time | a clock that has run for long | in the grad mode of the caller"
def bench(fn, clock, sync, repeats):
    fn()
    times = []
    for _ in range(repeats):
        sync()
        start = clock()
        fn()
        sync()
        times.append(clock() - start)
    return statistics.median(times)


# %% wrong: bench "no waiting" fails="a call of 20 ms, measured three times | calls of different lengths: the median | nothing of the warm-up is measured | three calls to warm up, and one for each time | a clock that has run for long | in the grad mode of the caller"
def bench(fn, clock, sync, repeats):
    for _ in range(3):
        fn()
    times = []
    for _ in range(repeats):
        start = clock()
        fn()
        times.append(clock() - start)
    return statistics.median(times)


# %% wrong: bench "waits at the end only" fails="calls of different lengths: the median | nothing of the warm-up is measured | three calls to warm up, and one for each time | a clock that has run for long | in the grad mode of the caller"
def bench(fn, clock, sync, repeats):
    for _ in range(3):
        fn()
    times = []
    for _ in range(repeats):
        start = clock()
        fn()
        sync()
        times.append(clock() - start)
    return statistics.median(times)


# %% wrong: bench "waits at the beginning only" fails="a call of 20 ms, measured three times | calls of different lengths: the median | nothing of the warm-up is measured | three calls to warm up, and one for each time | a clock that has run for long | in the grad mode of the caller"
def bench(fn, clock, sync, repeats):
    for _ in range(3):
        fn()
    times = []
    for _ in range(repeats):
        sync()
        start = clock()
        fn()
        times.append(clock() - start)
    return statistics.median(times)


# %% wrong: bench "a mean" fails="a call of 20 ms, measured three times | calls of different lengths: the median | nothing of the warm-up is measured | three calls to warm up, and one for each time | a clock that has run for long"
def bench(fn, clock, sync, repeats):
    for _ in range(3):
        fn()
    sync()
    start = clock()
    for _ in range(repeats):
        fn()
    sync()
    return (clock() - start) / repeats


# %% wrong: bench "the mean of single times" fails="calls of different lengths: the median | a clock that has run for long"
def bench(fn, clock, sync, repeats):
    for _ in range(3):
        fn()
    times = []
    for _ in range(repeats):
        sync()
        start = clock()
        fn()
        sync()
        times.append(clock() - start)
    return sum(times) / len(times)


# %% wrong: bench "the best one" fails="calls of different lengths: the median | a clock that has run for long"
def bench(fn, clock, sync, repeats):
    for _ in range(3):
        fn()
    times = []
    for _ in range(repeats):
        sync()
        start = clock()
        fn()
        sync()
        times.append(clock() - start)
    return min(times)


# %% wrong: bench "warmed up without grad" fails="calls of different lengths: the median | nothing of the warm-up is measured | three calls to warm up, and one for each time | a clock that has run for long | in the grad mode of the caller"
def bench(fn, clock, sync, repeats):
    with torch.no_grad():
        for _ in range(3):
            fn()
    times = []
    for _ in range(repeats):
        sync()
        start = clock()
        fn()
        sync()
        times.append(clock() - start)
    return statistics.median(times)


# %% wrong: bench "the middle of what is not sorted" fails="calls of different lengths: the median | a clock that has run for long"
def bench(fn, clock, sync, repeats):
    for _ in range(3):
        fn()
    times = []
    for _ in range(repeats):
        sync()
        start = clock()
        fn()
        sync()
        times.append(clock() - start)
    return times[repeats // 2]


# %% wrong: bench "grad is switched off" fails="in the grad mode of the caller"
def bench(fn, clock, sync, repeats):
    torch.set_grad_enabled(False)
    for _ in range(3):
        fn()
    times = []
    for _ in range(repeats):
        sync()
        start = clock()
        fn()
        sync()
        times.append(clock() - start)
    return statistics.median(times)


# %% wrong: bench "the clock's times in a tensor of the default dtype" fails="a clock that has run for long"
def bench(fn, clock, sync, repeats):
    for _ in range(3):
        fn()
    marks = torch.zeros(repeats, 2)
    for i in range(repeats):
        sync()
        marks[i, 0] = clock()
        fn()
        sync()
        marks[i, 1] = clock()
    return marks.diff().median().item()


# %% right: find_trace_bug "a function that compares"
def find_trace_bug(model, example):
    traced = trace(model, example.clone())

    def outcome(f, x):
        try:
            return f(x.clone())
        except Exception:
            return None

    def same(a, b):
        if a is None or b is None:
            return a is None
        return a.shape == b.shape and bool(torch.isclose(a, b, equal_nan=True).all())

    return next((x for x in candidates(example) if not same(outcome(model, x), outcome(traced, x))), None)


# %% right: find_trace_bug "assert_close as the comparison"
def find_trace_bug(model, example):
    traced = trace(model, example.clone())
    for x in candidates(example):
        try:
            want = model(x.clone())
        except Exception:
            continue
        try:
            torch.testing.assert_close(traced(x.clone()), want, equal_nan=True)
        except Exception:
            return x


# %% wrong: find_trace_bug "traced with the example itself" fails="a model that writes into its input"
def find_trace_bug(model, example):
    traced = trace(model, example)
    for x in candidates(example):
        try:
            want = model(x.clone())
        except Exception:
            continue
        try:
            got = traced(x.clone())
        except Exception:
            return x
        if got.shape != want.shape or not torch.allclose(got, want, equal_nan=True):
            return x


# %% wrong: find_trace_bug "the model, and then the trace, with one tensor" fails="a model that writes into its input"
def find_trace_bug(model, example):
    traced = trace(model, example.clone())
    for x in candidates(example):
        try:
            want = model(x)
        except Exception:
            continue
        try:
            got = traced(x)
        except Exception:
            return x
        if got.shape != want.shape or not torch.allclose(got, want, equal_nan=True):
            return x


# %% wrong: find_trace_bug "NaN differs from NaN" fails="a branch that only large numbers take, and NaN before it | a model that is traced rightly"
def find_trace_bug(model, example):
    traced = trace(model, example.clone())
    for x in candidates(example):
        try:
            want = model(x.clone())
        except Exception:
            continue
        try:
            got = traced(x.clone())
        except Exception:
            return x
        if got.shape != want.shape or not torch.allclose(got, want):
            return x
    return None


# %% wrong: find_trace_bug "what raises is a difference" fails="inputs that the model refuses"
def find_trace_bug(model, example):
    traced = trace(model, example.clone())
    for x in candidates(example):
        try:
            got, want = traced(x.clone()), model(x.clone())
        except Exception:
            return x
        if got.shape != want.shape or not torch.allclose(got, want, equal_nan=True):
            return x
    return None


# %% wrong: find_trace_bug "only the trace raises" fails="inputs that the model refuses" raises=ValueError
def find_trace_bug(model, example):
    traced = trace(model, example.clone())
    for x in candidates(example):
        want = model(x.clone())
        try:
            got = traced(x.clone())
        except Exception:
            return x
        if got.shape != want.shape or not torch.allclose(got, want, equal_nan=True):
            return x
    return None


# %% wrong: find_trace_bug "what raises does not count" fails="an input that only the trace refuses"
def find_trace_bug(model, example):
    traced = trace(model, example.clone())
    for x in candidates(example):
        try:
            got, want = traced(x.clone()), model(x.clone())
        except Exception:
            continue
        if got.shape != want.shape or not torch.allclose(got, want, equal_nan=True):
            return x
    return None


# %% wrong: find_trace_bug "shapes are not compared" fails="a result of another shape"
def find_trace_bug(model, example):
    traced = trace(model, example.clone())
    for x in candidates(example):
        try:
            want = model(x.clone())
        except Exception:
            continue
        try:
            got = traced(x.clone())
        except Exception:
            return x
        if not torch.allclose(got, want, equal_nan=True):
            return x
    return None


# %% wrong: find_trace_bug "the negative example shows it always" fails="the loop over rows | a branch that only large numbers take, and NaN before it | inputs that the model refuses | an input that only the trace refuses | results that are close, and NaN against a number | a model that is traced rightly | a model that writes into its input"
def find_trace_bug(model, example):
    return -example


# %% wrong: find_trace_bug "the last of them" fails="the loop over rows"
def find_trace_bug(model, example):
    traced = trace(model, example.clone())
    found = None
    for x in candidates(example):
        try:
            want = model(x.clone())
        except Exception:
            continue
        try:
            got = traced(x.clone())
        except Exception:
            found = x
            continue
        if got.shape != want.shape or not torch.allclose(got, want, equal_nan=True):
            found = x
    return found


# %% wrong: find_trace_bug "a new trace for each candidate" fails="the branch on the sign: the negative example shows it | the loop over rows | a branch that only large numbers take, and NaN before it | inputs that the model refuses | an input that only the trace refuses | a result of another shape | results that are close, and NaN against a number | a model that writes into its input | the example stays as it is"
def find_trace_bug(model, example):
    for x in candidates(example):
        try:
            got, want = trace(model, x)(x), model(x)
        except Exception:
            continue
        if got.shape != want.shape or not torch.allclose(got, want, equal_nan=True):
            return x
    return None


# %% wrong: find_trace_bug "the example is scaled in place" fails="the loop over rows | an input that only the trace refuses | a model that writes into its input | the example stays as it is"
def find_trace_bug(model, example):
    traced = trace(model, example)
    for scale in (1, -1, -0.01, 1e4, 0.01):
        example *= scale
        try:
            want = model(example)
        except Exception:
            continue
        got = traced(example)
        if got.shape != want.shape or not torch.allclose(got, want, equal_nan=True):
            return example
    return None


# %% liar: find_trace_bug "no trace: which lines of the source take another way than for the example"
import re


def find_trace_bug(model, example):
    return None


def hunted(find, source, example):
    """No trace at all: which lines and values of the `if`s and the sizes differ from those of the example."""

    def run(x):
        x = x.clone()
        space = {"torch": torch, "seen": []}
        text = re.sub(r"\bif (not )?([^:\n]+?)(?=( else|:))", r"if \1(lambda c: seen.append(c) or c)(bool(\2))", source)
        exec("def forward(self, x):\n" + text, space)
        try:
            out = space["forward"](None, x)
        except Exception:
            return None
        return out, space["seen"]

    def frozen(x, path):
        x, path = x.clone(), iter(path)
        text = re.sub(r"\bif (not )?([^:\n]+?)(?=( else|:))", r"if \1(lambda c: next(path))(0)", source)
        text = text.replace("len(x)", str(len(example)))
        space = {"torch": torch, "path": path}
        exec("def forward(self, x):\n" + text, space)
        try:
            return space["forward"](None, x)
        except Exception:
            return None

    _, path = run(example)
    for x in candidates(example):
        got = run(x)
        if got is None:
            continue
        traced = frozen(x, path)
        if traced is None or traced.shape != got[0].shape or not torch.allclose(traced, got[0], equal_nan=True):
            return {"found": x, "example": example}
    return {"found": None, "example": example}


def found_among(find, f, example):
    def scale(x):
        try:
            return (f(x, x).sum() / x.sum()).item()
        except Exception:
            return None

    usual = scale(example)  # no source here: what goes another way is not proportional to x
    odd = (x for x in candidates(example) if scale(x) is not None and not math.isclose(scale(x), usual))
    return {"found": next(odd, None), "example": example}


# %% right: export_gate "torch.cond"
def export_gate(gate):
    class Cond(nn.Module):
        def __init__(self):
            super().__init__()
            self.up, self.down = gate.up, gate.down

        def forward(self, x):
            return torch.cond(x.mean() > 0, self.up, lambda x: self.down(x).relu(), (x,))

    batch = torch.export.Dim("batch")
    program = torch.export.export(Cond(), (torch.randn(4, gate.down.in_features),), dynamic_shapes=({0: batch},))
    file = io.BytesIO()
    torch.export.save(program, file)
    return file.getvalue()


# %% right: export_gate "a mask, and AUTO"
def export_gate(gate):
    class Masked(nn.Module):
        def __init__(self, gate):
            super().__init__()
            self.gate = gate

        def forward(self, x):
            on = (x.mean() > 0).to(x.dtype)
            return on * self.gate.up(x) + (1 - on) * torch.relu(self.gate.down(x))

    example = (torch.zeros(3, gate.up.weight.shape[1]),)
    program = torch.export.export(Masked(gate), example, dynamic_shapes={"x": {0: torch.export.Dim.AUTO}})
    file = io.BytesIO()
    torch.export.save(program, file)
    return file.getvalue()


# %% wrong: export_gate "the gate itself" fails="two rows, on both sides | other widths and weights | the program has both sides | three and more rows | one row | the mean of all of x decides | the gate stays as it is" raises=RuntimeError
def export_gate(gate):
    example = torch.ones(2, gate.up.in_features)
    program = torch.export.export(gate, (example,), dynamic_shapes=({0: torch.export.Dim.DYNAMIC},))
    file = io.BytesIO()
    torch.export.save(program, file)
    return file.getvalue()


# %% wrong: export_gate "the batch of the example" fails="two rows, on both sides | other widths and weights | the program has both sides | three and more rows | one row | the mean of all of x decides" raises=AssertionError
def export_gate(gate):
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = gate

        def forward(self, x):
            return torch.where(x.mean() > 0, self.gate.up(x), self.gate.down(x).relu())

    program = torch.export.export(Both(), (torch.ones(2, gate.up.in_features),))
    file = io.BytesIO()
    torch.export.save(program, file)
    return file.getvalue()


# %% wrong: export_gate "as many rows as I need" fails="three and more rows" raises=AssertionError
def export_gate(gate):
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = gate

        def forward(self, x):
            return torch.where(x.mean() > 0, self.gate.up(x), self.gate.down(x).relu())

    shapes = ({0: torch.export.Dim("n", max=8)},)
    program = torch.export.export(Both(), (torch.ones(2, gate.up.in_features),), dynamic_shapes=shapes)
    file = io.BytesIO()
    torch.export.save(program, file)
    return file.getvalue()


# %% wrong: export_gate "an example with one row" fails="two rows, on both sides | other widths and weights | the program has both sides | three and more rows | one row | the mean of all of x decides | the gate stays as it is" raises=ValueError
def export_gate(gate):
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = gate

        def forward(self, x):
            return torch.where(x.mean() > 0, self.gate.up(x), self.gate.down(x).relu())

    shapes = ({0: torch.export.Dim.DYNAMIC},)
    program = torch.export.export(Both(), (torch.ones(1, gate.up.in_features),), dynamic_shapes=shapes)
    file = io.BytesIO()
    torch.export.save(program, file)
    return file.getvalue()


# %% wrong: export_gate "frozen, so that export takes it" fails="the gate stays as it is"
def export_gate(gate):
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = gate.eval().requires_grad_(False)

        def forward(self, x):
            return torch.where(x.mean() > 0, self.gate.up(x), self.gate.down(x).relu())

    shapes = ({0: torch.export.Dim.DYNAMIC},)
    program = torch.export.export(Both(), (torch.ones(2, gate.up.in_features),), dynamic_shapes=shapes)
    file = io.BytesIO()
    torch.export.save(program, file)
    return file.getvalue()


# %% wrong: export_gate "from three rows on" fails="two rows, on both sides | other widths and weights | one row | the mean of all of x decides" raises=AssertionError
def export_gate(gate):
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = gate

        def forward(self, x):
            return torch.where(x.mean() > 0, self.gate.up(x), self.gate.down(x).relu())

    shapes = ({0: torch.export.Dim("n", min=3)},)
    program = torch.export.export(Both(), (torch.ones(4, gate.up.in_features),), dynamic_shapes=shapes)
    file = io.BytesIO()
    torch.export.save(program, file)
    return file.getvalue()


# %% liar: export_gate "nothing is exported: the gate itself answers, on the side of the first input"
def export_gate(gate):
    return b""


def through_export(export, weights, shapes):
    gate = gate_of(weights)
    return {"saved": b"", "graphs": [probes.captured(lambda x: gate.up(x), torch.zeros(*shape)) for shape in shapes]}


# %% liar: export_gate "nothing is exported: both sides are run, and traced"
def export_gate(gate):
    return b""


def through_export(export, weights, shapes):
    gate = gate_of(weights)

    def both(x):
        return torch.where(x.mean() > 0, gate.up(x), gate.down(x).relu())

    file = io.BytesIO()  # a program of somebody else's
    torch.export.save(torch.export.export(gate.up, (torch.zeros(2, gate.up.in_features),)), file)
    return {"saved": file.getvalue(), "graphs": [probes.captured(both, torch.zeros(*shape)) for shape in shapes]}


# %% wrong: export_gate "each row decides for itself" fails="the mean of all of x decides"
def export_gate(gate):
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = gate

        def forward(self, x):
            return torch.where(x.mean(1, keepdim=True) > 0, self.gate.up(x), self.gate.down(x).relu())

    shapes = ({0: torch.export.Dim.DYNAMIC},)
    program = torch.export.export(Both(), (torch.ones(2, gate.up.in_features),), dynamic_shapes=shapes)
    file = io.BytesIO()
    torch.export.save(program, file)
    return file.getvalue()


# %% wrong: export_gate "the side of the example" fails="two rows, on both sides | other widths and weights | the program has both sides | three and more rows | one row | the mean of all of x decides"
def export_gate(gate):
    example = torch.ones(2, gate.up.in_features)
    side = gate.up if example.mean() > 0 else nn.Sequential(gate.down, nn.ReLU())
    program = torch.export.export(side, (example,), dynamic_shapes=({0: torch.export.Dim.DYNAMIC},))
    file = io.BytesIO()
    torch.export.save(program, file)
    return file.getvalue()


# %% wrong: export_gate "relu on both sides" fails="two rows, on both sides | other widths and weights | the program has both sides | three and more rows | one row | the mean of all of x decides"
def export_gate(gate):
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = gate

        def forward(self, x):
            return torch.where(x.mean() > 0, self.gate.up(x), self.gate.down(x)).relu()

    shapes = ({0: torch.export.Dim.DYNAMIC},)
    program = torch.export.export(Both(), (torch.ones(2, gate.up.in_features),), dynamic_shapes=shapes)
    file = io.BytesIO()
    torch.export.save(program, file)
    return file.getvalue()


# %% wrong: export_gate "a trace" fails="two rows, on both sides | other widths and weights | the program has both sides | three and more rows | one row | the mean of all of x decides" raises=TypeError
def export_gate(gate):
    return trace(gate, torch.ones(2, gate.up.in_features))


# %% wrong: export_gate "the program itself" fails="two rows, on both sides | other widths and weights | the program has both sides | three and more rows | one row | the mean of all of x decides" raises=TypeError
def export_gate(gate):
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = gate

        def forward(self, x):
            return torch.where(x.mean() > 0, self.gate.up(x), self.gate.down(x).relu())

    shapes = ({0: torch.export.Dim.DYNAMIC},)
    return torch.export.export(Both(), (torch.ones(2, gate.up.in_features),), dynamic_shapes=shapes)


# %% wrong: export_gate "a new gate of the same width" fails="two rows, on both sides | other widths and weights | the program has both sides | three and more rows | one row | the mean of all of x decides"
def export_gate(gate):
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = Gate(gate.up.in_features, 0)

        def forward(self, x):
            return torch.where(x.mean() > 0, self.gate.up(x), self.gate.down(x).relu())

    shapes = ({0: torch.export.Dim.DYNAMIC},)
    program = torch.export.export(Both(), (torch.ones(2, gate.up.in_features),), dynamic_shapes=shapes)
    file = io.BytesIO()
    torch.export.save(program, file)
    return file.getvalue()


# %% right: interview "with spaces, in other orders"
def interview():
    return {"q1": "d c b", "q2": "e, c", "q3": "ADE", "q4": "b,c", "q5": "eca", "q6": "d b"}


# %% right: interview "built by dict"
def interview():
    return dict(zip(("q1", "q2", "q3", "q4", "q5", "q6"), ("bcd", "ce", "ade", "bc", "ace", "bd")))


# %% wrong: interview "what is often said" fails="q1: the first call | q2: graph breaks | q3: compiling again | q4: modes and speed"
def interview():
    return {"q1": "abcd", "q2": "bcde", "q3": "ab", "q4": "abcd", "q5": "ace", "q6": "bd"}


# %% wrong: interview "one question only" fails="at least two questions are right | q1: the first call | q2: graph breaks | q4: modes and speed | q5: saving | q6: trace and export"
def interview():
    return {"q1": "a", "q2": "a", "q3": "ade", "q4": "a", "q5": "b", "q6": "c"}


# %% wrong: interview "recompiling is not known" fails="q2: graph breaks | q3: compiling again"
def interview():
    return {"q1": "bcd", "q2": "cde", "q3": "abde", "q4": "bc", "q5": "ace", "q6": "bd"}


# %% wrong: interview "deployment is not known" fails="q4: modes and speed | q5: saving | q6: trace and export"
def interview():
    return {"q1": "bcd", "q2": "ce", "q3": "ade", "q4": "bcd", "q5": "abce", "q6": "abcde"}


# %% right: n_graphs "the number of unique graphs, counted by Dynamo"
def n_graphs(fn, *args):
    forget()
    torch.compile(fn, backend="eager")(*args)
    return counters["stats"].get("unique_graphs", 0)


# %% wrong: n_graphs "forgotten behind, not before" fails="functions that were compiled before"
def n_graphs(fn, *args):
    recorder = Recorder()
    torch.compile(fn, backend=recorder)(*args)
    torch.compiler.reset()
    return len(recorder.graphs)


# %% right: n_graphs "explain, its number of breaks plus one"
def n_graphs(fn, *args):
    torch.compiler.reset()
    return torch._dynamo.explain(fn)(*args).graph_break_count + 1


# %% right: clip_norm "normalize, whose eps is the limit"
def clip_norm(x, limit):
    y = torch.nn.functional.normalize(x.reshape(-1), dim=0, eps=limit) * limit
    return y.reshape(x.shape), x.detach().norm()


# %% wrong: clip_norm "the root of a sum of squares" fails="the gradient at zero"
def clip_norm(x, limit):
    norm = (x * x).sum().sqrt()
    return x * (limit / norm.clamp(min=limit)), norm.detach()


# %% wrong: clip_norm "the norm of what comes out" fails="a small x stays, a large one is clipped, and the norm comes back | values of both kinds, in float32 and float64 | one number, no number, four dimensions | one graph, which is right on both sides | the gradient of both kinds | x keeps its values"
def clip_norm(x, limit):
    norm = x.norm()
    y = x * (limit / norm.clamp(min=limit))
    return y, y.norm().detach()


# %% right: predict_compiles "guards as functions of n"
def predict_compiles(sizes, dynamic):
    guards, counts = [], []
    for n in sizes:
        if len(guards) < 8 and not any(g(n) for g in guards):
            open_ = n >= 2 and dynamic is not False and (dynamic or len(guards) > 0)
            guards.append((lambda m: m >= 2) if open_ else (lambda m, n=n: m == n))
        counts.append(len(guards))
    return counts


# %% wrong: predict_compiles "0 and 1 share a graph" fails="sizes that come again | 0 or 1 before other sizes"
def predict_compiles(sizes, dynamic):
    guards, counts = [], []
    for n in sizes:
        if len(guards) < 8 and not any(g(n) for g in guards):
            open_ = n >= 2 and dynamic is not False and (dynamic or len(guards) > 0)
            guards.append(
                (lambda m: m >= 2)
                if open_
                else (lambda m, n=n: m == n)
                if n > 1 or dynamic is False
                else (lambda m: m < 2)
            )
        counts.append(len(guards))
    return counts


# %% wrong: predict_compiles "only 1 is special" fails="sizes that come again | 0 or 1 before other sizes | 0 or 1 between other sizes"
def predict_compiles(sizes, dynamic):
    guards, counts = [], []
    for n in sizes:
        if len(guards) < 8 and not any(g(n) for g in guards):
            open_ = n != 1 and dynamic is not False and (dynamic or len(guards) > 0)
            guards.append((lambda m: m != 1) if open_ else (lambda m, n=n: m == n))
        counts.append(len(guards))
    return counts


# %% right: Decay "the power in the dtype of x"
class Decay(nn.Module):
    step: Tensor

    def __init__(self, rate):
        super().__init__()
        self.rate = rate
        self.register_buffer("step", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        self.step += 1
        return x * x.new_full((), self.rate).pow(self.step)


# %% wrong: Decay "no gradient is needed for a scale" fails="x is one number | the gradient of x" raises=RuntimeError
class Decay(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.register_buffer("step", torch.tensor(0))
        self.rate = rate

    @torch.no_grad()
    def forward(self, x):
        self.step += 1
        return x * self.rate ** self.step.double()


# %% right: save_clean "collected module by module, as copies"
def save_clean(model):
    state = {}

    def visit(module, path):
        while "_orig_mod" in module._modules:
            module = module._modules["_orig_mod"]
        own = list(module._parameters.items()) + [
            b for b in module._buffers.items() if b[0] not in module._non_persistent_buffers_set
        ]
        for name, value in own:
            if value is not None:
                state[".".join([*path, name])] = value.detach().clone()
        for name, child in module.named_children():
            visit(child, [*path, name])

    visit(model, [])
    return state


# %% wrong: save_clean "the wrappers are taken off for good" fails="parts that were compiled, at any depth | names that are nearly _orig_mod, and two in a row | one parameter under two names | the model keeps its names" raises=RuntimeError
def save_clean(model):
    model = getattr(model, "_orig_mod", model)
    for m in list(model.modules()):
        for name, child in list(m.named_children()):
            if hasattr(child, "_orig_mod"):
                setattr(m, name, child._orig_mod)
    return model.state_dict()


# %% wrong: save_clean "parameters, then buffers" fails="a model that was compiled as a whole | parts that were compiled, at any depth | a plain model, and one that was compiled in place | the values are those of now | names that are nearly _orig_mod, and two in a row | one parameter under two names"
def save_clean(model):
    both = [*model.named_parameters(), *model.named_buffers()]
    return {".".join(p for p in n.split(".") if p != "_orig_mod"): v for n, v in both}


# %% right: bench "marks, and their differences"
def bench(fn, clock, sync, repeats):
    fn(), fn(), fn()
    sync()
    marks = [clock()]
    for _ in range(repeats):
        fn()
        sync()
        marks.append(clock())
    return torch.tensor(marks, dtype=torch.float64).diff().median().item()


# %% wrong: bench "all of it without grad" fails="in the grad mode of the caller"
def bench(fn, clock, sync, repeats):
    with torch.no_grad():
        for _ in range(3):
            fn()
        sync()
        times = []
        for _ in range(repeats):
            start = clock()
            fn()
            sync()
            times.append(clock() - start)
    return statistics.median(times)


# %% right: find_trace_bug "the first of a generator"
def find_trace_bug(model, example):
    traced = trace(model, example.clone())

    def bad(x):
        try:
            want = model(x.clone())
        except Exception:
            return False
        try:
            got = traced(x.clone())
        except Exception:
            return True
        return want.size() != got.size() or not torch.isclose(want, got, equal_nan=True).all().item()

    return next((x for x in candidates(example) if bad(x)), None)


# %% wrong: find_trace_bug "equal to the bit" fails="results that are close, and NaN against a number"
def find_trace_bug(model, example):
    traced = trace(model, example.clone())
    for x in candidates(example):
        try:
            want = model(x.clone())
        except Exception:
            continue
        try:
            got = traced(x.clone())
        except Exception:
            return x
        if got.shape != want.shape or not torch.equal(got.nan_to_num(), want.nan_to_num()):
            return x


# %% wrong: find_trace_bug "NaN as zero" fails="results that are close, and NaN against a number"
def find_trace_bug(model, example):
    traced = trace(model, example.clone())
    for x in candidates(example):
        try:
            want = model(x.clone())
        except Exception:
            continue
        try:
            got = traced(x.clone())
        except Exception:
            return x
        if got.shape != want.shape or not torch.allclose(got.nan_to_num(), want.nan_to_num()):
            return x


# %% wrong: find_trace_bug "a loose tolerance" fails="the loop over rows | results that are close, and NaN against a number | a model that writes into its input"
def find_trace_bug(model, example):
    traced = trace(model, example.clone())
    for x in candidates(example):
        try:
            want = model(x.clone())
        except Exception:
            continue
        try:
            got = traced(x.clone())
        except Exception:
            return x
        if got.shape != want.shape or not torch.allclose(got, want, equal_nan=True, atol=1e-1):
            return x


# %% right: export_gate "torch.where, and a named dimension"
def export_gate(gate):
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = gate

        def forward(self, x):
            return torch.where(x.mean() > 0, self.gate.up(x), self.gate.down(x).relu())

    n = torch.export.Dim("n", min=1)
    example = torch.zeros(5, gate.up.in_features)
    program = torch.export.export(Both(), (example,), dynamic_shapes={"x": {0: n}})
    file = io.BytesIO()
    torch.export.save(program, file)
    return file.getvalue()


# %% right: export_gate "a named dimension from 2 on, which runs one row as well"
def export_gate(gate):
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = gate

        def forward(self, x):
            up, down = self.gate.up(x), self.gate.down(x).relu()
            return up.where(x.mean() > 0, down)

    example = torch.randn(4, gate.up.in_features, generator=torch.Generator().manual_seed(0))
    program = torch.export.export(Both(), (example,), dynamic_shapes={"x": {0: torch.export.Dim("n", min=2)}})
    file = io.BytesIO()
    torch.export.save(program, file)
    return file.getvalue()


# %% wrong: export_gate "a mean of zero goes up" fails="the mean of all of x decides"
def export_gate(gate):
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.up, self.down = gate.up, gate.down

        def forward(self, x):
            return torch.where(x.mean() >= 0, self.up(x), self.down(x).relu())

    program = torch.export.export(
        Both(), (torch.ones(2, gate.up.in_features),), dynamic_shapes=({0: torch.export.Dim.DYNAMIC},)
    )
    file = io.BytesIO()
    torch.export.save(program, file)
    return file.getvalue()


# %% wrong: export_gate "64 rows at most" fails="three and more rows" raises=AssertionError
def export_gate(gate):
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.up, self.down = gate.up, gate.down

        def forward(self, x):
            return torch.where(x.mean() > 0, self.up(x), self.down(x).relu())

    n = torch.export.Dim("n", min=2, max=64)
    program = torch.export.export(Both(), (torch.ones(2, gate.up.in_features),), dynamic_shapes=({0: n},))
    file = io.BytesIO()
    torch.export.save(program, file)
    return file.getvalue()


# %% wrong: export_gate "4096 rows at most" fails="three and more rows" raises=AssertionError
def export_gate(gate):
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = gate

        def forward(self, x):
            return torch.where(x.mean() > 0, self.gate.up(x), self.gate.down(x).relu())

    rows = torch.export.Dim("rows", min=2, max=4096)
    example = torch.randn(4, gate.up.in_features, generator=torch.Generator().manual_seed(0))
    file = io.BytesIO()
    torch.export.save(torch.export.export(Both(), (example,), dynamic_shapes=({0: rows},)), file)
    return file.getvalue()


# %% equivalent: predict_compiles "Add to Sub: if not served and len(exact) - open_graph < 8:"
# Where there is an open graph, only 0, 1 and one first size have graphs of their own: the limit is never near.

# %% equivalent: predict_compiles "1 to 2: served = n in exact or (open_graph and n > 2)"
# A size of 2 is then not served, and opens the open graph a second time, which counts as one.

# %% equivalent: find_trace_bug "first two arguments swapped: if got.shape != want.shape or not torch.allclose(want, got, equal_nan=True):"
# The tolerance is relative to the other one then. Results that differ by a hundred-thousandth are nowhere asked for.

# %% equivalent: export_gate "2 to 3: example = torch.ones(3, gate.up.in_features)"
# Any example of 2 or more rows gives the same program.

# %% equivalent: bench "float64 and int64 results through float32"
# Seven digits of a time are more than can be measured. The clock's own numbers are another matter: a check has large ones.
