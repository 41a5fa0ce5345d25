# %% given
@probes.probe
def replayed(make, capacity, events):
    """The state of an allocator that make(capacity) gives, after each event: see states.

    A text beside the numbers says that an allocation ran out of memory, or that two blocks in
    use have one number. The event "other" changes over to a second allocator, and back.
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
        elif event == "free":
            number = blocks.pop(arguments[0])
            in_use[id(allocator)].remove(number)
            allocator.free(number)
        else:
            allocator.empty_cache()
        if len(set(in_use[id(allocator)])) < len(in_use[id(allocator)]):
            notes.append("two blocks in use have one number")
        seen.append([allocator.allocated, allocator.reserved, allocator.peak, *notes])
    return states(events, seen)


def states(events, rows):
    """event -> its row of numbers by name, and the notes behind them."""
    return {
        f"after event {n}, {event}": {"allocated": row[0], "reserved": row[1], "peak": row[2], "notes": row[3:]}
        for n, ((event, *_), row) in enumerate(zip(events, rows, strict=True), 1)
    }


# %% exercise
class Allocator:
    """A caching allocator for a device of `capacity` bytes. Blocks are never split or joined.

    Attributes, all ints: allocated, the bytes of the blocks in use; reserved, the bytes of the
    blocks in use and of the cached ones; peak, the most that allocated has been.
    """

    def __init__(self, capacity: int) -> None:
        ### BEGIN SOLUTION
        self.capacity = capacity
        self.used: dict[int, int] = {}
        self.cached: list[int] = []
        self.allocated = self.reserved = self.peak = self.count = 0
        ### END SOLUTION

    def alloc(self, size: int) -> int:
        """A block for size > 0 bytes, rounded up to a multiple of 512.

        Returns a number that no block in use has. The block is the smallest cached block that
        is large enough, whole. Where there is none, it is a new block of the rounded size.
        Where that would make reserved greater than capacity, all cached blocks are given back
        first. Where it still does not fit, raises torch.OutOfMemoryError: then only the cache
        is gone.
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
        """Put the block in use with this number into the cache."""
        ### BEGIN SOLUTION
        block = self.used.pop(number)
        self.allocated -= block
        self.cached.append(block)
        ### END SOLUTION

    def empty_cache(self) -> None:
        """Give all cached blocks back to the device."""
        ### BEGIN SOLUTION
        self.reserved -= sum(self.cached)
        self.cached.clear()
        ### END SOLUTION


# %% checks
with check(
    "example",
    "alloc 1000, alloc 100, free the first, alloc 600, free the second, empty the cache",
    weight=2,
    required=True,
    hint=(
        "After which event does a number differ first? What should that event do to each of the three?",
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
        "After which event does it differ first? If at the last: which block is taken, and how much of it?",
        "The smallest block that is large enough is used whole. And what does your rounding make of 6 * 512?",
    ),
):
    t = [("alloc", "a", 3072), ("alloc", "b", 2048), ("free", "a"), ("free", "b"), ("alloc", "c", 1500)]
    want = [[3072] * 3, [5120] * 3, [2048, 5120, 5120], [0, 5120, 5120]]
    one_more = [[3584] * 3, [6144] * 3, [2560, 6144, 6144], [0, 6144, 6144], [2560, 6144, 6144]]
    explain(
        replayed(Allocator, 10_000, t),
        states(t, [*want, [2048, 5120, 5120]]),
        {
            "of the cached blocks that are large enough, it takes the smallest": states(t, [*want, [3072, 5120, 5120]]),
            "a block that is used again is used whole": states(t, [*want, [1536, 5120, 5120]]),
            "a size that is a multiple of 512 stays as it is": states(t, one_more),
        },
        name="your allocator",
    )

# %% hidden checks


def assert_states(got, want):
    """The same numbers after each event. The message names an event by its place, from 0 on."""
    assert_close([*got.values()], [*want.values()], name="your allocator")


