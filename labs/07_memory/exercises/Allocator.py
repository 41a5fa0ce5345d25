# %% given
@probes.probe
def replayed(make, capacity, events):
    """The state, after each event, of an allocator that make(capacity) returns: see states.

    A note after the numbers says that an allocation ran out of memory, that its number isn't an int, or that two blocks
    in use have the same number. The event "other" switches to a second allocator, and back.
    """
    allocator, other = make(capacity), make(capacity)
    blocks, in_use, seen = {}, {id(allocator): [], id(other): []}, []
    for event, *arguments in events:
        notes = []
        if event == "other":
            allocator, other = other, allocator
        elif event == "alloc":
            name, size = arguments
            try:
                blocks[name] = allocator.alloc(size)
            except torch.OutOfMemoryError:
                notes.append("out of memory")
            else:
                in_use[id(allocator)].append(blocks[name])
                notes += [] if isinstance(blocks[name], int) else ["a number isn't an int"]
        elif event == "free":
            if arguments[0] in blocks:  # not if its allocation ran out of memory
                number = blocks.pop(arguments[0])
                in_use[id(allocator)].remove(number)
                allocator.free(number)
        else:
            allocator.empty_cache()
        if len(set(in_use[id(allocator)])) < len(in_use[id(allocator)]):
            notes.append("two blocks in use have the same number")
        seen.append([allocator.allocated, allocator.reserved, allocator.peak, *notes])
    return states(events, seen)


def states(events, rows):
    """event -> its numbers by name, and the notes."""
    return {
        f"after event {n}, {event}": {"allocated": row[0], "reserved": row[1], "peak": row[2], "notes": row[3:]}
        for n, ((event, *_), row) in enumerate(zip(events, rows, strict=True), 1)
    }


# %% exercise
class Allocator:
    """A caching allocator for a device of `capacity` bytes. Blocks are never split or joined.

    Attributes, all ints: allocated, the bytes of the blocks in use; reserved, the bytes of the blocks in use and of the
    cached ones; peak, the highest value of allocated so far. Allocators are independent of each other.
    """

    def __init__(self, capacity: int) -> None:
        ### BEGIN SOLUTION
        self.capacity = capacity
        self.used: dict[int, int] = {}
        self.cached: list[int] = []
        self.allocated = self.reserved = self.peak = self.count = 0
        ### END SOLUTION

    def alloc(self, size: int) -> int:
        """A block for size bytes, from 1 to 2 ** 50, rounded up to a multiple of 512.

        Returns the block's number, an int that no other block in use has. The block is the smallest cached block that's
        large enough, used as a whole. If there is none, it's a new block of the rounded size. If that would make
        reserved greater than capacity, all cached blocks are given back first. If it still doesn't fit, alloc raises
        torch.OutOfMemoryError, and only the cache is gone.
        """
        ### BEGIN SOLUTION
        size = math.ceil(size / 512) * 512
        block = min((cached for cached in self.cached if cached >= size), default=None)
        if block is not None:
            self.cached.remove(block)
        else:
            block = size
            if self.reserved + size > self.capacity:
                self.empty_cache()
            if self.reserved + size > self.capacity:
                raise torch.OutOfMemoryError(f"{size} bytes do not fit")
            self.reserved += size
        self.count += 1
        self.used[self.count] = block
        self.allocated += block
        self.peak = max(self.peak, self.allocated)
        return self.count
        ### END SOLUTION

    def free(self, number: int) -> None:
        """Put the block in use with this number into the cache, where it stays until it is used again or given back."""
        ### BEGIN SOLUTION
        block = self.used.pop(number)
        self.allocated -= block
        self.cached.append(block)
        ### END SOLUTION

    def empty_cache(self) -> None:
        """Give all cached blocks back to the device, if there are any."""
        ### BEGIN SOLUTION
        self.reserved -= sum(self.cached)
        self.cached.clear()
        ### END SOLUTION


