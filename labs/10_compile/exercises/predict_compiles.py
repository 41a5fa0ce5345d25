# %% exercise
def predict_compiles(sizes: list[int], dynamic: bool | None) -> list[int]:
    """How many graphs torch.compile(step_up, dynamic=dynamic) has created after each call with torch.ones(n, 3).

    sizes holds the n of each call. Nothing is compiled at the start, and the limit is 8. Returns a list with one int
    per size. It predicts: it creates no tensors, compiles nothing, and takes no longer than arithmetic does.

    Details:
    - sizes: each n is from 0 to 10**18; the list isn't changed.
    - dynamic: None, True or False; with True, the first n isn't 3, because Dynamo treats sizes that are equal in its
      first call as one size.
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


# %% promises
# How many graphs -> example, other_calls, zero_one_before, zero_one_between, many_sizes
# sizes holds the n -> keeps_sizes, other_calls, many_sizes
# Nothing is compiled at -> other_calls, many_sizes
# Returns a list -> none_or_one, example
# It predicts -> other_calls, zero_one_before, zero_one_between, many_sizes
# sizes: each n is -> keeps_sizes, other_calls, many_sizes
# dynamic: None, True -> example, other_calls, zero_one_before, zero_one_between


# %% domain
SETTINGS = {"None": None, "True": True, "False": False}
BEFORE = [
    f"{part}, {name}" for name in SETTINGS for part in ("0 and 1 first", "0 or 1 before one size", "only 0 and 1")
]
BETWEEN = [f"{part}, {name}" for name in SETTINGS for part in ("0 and 1 between", "the first size again")]
MANY = [f"more than eight sizes, {name}" for name in SETTINGS]
MANY += ["eight sizes, False", "0 and 1 after eight sizes, False", "neighbours, False"]


@domain(reference, *BEFORE, *BETWEEN, *MANY, "no sizes", "one size")
def arguments(draw, edge):
    a, b, c, *others = draw(st.permutations([2, *range(4, 11), 10**18 - 1, 10**18]))  # no tensor has so many rows
    low, last = draw(st.permutations([0, 1]))
    part, _, name = edge.partition(", ")
    dynamic = SETTINGS[name or draw(st.sampled_from([*SETTINGS]))]
    drawn = draw(st.lists(st.sampled_from([a, b, c, 0, 1, 3]), min_size=7, max_size=11))
    sizes = {
        "0 and 1 first": [low, last, a, b, low, a],
        "0 or 1 before one size": [low, a, a, b, a],
        "only 0 and 1": [low, low, last, low, last],
        "0 and 1 between": [a, low, a, b, last, b, low, a],
        "the first size again": [a, a, low, a, b, a, c, a],
        "eight sizes": [a, b, c, *others[:5], a, b],
        "more than eight sizes": [a, b, c, *others, low, last, a],
        "0 and 1 after eight sizes": [a, b, c, *others[:5], low, last, a, low],
        "neighbours": [10**18, 10**18 - 1, 10**18 - 2, 10**18],
        "no sizes": [],
        "one size": [a],
    }.get(part, [draw(st.sampled_from([a, 0, 1])), *drawn])
    return sizes, dynamic


# %% checks
with check(
    "example",
    "4, 5, 6 and 1 with each setting",
    weight=2,
    required=True,
    hint=(
        "With None, which graph is created at 4, which one at 5, and which one serves 6? And 1?",
        "Keep the sizes that have their own graph, and whether there's an open one. Which n does neither serve?",
    ),
):
    t = [4, 5, 6, 1]
    explain(
        predict_compiles(t, None),
        [1, 2, 2, 3],
        {"0 and 1 always have their own graph": [1, 2, 2, 2]},
        name="your result for None",
    )
    assert_close(predict_compiles(t, False), [1, 2, 3, 4], name="your result for False")
    explain(
        predict_compiles(t, True),
        [1, 1, 1, 2],
        {"0 and 1 always have their own graph": [1, 1, 1, 1]},
        name="your result for True",
    )

# %% hidden checks
with check(
    "other_calls",
    "other sizes, some of them repeated",
    weight=2,
    required=True,
    hint="Which graphs are kept, and for which sizes?",
):
    arguments.assert_results(predict_compiles)
with check(
    "zero_one_before",
    "0 or 1 before other sizes",
    weight=2,
    required=True,
    hint="Does the next size count as the first one, or as another one?",
):
    arguments.assert_results(predict_compiles, *BEFORE)
with check(
    "zero_one_between",
    "0 or 1 between other sizes",
    weight=2,
    hint="What does the first graph still serve once there's another one?",
):
    arguments.assert_results(predict_compiles, *BETWEEN)
with check("many_sizes", "eight sizes or more", weight=2, hint="What happens at the ninth?"):
    arguments.assert_results(predict_compiles, *MANY)
with check("none_or_one", "no calls, and a single one", guard=True):
    arguments.assert_results(predict_compiles, "no sizes", "one size")
with check("keeps_sizes", "the list of sizes isn't changed", guard=True, hint="Which calls change a list?"):
    arguments.assert_arguments(predict_compiles)


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


# %% wrong "dynamic=True is one graph" fails=example,other_calls,zero_one_before,zero_one_between,many_sizes
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


# %% wrong "no limit" fails=many_sizes
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


# %% wrong "a first size of 2 or more always has its own graph" fails=other_calls,zero_one_before
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


# %% wrong "the open graph takes the place of the first" fails=example,zero_one_between,many_sizes
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


# %% right "guards as functions of n"
def predict_compiles(sizes, dynamic):
    guards, counts = [], []
    for n in sizes:
        if len(guards) < 8 and not any(g(n) for g in guards):
            open_ = n >= 2 and dynamic is not False and (dynamic or len(guards) > 0)
            guards.append((lambda m: m >= 2) if open_ else (lambda m, n=n: m == n))
        counts.append(len(guards))
    return counts


# %% equivalent "Add to Sub: if not served and len(exact) - open_graph < 8:"
# If there's an open graph, only 0, 1 and one first size have their own graphs, so the limit is never near.

# %% equivalent "1 to 2: served = n in exact or (open_graph and n > 2)"
# A size of 2 then isn't served, and creates the open graph a second time, which counts once.