with check(
    "sizes",
    "sizes at the edges, and the smallest block that is large enough",
    weight=3,
    required=True,
    hint="Which of several cached blocks do you take? Is 512 rounded, and what becomes of the rest of a large block?",
):
    t = [
        ("alloc", "a", 1536),
        ("alloc", "b", 3000),
        ("alloc", "c", 2000),
        ("alloc", "d", 1),
        ("free", "b"),
        ("free", "c"),
        ("alloc", "e", 1025),
        ("alloc", "f", 10),
        ("alloc", "g", 513),
    ]
    want = [[1536, 1536, 1536], [4608, 4608, 4608], [6656, 6656, 6656], [7168, 7168, 7168], [4096, 7168, 7168]]
    want += [[2048, 7168, 7168], [4096, 7168, 7168], [7168, 7168, 7168], [8192, 8192, 8192]]
    assert_states(replayed(Allocator, 100_000, t), states(t, want))
with check(
    "block_numbers",
    "blocks in use have different numbers, also of equal size",
    weight=1,
    hint="What does alloc return?",
):
    t = [("alloc", "a", 600), ("alloc", "b", 600), ("free", "a"), ("alloc", "c", 600), ("alloc", "d", 700)]
    want = [[1024, 1024, 1024], [2048, 2048, 2048], [1024, 2048, 2048], [2048, 2048, 2048], [3072, 3072, 3072]]
    assert_states(replayed(Allocator, 8000, t), states(t, want))
with check(
    "cache_given_back",
    "where memory runs out, the cache is given back first",
    weight=2,
    hint="When is a cached block of no use, although there are enough bytes in the cache? How many are given back?",
):
    t = [("alloc", "a", 1024), ("alloc", "b", 1024), ("free", "a"), ("free", "b"), ("alloc", "c", 2048)]
    want = [[1024, 1024, 1024], [2048, 2048, 2048], [1024, 2048, 2048], [0, 2048, 2048], [2048, 2048, 2048]]
    assert_states(replayed(Allocator, 2048, t), states(t, want))
    t = [("alloc", name, 512) for name in "abc"] + [("free", name) for name in "abc"] + [("alloc", "d", 1024)]
    want = [[512, 512, 512], [1024, 1024, 1024], [1536, 1536, 1536], [1024, 1536, 1536], [512, 1536, 1536]]
    want += [[0, 1536, 1536], [1024, 1024, 1536]]
    assert_states(replayed(Allocator, 2048, t), states(t, want))
with check("just_fits", "where it just fits, the cache stays", hint="When exactly is it too much?"):
    t = [("alloc", "a", 512), ("free", "a"), ("alloc", "b", 1024), ("alloc", "c", 512)]
    want = [[512, 512, 512], [0, 512, 512], [1024, 1536, 1024], [1536, 1536, 1536]]
    assert_states(replayed(Allocator, 1536, t), states(t, want))
with check(
    "raises",
    "where it does not fit, the error is raised, and only the cache is gone",
    weight=2,
    hint="Which comes first?",
):
    t = [("alloc", "a", 1000), ("alloc", "b", 512), ("free", "b"), ("alloc", "c", 1500), ("alloc", "d", 900)]
    t += [("alloc", "e", 1), ("free", "a"), ("alloc", "f", 30)]
    want = [[1024, 1024, 1024], [1536, 1536, 1536], [1024, 1536, 1536], [1024, 1024, 1536, "out of memory"]]
    want += [[2048, 2048, 2048], [2048, 2048, 2048, "out of memory"], [1024, 2048, 2048], [2048, 2048, 2048]]
    assert_states(replayed(Allocator, 2100, t), states(t, want))
with check("independent", "a new allocator is empty, and its empty cache may be emptied", guard=True):
    t = [("empty_cache",), ("alloc", "a", 5000), ("empty_cache",), ("free", "a")]
    want = [[0, 0, 0], [5120, 5120, 5120], [5120, 5120, 5120], [0, 5120, 5120]]
    for _ in range(2):
        assert_states(replayed(Allocator, 5120, t), states(t, want))