# %% promises
# A caching allocator for -> example, two_cached, sizes, just_fits, long_run
# Blocks are never split -> two_cached, sizes, block_numbers, cache_given_back, raises, long_run
# Attributes, all ints -> example, two_cached, sizes, raises, long_run
# Allocators are independent -> sizes, block_numbers, cache_given_back, independent, own_cache, long_run
# A block for size -> example, two_cached, sizes, block_numbers, cache_given_back, just_fits, raises, long_run
# Returns the block's -> block_numbers, sizes, cache_given_back, long_run
# The block is the smallest -> two_cached, sizes, long_run
# If there is none -> example, sizes, block_numbers, just_fits, long_run
# If that would make -> cache_given_back, raises, long_run
# If it still doesn't -> raises, long_run
# Put the block in use -> example, two_cached, sizes, long_run
# Give all cached blocks -> example, independent, long_run


# %% domain
def draw_run(draw, capacity):
    """Events of all kinds, for two allocators: each free is of a block in use."""
    g = draw.make_generator()

    def pick(choices):
        return choices[int(torch.randint(len(choices), (), generator=g))]

    one, other, events = (reference.function(capacity), {}), (reference.function(capacity), {}), []
    for n in range(100):
        kind = pick(["alloc"] * 7 + ["free"] * 5 + ["empty_cache", "other"])
        allocator, in_use = one
        if kind == "free" and in_use:
            events.append(("free", pick(sorted(in_use))))
            allocator.free(in_use.pop(events[-1][1]))
        elif kind in ("alloc", "free"):
            events.append(("alloc", f"b{n}", 4 * pick(range(500)) + 1))
            try:
                in_use[f"b{n}"] = allocator.alloc(events[-1][2])
            except torch.OutOfMemoryError:
                pass  # it's not in use then
        else:
            events.append((kind,))
            if kind == "other":
                one, other = other, one
            else:
                allocator.empty_cache()
    return events


@domain(
    reference,
    *("multiples of 512", "one byte more", "large sizes", "several cached", "equal sizes"),
    *("cache given back", "just fits", "does not fit", "too large at first", "cached at capacity"),
    *("emptied", "two allocators", "a long run"),
    call=replayed,
)
def arguments(draw, edge):
    def draw_size(n):
        """Bytes that are rounded to n times 512."""
        at_edge = {"multiples of 512": 512 * n, "one byte more": 512 * n - 511}
        return at_edge.get(edge, draw(st.integers(512 * n - 510, 512 * n - 1))) * (
            10**7 if edge == "large sizes" else 1
        )

    def alloc(**names):
        return [("alloc", name, draw_size(n)) for name, n in names.items()]

    def free(names):
        return [("free", name) for name in draw(st.permutations(names))]

    a, b, c, d = sorted(draw(st.permutations([2, 3, 4, 5, 6, 7, 8]))[:4])
    first, rest = alloc(a=d, b=b, c=c, d=a), draw(st.integers(1, 511))
    if edge == "a long run":
        return 6000 + rest, draw_run(draw, 6000 + rest)
    if edge == "equal sizes":
        events = [*alloc(a=a, b=a, c=a), *free("ab")[:1], *alloc(d=a, e=a), *free("c"), *alloc(f=a, g=b), *free("deg")]
        return 10**6, events
    if edge == "several cached":
        return 10**6, [*first, *free("abcd"), *alloc(e=b, f=a, g=a, h=1)]
    if edge == "cache given back":
        return 512 * (a + b + c) + rest, [*alloc(a=a, b=b, c=c - 1, u=1), *free("abc"), *alloc(d=c), *free("u")]
    if edge == "just fits":
        return 512 * (a + b + 1), [*alloc(u=1, a=a), *free("a"), *alloc(b=b, c=a)]
    if edge == "does not fit":
        events = [*alloc(a=a, b=1), *free("b"), *alloc(c=d + 1, d=d - 1, e=2), *free("a"), *alloc(f=d, g=1)]
        return 512 * (a + d) + rest, events
    if edge == "too large at first":
        return 512 * a + rest, [*alloc(a=a + 1, b=a, c=1), *free("b"), *alloc(e=a + 1, d=a - 1)]
    if edge == "cached at capacity":
        return 512 * (a + b), [*alloc(a=a, b=b), *free("b"), *alloc(c=a), *free("c"), *free("a"), *alloc(d=1, e=b)]
    if edge == "emptied":
        events = [*alloc(a=a), ("empty_cache",), *free("a"), ("empty_cache",), ("empty_cache",), *alloc(b=a + 1)]
        return 512 * (a + 1), [("empty_cache",), *events]
    if edge == "two allocators":
        events = [
            *alloc(a=a),
            ("other",),
            *alloc(b=b, c=a),
            *free("b"),
            ("other",),
            *alloc(d=1),
            *free("a"),
            ("other",),
        ]
        return 10**5, [*events, *alloc(e=a), ("other",), *alloc(f=a), ("empty_cache",), ("other",), *free("c")]
    return 10**12, [*first, *free("abc")[:2], *alloc(e=a, f=c, g=1)]


