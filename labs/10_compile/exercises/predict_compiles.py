# %% given
@probes.probe
def predicted(predict, cases):
    """What predict says in each of these cases, one after the other."""
    return [predict(sizes, dynamic) for sizes, dynamic in cases]


# %% exercise
def predict_compiles(sizes: list[int], dynamic: bool | None) -> list[int]:
    """How many graphs torch.compile(step_up, dynamic=dynamic) will have made after each call with torch.ones(n, 3).

    sizes: the n of each call, 0 to 10**18. dynamic: None, True or False; with True the first n is not 3, since Dynamo
    takes sizes that are equal in its first call for one size. Nothing is compiled before, and the limit is 8.
    Returns a list of as many ints as there are sizes. It predicts: it makes no tensors, compiles nothing, and takes no
    longer than arithmetic does.
    """
    ### BEGIN SOLUTION
    exact: set[int] = set()
    open_graph = False
    counts: list[int] = []
    for n in sizes:
        served = n in exact or (open_graph and n > 1)
        if not served and len(exact) + open_graph < 8:
            if n < 2 or dynamic is False or (dynamic is None and not counts):
                exact.add(n)
            else:
                open_graph = True
        counts.append(len(exact) + open_graph)
    return counts
    ### END SOLUTION


# %% checks
with check(
    "example",
    "4, 5, 6 and 1 in each setting",
    weight=2,
    required=True,
    hint=(
        "With None: which graph is made at 4, which one at 5, and which one serves 6? And 1?",
        "Keep the sizes that have a graph of their own, and whether an open one is there. Which n does neither serve?",
    ),
):
    t = [4, 5, 6, 1]
    explain(
        predict_compiles(t, None),
        [1, 2, 2, 3],
        {"0 and 1 always have a graph of their own": [1, 2, 2, 2]},
        name="your result for None",
    )
    assert_close(predict_compiles(t, False), [1, 2, 3, 4], name="your result for False")
    explain(
        predict_compiles(t, True),
        [1, 1, 1, 2],
        {"0 and 1 always have a graph of their own": [1, 1, 1, 1]},
        name="your result for True",
    )


# %% hidden checks
def compiles(sizes, dynamic):
    served, counts = [], []
    for n in sizes:
        if len(served) < 8 and not any(n in ns for ns in served):
            opened = n > 1 and dynamic is not False and (dynamic is True or len(served) > 0)
            served.append(range(2, 10**19) if opened else [n])
        counts.append(len(served))
    return counts


LARGE = 10**18  # no tensor has that many rows
with check(
    "repeated_sizes",
    "sizes that come again",
    weight=2,
    required=True,
    hint="Which graphs are kept, and for which sizes?",
):
    assert_close(predict_compiles([5, 5, 1, 5, LARGE, 1, 5], None), [1, 1, 2, 2, 3, 3, 3])
    assert_close(predict_compiles([5, 5, 1, 5, LARGE, 1, 5], False), [1, 1, 2, 2, 3, 3, 3])
    assert_close(predict_compiles([5, 5, 1, 5, LARGE, 1, 5], True), [1, 1, 2, 2, 2, 2, 2])
    assert_close(predict_compiles([2, 3, 4, 5, 6, 1, 0, 2], None), [1, 2, 2, 2, 2, 3, 4, 4])
    assert_close(predict_compiles([3, 2, 4, 2], None), [1, 2, 2, 2])
with check(
    "zero_one_before",
    "0 or 1 before other sizes",
    weight=2,
    required=True,
    hint="Is the size another one, the second time?",
):
    assert_close(predict_compiles([1, 0, 5, LARGE], None), [1, 2, 3, 3])
    assert_close(predict_compiles([0, 5, 6, 7, 1], None), [1, 2, 2, 2, 3])
    assert_close(predict_compiles([1, 1, 0, 0, 3], True), [1, 1, 2, 2, 3])
    assert_close(predict_compiles([0, 1, 3, 2], False), [1, 2, 3, 4])
    t = torch.randint(
        0, 8, (500, 10), generator=torch.Generator(here).manual_seed(0)
    )  # to compile takes a minute or two
    t[:, 0][t[:, 0] == 3] = LARGE
    cases = [(sizes, (None, False, True)[n % 3]) for n, sizes in enumerate([[0, LARGE], *t.tolist()])]
    want = [compiles(*case) for case in cases]
    assert_close(predicted(predict_compiles, cases), want)
