# %% given
class Source:
    """Batches for the checks, to be read once: logs each one that's read, and the end."""

    def __init__(self, log, batches):
        self.log, self.batches = log, iter(batches)

    def __iter__(self):
        return self

    def __next__(self):
        for batch in self.batches:
            self.log.append(f"read {batch}")
            return batch
        self.log.append("end")
        raise StopIteration


def logged_steps(prefetch, batches, steps=0, loop=True):
    """The events of this many calls of next, and then of a loop. A batch is moved to 100 times its number."""
    log = []

    def move(batch):
        log.append(f"move {batch}")
        return 100 * batch

    got = prefetch(Source(log, batches), move)
    log.append("called")
    for _ in range(steps):
        log.append(f"step {next(got)}")
    for moved in got if loop else ():
        log.append(f"step {moved}")
    return log


@probes.probe
def moved_arrays(prefetch, batches):
    """The batches again, after a move that makes a NumPy array of each."""
    return [array.tolist() for array in prefetch(batches, lambda batch: torch.tensor(batch).numpy())]


@probes.probe
def moved_objects(prefetch, places):
    """The places again, after a prefetch of the objects at these places in a list. Moving returns the object itself."""
    objects = [..., NotImplemented, StopIteration, StopIteration(), object, -1, "", "end", (), {}, False, None]
    known = [id(one) for one in objects]
    return [known.index(id(one)) for one in prefetch([objects[place] for place in places], lambda batch: batch)]


@probes.probe
def steps_until_closed(prefetch, batches, steps):
    """The events of this many steps and of close(), which a generator has."""
    log = []
    got = iter(prefetch(Source(log, batches), lambda batch: 100 * batch))
    for moved in itertools.islice(got, steps):
        log.append(f"step {moved}")
    if hasattr(got, "close"):
        got.close()
        log += [f"step {moved}" for moved in got]
    return log


# %% exercise
def prefetch(batches: Iterable, move: Callable) -> Iterator:
    """Yields move(batch) for each batch, in order, and has the next one moved before it yields one.

    The first next() reads and moves batch 1, then batch 2, and yields batch 1, moved.
    Each later next() reads and moves one more batch, and yields the one before it.
    When there are no more batches to read, the last one is yielded.

    Details:
    - Nothing is read before the first next(), and never more than one batch ahead. next() and a loop can be mixed: the
      loop continues after the last next().
    - batches: an iterable that's read once; reading and moving its batches raises no exception.
    - Batches and the values that move returns may be anything, including None.
    - If the caller stops early, nothing more is read or yielded.
    """
    ### BEGIN SOLUTION
    ready: list = []  # at most one batch; a list, because the batch may be None
    for batch in batches:
        following = [move(batch)]
        yield from ready
        ready = following
    yield from ready
    ### END SOLUTION


# %% promises
# Yields move(batch) -> example, ahead, other_cases, lazy, anything
# The first next() -> ahead, other_cases, lazy
# Each later next() -> ahead, other_cases, lazy
# When there are no more -> example, ahead, other_cases, anything
# Nothing is read -> lazy, ahead
# next() and a loop -> lazy
# batches: an iterable -> anything, example
# Batches and the values -> anything
# If the caller stops -> lazy


# %% domain
# The order of reads matters, and only the check's own iterator shows it.


# %% checks
with check(
    "example",
    "three batches: all of them, in order",
    weight=1,
    required=True,
    hint=(
        "Is the last batch yielded at all?",
        "When there's nothing left to read, one batch is still waiting.",
    ),
):
    explain(
        list(prefetch([1, 2, 3], lambda batch: 10 * batch)),
        [10, 20, 30],
        {
            "the last batch is still waiting: it was never yielded": [10, 20],
            "each batch is yielded only once": [10, 10, 20, 30],
            "the batches that were yielded weren't moved": [1, 2, 3],
        },
    )
with check(
    "ahead",
    "the next batch is read and moved before one is yielded",
    weight=3,
    required=True,
    hint=(
        "What does your code do between two yields? What has already happened when batch 1 is yielded?",
        "Keep the moved batch in a variable. Read and move the next one, and only then yield.",
    ),
):
    moved = ["read 1", "move 1", "read 2", "move 2", "step 100", "read 3", "move 3", "step 200", "end", "step 300"]
    plain = ["read 1", "move 1", "step 100", "read 2", "move 2", "step 200", "read 3", "move 3", "step 300", "end"]
    late = ["read 1", "read 2", "move 1", "step 100", "read 3", "move 2", "step 200", "end", "move 3", "step 300"]
    everything = [*["read 1", "move 1", "read 2", "move 2", "read 3", "move 3", "end"]]
    everything += ["step 100", "step 200", "step 300"]
    explain(
        [event for event in logged_steps(prefetch, [1, 2, 3]) if event != "called"],
        moved,
        {
            "the next batch must be moved before the step with the previous one starts": plain,
            "the next batch must be moved ahead, not just read ahead": late,
            "read one batch ahead, not all of them": everything,
        },
        name="the order of the events",
    )

# %% hidden checks


def by_hand(events):
    """The log for a text with a word for each event: r1 reads and moves batch 1, s1 is its step."""
    log = []
    for event in events.split():
        kind, number = event[0], event[1:]
        if not number.isdigit():
            log.append(event)
        elif kind == "r":
            log += [f"read {number}", f"move {number}"]
        else:
            log.append(f"step {100 * int(number)}")
    return log