# %% checks
with check(
    "example",
    "alloc 1000, alloc 100, free the first, alloc 600, free the second, empty the cache",
    weight=2,
    required=True,
    hint=(
        "After which event does a number first differ? What should that event do to each of the three?",
        "free moves a block from those in use to the cache, and reserved counts both. peak never falls.",
    ),
):
    t = [("alloc", "a", 1000), ("alloc", "b", 100), ("free", "a"), ("alloc", "c", 600), ("free", "b"), ("empty_cache",)]
    want = [[1024, 1024, 1024], [1536, 1536, 1536], [512, 1536, 1536], [1536, 1536, 1536], [1024, 1536, 1536]]
    want += [[1024, 1024, 1536]]
    given_back = [*want[:2], [512, 512, 1536], [1536, 1536, 1536], [1024, 1024, 1536], [1024, 1024, 1536]]
    exact = [[1000] * 3, [1100] * 3, [100, 1100, 1100], [1100] * 3, [1000, 1100, 1100], [1000, 1000, 1100]]
    explain(
        replayed(Allocator, 10_000, t),
        states(t, want),
        {
            "a freed block stays reserved": states(t, given_back),
            "sizes are rounded up to a multiple of 512": states(t, exact),
        },
        name="your allocator",
    )
with check(
    "two_cached",
    "alloc 3072, alloc 2048, free both, alloc 1500: two cached blocks are large enough",
    hint=(
        "After which event does it first differ? If it's the last: which block is taken, and how much of it?",
        "The smallest block that's large enough is used whole. And what does your rounding turn 6 * 512 into?",
    ),
):
    t = [("alloc", "a", 3072), ("alloc", "b", 2048), ("free", "a"), ("free", "b"), ("alloc", "c", 1500)]
    want = [[3072] * 3, [5120] * 3, [2048, 5120, 5120], [0, 5120, 5120]]
    one_more = [[3584] * 3, [6144] * 3, [2560, 6144, 6144], [0, 6144, 6144], [2560, 6144, 6144]]
    explain(
        replayed(Allocator, 10_000, t),
        states(t, [*want, [2048, 5120, 5120]]),
        {
            "alloc takes the smallest cached block that's large enough": states(t, [*want, [3072, 5120, 5120]]),
            "a cached block is used whole": states(t, [*want, [1536, 5120, 5120]]),
            "a multiple of 512 isn't rounded up any further": states(t, one_more),
        },
        name="your allocator",
    )

# %% hidden checks


def assert_allocators(make, *edges):
    """Compare the numbers after each event. The message names an event by its position, from 0 on."""
    for trial in arguments.iter_trials(make, *edges):
        assert_close([*trial.report.result.values()], [*trial.case.report.result.values()], name="your allocator")
        numbers = [n for row in trial.report.result.values() for n in list(row.values())[:3]]
        assert not any(isinstance(n, float) for n in numbers), "one of your numbers is a float"


with check(
    "sizes",
    "sizes at or just above a multiple of 512, and the smallest block that's large enough",
    weight=3,
    required=True,
    hint="Which of several cached blocks do you take? Is 512 rounded up? What happens to the rest of a large block?",
):
    assert_allocators(Allocator, "", "multiples of 512", "one byte more", "large sizes", "several cached")
with check(
    "block_numbers",
    "blocks in use have different numbers, even if they have the same size",
    weight=1,
    hint="What does alloc return?",
):
    assert_allocators(Allocator, "equal sizes")
with check(
    "cache_given_back",
    "if memory runs out, the cache is given back first",
    weight=2,
    hint="When does no cached block fit, although the cache has enough bytes? How many blocks are given back?",
):
    assert_allocators(Allocator, "cache given back")
