# %% given
class Worker(NamedTuple):
    """A part of what get_worker_info() returns: this is worker number id of num_workers."""

    id: int
    num_workers: int
    seed: int = 0


class Counting:
    """An iterable for the checks that counts its iterators, and how many items were read. Raises an error after 500."""

    def __init__(self, items):
        self.items, self.read, self.iterators = items, 0, 0

    def __iter__(self):
        self.iterators += 1
        return self.iterate()

    def iterate(self):
        for item in self.items:
            self.read += 1
            if self.read > 500:
                raise RuntimeError("500 items of an endless iterable were read")
            yield item


@probes.probe
def parts_of_workers(my_part, items, workers):
    """The items of each of these workers, for the kind of object that get_worker_info() returns. It isn't a tuple."""
    infos = [
        torch.utils.data._utils.worker.WorkerInfo(id=n, num_workers=workers, seed=n, dataset=[]) for n in range(workers)
    ]
    return [list(my_part(items, info)) for info in infos]


# %% exercise
def my_part(items: Iterable, info: Worker | None) -> Iterator:
    """Yields the items of the worker that info describes, in their original order.

    Items are dealt out like cards: item n, counting from 0, belongs to the worker whose id is n % num_workers. Outside
    a worker, info is None, and all items are yielded.

    Details:
    - No item is dropped or repeated: if they don't divide evenly, some workers get one more than others.
    - Nothing is read before the first next(), and after that, nothing beyond the item yielded.
    - info: has the attributes id, from 0 to num_workers - 1, and num_workers, at least 1.
    - items: an iterable of anything, from which one iterator is made, in the call or later. It need not have a length
      or an end.
    """
    ### BEGIN SOLUTION
    for number, item in enumerate(items):
        if info is None or number % info.num_workers == info.id:
            yield item
    ### END SOLUTION


# %% promises
# Yields the items -> example, other_cases
# Items are dealt -> example, never_ends, other_cases
# Outside a worker, -> alone, other_cases
# No item is dropped -> example, other_cases
# Nothing is read -> endless
# info: has the attributes -> example, other_cases
# items: an iterable -> other_cases, endless
# It need not -> never_ends, endless


# %% domain
# The order of reads matters, and only the check's own iterator shows it.


# %% checks
with check(
    "example",
    "seven items and three workers",
    weight=2,
    required=True,
    hint=(
        "Which items does worker 0 yield, and which does worker 1? Does any item appear twice?",
        "With three workers, who gets item n? enumerate counts the items.",
    ),
):
    explain(
        [list(my_part(range(10, 17), Worker(n, 3))) for n in range(3)],
        [[10, 13, 16], [11, 14], [12, 15]],
        {
            "each item belongs to only one worker": [[*range(10, 17)]] * 3,
            "items are dealt one by one, not in blocks": [[10, 11, 12], [13, 14], [15, 16]],
            "the item's number counts, not its value": [[12, 15], [10, 13, 16], [11, 14]],
        },
        name="the items of the three workers",
    )
with check(
    "alone",
    "outside a worker: all items",
    hint=(
        "What does get_worker_info() return outside a worker?",
        "There, info is None. Check that before you read info.id.",
    ),
):
    assert_close(list(my_part(["a", "b", "c"], None)), ["a", "b", "c"])
with check(
    "never_ends",
    "items that never end: the first three of worker 1 of 2",
    hint=(
        "Which of your calls reads all items before it yields the first one?",
        "list, len, and sorted wait for the end, which never comes. A loop over items takes one at a time.",
    ),
):
    got = iter(my_part(Counting(itertools.count(5)), Worker(1, 2)))
    assert_close([next(got) for _ in range(3)], [6, 8, 10])

# %% hidden checks
with check(
    "other_cases",
    "other numbers of items and workers, and items that can be read only once",
    weight=4,
    required=True,
    hint="What if there are fewer items than workers, or none? Are you using an item's value as its number?",
):
    for count, workers in ((12, 4), (23, 5), (2, 6), (9, 1), (0, 3), (100, 7)):
        t = [(5 * n + 2) % 11 for n in range(count)]
        for number in range(workers):
            assert_close(list(my_part(iter(t), Worker(number, workers))), t[number::workers])
    for number in (0, 1):  # items that are equal, count as False, or can't be hashed
        t = [None, 0, 0, "", False, [], [], None, None]
        assert_close(list(my_part(iter(t), Worker(number, 2))), t[number::2])
        assert_close(list(my_part(iter(t[number:]), None)), t[number:])
    t = [make(2) for make in (np.zeros, torch.ones, torch.zeros, np.ones, np.zeros)]  # have no truth value
    assert_close([list(my_part(list(t), Worker(n, 2))) for n in range(2)], [t[::2], t[1::2]])
    assert_close(list(my_part(iter([4, 7, 1]), None)), [4, 7, 1])
    for t, workers in (([4, 7, 1, 0, 2], 2), ([3, 8], 1)):
        want = [t[number::workers] for number in range(workers)]
        assert_close(parts_of_workers(my_part, t, workers), want, name="the items of the workers")
with check(
    "endless",
    "endless items, read only up to the one that's yielded",
    weight=3,
    required=True,
    hint="Which of your calls reads all items before it yields the first one?",
):
    for number, workers in ((0, 3), (2, 4), (None, 1)):
        source, first = Counting(itertools.count(5)), number or 0
        got = my_part(source, None if number is None else Worker(number, workers))
        early = source.read
        got = iter(got)
        assert_close([next(got) for _ in range(3)], [5 + first + n * workers for n in range(3)])
        assert_close(early, 0, name="the number of items read before the first next()")
        assert_close(source.read, first + 2 * workers + 1, name="the number of items read")
        assert_close(source.iterators, 1, name="the number of iterators made from items")


# %% right "islice"
def my_part(items, info):
    if info is None:
        return iter(items)
    return itertools.islice(items, info.id, None, info.num_workers)


# %% right "a round of workers"
def my_part(items, info):
    turns = itertools.cycle(range(info.num_workers if info else 1))
    mine = info.id if info else 0
    return (item for item, turn in zip(items, turns) if turn == mine)


# %% right "a countdown"
def my_part(items, info):
    if not info:
        yield from items
        return
    wait = info.id
    for item in items:
        if wait == 0:
            yield item
            wait = info.num_workers
        wait -= 1


# %% wrong "all items in each worker" fails=example,never_ends,other_cases,endless
def my_part(items, info):
    yield from items


# %% wrong "blocks of a list" fails=example,never_ends,other_cases,endless raises=RuntimeError
def my_part(items, info):
    if info is None:
        return iter(items)
    items = list(items)
    few, more = divmod(len(items), info.num_workers)
    begin = info.id * few + min(info.id, more)
    return iter(items[begin : begin + few + (info.id < more)])


# %% wrong "by the item's value" fails=example,never_ends,other_cases,endless
def my_part(items, info):
    for item in items:
        if info is None or hash(item) % info.num_workers == info.id:
            yield item


# %% wrong "the first one is taken at once" fails=endless
def my_part(items, info):
    source = iter(items) if info is None else itertools.islice(items, info.id, None, info.num_workers)
    first = list(itertools.islice(source, 1))
    return itertools.chain(first, source)
