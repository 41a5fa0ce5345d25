# %% given
@probes.probe
def searched(largest_batch, room, weights, low, high):
    """What largest_batch finds on a SmallDevice, for steps that return a result in its memory."""
    device = SmallDevice(room, weights)

    def run(n):
        device.run(n)
        return device.take(n)

    return largest_batch(run, low, high)


# %% exercise
def largest_batch(run: Callable[[int], object], low: int, high: int) -> int:
    """The largest n, low <= n <= high, that fits: run(n) doesn't raise torch.OutOfMemoryError.

    Returns 0 if none fits. run: a function of an int; what it returns has no meaning, and may be large. If n fits, so
    does every smaller size. 1 <= low <= high. No n outside this range is tried, and few inside it are: at most
    2 * log2(high - low + 1) + 3 calls. Any other exception is passed on immediately, even a RuntimeError that mentions
    memory. When run is called, nothing from an earlier attempt is still alive, whether that failed or not.
    """

    ### BEGIN SOLUTION
    def fits(n: int) -> bool:
        try:
            run(n)
        except torch.OutOfMemoryError:
            return False
        return True

    below, above = low - 1, high + 1
    while above - below > 1:
        middle = (below + above) // 2
        if fits(middle):
            below = middle
        else:
            above = middle
    return below if below >= low else 0
    ### END SOLUTION


# %% promises
# The largest n, low -> example, number_of_tries, other_cases, all_fit, few_tries
# Returns 0 if none -> none_fits, few_tries
# run: a function of -> example, number_of_tries, other_cases, all_fit, few_tries
# If n fits, so -> number_of_tries, few_tries
# 1 <= low <= high -> other_cases, all_fit, none_fits
# No n outside this -> number_of_tries, few_tries
# Any other exception -> passes_errors
# When run is called -> example, other_cases


# %% domain
class Limited:
    """A run for which the sizes up to most fit, and others raise the error. Notes which sizes it is asked."""

    def __init__(self, most, size_count, error):
        self.most, self.size_count, self.error, self.tried = most, size_count, error, []

    def __call__(self, n):
        self.tried.append(n)
        if len(self.tried) > 2 * self.size_count + 5:
            raise InterruptedError("more tries than there are sizes: a search without an end")
        if n > self.most:
            raise self.error("out of memory" if self.error is RuntimeError else f"{n} is too much")
        return n % 3 == 0  # whether n fits is not what it returns


EDGES = (
    *("all fit", "only the smallest fits", "all but the largest fit", "one size", "two sizes", "many sizes"),
    *("none fits", "none fits, from 1", "one size, too large", "large sizes"),
    *("ValueError", "RuntimeError", "MemoryError"),
)


@domain(reference, *EDGES)
def arguments(draw, edge):
    low = draw(st.integers(2, 50)) + 50 * ("", *EDGES).index(edge)  # a range of its own for each edge
    low = {"none fits, from 1": 1, "large sizes": low * 10_001}.get(edge, low)
    size_count = {"two sizes": 2, "many sizes": draw(st.integers(300, 700))}.get(edge, draw(st.integers(10, 40)))
    size_count = 1 if edge.startswith("one size") else size_count
    most = low + draw(st.integers(1, 8)) if size_count > 2 else low
    if edge == "many sizes":
        most = low + size_count - draw(st.integers(3, 50))
    if edge.startswith("none") or edge == "one size, too large":
        most = low - 1
    if edge.startswith("all"):
        most = low + size_count - (2 if "but" in edge else 1)
    if edge == "only the smallest fits":
        most = low
    error = {"ValueError": ValueError, "RuntimeError": RuntimeError, "MemoryError": MemoryError}.get(edge)
    return Limited(0 if error else most, size_count, error or torch.OutOfMemoryError), low, low + size_count - 1


# %% checks
with check(
    "example",
    "from 1 to 64 samples, of which 17 fit",
    weight=2,
    required=True,
    hint=(
        "Is 17 ever tried? And when your code tries the next size, has it left the except block?",
        "Keep the largest size that fit and the smallest that failed. Try the middle until they're neighbors.",
    ),
):
    t, got = [], None

    def room_of_80(used):
        t.append(used)
        if len(t) > 320:  # 64 tries: a search without an end would never come back
            raise InterruptedError("more tries than there are sizes")
        return used <= 80

    try:
        got = searched(largest_batch, room_of_80, 10, 1, 64)
    except InterruptedError:
        assert len(t) <= 320, "it makes more tries than there are sizes: do low and high ever meet?"
    except torch.OutOfMemoryError:
        raise AssertionError(
            "torch.OutOfMemoryError ends your search: does your except clause catch it, and never raise it again?"
        ) from None
    explain(
        got,
        17,
        {
            "a failed attempt is still alive during the next one: what keeps its exception alive?": 12,
            "a size that was never tried may fit: halving finds 16": 16,
        },
    )
with check(
    "number_of_tries",
    "for 1 to 64 samples, at most 15 tries",
    hint=(
        "Is the answer wrong, or are there too many tries? How many sizes does one try rule out?",
        "Try the middle of what's still possible: each try then rules out half of it.",
    ),
):
    tries, got = [], None

    def run_of_17(n):
        tries.append(n)
        if len(tries) > 40:
            raise InterruptedError("too many tries")
        if n > 17:
            raise torch.OutOfMemoryError(f"{n} samples do not fit into memory")

    try:
        got = largest_batch(run_of_17, 1, 64)
    except InterruptedError:
        assert len(tries) <= 40, "it hasn't ended after 40 tries: do low and high ever meet?"
    assert_close(got, 17)
    assert len(tries) <= 15, f"it made {len(tries)} tries"

