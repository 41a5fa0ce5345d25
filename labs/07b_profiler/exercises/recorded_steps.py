# %% exercise
def recorded_steps(n: int, wait: int, warmup: int, active: int, repeat: int, skip_first: int) -> list[list[int]]:
    """Which of n training steps a profiler records: the steps of each trace that it hands over.

    Steps are counted from 0. First skip_first steps are left out, once. Then cycles follow: wait
    steps that nothing looks at, warmup steps that are traced and thrown away, and active steps
    that are recorded. There are repeat cycles, or any number where repeat is 0. The last trace
    may be shorter, where the training ends. A trace without a step is left out. All are ints,
    active is at least 1 and the others at least 0.
    """
    ### BEGIN SOLUTION
    cycle = wait + warmup + active
    found: list[list[int]] = []
    begin = skip_first + wait + warmup
    while begin < n and (repeat == 0 or len(found) < repeat):
        found.append(list(range(begin, min(begin + active, n))))
        begin += cycle
    return found
    ### END SOLUTION


# %% checks
with check("example", "wait 1, warm up 1, record 2, twice, of 10 steps", weight=2, required=True):
    explain(
        recorded_steps(10, 1, 1, 2, 2, 0),
        [[2, 3], [6, 7]],
        {
            "a warm-up step is traced, and thrown away": [[1, 2, 3], [5, 6, 7]],
            "each cycle waits and warms up anew": [[2, 3], [4, 5]],
            "steps are counted from 0": [[3, 4], [7, 8]],
        },
    )
with check("unlimited", "repeat=0: as often as there are steps", weight=1):
    assert_close(recorded_steps(11, 2, 0, 2, 0, 0), [[2, 3], [6, 7], [10]])

# %% hidden checks