with check("just_fits", "if it just fits, the cache is kept", hint="When exactly is it too much?"):
    assert_allocators(Allocator, "just fits", "cached at capacity")
with check(
    "raises",
    "if it doesn't fit, the error is raised, and only the cache is gone",
    weight=2,
    hint="What happens before the error is raised?",
):
    assert_allocators(Allocator, "does not fit", "too large at first")
with check("independent", "a new allocator is empty, and an empty cache can be emptied", guard=True):
    assert_allocators(Allocator, "emptied")
with check(
    "own_cache",
    "two allocators side by side share neither blocks nor a cache",
    weight=1,
    hint="Which attributes belong to the class, and which to each allocator?",
):
    assert_allocators(Allocator, "two allocators")
with check("long_run", "a long run with events of every kind", weight=2, hint="Which numbers does each event change?"):
    assert_allocators(Allocator, "a long run")

# %% right "a sorted list and properties"
import bisect


class Allocator:
    def __init__(self, capacity):
        self.capacity, self.blocks, self.cache, self.peak, self.next = capacity, {}, [], 0, 0

    @property
    def allocated(self):
        return sum(self.blocks.values())

    @property
    def reserved(self):
        return self.allocated + sum(self.cache)

    def alloc(self, size):
        size = (size + 511) // 512 * 512
        place = bisect.bisect_left(self.cache, size)
        if place < len(self.cache):
            size = self.cache.pop(place)
        else:
            if self.reserved + size > self.capacity:
                self.empty_cache()
                if self.reserved + size > self.capacity:
                    raise torch.OutOfMemoryError("no room")
        self.next += 1
        self.blocks[self.next] = size
        self.peak = max(self.peak, self.allocated)
        return self.next

    def free(self, number):
        bisect.insort(self.cache, self.blocks.pop(number))

    def empty_cache(self):
        self.cache = []


# %% right "counts of cached sizes, and addresses as numbers"
from collections import Counter


class Allocator:
    def __init__(self, capacity):
        self.capacity = capacity
        self.allocated = self.reserved = self.peak = 0
        self.cache = Counter()
        self.used = {}
        self.address = 4096

    def alloc(self, size):
        size += -size % 512
        fitting = sorted(s for s, n in self.cache.items() if n > 0 and s >= size)
        if fitting:
            size = fitting[0]
            self.cache[size] -= 1
        else:
            for attempt in range(2):
                if self.reserved + size <= self.capacity:
                    break
                if attempt:
                    raise torch.OutOfMemoryError
                self.empty_cache()
            else:
                if self.reserved + size > self.capacity:
                    raise torch.OutOfMemoryError
            self.reserved += size
        self.address += size
        self.used[self.address] = size
        self.allocated += size
        if self.allocated > self.peak:
            self.peak = self.allocated
        return self.address

    def free(self, number):
        size = self.used[number]
        del self.used[number]
        self.allocated -= size
        self.cache[size] += 1

    def empty_cache(self):
        for size, n in self.cache.items():
            self.reserved -= size * n
        self.cache.clear()


