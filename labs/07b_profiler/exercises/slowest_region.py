# %% given
@probes.probe
def searched(slowest_region, parts, warmup, active):
    """What slowest_region returns for a step that runs these parts: (name, function), each in a region of that name.

    The function of "outer/inner" runs in the region inner, inside the region outer.
    """

    def run(regions, part):
        if not regions:
            return part()
        with record_function(regions[0]):
            run(regions[1:], part)

    def step():
        for name, part in parts:
            run(name.split("/"), part)

    return slowest_region(step, list(dict.fromkeys(name.split("/")[0] for name, _ in parts)), warmup, active)


# %% exercise
def slowest_region(step: Callable[[], object], names: list[str], warmup: int, active: int) -> str:
    """The name of the region of step that takes the most time once step is warm.

    names: the names of the regions to compare. step is called warmup + active times, and the regions are compared by
    their total time in the last active calls.

    Details:
    - step: a training step, a function without arguments.
    - None of the regions to compare is inside another, and each runs in every call of step, once or several times. One
      of them takes by far the most.
    - warmup is at least 0, active at least 1.
    """
    ### BEGIN SOLUTION
    for _ in range(warmup):
        step()
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        for _ in range(active):
            step()
    total = {one.key: one.cpu_time_total for one in profiler.key_averages()}
    return max(names, key=lambda name: total[name])
    ### END SOLUTION


# %% promises
# The name of the region -> example, other_steps, warm, several_calls, inside
# names: the names -> example, other_steps, warm, several_calls, inside
# step is called -> other_steps, warm, several_calls, inside
# step: a training step -> other_steps, warm, several_calls
# None of the regions -> several_calls
# One of them takes -> example, other_steps, warm, several_calls, inside
# warmup is at least -> warm, several_calls


# %% domain
# Times vary from run to run, so each check makes a step with one region that's clearly the slowest.


# %% checks
with check("example", "the one of two regions that sleeps longer", weight=2, required=True):
    t = [("load", lambda: time.sleep(0.002)), ("log", lambda: time.sleep(0.15))]
    assert_close(searched(slowest_region, t, 1, 1), "log")

# %% hidden checks