with check(
    "own_cache",
    "two allocators side by side share neither blocks nor a cache",
    weight=1,
    hint="What belongs to the class?",
):
    t = [("alloc", "a", 700), ("other",), ("alloc", "b", 100), ("free", "b"), ("other",), ("alloc", "c", 500)]
    t += [("free", "a"), ("other",), ("alloc", "d", 900), ("other",), ("alloc", "e", 900), ("other",), ("empty_cache",)]
    want = [[1024, 1024, 1024], [0, 0, 0], [512, 512, 512], [0, 512, 512], [1024, 1024, 1024], [1536, 1536, 1536]]
    want += [[512, 1536, 1536], [0, 512, 512], [1024, 1536, 1024], [512, 1536, 1536], [1536, 1536, 1536]]
    want += [[1024, 1536, 1024], [1024, 1024, 1024]]
    assert_states(replayed(Allocator, 5000, t), states(t, want))

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


# %% wrong "free gives the block back to the device" fails=example,two_cached,sizes,block_numbers,cache_given_back,just_fits,raises,independent,own_cache
class Allocator:
    def __init__(self, capacity):
        self.capacity, self.used, self.count = capacity, {}, 0
        self.allocated = self.reserved = self.peak = 0

    def alloc(self, size):
        size = math.ceil(size / 512) * 512
        if self.allocated + size > self.capacity:
            raise torch.OutOfMemoryError
        self.count += 1
        self.used[self.count] = size
        self.allocated += size
        self.reserved = self.allocated
        self.peak = max(self.peak, self.allocated)
        return self.count

    def free(self, number):
        self.allocated -= self.used.pop(number)
        self.reserved = self.allocated

    def empty_cache(self):
        pass


# %% wrong "sizes are not rounded" fails=example,sizes,block_numbers,raises,independent,own_cache
class Allocator:
    def __init__(self, capacity):
        self.capacity, self.used, self.cached, self.count = capacity, {}, [], 0
        self.allocated = self.reserved = self.peak = 0

    def alloc(self, size):
        block = min((c for c in self.cached if c >= size), default=None)
        if block is not None:
            self.cached.remove(block)
        else:
            block = size
            if self.reserved + size > self.capacity:
                self.empty_cache()
            if self.reserved + size > self.capacity:
                raise torch.OutOfMemoryError
            self.reserved += size
        self.count += 1
        self.used[self.count] = block
        self.allocated += block
        self.peak = max(self.peak, self.allocated)
        return self.count

    def free(self, number):
        self.allocated -= self.used[number]
        self.cached.append(self.used.pop(number))

    def empty_cache(self):
        self.reserved -= sum(self.cached)
        self.cached.clear()