# %% wrong "free gives the block back to the device" fails=example,two_cached,sizes,block_numbers,cache_given_back,just_fits,raises,independent,own_cache,long_run
class Allocator:
    def __init__(self, capacity):
        self.capacity, self.used, self.cached, self.peak, self.count = capacity, {}, [], 0, 0

    allocated = property(lambda self: sum(self.used.values()))
    reserved = property(lambda self: self.allocated + sum(self.cached))

    def alloc(self, size):
        size = -(-size // 512) * 512
        block = min((c for c in self.cached if c >= size), default=None)
        if block is not None:
            self.cached.remove(block)
        else:
            block = size
            if self.reserved + size > self.capacity:
                self.cached = []
            if self.reserved + size > self.capacity:
                raise torch.OutOfMemoryError
        self.count += 1
        self.used[self.count] = block
        self.peak = max(self.peak, self.allocated)
        return self.count

    def free(self, number):
        self.used.pop(number)

    def empty_cache(self):
        self.cached = []


# %% wrong "sizes are not rounded" fails=example,sizes,block_numbers,cache_given_back,just_fits,raises,independent,own_cache,long_run
class Allocator:
    def __init__(self, capacity):
        self.capacity, self.used, self.cached, self.peak, self.count = capacity, {}, [], 0, 0

    allocated = property(lambda self: sum(self.used.values()))
    reserved = property(lambda self: self.allocated + sum(self.cached))

    def alloc(self, size):
        block = min((c for c in self.cached if c >= size), default=None)
        if block is not None:
            self.cached.remove(block)
        else:
            block = size
            if self.reserved + size > self.capacity:
                self.cached = []
            if self.reserved + size > self.capacity:
                raise torch.OutOfMemoryError
        self.count += 1
        self.used[self.count] = block
        self.peak = max(self.peak, self.allocated)
        return self.count

    def free(self, number):
        self.cached.append(self.used.pop(number))

    def empty_cache(self):
        self.cached = []


# %% wrong "a multiple of 512 gets one more" fails=two_cached,sizes
class Allocator:
    def __init__(self, capacity):
        self.capacity, self.used, self.cached, self.peak, self.count = capacity, {}, [], 0, 0

    allocated = property(lambda self: sum(self.used.values()))
    reserved = property(lambda self: self.allocated + sum(self.cached))

    def alloc(self, size):
        size = (size // 512 + 1) * 512
        block = min((c for c in self.cached if c >= size), default=None)
        if block is not None:
            self.cached.remove(block)
        else:
            block = size
            if self.reserved + size > self.capacity:
                self.cached = []
            if self.reserved + size > self.capacity:
                raise torch.OutOfMemoryError
        self.count += 1
        self.used[self.count] = block
        self.peak = max(self.peak, self.allocated)
        return self.count

    def free(self, number):
        self.cached.append(self.used.pop(number))

    def empty_cache(self):
        self.cached = []


# %% wrong "the rest of a block is not counted" fails=two_cached,sizes,just_fits,own_cache,long_run
class Allocator:
    def __init__(self, capacity):
        self.capacity, self.used, self.cached, self.peak, self.count = capacity, {}, [], 0, 0

    allocated = property(lambda self: sum(size for _, size in self.used.values()))
    reserved = property(lambda self: sum(block for block, _ in self.used.values()) + sum(self.cached))

    def alloc(self, size):
        size = -(-size // 512) * 512
        block = min((c for c in self.cached if c >= size), default=None)
        if block is not None:
            self.cached.remove(block)
        else:
            block = size
            if self.reserved + size > self.capacity:
                self.cached = []
            if self.reserved + size > self.capacity:
                raise torch.OutOfMemoryError
        self.count += 1
        self.used[self.count] = block, size
        self.peak = max(self.peak, self.allocated)
        return self.count

    def free(self, number):
        self.cached.append(self.used.pop(number)[0])

    def empty_cache(self):
        self.cached = []


# %% wrong "the first block that is large enough" fails=two_cached,sizes,just_fits,long_run
class Allocator:
    def __init__(self, capacity):
        self.capacity, self.used, self.cached, self.peak, self.count = capacity, {}, [], 0, 0

    allocated = property(lambda self: sum(self.used.values()))
    reserved = property(lambda self: self.allocated + sum(self.cached))

    def alloc(self, size):
        size = -(-size // 512) * 512
        block = next((c for c in self.cached if c >= size), None)
        if block is not None:
            self.cached.remove(block)
        else:
            block = size
            if self.reserved + size > self.capacity:
                self.cached = []
            if self.reserved + size > self.capacity:
                raise torch.OutOfMemoryError
        self.count += 1
        self.used[self.count] = block
        self.peak = max(self.peak, self.allocated)
        return self.count

    def free(self, number):
        self.cached.append(self.used.pop(number))

    def empty_cache(self):
        self.cached = []


# %% equivalent "Add to Sub: self.count -= 1"
# The numbers are negative then, and as different as before.

# %% equivalent "1 to 2: self.count += 2"
# The docstring only asks for a number that no block in use has.

# %% equivalent "first two arguments swapped: self.peak = max(self.allocated, self.peak)"
# The larger of two ints does not depend on their order.

# %% equivalent "text ' bytes do not fit' changed: raise torch.OutOfMemoryError(f'{size} bytes do not fitx')"
# The text of the error is free.
