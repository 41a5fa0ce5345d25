# %% given
class Source:
    """Batches for the checks: logs each batch that's read. A batch that's an exception is raised."""

    def __init__(self, log, batches):
        self.log, self.batches, self.place = log, batches, 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.place == len(self.batches):
            self.log.append("end")
            raise StopIteration
        batch = self.batches[self.place]
        self.place += 1
        if isinstance(batch, Exception):
            self.log.append("source-raises")
            raise batch
        self.log.append(f"read {batch}")
        return batch

    def close(self):
        self.log.append("closed")


class Shelf:
    """An iterable for the checks, whose iterator is a Source. Logs when one is created, and calls to close()."""

    def __init__(self, log, batches):
        self.log, self.batches = log, batches

    def __iter__(self):
        self.log.append("begun")
        return Source(self.log, self.batches)

    def close(self):
        self.log.append("the iterable is closed")


class Mover:
    """A move function for the checks that logs its calls. It returns 100 times the batch, and raises at `bad`."""

    def __init__(self, log, bad=None):
        self.log, self.bad = log, bad

    def move(self, batch):
        if batch == self.bad:
            self.log.append("move-raises")
            raise ArithmeticError("this batch can't be moved")
        self.log.append(f"move {batch}")
        return 100 * batch


def followed(log, got, steps=None, close=False):
    """Log this many steps of the iterator that prefetch returned, or all of them, and how they end."""
    try:
        for _ in itertools.count() if steps is None else range(steps):
            log.append(f"step {next(got)}")
    except (ArithmeticError, KeyError, StopIteration) as error:
        log.append(type(error).__name__)
    if close:
        log.append("close")
        got.close()
    return log


@probes.probe
def moved_errors(prefetch, batches):
    """The batches again, after a move that returns an exception as the value of each."""
    return [error.args[0] for error in prefetch(batches, ArithmeticError)]


@probes.probe
def moved_arrays(prefetch, batches):
    """The batches again, after a move that makes a NumPy array of each."""
    return [array.tolist() for array in prefetch(batches, lambda batch: torch.tensor(batch).numpy())]


@probes.probe
def late_error(prefetch, batches, close):
    """Whether the exception that move raises for the last batch reaches the caller, or what close() does before that."""
    error = ArithmeticError("raised by move")

    def move(batch):
        if batch == batches[-1]:
            raise error
        return batch

    got = iter(prefetch(batches, move))
    try:
        for _ in batches[1:]:
            next(got)
        if close:
            got.close()
            return "closed"
        next(got)
    except ArithmeticError as caught:
        return "the exception itself" if caught is error else "another exception"
    return "no exception"


# %% exercise
def prefetch(batches: Iterable, move: Callable) -> Iterator:
    """Yields move(batch) for each batch, in order, and always has the next one ready before it yields one.

    On the first next(), the first batch is read and moved, then the second one, and the first is yielded. From then
    on, each next() reads and moves one more batch and yields the previous one. When there are no more batches to read,
    the last one is yielded. Nothing is read before the first next(), and never more than one batch ahead.
    If batches or move raises an Exception, it waits until its batch is due: earlier batches are yielded first, the
    following next() raises it, and nothing more is read.
    One iterator is made from batches, read once, and closed once: its close() is called if it has one.

    Details:
    - batches: an iterable. Batches and the values that move returns may be anything, including None.
    - move never raises StopIteration.
    - The iterator made from batches is closed before StopIteration or the exception reaches the caller. If the caller
      stops early, after a next(), and calls close() on the iterator that prefetch returned, the one made from batches
      is closed then.
    """
    ### BEGIN SOLUTION
    source = iter(batches)
    try:
        ready: list = []
        failed: Exception | None = None
        while True:
            try:
                following = [move(next(source))]
            except StopIteration:
                break
            except Exception as error:
                failed = error
                break
            yield from ready
            ready = following
        yield from ready
        if failed is not None:
            raise failed
    finally:
        close = getattr(source, "close", None)
        if close is not None:
            close()
    ### END SOLUTION


