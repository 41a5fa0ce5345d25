# %% exercise
def bench(fn: Callable[[], object], clock: Callable[[], float], sync: Callable[[], None], repeats: int) -> float:
    """The median time of one call to fn after a warm-up, in the clock's unit: a float, right to six digits.

    Calls fn 3 times to warm it up. Then it calls fn repeats more times, an odd number, and measures each of these
    calls. fn() only queues work, and sync() returns when all the queued work is done. A time is the difference between
    two values of clock(), which are floats: one when nothing is running, and one when the call's work is done. The
    clock may start at any number. fn runs in the caller's grad mode, which doesn't change.
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


# %% promises
# The median time -> example, other_times
# Calls fn 3 times -> call_count, warmup
# Then it calls fn repeats -> call_count, other_times
# fn() only queues -> example, other_times, warmup
# A time is -> other_times, warmup
# The clock may start -> late_clock
# fn runs in -> caller_grad_mode


# %% domain
@domain(
    reference,
    *(
        "one measurement",
        "equal times",
        "no work",
        "a long third call",
        "seconds since 1970",
        "recording off",
        "coarse",
        "a reading of 0",
        "reading takes time",
    ),
    contexts={"recording off": torch.no_grad},
)
def arguments(draw, edge):
    times = draw(st.permutations([0.2, 0.2, 0.2, 0.5, 0.9] if edge == "equal times" else [0.9, 0.01, 0.05, 0.2, 0.3]))
    repeats = {"one measurement": 1, "a long third call": 1, "a reading of 0": 1, "equal times": 5, "coarse": 5}.get(
        edge, draw(st.sampled_from([3, 5]))
    )
    coarse = draw(st.permutations([0.01, 0.02, 0.03, 1.5, 2.5]))
    times = {"no work": [0.0] * 5, "coarse": coarse, "a reading of 0": [2.0]}.get(edge, times)
    machine = Machine([0.5, 0.1, 40.0 if edge == "a long third call" else 0.6, *times])
    machine.tick = 1.0 if edge in ("coarse", "a reading of 0") else 0.0
    machine.reading = 0.25 if edge == "reading takes time" else 0.0
    if edge == "a reading of 0":  # the warm-up takes 8.7 seconds, or 9.2 if each call is waited for
        machine.now = machine.busy_until = -8.6
        return machine.run, machine.clock, machine.sync, repeats
    machine.now = machine.busy_until = 1.7e9 if edge == "seconds since 1970" else draw(st.sampled_from([0.0, -70.0]))
    return machine.run, machine.clock, machine.sync, repeats


# %% checks
class Machine:
    """A simulated machine. Call n queues work[n] seconds of work, or work[-1] if the list is shorter. The first two
    calls compile, for 6 and 2 seconds, and so does the first call in another grad mode, for 5. The clock advances by
    ticks, or smoothly if tick is 0. It takes `reading` seconds to read it."""

    def __init__(self, work):
        self.work, self.now, self.busy_until, self.modes, self.tick = work, 0.0, 0.0, [], 0.0
        self.reading = 0.0

    def run(self):
        calls = len(self.modes)
        if calls and torch.is_grad_enabled() not in self.modes:
            self.now += 5.0
        self.modes.append(torch.is_grad_enabled())
        self.now += (6.0, 2.0, 0.001)[min(calls, 2)]
        self.busy_until = max(self.busy_until, self.now) + self.work[min(calls, len(self.work) - 1)]

    def clock(self):
        self.now += self.reading
        return self.now // self.tick * self.tick if self.tick else self.now

    def sync(self):
        self.now = max(self.now, self.busy_until)


with check(
    "example",
    "calls of 20, 900 and 50 ms",
    weight=2,
    required=True,
    hint=(
        "How many calls do you make before the first clock()? What is still running when a measurement begins or ends?",
        "For each time: wait, read the clock, call fn, wait, read it again. Return the middle one of the sorted times.",
    ),
):
    t = Machine([0.5, 0.5, 0.5, 0.02, 0.9, 0.05])
    explain(
        bench(t.run, t.clock, t.sync, 3),
        0.051,
        {
            "a call returns when its work is queued": 0.001,
            "the first calls compile": 2.5,
            "a mean includes what happens only once": 0.97 / 3 + 0.001,
            "the minimum isn't the median": 0.021,
        },
    )

# %% hidden checks
with check(
    "other_times",
    "the median of calls of different lengths",
    weight=4,
    required=True,
    hint="Do you wait in every measurement?",
):
    arguments.assert_results(bench, "", "one measurement", "equal times", "no work", "coarse")
    arguments.assert_results(bench, "reading takes time")
with check(
    "warmup",
    "none of the warm-up is measured",
    weight=2,
    hint="Is the third call's work done when you start the clock?",
):
    arguments.assert_results(bench, "a long third call")
with check(
    "late_clock",
    "a clock that has run for a long time, or begins at 0",
    weight=1,
    hint="How many digits does float32 have?",
):
    arguments.assert_results(bench, "seconds since 1970", "a reading of 0")
with check("call_count", "three warm-up calls, and one for each time", weight=1, hint="How often is fn called?"):
    for trial in arguments.iter_trials(bench, "", "one measurement"):
        want = len(trial.case.arguments[0].__self__.modes)
        assert_close(len(trial.arguments[0].__self__.modes), want, name="the number of calls")
with check(
    "caller_grad_mode", "in the caller's grad mode", weight=2, hint="Does another grad mode cause another compilation?"
):
    arguments.assert_results(bench, "recording off")
    for trial in arguments.iter_trials(bench, "", "recording off"):
        assert_close(
            [*dict.fromkeys(trial.arguments[0].__self__.modes)], [not trial.case.drawn.edge], name="the grad modes"
        )
    arguments.assert_settings(bench)


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


# %% wrong "nothing is warm" fails=example,other_times,warmup,late_clock,call_count,caller_grad_mode
def bench(fn, clock, sync, repeats):
    times = []
    for _ in range(repeats):
        sync()
        start = clock()
        fn()
        sync()
        times.append(clock() - start)
    return statistics.median(times)


# %% wrong "no waiting" fails=example,other_times,warmup,late_clock,caller_grad_mode
def bench(fn, clock, sync, repeats):
    for _ in range(3):
        fn()
    times = []
    for _ in range(repeats):
        start = clock()
        fn()
        times.append(clock() - start)
    return statistics.median(times)


# %% wrong "the mean of single times" fails=example,other_times,late_clock,caller_grad_mode
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


# %% wrong "the best one" fails=example,other_times,late_clock,caller_grad_mode
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


# %% equivalent "float64 and int64 results through float32"
# Seven digits are more than anyone can measure of a time. The clock's own values need more: a check uses large ones.