with check(
    "zero_one_between",
    "0 or 1 between other sizes",
    weight=2,
    hint="What does the first graph serve, when another one is there?",
):
    assert_close(predict_compiles([LARGE, 0, LARGE, 4, 0], None), [1, 2, 2, 3, 3])
    assert_close(predict_compiles([2, 1, 2, 3, 2], None), [1, 2, 2, 3, 3])
with check("many_sizes", "more than eight sizes", weight=2, hint="What does the ninth one make?"):
    want = [1, 2, 3, 4, 5, 6, 7, 8, 8, 8, 8, 8, 8]
    explain(
        predict_compiles([*range(2, 13), LARGE, 3], False),
        want,
        {"at most 8 graphs are made": [*range(1, 13), 12]},
    )
    assert_close(predict_compiles(list(range(13, 0, -1)), None), [1] + [2] * 11 + [3])
with check("empty", "no call at all", guard=True):
    assert_close(predict_compiles([], None), [])


# %% right "by counting"
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


# %% wrong "asks Dynamo" fails=repeated_sizes,zero_one_before,zero_one_between,many_sizes raises=RuntimeError
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


# %% liar "asks Dynamo, with small sizes in place of large ones"
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


# %% wrong "0 and 1 are sizes like others" fails=example,repeated_sizes,zero_one_before,zero_one_between,many_sizes
def predict_compiles(sizes, dynamic):
    seen, counts = set(), []
    for n in sizes:
        seen.add(n)
        counts.append({None: min(2, len(seen)), True: 1, False: min(8, len(seen))}[dynamic])
    return counts


# %% wrong "dynamic=True is one graph" fails=example,repeated_sizes,zero_one_before
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


# %% wrong "every size that differs from the one before" fails=repeated_sizes,zero_one_before,zero_one_between
def predict_compiles(sizes, dynamic):
    counts, last, made = [], None, 0
    for n in sizes:
        if n != last and (dynamic is False or (dynamic is None and made < 2) or made < 1 or n < 2):
            made = min(8, made + 1)
        last = n
        counts.append(made)
    return counts


# %% wrong "no limit" fails=zero_one_before,many_sizes
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


# %% wrong "a first size of 2 or more always has its own graph" fails=zero_one_before
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


# %% wrong "the open graph takes the place of the first" fails=example,repeated_sizes,zero_one_before,zero_one_between,many_sizes
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


# %% wrong "after the limit the graphs are thrown away" fails=zero_one_before,many_sizes
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


# %% right "guards as functions of n"
def predict_compiles(sizes, dynamic):
    guards, counts = [], []
    for n in sizes:
        if len(guards) < 8 and not any(g(n) for g in guards):
            open_ = n >= 2 and dynamic is not False and (dynamic or len(guards) > 0)
            guards.append((lambda m: m >= 2) if open_ else (lambda m, n=n: m == n))
        counts.append(len(guards))
    return counts


# %% wrong "0 and 1 share a graph" fails=repeated_sizes,zero_one_before
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


# %% wrong "only 1 is special" fails=repeated_sizes,zero_one_before,zero_one_between
def predict_compiles(sizes, dynamic):
    guards, counts = [], []
    for n in sizes:
        if len(guards) < 8 and not any(g(n) for g in guards):
            open_ = n != 1 and dynamic is not False and (dynamic or len(guards) > 0)
            guards.append((lambda m: m != 1) if open_ else (lambda m, n=n: m == n))
        counts.append(len(guards))
    return counts


# %% equivalent "Add to Sub: if not served and len(exact) - open_graph < 8:"
# Where there is an open graph, only 0, 1 and one first size have graphs of their own: the limit is never near.

# %% equivalent "1 to 2: served = n in exact or (open_graph and n > 2)"
# A size of 2 is then not served, and opens the open graph a second time, which counts as one.