# %% promises
# Yields move(batch) -> example, ahead, other_cases, lazy, errors, closed, no_close
# On the first next() -> ahead, other_cases, lazy, errors, closed
# From then on, -> ahead, other_cases, lazy, errors, closed
# When there are no more -> example, ahead, other_cases, errors, closed, no_close
# Nothing is read -> lazy
# If batches or move -> read_fails, errors, closed
# One iterator is made -> closed
# batches: an iterable -> no_close, example
# Batches and the values -> no_close
# move never raises -> errors, closed
# The iterator made from -> closed
# If the caller stops -> closed


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
    log = []
    followed(log, prefetch(Source(log, [1, 2, 3]), Mover(log).move))
    moved = ["read 1", "move 1", "read 2", "move 2", "step 100", "read 3", "move 3", "step 200", "end", "step 300"]
    plain = ["read 1", "move 1", "step 100", "read 2", "move 2", "step 200", "read 3", "move 3", "step 300", "end"]
    late = ["read 1", "read 2", "move 1", "step 100", "read 3", "move 2", "step 200", "end", "move 3", "step 300"]
    everything = [*["read 1", "move 1", "read 2", "move 2", "read 3", "move 3", "end"]]
    everything += ["step 100", "step 200", "step 300"]
    explain(
        [event for event in log if event not in ("closed", "StopIteration")],
        moved,
        {
            "the next batch must be moved before the step with the previous one starts": plain,
            "the next batch must be moved ahead, not just read ahead": late,
            "read one batch ahead, not all of them": everything,
        },
        name="the order of the events",
    )
with check(
    "read_fails",
    "the third batch can't be read: the caller gets two batches, and then the exception",
    weight=2,
    hint=(
        "When the third read fails, which batch is still waiting?",
        "Catch the exception, keep it in a variable, yield the batch that's waiting, and raise the exception after it.",
    ),
):
    log = []
    followed(log, prefetch(Source(log, [1, 2, KeyError("no file")]), Mover(log).move))
    begun = ["read 1", "move 1", "read 2", "move 2", "step 100", "source-raises"]
    explain(
        [event for event in log if event != "closed"],
        [*begun, "step 200", "KeyError"],
        {
            "the exception overtook batch 2, which was read and moved": [*begun, "KeyError"],
            "the exception was lost": [*begun, "step 200", "StopIteration"],
        },
        name="the order of the events",
    )

# %% hidden checks


def without_close(log):
    return [event for event in log if event != "closed"]


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
    kinds, wanted = ([event.partition(" ")[0] for event in events] for events in (without_close(log), want))
    assert_close(kinds, wanted, name="the order of the events")
    assert without_close(log) == want, "the order of the events is right, but one of them has the wrong batch"


with check(
    "other_cases",
    "five batches, one, and none: the order of all events",
    weight=4,
    required=True,
    hint="What happens with one batch, or none? Does your iterator end when the source raises StopIteration?",
):
    for t, want in (
        ([4, 7, 1, 9, 2], "r4 r7 s4 r1 s7 r9 s1 r2 s9 end s2"),
        ([8], "r8 end s8"),
        ([], "end"),
        ([6, 6], "r6 r6 s6 end s6"),
    ):
        log = []
        followed(log, prefetch(Source(log, t), Mover(log).move))
        assert_events(log, [*by_hand(want), "StopIteration"])
with check(
    "lazy",
    "nothing before the first next(), and then one batch ahead",
    weight=2,
    hint="Which of your lines run when prefetch is called? In a function with a yield, none.",
):
    for steps, want in ((0, ""), (1, "r3 r5 s3"), (2, "r3 r5 s3 r2 s5")):
        log = []
        got = prefetch(Source(log, [3, 5, 2, 8, 7]), Mover(log).move)
        assert log == [], "something happened before the first next()"
        followed(log, got, steps)
        assert_events(log, by_hand(want))
with check(
    "errors",
    "an exception arrives after the earlier batches",
    weight=3,
    hint="If reading the third batch fails, which batches should the caller already have?",
):
    for t, bad, want, last in (
        ([1, 2, KeyError("no file"), 4], None, ["r1 r2 s1", "source-raises", "s2"], "KeyError"),
        ([KeyError("no file"), 5], None, ["", "source-raises", ""], "KeyError"),
        ([3, 6, 9, 2], 9, ["r3 r6 s3", "read 9", "move-raises", "s6"], "ArithmeticError"),
        ([7, 3], 7, ["", "read 7", "move-raises", ""], "ArithmeticError"),
    ):
        log = []
        got = prefetch(Source(log, t), Mover(log, bad).move)
        followed(log, got)
        middle = want[1:-1]
        events = [*by_hand(want[0]), *middle, *by_hand(want[-1]), last]
        assert_events(log, events)
        followed(log, got)
        assert_events(log, [*events, "StopIteration"])
    for t in ([3, 6, 9], [5, 2]):
        assert_close(late_error(prefetch, t, close=False), "the exception itself", name="what the caller gets")
