# %% exercise
def bench(fn: Callable[[], object], clock: Callable[[], float], sync: Callable[[], None], repeats: int) -> float:
    """The median time of one call of fn when it is warm, in the clock's unit: a float.

    Calls fn 3 times to warm it up. Then measures `repeats` calls (an odd number), one by one. Each time is from a
    clock() when nothing is running to a clock() when the call's work is done. fn() only orders work: sync() returns
    when all of it is done. fn runs in the grad mode of the caller.
    """
    ### BEGIN SOLUTION
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
    ### END SOLUTION


# %% checks
class Machine:
    """A machine that exists in numbers only. Call n orders work[n] seconds, and as many as the last one from then on.
    The first two calls compile, for 6 and 2 seconds, and the first one in another grad mode compiles, for 5."""

    def __init__(self, work):
        self.work, self.now, self.busy_until, self.modes = work, 0.0, 0.0, []

    def run(self):
        calls = len(self.modes)
        if calls and torch.is_grad_enabled() not in self.modes:
            self.now += 5.0
        self.modes.append(torch.is_grad_enabled())
        self.now += (6.0, 2.0, 0.001)[min(calls, 2)]
        self.busy_until = max(self.busy_until, self.now) + self.work[min(calls, len(self.work) - 1)]

    def clock(self):
        return self.now

    def sync(self):
        self.now = max(self.now, self.busy_until)


with check(
    "example",
    "a call of 20 ms, measured three times",
    weight=2,
    required=True,
    hint=(
        "How many calls come before the first clock()? What is still running when a time begins or ends?",
        "One time: wait, read the clock, call fn, wait, read it again. The middle one of the sorted times is wanted.",
    ),
):
    t = Machine([0.5, 0.5, 0.5, 0.02])
    explain(
        bench(t.run, t.clock, t.sync, 3),
        0.021,
        {"a call returns when its work is ordered": 0.001, "the first calls compile": 2.5},
    )

# %% hidden checks
with check("median", "calls of different lengths: the median", weight=3, required=True, hint="Do you wait each time?"):
    for times, want in (([0.04, 0.9, 0.01, 0.05, 0.03], 0.041), ([0.2, 0.07, 0.01], 0.071), ([0.3], 0.301)):
        t = Machine([0.5, 0.5, 0.5, *times])
        mean, least = sum(times) / len(times) + 0.001, min(times) + 0.001
        explain(
            bench(t.run, t.clock, t.sync, len(times)),
            want,
            {
                "a mean takes in what happens once": mean if len(times) > 1 else None,
                "the least is not the median": least if len(times) > 1 else None,
            },
        )
with check(
    "warmup", "nothing of the warm-up is measured", weight=2, hint="Is the work of the third call done when you start?"
):
    for work, n, want in (([0.1, 0.1, 40.0, 0.02], 1, 0.021), ([30.0, 0.1, 0.1, 0.07], 3, 0.071)):
        t = Machine(work)
        assert_close(bench(t.run, t.clock, t.sync, n), want)
with check("call_count", "three calls to warm up, and one for each time", weight=1, hint="How often is fn called?"):
    for n in (1, 5):
        t = Machine([0.1])
        assert_close(bench(t.run, t.clock, t.sync, n), 0.101)
        assert_close(len(t.modes), 3 + n, name="the number of calls")
with check("late_clock", "a clock that has run for long", weight=1, hint="How many digits has float32?"):
    t = Machine([0.5, 0.5, 0.5, 0.02, 0.05, 0.03])
    t.now = 2.0**31
    assert_close(bench(t.run, t.clock, t.sync, 3), 0.031, rtol=1e-4)
with check(
    "caller_grad_mode", "in the grad mode of the caller", weight=2, hint="Does another grad mode compile again?"
):
    for grad in (True, False):
        t = Machine([0.5, 0.5, 0.5, 0.06])
        with torch.set_grad_enabled(grad):
            got = bench(t.run, t.clock, t.sync, 1)
            same = torch.is_grad_enabled() == grad
        assert_close(got, 0.061)
        assert_close(t.modes, [grad] * 4, name="the grad modes in which fn ran")
        assert same, "the grad mode is another one"


# %% right "sorted, the middle one"
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


# %% right "a tensor of times"
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


# %% right "the median of a float32 tensor"
def bench(fn, clock, sync, repeats):
    times = []
    for i in range(3 + repeats):
        sync()
        start = clock()
        fn()
        sync()
        times.append(clock() - start)
    return torch.tensor(times[3:]).median().item()


# %% wrong "nothing is warm" fails=example,median,warmup,call_count,late_clock,caller_grad_mode
def bench(fn, clock, sync, repeats):
    times = []
    for _ in range(repeats):
        sync()
        start = clock()
        fn()
        sync()
        times.append(clock() - start)
    return statistics.median(times)


# %% wrong "one call to warm up" fails=example,median,warmup,call_count,late_clock,caller_grad_mode
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


# %% wrong "no waiting" fails=example,median,warmup,call_count,late_clock,caller_grad_mode
def bench(fn, clock, sync, repeats):
    for _ in range(3):
        fn()
    times = []
    for _ in range(repeats):
        start = clock()
        fn()
        times.append(clock() - start)
    return statistics.median(times)


# %% wrong "waits at the end only" fails=median,warmup,call_count,late_clock,caller_grad_mode
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


# %% wrong "a mean" fails=example,median,warmup,call_count,late_clock
def bench(fn, clock, sync, repeats):
    for _ in range(3):
        fn()
    sync()
    start = clock()
    for _ in range(repeats):
        fn()
    sync()
    return (clock() - start) / repeats


# %% wrong "the mean of single times" fails=median,late_clock
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


# %% wrong "the best one" fails=median,late_clock
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


# %% wrong "warmed up without grad" fails=median,warmup,call_count,late_clock,caller_grad_mode
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


# %% wrong "the middle of what is not sorted" fails=median,late_clock
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


# %% wrong "grad is switched off" fails=caller_grad_mode
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


# %% wrong "the clock's times in a tensor of the default dtype" fails=late_clock
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


# %% right "marks, and their differences"
def bench(fn, clock, sync, repeats):
    fn(), fn(), fn()
    sync()
    marks = [clock()]
    for _ in range(repeats):
        fn()
        sync()
        marks.append(clock())
    return torch.tensor(marks, dtype=torch.float64).diff().median().item()


# %% wrong "all of it without grad" fails=caller_grad_mode
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


# %% equivalent "float64 and int64 results through float32"
# Seven digits of a time are more than can be measured. The clock's own numbers are another matter: a check has large ones.