def as_scheduled(n, options):
    """What torch.profiler.schedule says of each of n steps, as traces."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns where there is no warm-up
        plan = torch.profiler.schedule(**options)
    found, current = [], []
    for step in range(n):
        action = plan(step)
        if action in (torch.profiler.ProfilerAction.RECORD, torch.profiler.ProfilerAction.RECORD_AND_SAVE):
            current.append(step)
        if action == torch.profiler.ProfilerAction.RECORD_AND_SAVE:
            found.append(current)
            current = []
    return found + [current] * bool(current)


with check(
    "other_plans",
    "other schedules: what torch.profiler.schedule says",
    weight=5,
    required=True,
    hint="How long is a cycle? At which step does the first trace begin, and the second?",
):
    for t in ((20, 3, 2, 1, 2, 0), (23, 0, 1, 4, 3, 2), (17, 2, 3, 2, 0, 1), (9, 1, 0, 1, 5, 4), (30, 4, 1, 3, 0, 6)):
        options = dict(zip(("wait", "warmup", "active", "repeat", "skip_first"), t[1:], strict=True))
        want = as_scheduled(t[0], options)
        assert_close(recorded_steps(*t), want)
with check(
    "cut_short",
    "a training that ends inside a cycle",
    weight=2,
    hint="Which steps are recorded if the training ends in the middle of the active ones, or before them?",
):
    for n in (0, 3, 4, 5, 6, 7, 8, 9, 12):
        options = {"wait": 1, "warmup": 2, "active": 3, "repeat": 2, "skip_first": 1}
        assert_close(recorded_steps(n, 1, 2, 3, 2, 1), as_scheduled(n, options))
with check("all_steps", "no wait and no warm-up: every step", weight=1, hint="What is a cycle of active steps only?"):
    assert_close(recorded_steps(5, 0, 0, 2, 0, 0), [[0, 1], [2, 3], [4]])
    assert_close(recorded_steps(4, 0, 0, 1, 3, 0), [[0], [1], [2]])


# %% right "it asks torch.profiler.schedule"
def recorded_steps(n, wait, warmup, active, repeat, skip_first):
    from torch.profiler import ProfilerAction, schedule

    plan = schedule(wait=wait, warmup=warmup, active=active, repeat=repeat, skip_first=skip_first)
    traces = [[]]
    for step in range(n):
        if plan(step).name.startswith("RECORD"):
            traces[-1].append(step)
        if plan(step) is ProfilerAction.RECORD_AND_SAVE:
            traces.append([])
    return [trace for trace in traces if trace]


# %% right "each step by its place in the cycle"
def recorded_steps(n, wait, warmup, active, repeat, skip_first):
    traces = {}
    for step in range(skip_first, n):
        number, place = divmod(step - skip_first, wait + warmup + active)
        if place >= wait + warmup and (not repeat or number < repeat):
            traces.setdefault(number, []).append(step)
    return list(traces.values())


# %% wrong "warm-up steps are recorded" fails=example,other_plans,cut_short
def recorded_steps(n, wait, warmup, active, repeat, skip_first):
    found, begin = [], skip_first + wait
    while begin < n and (repeat == 0 or len(found) < repeat):
        found.append(list(range(begin, min(begin + warmup + active, n))))
        begin += wait + warmup + active
    return found


# %% wrong "waiting and warming up once" fails=example,unlimited,other_plans,cut_short
def recorded_steps(n, wait, warmup, active, repeat, skip_first):
    found, begin = [], skip_first + wait + warmup
    while begin < n and (repeat == 0 or len(found) < repeat):
        found.append(list(range(begin, min(begin + active, n))))
        begin += active
    return found


# %% wrong "counted from 1" fails=example,unlimited,other_plans,cut_short,all_steps
def recorded_steps(n, wait, warmup, active, repeat, skip_first):
    found, begin = [], skip_first + wait + warmup + 1
    while begin < n and (repeat == 0 or len(found) < repeat):
        found.append(list(range(begin, min(begin + active, n))))
        begin += wait + warmup + active
    return found


# %% wrong "skip_first is done in every cycle" fails=other_plans,cut_short
def recorded_steps(n, wait, warmup, active, repeat, skip_first):
    found, begin = [], skip_first + wait + warmup
    while begin < n and (repeat == 0 or len(found) < repeat):
        found.append(list(range(begin, min(begin + active, n))))
        begin += skip_first + wait + warmup + active
    return found


# %% wrong "repeat 0 is none" fails=unlimited,other_plans,all_steps
def recorded_steps(n, wait, warmup, active, repeat, skip_first):
    found, begin = [], skip_first + wait + warmup
    while begin < n and len(found) < repeat:
        found.append(list(range(begin, min(begin + active, n))))
        begin += wait + warmup + active
    return found


# %% wrong "a trace that is cut short is not handed over" fails=unlimited,cut_short,all_steps
def recorded_steps(n, wait, warmup, active, repeat, skip_first):
    found, begin = [], skip_first + wait + warmup
    while begin + active <= n and (repeat == 0 or len(found) < repeat):
        found.append(list(range(begin, begin + active)))
        begin += wait + warmup + active
    return found


# %% wrong "the steps go on after the training" fails=unlimited,cut_short,all_steps
def recorded_steps(n, wait, warmup, active, repeat, skip_first):
    found, begin = [], skip_first + wait + warmup
    while begin < n and (repeat == 0 or len(found) < repeat):
        found.append(list(range(begin, begin + active)))
        begin += wait + warmup + active
    return found


# %% wrong "repeat counts the cycles after the first" fails=other_plans,all_steps
def recorded_steps(n, wait, warmup, active, repeat, skip_first):
    found, begin = [], skip_first + wait + warmup
    while begin < n and (repeat == 0 or len(found) <= repeat):
        found.append(list(range(begin, min(begin + active, n))))
        begin += wait + warmup + active
    return found


# %% equivalent "first two arguments swapped: found.append(list(range(begin, min(n, begin + active))))"
# The smaller of two ints is the same in either order.