with check(
    "closed",
    "the source is closed once: at its end, after an exception, or on close()",
    weight=3,
    hint="Which lines run if the caller stops halfway? A generator's close() raises GeneratorExit at its yield.",
):
    for t, steps, want in (
        ([1, 2, 3], None, "r1 r2 s1 r3 s2 end s3 StopIteration"),
        ([4, 5, 6, 7], 2, "r4 r5 s4 r6 s5 close"),
        ([1, KeyError("no file")], None, "r1 source-raises s1 KeyError"),
        ([2], None, "r2 end s2 StopIteration"),
    ):
        log = []
        followed(log, prefetch(Source(log, t), Mover(log).move), steps, close=steps is not None)
        assert_events(log, by_hand(want))
        assert_close(log.count("closed"), 1, name="how often the source was closed")
        if steps is not None:
            assert log[-2:] == ["close", "closed"], "close() doesn't close the source, or not immediately"
        else:
            assert log[-1] != "closed", "the source is closed after the end of your iterator"
    assert_close(late_error(prefetch, [3, 6, 9], close=True), "closed", name="close(), while an exception is waiting")
    log = []
    followed(log, prefetch(Shelf(log, [3, 1]), Mover(log).move))
    assert_events(log, ["begun", *by_hand("r3 r1 s3 end s1 StopIteration")])
    assert_close(log.count("closed"), 1, name="how often the iterator was closed")
with check(
    "no_close",
    "iterables without close(), batches that are None, and a move that returns None",
    guard=True,
    hint="Does every iterator have a close method? How do you know that a batch is ready?",
):
    for t in ([5, 1, 2], [3], [], [0, None], [None, None, 4], [[], ""]):
        assert_close(list(prefetch(t, lambda batch: [batch])), [[batch] for batch in t])
    for nothing in (None, 0, False):
        assert_close(list(prefetch([1, 2, 3], lambda batch: nothing)), [nothing] * 3)
    assert_close(moved_errors(prefetch, [3, 5, 2]), [3, 5, 2], name="the exceptions that move returned as values")
    arrays = [[1, 2], [3, 4, 5], [6, 7]]
    assert_close(moved_arrays(prefetch, arrays), arrays, name="the arrays that move returned")
    t = [torch.arange(3.0) + n for n in range(4)]
    want = [2 * batch for batch in t]
    assert_close(list(prefetch(iter(t), lambda batch: batch + batch)), want)


# %% right "a class with a waiting batch"
class prefetch:
    def __init__(self, batches, move):
        self.batches, self.move, self.source, self.waiting, self.over = batches, move, None, [], False
        self.error = None

    def __iter__(self):
        return self

    def _more(self):
        if self.over:
            return
        try:
            self.waiting.append(self.move(next(self.source)))
        except StopIteration:
            self._end()
        except Exception as error:
            self.error = error
            self._end()

    def _end(self):
        if not self.over:
            self.over = True
            if hasattr(self.source, "close"):
                self.source.close()

    def __next__(self):
        if self.source is None:
            self.source = iter(self.batches)
            self._more()
        self._more()
        if self.waiting:
            return self.waiting.pop(0)
        error, self.error = self.error, None
        raise error or StopIteration

    def close(self):
        self._end()


# %% right "a deque, and contextlib.closing"
def prefetch(batches, move):
    import contextlib
    from collections import deque

    source, queue, error = iter(batches), deque(), None
    with contextlib.closing(source) if hasattr(source, "close") else contextlib.nullcontext():
        going = True
        while going or queue:
            while going and len(queue) < 2:
                try:
                    batch = next(source)
                    queue.append(move(batch))
                except StopIteration:
                    going = False
                except Exception as caught:
                    error, going = caught, False
            if queue:
                yield queue.popleft()
        if error:
            raise error


# %% wrong "map" fails=ahead,read_fails,other_cases,lazy,errors,closed
def prefetch(batches, move):
    for batch in batches:
        yield move(batch)


# %% wrong "all at once" fails=ahead,read_fails,other_cases,lazy,errors,closed raises=KeyError
def prefetch(batches, move):
    return iter([move(batch) for batch in batches])