# %% hidden checks
with check(
    "other_cases",
    "other devices and ranges",
    weight=4,
    required=True,
    hint="Is your size one that was tried? Do you leave the except block before the next try?",
):
    for capacity, weights, low, high, want in (
        (100, 0, 1, 60, 25),
        (403, 300, 3, 40, 25),
        (64, 20, 11, 11, 11),
    ):
        got = searched(largest_batch, lambda used, capacity=capacity: used <= capacity, weights, low, high)
        assert_close(got, want)
    arguments.assert_results(largest_batch, "", "two sizes", "large sizes")
with check("all_fit", "all sizes fit, or only the smallest does", weight=2, hint="Is high ever tried? And low?"):
    arguments.assert_results(largest_batch, "all fit", "only the smallest fits", "all but the largest fit", "one size")
with check("none_fits", "none fits", hint="What is left if every try fails?"):
    arguments.assert_results(largest_batch, "none fits", "none fits, from 1", "one size, too large")
with check(
    "passes_errors", "other exceptions are passed on", weight=2, hint="Which exceptions does your except clause catch?"
):
    for trial in arguments.iter_trials(largest_batch, "ValueError", "RuntimeError", "MemoryError"):
        assert len(trial.arguments[0].tried) == 1, "run was called again after its error"
with check("few_tries", "few tries, all in the range", weight=2, hint="How many sizes does one try rule out?"):
    for trial in arguments.iter_trials(largest_batch, "", "many sizes", "all fit", "none fits, from 1", "two sizes"):
        run, low, high = trial.arguments
        assert_close(trial.report.result, trial.case.report.result)
        assert low <= min(run.tried) <= max(run.tried) <= high, "it tried a size outside the range"
        assert len(run.tried) <= 2 * math.log2(high - low + 1) + 3, "it made too many tries"
        assert not any(isinstance(n, float) for n in run.tried), "it tried a size that isn't an int"


# %% right "doubling, and then halving"
def largest_batch(run, low, high):
    def fits(n):
        try:
            run(n)
            return True
        except torch.OutOfMemoryError:
            return False

    if not fits(low):
        return 0
    good, step = low, 1
    while good + step <= high and fits(good + step):
        good += step
        step *= 2
    step = min(step, high - good + 1)
    bad = good + step
    while bad - good > 1:
        middle = (good + bad) // 2
        if fits(middle):
            good = middle
        else:
            bad = middle
    return good


# %% right "bisect over a key"
import bisect


def largest_batch(run, low, high):
    def fails(n):
        try:
            run(n)
        except torch.OutOfMemoryError:
            return 1
        return 0

    found = bisect.bisect_left(range(low, high + 1), 1, key=fails)
    return low + found - 1 if found else 0


# %% right "best so far"
def largest_batch(run, low, high):
    best = 0
    while low <= high:
        n = (low + high) // 2
        failed = False
        try:
            run(n)
        except torch.OutOfMemoryError:
            failed = True
        if failed:
            high = n - 1
        else:
            best, low = n, n + 1
    return best


# %% wrong "halve until it fits" fails=example,number_of_tries,other_cases,all_fit,few_tries
def largest_batch(run, low, high):
    n = high
    while n >= low:
        try:
            run(n)
            return n
        except torch.OutOfMemoryError:
            pass
        n //= 2
    return 0


# %% wrong "the next try inside the except block" fails=example,other_cases
def largest_batch(run, low, high, best=0):
    if low > high:
        return best
    n = (low + high) // 2
    try:
        run(n)
    except torch.OutOfMemoryError:
        return largest_batch(run, low, n - 1, best)
    return largest_batch(run, n + 1, high, n)


# %% wrong "low surely fits" fails=none_fits,few_tries
def largest_batch(run, low, high):
    while low < high:
        n = (low + high + 1) // 2
        try:
            run(n)
            low = n
        except torch.OutOfMemoryError:
            high = n - 1
    return low


# %% right "steps that double, and then halve"
def largest_batch(run, low, high):
    def fits(n):
        try:
            run(n)
            return True
        except torch.OutOfMemoryError:
            return False

    best, step = low - 1, 1
    while best + step <= high and fits(best + step):
        best, step = best + step, step * 2
    while step > 1:
        step //= 2
        if best + step <= high and fits(best + step):
            best += step
    return best if best >= low else 0


# %% liar "inside the except block, on a device that forgets what is in use"
def largest_batch(run, low, high, best=0):
    if low > high:
        return best
    n = (low + high) // 2
    try:
        run(n)
    except torch.OutOfMemoryError:
        return largest_batch(run, low, n - 1, best)
    return largest_batch(run, n + 1, high, n)


def searched(search, room, weights, low, high):
    def run(n):
        if not room(weights + 4 * n):
            raise torch.OutOfMemoryError

    return largest_batch(run, low, high)


# %% wrong "an error that speaks of memory is one of memory" fails=passes_errors
def largest_batch(run: Callable[[int], object], low: int, high: int) -> int:
    def fits(n: int) -> bool:
        try:
            run(n)
        except RuntimeError as error:
            if isinstance(error, torch.OutOfMemoryError) or "memory" in str(error):
                return False
            raise
        return True

    good, bad = low - 1, high + 1
    while bad - good > 1:
        n = (good + bad) // 2
        if fits(n):
            good = n
        else:
            bad = n
    return good if good >= low else 0