def tried(find, parts, warmup, active, slow):
    """What find returns, the names of the parts that ran, and the seconds by which slow was certainly the slowest.

    parts: (name, seconds in each call of the step, the last of which repeats), in the order of the step. A region
    begins and ends between two parts, so it takes at least the time of its part, and at most that between its
    neighbors.
    """
    ran, times = [], []

    def part(name, *each):
        def run():
            seconds = each[min(len(ran) // len(parts), len(each) - 1)]
            ran.append(name)
            begin = time.perf_counter()
            time.sleep(seconds)
            times.append((begin, time.perf_counter()))

        return (name, run)

    said = searched(find, [part(*one) for one in parts], warmup, active)
    least: dict[str, float] = {}
    most: dict[str, float] = {}
    for n in range(warmup * len(parts), len(times)):
        place, (begin, end), name = n % len(parts), times[n], ran[n].split("/")[0]
        least[name] = least.get(name, 0.0) + end - begin
        before = times[n - 1][1] if place else begin
        after = times[n + 1][0] if place + 1 < len(parts) else end
        most[name] = most.get(name, 0.0) + after - before
    others = [most[name] for name in most if name != slow]
    return said, ran, least.get(slow, 0.0) - max(others) if others else 1.0


def measured(find, parts, warmup, active, slow):
    """The same without the last; repeated for up to five seconds if the machine was too busy to tell."""
    end = time.perf_counter() + 5
    said, ran, certain = tried(find, parts, warmup, active, slow)
    while certain <= 0 and time.perf_counter() < end:
        said, ran, certain = tried(find, parts, warmup, active, slow)
    return said, ran


with check(
    "other_steps",
    "other regions, in another order",
    weight=3,
    required=True,
    hint="Which rows of the profile are regions of the step? Do you compare total times?",
):
    for slow in ("load", "load 2"):  # names that begin alike
        t = [(name, 0.06 if name == slow else 0.001) for name in ("load 2", "lo", "load")]
        said, ran = measured(slowest_region, t, 1, 2, slow)
        assert_close(said, slow)
        assert_close(len(ran), 9, name="the number of calls of the parts")
        assert ran == ["load 2", "lo", "load"] * 3, "the parts ran in a different order"
with check(
    "warm",
    "a region that's slow only during warm-up",
    weight=3,
    required=True,
    hint="Do the first calls count? How many calls aren't recorded?",
):
    said, ran = measured(slowest_region, [("first", 0.1, 0.001)] * 3 + [("slow", 0.06)], 1, 1, "slow")
    assert_close(said, "slow")
    assert_close(len(ran), 8, name="the number of calls of the parts")
    for warmup, active in ((2, 1), (1, 2)):
        t = [("first", *[0.3] * warmup, 0.001), ("slow", 0.06), ("last", 0.001)]
        said, ran = measured(slowest_region, t, warmup, active, "slow")
        assert_close(said, "slow")
        assert_close(len(ran), 3 * (warmup + active), name="the number of calls of the parts")
        assert ran == ["first", "slow", "last"] * (warmup + active), "the parts ran in a different order"
with check(
    "several_calls",
    "many short calls, compared with a single longer one, and calls that differ",
    weight=2,
    hint="What do you compare: the mean of a region's calls, the longest, the last, or their sum?",
):
    short = ("many", 0.02)
    said, ran = measured(slowest_region, [short, ("one", 0.05), *[short] * 7], 0, 1, "many")
    assert_close(said, "many")
    assert_close(len(ran), 9, name="the number of calls of the parts")
    for each in ((0, 0.07, 0), (0, 0, 0.07)):
        said, ran = measured(slowest_region, [("steady", 0.01), ("changing", *each)], 1, 2, "changing")
        assert_close(said, "changing")
        assert_close(len(ran), 6, name="the number of calls of the parts")
with check(
    "inside",
    "a region whose time is in smaller ones inside it",
    weight=2,
    hint="Which of a row's two times includes what's inside the row?",
):
    t = [("short", 0.01), ("long/read", 0.03), ("long/parse", 0.04)]
    said, ran = measured(slowest_region, t, 1, 1, "long")
    assert_close(said, "long")
    assert_close(len(ran), 6, name="the number of calls of the parts")


# %% right "a schedule"
def slowest_region(step, names, warmup, active):
    plan = torch.profiler.schedule(wait=0, warmup=warmup, active=active, repeat=1)
    found = []

    def ready(profiler):
        found.extend(profiler.key_averages())

    with profile(activities=[ProfilerActivity.CPU], schedule=plan, on_trace_ready=ready) as profiler:
        for _ in range(warmup + active):
            step()
            profiler.step()
    return sorted((one for one in found if one.key in names), key=lambda one: -one.cpu_time_total)[0].key


# %% right "events, added up"
def slowest_region(step, names, warmup, active):
    for _ in range(warmup):
        step()
    with profile() as profiler:
        for _ in range(active):
            step()
    total = dict.fromkeys(names, 0)
    for event in profiler.events():
        if event.name in total:
            total[event.name] += event.time_range.elapsed_us()
    return max(total, key=total.get)


# %% wrong "the warm-up is recorded too" fails=warm
def slowest_region(step, names, warmup, active):
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        for _ in range(warmup + active):
            step()
    total = {one.key: one.cpu_time_total for one in profiler.key_averages()}
    return max(names, key=lambda name: total[name])


# %% wrong "the last region of the step" fails=other_steps,warm,several_calls
def slowest_region(step, names, warmup, active):
    for _ in range(warmup + active):
        step()
    return names[-1]


# %% wrong "the self time" fails=inside
def slowest_region(step, names, warmup, active):
    for _ in range(warmup):
        step()
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        for _ in range(active):
            step()
    own = {one.key: one.self_cpu_time_total for one in profiler.key_averages()}
    return max(names, key=lambda name: own[name])


# %% wrong "the last of the active calls" fails=several_calls
def slowest_region(step, names, warmup, active):
    for _ in range(warmup + active - 1):
        step()
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        step()
    total = {one.key: one.cpu_time_total for one in profiler.key_averages()}
    return max(names, key=lambda name: total[name])


# %% equivalent "argument activities dropped: with profile() as profiler:"
# Without it all supported activities are noted, the CPU's among them.