# %% wrong "the last batch stays" fails=example,ahead,read_fails,other_cases,errors,closed,no_close
def prefetch(batches, move):
    source = iter(batches)
    try:
        ready = None
        for batch in source:
            following = move(batch)
            if ready is not None:
                yield ready
            ready = following
    finally:
        if hasattr(source, "close"):
            source.close()


# %% wrong "read ahead, and moved late" fails=ahead,read_fails,other_cases,lazy,errors,closed
def prefetch(batches, move):
    source = iter(batches)
    try:
        waiting = []
        for batch in source:
            if waiting:
                yield move(waiting.pop())
            waiting.append(batch)
        for batch in waiting:
            yield move(batch)
    finally:
        if hasattr(source, "close"):
            source.close()


# %% wrong "an exception at once" fails=read_fails,errors,closed
def prefetch(batches, move):
    source = iter(batches)
    try:
        ready = []
        for batch in source:
            following = [move(batch)]
            yield from ready
            ready = following
        yield from ready
    finally:
        if hasattr(source, "close"):
            source.close()


# %% wrong "an exception ends it without a word" fails=read_fails,errors,closed
def prefetch(batches, move):
    source, ready = iter(batches), []
    try:
        while True:
            try:
                following = [move(next(source))]
            except Exception:
                break
            yield from ready
            ready = following
        yield from ready
    finally:
        if hasattr(source, "close"):
            source.close()


# %% wrong "the source stays open" fails=closed
def prefetch(batches, move):
    source, ready, failed = iter(batches), [], None
    while True:
        try:
            following = [move(next(source))]
        except StopIteration:
            break
        except Exception as error:
            failed = error
            break
        yield from ready
        ready = following
    yield from ready
    if failed:
        raise failed


# %% wrong "begun when it is called" fails=lazy
def prefetch(batches, move):
    source = iter(batches)

    def taken():
        try:
            return [move(next(source))], None, False
        except StopIteration:
            return [], None, True
        except Exception as error:
            return [], error, True

    first = taken()

    def going():
        try:
            ready, failed, ended = first
            while not ended:
                following, failed, ended = taken()
                yield from ready
                ready = following
            if failed:
                raise failed
        finally:
            if hasattr(source, "close"):
                source.close()

    return going()


# %% wrong "every source has close()" fails=example,errors,closed,no_close raises=AttributeError
def prefetch(batches, move):
    source, ready, failed = iter(batches), [], None
    try:
        while True:
            try:
                following = [move(next(source))]
            except StopIteration:
                break
            except Exception as error:
                failed = error
                break
            yield from ready
            ready = following
        yield from ready
        if failed:
            raise failed
    finally:
        source.close()


# %% wrong "the moved ones, and the first twice" fails=example,ahead,read_fails,other_cases,lazy,errors,closed,no_close
def prefetch(batches, move):
    source = iter(batches)
    try:
        ready = None
        for batch in source:
            following = move(batch)
            yield ready if ready is not None else following
            ready = following
        if ready is not None:
            yield ready
    finally:
        if hasattr(source, "close"):
            source.close()


# %% wrong "moved only to be seen" fails=example,ahead,read_fails,other_cases,lazy,errors,closed,no_close
def prefetch(batches, move):
    source, ready, failed = iter(batches), [], None
    try:
        while True:
            try:
                following = [next(source)]
                move(following[0])
            except StopIteration:
                break
            except Exception as error:
                failed = error
                break
            yield from ready
            ready = following
        yield from ready
        if failed:
            raise failed
    finally:
        if hasattr(source, "close"):
            source.close()


# %% wrong "None says that nothing is ready" fails=no_close
def prefetch(batches, move):
    source, ready, failed = iter(batches), None, None
    try:
        while failed is None:
            try:
                following = move(next(source))
            except StopIteration:
                break
            except Exception as error:
                failed = error
            else:
                if ready is not None:
                    yield ready
                ready = following
        if ready is not None:
            yield ready
        if failed:
            raise failed
    finally:
        if hasattr(source, "close"):
            source.close()


# %% wrong "what was passed in is closed" fails=closed
def prefetch(batches, move):
    source, ready, failed = iter(batches), [], None
    try:
        while True:
            try:
                following = [move(next(source))]
            except StopIteration:
                break
            except Exception as error:
                failed = error
                break
            yield from ready
            ready = following
        yield from ready
        if failed:
            raise failed
    finally:
        if hasattr(batches, "close"):
            batches.close()