def assert_events(log, want):
    """Compare the events. The message names only their kinds, because the batches belong to the check."""
    kinds, wanted = ([event.partition(" ")[0] for event in events] for events in (log, want))
    assert_close(kinds, wanted, name="the order of the events")
    assert log == want, "the order of the events is right, but one of them has the wrong batch"


with check(
    "other_cases",
    "five batches, one, and none: the order of all events",
    weight=4,
    required=True,
    hint="What happens with one batch, or none? Does your iterator end when there's nothing left to read?",
):
    for t, want in (
        ([4, 7, 1, 9, 2], "r4 r7 s4 r1 s7 r9 s1 r2 s9 end s2"),
        ([8], "r8 end s8"),
        ([], "end"),
        ([6, 6], "r6 r6 s6 end s6"),
    ):
        assert_events([event for event in logged_steps(prefetch, t) if event != "called"], by_hand(want))
with check(
    "lazy",
    "nothing before the first next(), then one batch ahead, a loop that continues, and nothing after close()",
    weight=2,
    hint="Which of your lines run when prefetch is called? In a function with a yield, none.",
):
    for steps, want in ((0, ""), (1, "r3 r5 s3"), (2, "r3 r5 s3 r2 s5")):
        assert_events(logged_steps(prefetch, [3, 5, 2, 8, 7], steps, loop=False), ["called", *by_hand(want)])
    assert_events(logged_steps(prefetch, [3, 5, 2], 1), ["called", *by_hand("r3 r5 s3 r2 s5 end s2")])
    for steps, want in (
        (1, ["read 3", "read 5", "step 300"]),
        (2, ["read 3", "read 5", "step 300", "read 2", "step 500"]),
    ):
        assert_close(steps_until_closed(prefetch, [3, 5, 2, 8, 7], steps), want, name="the events until close()")
with check(
    "anything",
    "batches that are None or other objects, a move that returns None, and arrays",
    guard=True,
    hint="How do you know that a batch is ready? What's the truth of an array, or of None?",
):
    for t in ([5, 1, 2], [3], [], [0, None], [None, None, 4], [[], ""]):
        assert_close(list(prefetch(t, lambda batch: [batch])), [[batch] for batch in t])
    for nothing in (None, 0, False):
        assert_close(list(prefetch([1, 2, 3], lambda batch: nothing)), [nothing] * 3)
    for t in ([*range(12)], [3, 0, 2], [1, 1]):
        assert_close(moved_objects(prefetch, t), t, name="the objects' places")
    arrays = [[1, 2], [3, 4, 5], [6, 7]]
    assert_close(moved_arrays(prefetch, arrays), arrays, name="the arrays that move returned")
    t = [torch.arange(3.0) + n for n in range(4)]
    want = [2 * batch for batch in t]
    assert_close(list(prefetch(iter(t), lambda batch: batch + batch)), want)
    t = [np.arange(3.0), np.arange(2.0)]
    assert_close(list(prefetch(iter(t), lambda batch: batch + 1)), [batch + 1 for batch in t])


# %% right "a class with a waiting batch"
class prefetch:
    def __init__(self, batches, move):
        self.batches, self.move, self.source, self.waiting = batches, move, None, []

    def __iter__(self):
        return self

    def _more(self):
        for batch in self.source:
            self.waiting.append(self.move(batch))
            return

    def __next__(self):
        if self.source is None:
            self.source = iter(self.batches)
            self._more()
        if self.waiting:
            self._more()
            return self.waiting.pop(0)
        raise StopIteration


# %% right "pairwise, with a mark at the end"
def prefetch(batches, move):
    over = object()
    for now, following in itertools.pairwise(itertools.chain(map(move, batches), [over])):
        yield now


# %% right "the first one by itself"
def prefetch(batches, move):
    moved = map(move, batches)
    try:
        ready = next(moved)
    except StopIteration:
        return
    for following in moved:
        yield ready
        ready = following
    yield ready


# %% wrong "map" fails=ahead,other_cases,lazy
def prefetch(batches, move):
    for batch in batches:
        yield move(batch)


# %% wrong "all at once" fails=ahead,other_cases,lazy
def prefetch(batches, move):
    return iter([move(batch) for batch in batches])


# %% wrong "the last batch stays" fails=example,ahead,other_cases,lazy,anything
def prefetch(batches, move):
    ready = []
    for batch in batches:
        following = [move(batch)]
        yield from ready
        ready = following


# %% wrong "read ahead, and moved late" fails=ahead,other_cases,lazy
def prefetch(batches, move):
    waiting = []
    for batch in batches:
        if waiting:
            yield move(waiting.pop())
        waiting.append(batch)
    for batch in waiting:
        yield move(batch)


# %% wrong "begun when it is called" fails=lazy
def prefetch(batches, move):
    moved = map(move, batches)
    first = list(itertools.islice(moved, 1))

    def going():
        ready = first
        for following in moved:
            yield from ready
            ready = [following]
        yield from ready

    return going() if first else iter([])


# %% wrong "the moved ones, and the first twice" fails=example,ahead,other_cases,lazy,anything
def prefetch(batches, move):
    ready = None
    for batch in batches:
        following = move(batch)
        yield ready if ready is not None else following
        ready = following
    if ready is not None:
        yield ready


# %% wrong "moved only to be seen" fails=example,ahead,other_cases,lazy,anything
def prefetch(batches, move):
    ready = []
    for batch in batches:
        move(batch)
        yield from ready
        ready = [batch]
    yield from ready


# %% wrong "None says that nothing is ready" fails=anything
def prefetch(batches, move):
    ready = None
    for batch in batches:
        following = move(batch)
        if ready is not None:
            yield ready
        ready = following
    if ready is not None:
        yield ready
