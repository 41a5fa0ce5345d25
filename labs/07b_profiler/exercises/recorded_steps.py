# %% exercise
def recorded_steps(n: int, wait: int, warmup: int, active: int, repeat: int, skip_first: int) -> list[list[int]]:
    """Which of n training steps a profiler records: the steps of each trace that it hands over.

    Steps are counted from 0. First, skip_first steps are left out, once. Then cycles follow: wait steps that are
    ignored, warmup steps that are traced and thrown away, and active steps that are recorded. There are repeat cycles,
    or any number if repeat is 0. The last trace is shorter if training ends inside it. Traces without steps are left
    out. All arguments are ints: active is at least 1, the others at least 0.
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


# %% promises
# Which of n training steps -> example, unlimited, other_plans, cut_short, all_steps
# Steps are counted -> example, unlimited, other_plans, cut_short, all_steps
# First, skip_first steps -> other_plans, cut_short
# Then cycles follow -> example, unlimited, other_plans, cut_short, all_steps
# There are repeat cycles -> unlimited, other_plans, cut_short, all_steps
# The last trace is shorter -> unlimited, cut_short, all_steps
# Traces without steps -> cut_short
# All arguments are -> other_plans, cut_short, all_steps


# %% domain
@domain(
    reference,
    *("no wait", "no warm-up", "neither", "active 1", "repeat 0", "repeat 1", "nothing skipped", "much skipped"),
    *("no steps", "all skipped", "ends in the first wait", "ends before the first trace", "ends before a trace"),
    *("ends inside the first trace", "ends inside a trace", "ends inside the last trace", "ends after a trace"),
    *("repeat 0, ends inside a trace", "repeat 0, ends before a trace", "every step, active 1"),
    "every step, ends inside a trace",
)
def arguments(draw, edge):
    every = "every step" in edge
    wait = 0 if every or edge in ("no wait", "neither") else draw(st.integers(1, 4))
    warmup = 0 if every or edge in ("no warm-up", "neither") else draw(st.integers(1, 3))
    active = 1 if "active 1" in edge else draw(st.integers(2, 4))
    repeat = 0 if every or "repeat 0" in edge else 1 if edge == "repeat 1" else draw(st.integers(2, 4))
    skip_first = 0 if every or edge == "nothing skipped" else draw(st.integers(1, 5))
    skip_first += 20 if edge == "much skipped" else 0
    cycle, inside = wait + warmup + active, draw(st.integers(1, active - 1)) if active > 1 else 0
    whole = {"before the first": 0, "inside the first": 0, "inside the last": repeat - 1}  # traces before the last one
    trace = skip_first + wait + warmup + cycle * next((k for part, k in whole.items() if part in edge), 1)
    ends = {"before": trace, "inside": trace + inside, "after": trace + active}
    n = next(
        (end for part, end in ends.items() if f"ends {part}" in edge), skip_first + 4 * cycle + draw(st.integers(0, 9))
    )
    n = {"no steps": 0, "all skipped": skip_first, "ends in the first wait": skip_first + 1}.get(edge, n)
    return n, wait, warmup, active, repeat, skip_first


# %% checks
with check("example", "10 steps: wait 1, warm up 1, record 2, twice", weight=2, required=True):
    explain(
        recorded_steps(10, 1, 1, 2, 2, 0),
        [[2, 3], [6, 7]],
        {
            "a warm-up step is traced, but thrown away": [[1, 2, 3], [5, 6, 7]],
            "each cycle waits and warms up again": [[2, 3], [4, 5]],
            "steps are counted from 0": [[3, 4], [7, 8]],
        },
    )
with check("unlimited", "repeat=0: cycles until the steps run out", weight=1):
    assert_close(recorded_steps(11, 2, 0, 2, 0, 0), [[2, 3], [6, 7], [10]])

# %% hidden checks
with check(
    "other_plans",
    "other schedules",
    weight=5,
    required=True,
    hint="How long is a cycle? At which step does the first trace begin, and the second?",
):
    arguments.assert_results(recorded_steps, "", "no wait", "no warm-up", "neither", "active 1")
    arguments.assert_results(recorded_steps, "repeat 0", "repeat 1", "nothing skipped", "much skipped")
with check(
    "cut_short",
    "training that ends inside a cycle",
    weight=2,
    hint="Which steps are recorded if training ends in the middle of the active ones, or before them?",
):
    arguments.assert_results(recorded_steps, "no steps", "all skipped", "ends in the first wait")
    arguments.assert_results(recorded_steps, "ends before the first trace", "ends before a trace", "ends after a trace")
    arguments.assert_results(recorded_steps, "ends inside the first trace", "ends inside a trace")
    arguments.assert_results(recorded_steps, "ends inside the last trace", "repeat 0, ends inside a trace")
    arguments.assert_results(recorded_steps, "repeat 0, ends before a trace")
with check(
    "all_steps", "no wait and no warm-up: every step", weight=1, hint="How long is a cycle of only active steps?"
):
    arguments.assert_results(recorded_steps, "every step, ends inside a trace", "every step, active 1")


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


# %% wrong "repeat counts the cycles after the first" fails=other_plans
def recorded_steps(n, wait, warmup, active, repeat, skip_first):
    found, begin = [], skip_first + wait + warmup
    while begin < n and (repeat == 0 or len(found) <= repeat):
        found.append(list(range(begin, min(begin + active, n))))
        begin += wait + warmup + active
    return found


# %% equivalent "first two arguments swapped: found.append(list(range(begin, min(n, begin + active))))"
# The smaller of two ints is the same in either order.