# %% wrong "a multiple of 512 gets one more" fails=two_cached,sizes,cache_given_back,just_fits,raises raises=KeyError
class Allocator:
    def __init__(self, capacity):
        self.capacity, self.used, self.cached, self.count = capacity, {}, [], 0
        self.allocated = self.reserved = self.peak = 0

    def alloc(self, size):
        size = (size // 512 + 1) * 512
        block = min((c for c in self.cached if c >= size), default=None)
        if block is not None:
            self.cached.remove(block)
        else:
            block = size
            if self.reserved + size > self.capacity:
                self.empty_cache()
            if self.reserved + size > self.capacity:
                raise torch.OutOfMemoryError
            self.reserved += size
        self.count += 1
        self.used[self.count] = block
        self.allocated += block
        self.peak = max(self.peak, self.allocated)
        return self.count

    def free(self, number):
        self.allocated -= self.used[number]
        self.cached.append(self.used.pop(number))

    def empty_cache(self):
        self.reserved -= sum(self.cached)
        self.cached.clear()


# %% wrong "the rest of a block is not counted" fails=two_cached,sizes,raises
class Allocator:
    def __init__(self, capacity):
        self.capacity, self.used, self.cached, self.count = capacity, {}, [], 0
        self.allocated = self.reserved = self.peak = 0

    def alloc(self, size):
        size = math.ceil(size / 512) * 512
        block = min((c for c in self.cached if c >= size), default=None)
        if block is not None:
            self.cached.remove(block)
        else:
            block = size
            if self.reserved + size > self.capacity:
                self.empty_cache()
            if self.reserved + size > self.capacity:
                raise torch.OutOfMemoryError
            self.reserved += size
        self.count += 1
        self.used[self.count] = (block, size)
        self.allocated += size
        self.peak = max(self.peak, self.allocated)
        return self.count

    def free(self, number):
        block, size = self.used.pop(number)
        self.allocated -= size
        self.cached.append(block)

    def empty_cache(self):
        self.reserved -= sum(self.cached)
        self.cached.clear()


# %% wrong "the first block that is large enough" fails=two_cached,sizes
class Allocator:
    def __init__(self, capacity):
        self.capacity, self.used, self.cached, self.count = capacity, {}, [], 0
        self.allocated = self.reserved = self.peak = 0

    def alloc(self, size):
        size = math.ceil(size / 512) * 512
        block = next((c for c in self.cached if c >= size), None)
        if block is not None:
            self.cached.remove(block)
        else:
            block = size
            if self.reserved + size > self.capacity:
                self.empty_cache()
            if self.reserved + size > self.capacity:
                raise torch.OutOfMemoryError
            self.reserved += size
        self.count += 1
        self.used[self.count] = block
        self.allocated += block
        self.peak = max(self.peak, self.allocated)
        return self.count

    def free(self, number):
        self.allocated -= self.used[number]
        self.cached.append(self.used.pop(number))

    def empty_cache(self):
        self.reserved -= sum(self.cached)
        self.cached.clear()


# %% wrong "only blocks of exactly that size are used again" fails=two_cached,sizes,raises
class Allocator:
    def __init__(self, capacity):
        self.capacity, self.used, self.cached, self.count = capacity, {}, [], 0
        self.allocated = self.reserved = self.peak = 0

    def alloc(self, size):
        size = math.ceil(size / 512) * 512
        if size in self.cached:
            self.cached.remove(size)
        else:
            if self.reserved + size > self.capacity:
                self.empty_cache()
            if self.reserved + size > self.capacity:
                raise torch.OutOfMemoryError
            self.reserved += size
        self.count += 1
        self.used[self.count] = size
        self.allocated += size
        self.peak = max(self.peak, self.allocated)
        return self.count

    def free(self, number):
        self.allocated -= self.used[number]
        self.cached.append(self.used.pop(number))

    def empty_cache(self):
        self.reserved -= sum(self.cached)
        self.cached.clear()


# %% wrong "the error without a look at the cache" fails=cache_given_back,raises
class Allocator:
    def __init__(self, capacity):
        self.capacity, self.used, self.cached, self.count = capacity, {}, [], 0
        self.allocated = self.reserved = self.peak = 0

    def alloc(self, size):
        size = math.ceil(size / 512) * 512
        block = min((c for c in self.cached if c >= size), default=None)
        if block is not None:
            self.cached.remove(block)
        else:
            block = size
            if self.reserved + size > self.capacity:
                raise torch.OutOfMemoryError
            self.reserved += size
        self.count += 1
        self.used[self.count] = block
        self.allocated += block
        self.peak = max(self.peak, self.allocated)
        return self.count

    def free(self, number):
        self.allocated -= self.used[number]
        self.cached.append(self.used.pop(number))

    def empty_cache(self):
        self.reserved -= sum(self.cached)
        self.cached.clear()


# %% wrong "reserved counts what did not fit" fails=raises
class Allocator:
    def __init__(self, capacity):
        self.capacity, self.used, self.cached, self.count = capacity, {}, [], 0
        self.allocated = self.reserved = self.peak = 0

    def alloc(self, size):
        size = math.ceil(size / 512) * 512
        block = min((c for c in self.cached if c >= size), default=None)
        if block is not None:
            self.cached.remove(block)
        else:
            block = size
            if self.reserved + size > self.capacity:
                self.empty_cache()
            self.reserved += size
            if self.reserved > self.capacity:
                raise torch.OutOfMemoryError
        self.count += 1
        self.used[self.count] = block
        self.allocated += block
        self.peak = max(self.peak, self.allocated)
        return self.count

    def free(self, number):
        self.allocated -= self.used[number]
        self.cached.append(self.used.pop(number))

    def empty_cache(self):
        self.reserved -= sum(self.cached)
        self.cached.clear()


# %% wrong "the size names the block" fails=block_numbers,cache_given_back,raises
class Allocator:
    def __init__(self, capacity):
        self.capacity, self.cached = capacity, []
        self.allocated = self.reserved = self.peak = 0

    def alloc(self, size):
        size = math.ceil(size / 512) * 512
        block = min((c for c in self.cached if c >= size), default=None)
        if block is not None:
            self.cached.remove(block)
        else:
            block = size
            if self.reserved + size > self.capacity:
                self.empty_cache()
            if self.reserved + size > self.capacity:
                raise torch.OutOfMemoryError
            self.reserved += size
        self.allocated += block
        self.peak = max(self.peak, self.allocated)
        return block

    def free(self, number):
        self.allocated -= number
        self.cached.append(number)

    def empty_cache(self):
        self.reserved -= sum(self.cached)
        self.cached.clear()


# %% wrong "only as many cached blocks as needed" fails=cache_given_back
class Allocator:
    def __init__(self, capacity):
        self.capacity, self.used, self.cached, self.peak, self.n = capacity, {}, [], 0, 0

    @property
    def allocated(self):
        return sum(self.used.values())

    @property
    def reserved(self):
        return self.allocated + sum(self.cached)

    def alloc(self, size):
        size = (size + 511) // 512 * 512
        fits = [b for b in self.cached if b >= size]
        if fits:
            size = min(fits)
            self.cached.remove(size)
        else:
            while self.cached and self.reserved + size > self.capacity:
                self.cached.pop(0)
            if self.allocated + size > self.capacity:
                raise torch.OutOfMemoryError("no")
        self.n += 1
        self.used[self.n] = size
        self.peak = max(self.peak, self.allocated)
        return self.n

    def free(self, number):
        self.cached.append(self.used.pop(number))

    def empty_cache(self):
        self.cached.clear()


# %% wrong "the cache is the class's" fails=sizes,independent,own_cache
class Allocator:
    cached = []

    def __init__(self, capacity):
        self.capacity, self.used, self.count = capacity, {}, 0
        self.allocated = self.reserved = self.peak = 0

    def alloc(self, size):
        size = math.ceil(size / 512) * 512
        block = min((c for c in self.cached if c >= size), default=None)
        if block is not None:
            self.cached.remove(block)
        else:
            block = size
            if self.reserved + size > self.capacity:
                self.empty_cache()
            if self.reserved + size > self.capacity:
                raise torch.OutOfMemoryError
            self.reserved += size
        self.count += 1
        self.used[self.count] = block
        self.allocated += block
        self.peak = max(self.peak, self.allocated)
        return self.count

    def free(self, number):
        self.allocated -= self.used[number]
        self.cached.append(self.used.pop(number))

    def empty_cache(self):
        self.reserved -= sum(self.cached)
        self.cached.clear()


# %% equivalent "Add to Sub: self.count -= 1"
# The numbers are negative then, and as different as before.

# %% equivalent "1 to 2: self.count += 2"
# The docstring only asks for a number that no block in use has.

# %% equivalent "first two arguments swapped: self.peak = max(self.allocated, self.peak)"
# The larger of two ints does not depend on their order.

# %% equivalent "text ' bytes do not fit' changed: raise torch.OutOfMemoryError(f'{size} bytes do not fitx')"
# The text of the error is free.
