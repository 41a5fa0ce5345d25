# %% given
@probes.probe
def after_each(make, size, events):
    """The blocks of the segment that make(size) gives, after each event: ("alloc", name, request) or ("free", name).

    A text in front says what alloc returned: an address, or that nothing fits. The event ("other",) changes over to
    a second segment, and back.
    """
    segment, other = make(size), make(size)
    addresses, seen = {}, {}
    for number, (event, *arguments) in enumerate(events, 1):
        said = event
        if event == "other":
            segment, other = other, segment
        elif event == "alloc":
            name, request = arguments
            got = segment.alloc(request)
            if got is None:
                said = "nothing fits"
            else:
                addresses[name] = got
                said = f"at {got}"
        else:
            address = addresses.pop(arguments[0], None)
            if address is not None:
                segment.free(address)
        seen[f"event {number}, {said}"] = [[*block] for block in segment.blocks()]
    return seen


# %% exercise
class Blocks:
    """One segment of `size` bytes, cut into blocks: at first into one, which is free.

    size: 2 * MIB, or a multiple of it of at least 10 * MIB. Addresses count from the segment's
    beginning, which is 0.
    """

    def __init__(self, size: int) -> None:
        ### BEGIN SOLUTION
        self.least = 512 if size == 2 * MIB else MIB + 512
        self.found = [(0, size, False)]
        ### END SOLUTION

    def blocks(self) -> list[tuple[int, int, bool]]:
        """(address, size, whether it is in use) of each block, in the order of the addresses."""
        ### BEGIN SOLUTION
        return list(self.found)
        ### END SOLUTION

    def alloc(self, request: int) -> int | None:
        """The address of a block for request > 0 bytes, rounded up to a multiple of 512.

        It is the smallest free block that is large enough; of equal ones, that with the smallest
        address. The request gets its beginning. The rest becomes a free block of its own, if it
        is large enough for that: at least 512 bytes in a segment of 2 MiB, more than 1 MiB in
        other segments. Otherwise the block is used whole. Where no free block is large enough,
        None comes back, and nothing changes.
        """
        ### BEGIN SOLUTION
        request = math.ceil(request / 512) * 512
        fitting = [(size, address) for address, size, used in self.found if not used and size >= request]
        if not fitting:
            return None
        size, address = min(fitting)
        place = self.found.index((address, size, False))
        if size - request >= self.least:
            rest = [(address, request, True), (address + request, size - request, False)]
        else:
            rest = [(address, size, True)]
        self.found[place : place + 1] = rest
        return address
        ### END SOLUTION

    def free(self, address: int) -> None:
        """Free the block in use at this address. It becomes one block with free neighbours."""
        ### BEGIN SOLUTION
        joined: list[tuple[int, int, bool]] = []
        for at, size, used in self.found:
            used = used and at != address
            if joined and not used and not joined[-1][2]:
                joined[-1] = (joined[-1][0], joined[-1][1] + size, False)
            else:
                joined.append((at, size, used))
        self.found = joined
        ### END SOLUTION


# %% checks
with check(
    "example",
    "20 MiB: alloc 4 MiB, alloc 6 MiB, free the first, alloc 2 MiB, free that one",
    weight=2,
    required=True,
    hint=(
        "After which event does a block differ first? Draw the segment on paper before and after that event.",
        "At event 4 there are two free blocks, of 4 and of 10 MiB: the smaller one is cut. At event 5 the free block "
        "has a free neighbour.",
    ),
):
    events: list[tuple] = [
        ("alloc", "a", 4 * MIB),
        ("alloc", "b", 6 * MIB),
        ("free", "a"),
        ("alloc", "c", 2 * MIB),
        ("free", "c"),
    ]
    want = {
        "event 1, at 0": [[0, 4 * MIB, True], [4 * MIB, 16 * MIB, False]],
        f"event 2, at {4 * MIB}": [[0, 4 * MIB, True], [4 * MIB, 6 * MIB, True], [10 * MIB, 10 * MIB, False]],
        "event 3, free": [[0, 4 * MIB, False], [4 * MIB, 6 * MIB, True], [10 * MIB, 10 * MIB, False]],
    }
    used, rest = [4 * MIB, 6 * MIB, True], [10 * MIB, 10 * MIB, False]
    cut = [[0, 2 * MIB, True], [2 * MIB, 2 * MIB, False], used, rest]
    last = [[0, 4 * MIB, False], used, rest]
    all_used, all_free = [[0, 20 * MIB, True]], [[0, 20 * MIB, False]]
    never_split = {"event 1, at 0": all_used, "event 2, nothing fits": all_used, "event 3, free": all_free}
    never_split |= {"event 4, at 0": all_used, "event 5, free": all_free}
    pieces = [[0, 2 * MIB, False], [2 * MIB, 2 * MIB, False], used, rest]
    worst = [[0, 4 * MIB, False], used, [10 * MIB, 2 * MIB, True], [12 * MIB, 8 * MIB, False]]
    explain(
        after_each(Blocks, 20 * MIB, events),
        {**want, "event 4, at 0": cut, "event 5, free": last},
        {
            "the rest of a block becomes a free block": never_split,
            "a block that is freed joins its free neighbours": {**want, "event 4, at 0": cut, "event 5, free": pieces},
            "it takes the smallest block that is large enough": {
                **want,
                f"event 4, at {10 * MIB}": worst,
                "event 5, free": last,
            },
        },
        name="your blocks",
    )

# %% hidden checks


class Segment:
    """What the exercise describes, with the beginnings of blocks in one list."""

    def __init__(self, size):
        self.size, self.marks, self.taken = size, [0], set()

    def blocks(self):
        ends = [*self.marks[1:], self.size]
        return [[at, end - at, at in self.taken] for at, end in zip(self.marks, ends, strict=True)]

    def alloc(self, request):
        request += -request % 512
        best = None
        for at, size, used in self.blocks():
            if not used and size >= request and (best is None or size < best[1]):
                best = (at, size)
        if best is None:
            return None
        if best[1] - request >= (512 if self.size == 2 * MIB else MIB + 512):
            self.marks = sorted([*self.marks, best[0] + request])
        self.taken.add(best[0])
        return best[0]

    def free(self, address):
        self.taken.remove(address)
        kept = []
        for at in self.marks:
            if not kept or at in self.taken or kept[-1] in self.taken:
                kept.append(at)
        self.marks = kept


def expected(size, events):
    """What after_each should give."""
    segments, addresses, seen, now = [Segment(size), Segment(size)], {}, {}, 0
    for number, (event, *arguments) in enumerate(events, 1):
        said = event
        if event == "other":
            now = 1 - now
        elif event == "alloc":
            got = segments[now].alloc(arguments[1])
            addresses[arguments[0]] = got
            said = "nothing fits" if got is None else f"at {got}"
        else:
            segments[now].free(addresses.pop(arguments[0]))
        seen[f"event {number}, {said}"] = segments[now].blocks()
    return seen


def drawn(size, unit, seed, count):
    """Random events: requests of up to ten units, in random order with frees."""
    source = torch.Generator().manual_seed(seed)
    segment, in_use, events = Segment(size), {}, []
    for number in range(count):
        way, request, which = torch.randint(1 << 30, (3,), generator=source).tolist()
        if in_use and way % 5 < 2:
            name = sorted(in_use)[which % len(in_use)]
            segment.free(in_use.pop(name))
            events.append(("free", name))
        else:
            name = f"n{number:03}"
            request = request % (10 * unit) + 1
            got = segment.alloc(request)
            events.append(("alloc", name, request))
            if got is not None:
                in_use[name] = got
    return events


def assert_blocks(got, want):
    """The same after each event. The message names an event by its place, from 0 on: the texts hold addresses."""
    assert_close([*got.values()], [*want.values()], name="your blocks")
    assert [*got] == [*want], "the blocks are right, and what alloc returned is not"


with check(
    "small",
    "a segment of 2 MiB: requests that are rounded, cut and joined in many orders",
    weight=4,
    required=True,
    hint="After which event does it differ first? Is the freed block joined on both sides?",
):
    for seed in range(3):
        events = drawn(2 * MIB, 60_000, seed, 40)
        want = expected(2 * MIB, events)
        assert_blocks(after_each(Blocks, 2 * MIB, events), want)
with check(
    "large",
    "larger segments: what is left of a block and is not more than 1 MiB stays with it",
    weight=3,
    hint="Does a rest of exactly 1 MiB become a block? In which segments does a rest of 512 bytes?",
):
    for size in (12 * MIB, 20 * MIB, 60 * MIB):
        events = drawn(size, size // 25, size // MIB, 30)
        want = expected(size, events)
        assert_blocks(after_each(Blocks, size, events), want)
    events = [("alloc", "a", 18 * MIB), ("alloc", "b", MIB + 1), ("free", "b"), ("free", "a"), ("alloc", "c", 19 * MIB)]
    events += [("free", "c"), ("alloc", "d", 19 * MIB - 511), ("free", "d"), ("alloc", "e", 19 * MIB - 512)]
    want = expected(20 * MIB, events)
    assert_blocks(after_each(Blocks, 20 * MIB, events), want)
with check(
    "just_fits",
    "a request as large as a block, and one that fits nowhere",
    weight=2,
    hint="What is left of a block of 1024 bytes when 1000 are requested? And what comes back where nothing fits?",
):
    events = [("alloc", "a", 512), ("alloc", "b", 1024), ("alloc", "c", 1536), ("alloc", "d", 2 * MIB - 3072)]
    events += [
        ("alloc", "e", 1),
        ("free", "b"),
        ("alloc", "f", 1025),
        ("alloc", "g", 1000),
        ("free", "a"),
        ("free", "c"),
    ]
    events += [("alloc", "h", 2049), ("free", "g"), ("alloc", "i", 3000), ("free", "d"), ("alloc", "j", 2 * MIB - 3072)]
    want = expected(2 * MIB, events)
    assert_blocks(after_each(Blocks, 2 * MIB, events), want)
    events = [("alloc", "a", 1024), ("alloc", "b", 600), ("free", "a"), ("alloc", "c", 512), ("alloc", "d", 500)]
    want = expected(2 * MIB, events)
    assert_blocks(after_each(Blocks, 2 * MIB, events), want)
with check(
    "equal",
    "of two free blocks of one size, the first is taken",
    weight=1,
    hint="Which of several equal blocks does your comparison take?",
):
    events = [("alloc", name, 700) for name in "abcdef"] + [("free", name) for name in "dbf"]
    events += [("alloc", "g", 900), ("alloc", "h", 900), ("alloc", "i", 1025)]
    want = expected(2 * MIB, events)
    assert_blocks(after_each(Blocks, 2 * MIB, events), want)
with check("two_segments", "two segments know nothing of each other", guard=True):
    events = [("alloc", "a", 3 * MIB), ("other",), ("alloc", "b", 5 * MIB), ("other",), ("alloc", "c", 2 * MIB)]
    events += [("free", "a"), ("other",), ("free", "b")]
    want = expected(14 * MIB, events)
    assert_blocks(after_each(Blocks, 14 * MIB, events), want)


# %% right "dicts of sizes and of what is in use"
class Blocks:
    def __init__(self, size):
        self.sizes, self.used = {0: size}, set()
        self.small = size == 2 * MIB

    def blocks(self):
        return [(at, self.sizes[at], at in self.used) for at in sorted(self.sizes)]

    def alloc(self, request):
        request = -(-request // 512) * 512
        free = [at for at in sorted(self.sizes) if at not in self.used and self.sizes[at] >= request]
        if not free:
            return None
        at = min(free, key=self.sizes.get)
        rest = self.sizes[at] - request
        if rest >= 512 if self.small else rest > MIB:
            self.sizes[at] = request
            self.sizes[at + request] = rest
        self.used.add(at)
        return at

    def free(self, address):
        self.used.discard(address)
        after = address + self.sizes[address]
        if after in self.sizes and after not in self.used:
            self.sizes[address] += self.sizes.pop(after)
        for at, size in list(self.sizes.items()):
            if at + size == address and at not in self.used:
                self.sizes[at] += self.sizes.pop(address)


# %% right "blocks that know their neighbours"
class Piece:
    def __init__(self, at, size, before=None, after=None):
        self.at, self.size, self.used, self.before, self.after = at, size, False, before, after


class Blocks:
    def __init__(self, size):
        self.first, self.least = Piece(0, size), 512 if size == 2 * MIB else MIB + 1

    def __iter__(self):
        piece = self.first
        while piece:
            yield piece
            piece = piece.after

    def blocks(self):
        return [(p.at, p.size, p.used) for p in self]

    def alloc(self, request):
        request = (request + 511) & ~511
        best = None
        for p in self:
            if not p.used and p.size >= request and (best is None or p.size < best.size):
                best = p
        if best is None:
            return None
        if best.size - request >= self.least:
            rest = Piece(best.at + request, best.size - request, best, best.after)
            if rest.after:
                rest.after.before = rest
            best.after, best.size = rest, request
        best.used = True
        return best.at

    def swallow(self, p):
        p.size += p.after.size
        p.after = p.after.after
        if p.after:
            p.after.before = p

    def free(self, address):
        p = next(p for p in self if p.at == address)
        p.used = False
        if p.after and not p.after.used:
            self.swallow(p)
        if p.before and not p.before.used:
            self.swallow(p.before)


# %% right "free blocks are the gaps between those in use"
class Blocks:
    def __init__(self, size):
        self.size, self.used = size, {}

    def gaps(self):
        at, found = 0, []
        for begin in sorted(self.used):
            if begin > at:
                found.append((at, begin - at, False))
            at = begin + self.used[begin]
        return found + ([(at, self.size - at, False)] if at < self.size else [])

    def blocks(self):
        return sorted(self.gaps() + [(at, size, True) for at, size in self.used.items()])

    def alloc(self, request):
        request += -request % 512
        fitting = sorted((size, at) for at, size, _ in self.gaps() if size >= request)
        if fitting:
            size, at = fitting[0]
            rest = size - request
            self.used[at] = request if rest > MIB or (rest and self.size == 2 * MIB) else size
            return at
        return None

    def free(self, address):
        del self.used[address]


# %% wrong "the rest stays with the block" fails=example,small,large,just_fits,equal,two_segments
class Blocks:
    def __init__(self, size):
        self.least = 512 if size == 2 * MIB else MIB + 512
        self.found = [[0, size, False]]

    def blocks(self):
        return [tuple(b) for b in self.found]

    def alloc(self, request):
        request = math.ceil(request / 512) * 512
        free = [b for b in self.found if not b[2] and b[1] >= request]
        if not free:
            return None
        best = min(free, key=lambda b: b[1])
        if False:
            self.found.insert(self.found.index(best) + 1, [best[0] + request, best[1] - request, False])
            best[1] = request
        best[2] = True
        return best[0]

    def free(self, address):
        n = next(n for n, b in enumerate(self.found) if b[0] == address)
        self.found[n][2] = False
        if n + 1 < len(self.found) and not self.found[n + 1][2]:
            self.found[n][1] += self.found.pop(n + 1)[1]
        if n and not self.found[n - 1][2]:
            self.found[n - 1][1] += self.found.pop(n)[1]


# %% wrong "free blocks are never joined" fails=example,small,large,just_fits,equal,two_segments
class Blocks:
    def __init__(self, size):
        self.least = 512 if size == 2 * MIB else MIB + 512
        self.found = [[0, size, False]]

    def blocks(self):
        return [tuple(b) for b in self.found]

    def alloc(self, request):
        request = math.ceil(request / 512) * 512
        free = [b for b in self.found if not b[2] and b[1] >= request]
        if not free:
            return None
        best = min(free, key=lambda b: b[1])
        if best[1] - request >= self.least:
            self.found.insert(self.found.index(best) + 1, [best[0] + request, best[1] - request, False])
            best[1] = request
        best[2] = True
        return best[0]

    def free(self, address):
        n = next(n for n, b in enumerate(self.found) if b[0] == address)
        self.found[n][2] = False


# %% wrong "joined with the block behind it only" fails=small,large,just_fits
class Blocks:
    def __init__(self, size):
        self.least = 512 if size == 2 * MIB else MIB + 512
        self.found = [[0, size, False]]

    def blocks(self):
        return [tuple(b) for b in self.found]

    def alloc(self, request):
        request = math.ceil(request / 512) * 512
        free = [b for b in self.found if not b[2] and b[1] >= request]
        if not free:
            return None
        best = min(free, key=lambda b: b[1])
        if best[1] - request >= self.least:
            self.found.insert(self.found.index(best) + 1, [best[0] + request, best[1] - request, False])
            best[1] = request
        best[2] = True
        return best[0]

    def free(self, address):
        n = next(n for n, b in enumerate(self.found) if b[0] == address)
        self.found[n][2] = False
        if n + 1 < len(self.found) and not self.found[n + 1][2]:
            self.found[n][1] += self.found.pop(n + 1)[1]


# %% wrong "joined with the block before it only" fails=example,small,large,just_fits,equal,two_segments
class Blocks:
    def __init__(self, size):
        self.least = 512 if size == 2 * MIB else MIB + 512
        self.found = [[0, size, False]]

    def blocks(self):
        return [tuple(b) for b in self.found]

    def alloc(self, request):
        request = math.ceil(request / 512) * 512
        free = [b for b in self.found if not b[2] and b[1] >= request]
        if not free:
            return None
        best = min(free, key=lambda b: b[1])
        if best[1] - request >= self.least:
            self.found.insert(self.found.index(best) + 1, [best[0] + request, best[1] - request, False])
            best[1] = request
        best[2] = True
        return best[0]

    def free(self, address):
        n = next(n for n, b in enumerate(self.found) if b[0] == address)
        self.found[n][2] = False
        if n and not self.found[n - 1][2]:
            self.found[n - 1][1] += self.found.pop(n)[1]


# %% wrong "the first block that is large enough" fails=small,large
class Blocks:
    def __init__(self, size):
        self.least = 512 if size == 2 * MIB else MIB + 512
        self.found = [[0, size, False]]

    def blocks(self):
        return [tuple(b) for b in self.found]

    def alloc(self, request):
        request = math.ceil(request / 512) * 512
        free = [b for b in self.found if not b[2] and b[1] >= request]
        if not free:
            return None
        best = free[0]
        if best[1] - request >= self.least:
            self.found.insert(self.found.index(best) + 1, [best[0] + request, best[1] - request, False])
            best[1] = request
        best[2] = True
        return best[0]

    def free(self, address):
        n = next(n for n, b in enumerate(self.found) if b[0] == address)
        self.found[n][2] = False
        if n + 1 < len(self.found) and not self.found[n + 1][2]:
            self.found[n][1] += self.found.pop(n + 1)[1]
        if n and not self.found[n - 1][2]:
            self.found[n - 1][1] += self.found.pop(n)[1]


# %% wrong "the largest free block" fails=example,small,large,just_fits,equal
class Blocks:
    def __init__(self, size):
        self.least = 512 if size == 2 * MIB else MIB + 512
        self.found = [[0, size, False]]

    def blocks(self):
        return [tuple(b) for b in self.found]

    def alloc(self, request):
        request = math.ceil(request / 512) * 512
        free = [b for b in self.found if not b[2] and b[1] >= request]
        if not free:
            return None
        best = max(free, key=lambda b: b[1])
        if best[1] - request >= self.least:
            self.found.insert(self.found.index(best) + 1, [best[0] + request, best[1] - request, False])
            best[1] = request
        best[2] = True
        return best[0]

    def free(self, address):
        n = next(n for n, b in enumerate(self.found) if b[0] == address)
        self.found[n][2] = False
        if n + 1 < len(self.found) and not self.found[n + 1][2]:
            self.found[n][1] += self.found.pop(n + 1)[1]
        if n and not self.found[n - 1][2]:
            self.found[n - 1][1] += self.found.pop(n)[1]


# %% wrong "the last of equal blocks" fails=equal
class Blocks:
    def __init__(self, size):
        self.least = 512 if size == 2 * MIB else MIB + 512
        self.found = [[0, size, False]]

    def blocks(self):
        return [tuple(b) for b in self.found]

    def alloc(self, request):
        request = math.ceil(request / 512) * 512
        free = [b for b in self.found if not b[2] and b[1] >= request]
        if not free:
            return None
        best = min(free, key=lambda b: (b[1], -b[0]))
        if best[1] - request >= self.least:
            self.found.insert(self.found.index(best) + 1, [best[0] + request, best[1] - request, False])
            best[1] = request
        best[2] = True
        return best[0]

    def free(self, address):
        n = next(n for n, b in enumerate(self.found) if b[0] == address)
        self.found[n][2] = False
        if n + 1 < len(self.found) and not self.found[n + 1][2]:
            self.found[n][1] += self.found.pop(n + 1)[1]
        if n and not self.found[n - 1][2]:
            self.found[n - 1][1] += self.found.pop(n)[1]


# %% wrong "every rest becomes a block, in large segments too" fails=large
class Blocks:
    def __init__(self, size):
        self.least = 512
        self.found = [[0, size, False]]

    def blocks(self):
        return [tuple(b) for b in self.found]

    def alloc(self, request):
        request = math.ceil(request / 512) * 512
        free = [b for b in self.found if not b[2] and b[1] >= request]
        if not free:
            return None
        best = min(free, key=lambda b: b[1])
        if best[1] - request >= self.least:
            self.found.insert(self.found.index(best) + 1, [best[0] + request, best[1] - request, False])
            best[1] = request
        best[2] = True
        return best[0]

    def free(self, address):
        n = next(n for n, b in enumerate(self.found) if b[0] == address)
        self.found[n][2] = False
        if n + 1 < len(self.found) and not self.found[n + 1][2]:
            self.found[n][1] += self.found.pop(n + 1)[1]
        if n and not self.found[n - 1][2]:
            self.found[n - 1][1] += self.found.pop(n)[1]


# %% wrong "a rest of exactly 1 MiB becomes a block" fails=large
class Blocks:
    def __init__(self, size):
        self.least = 512 if size == 2 * MIB else MIB
        self.found = [[0, size, False]]

    def blocks(self):
        return [tuple(b) for b in self.found]

    def alloc(self, request):
        request = math.ceil(request / 512) * 512
        free = [b for b in self.found if not b[2] and b[1] >= request]
        if not free:
            return None
        best = min(free, key=lambda b: b[1])
        if best[1] - request >= self.least:
            self.found.insert(self.found.index(best) + 1, [best[0] + request, best[1] - request, False])
            best[1] = request
        best[2] = True
        return best[0]

    def free(self, address):
        n = next(n for n, b in enumerate(self.found) if b[0] == address)
        self.found[n][2] = False
        if n + 1 < len(self.found) and not self.found[n + 1][2]:
            self.found[n][1] += self.found.pop(n + 1)[1]
        if n and not self.found[n - 1][2]:
            self.found[n - 1][1] += self.found.pop(n)[1]


# %% wrong "a rest of at most 1 MiB stays with the block in small segments too" fails=small,just_fits
class Blocks:
    def __init__(self, size):
        self.least = MIB + 512
        self.found = [[0, size, False]]

    def blocks(self):
        return [tuple(b) for b in self.found]

    def alloc(self, request):
        request = math.ceil(request / 512) * 512
        free = [b for b in self.found if not b[2] and b[1] >= request]
        if not free:
            return None
        best = min(free, key=lambda b: b[1])
        if best[1] - request >= self.least:
            self.found.insert(self.found.index(best) + 1, [best[0] + request, best[1] - request, False])
            best[1] = request
        best[2] = True
        return best[0]

    def free(self, address):
        n = next(n for n, b in enumerate(self.found) if b[0] == address)
        self.found[n][2] = False
        if n + 1 < len(self.found) and not self.found[n + 1][2]:
            self.found[n][1] += self.found.pop(n + 1)[1]
        if n and not self.found[n - 1][2]:
            self.found[n - 1][1] += self.found.pop(n)[1]


# %% wrong "a rest of nothing becomes a block" fails=just_fits,equal
class Blocks:
    def __init__(self, size):
        self.least = 0 if size == 2 * MIB else MIB + 512
        self.found = [[0, size, False]]

    def blocks(self):
        return [tuple(b) for b in self.found]

    def alloc(self, request):
        request = math.ceil(request / 512) * 512
        free = [b for b in self.found if not b[2] and b[1] >= request]
        if not free:
            return None
        best = min(free, key=lambda b: b[1])
        if best[1] - request >= self.least:
            self.found.insert(self.found.index(best) + 1, [best[0] + request, best[1] - request, False])
            best[1] = request
        best[2] = True
        return best[0]

    def free(self, address):
        n = next(n for n, b in enumerate(self.found) if b[0] == address)
        self.found[n][2] = False
        if n + 1 < len(self.found) and not self.found[n + 1][2]:
            self.found[n][1] += self.found.pop(n + 1)[1]
        if n and not self.found[n - 1][2]:
            self.found[n - 1][1] += self.found.pop(n)[1]


# %% wrong "requests are not rounded" fails=small,large,just_fits,equal
class Blocks:
    def __init__(self, size):
        self.least = 512 if size == 2 * MIB else MIB + 512
        self.found = [[0, size, False]]

    def blocks(self):
        return [tuple(b) for b in self.found]

    def alloc(self, request):
        free = [b for b in self.found if not b[2] and b[1] >= request]
        if not free:
            return None
        best = min(free, key=lambda b: b[1])
        if best[1] - request >= self.least:
            self.found.insert(self.found.index(best) + 1, [best[0] + request, best[1] - request, False])
            best[1] = request
        best[2] = True
        return best[0]

    def free(self, address):
        n = next(n for n, b in enumerate(self.found) if b[0] == address)
        self.found[n][2] = False
        if n + 1 < len(self.found) and not self.found[n + 1][2]:
            self.found[n][1] += self.found.pop(n + 1)[1]
        if n and not self.found[n - 1][2]:
            self.found[n - 1][1] += self.found.pop(n)[1]


# %% wrong "a block must be larger than the request" fails=just_fits,equal
class Blocks:
    def __init__(self, size):
        self.least = 512 if size == 2 * MIB else MIB + 512
        self.found = [[0, size, False]]

    def blocks(self):
        return [tuple(b) for b in self.found]

    def alloc(self, request):
        request = math.ceil(request / 512) * 512
        free = [b for b in self.found if not b[2] and b[1] > request]
        if not free:
            return None
        best = min(free, key=lambda b: b[1])
        if best[1] - request >= self.least:
            self.found.insert(self.found.index(best) + 1, [best[0] + request, best[1] - request, False])
            best[1] = request
        best[2] = True
        return best[0]

    def free(self, address):
        n = next(n for n, b in enumerate(self.found) if b[0] == address)
        self.found[n][2] = False
        if n + 1 < len(self.found) and not self.found[n + 1][2]:
            self.found[n][1] += self.found.pop(n + 1)[1]
        if n and not self.found[n - 1][2]:
            self.found[n - 1][1] += self.found.pop(n)[1]


# %% wrong "the request gets the end of the block" fails=example,small,large,just_fits,equal,two_segments
class Blocks:
    def __init__(self, size):
        self.least = 512 if size == 2 * MIB else MIB + 512
        self.found = [[0, size, False]]

    def blocks(self):
        return [tuple(b) for b in self.found]

    def alloc(self, request):
        request = math.ceil(request / 512) * 512
        free = [b for b in self.found if not b[2] and b[1] >= request]
        if not free:
            return None
        best = min(free, key=lambda b: b[1])
        if best[1] - request >= self.least:
            rest = best[1] - request
            best[1] = rest
            best = [best[0] + rest, request, False]
            self.found.append(best)
            self.found.sort()
        best[2] = True
        return best[0]

    def free(self, address):
        n = next(n for n, b in enumerate(self.found) if b[0] == address)
        self.found[n][2] = False
        if n + 1 < len(self.found) and not self.found[n + 1][2]:
            self.found[n][1] += self.found.pop(n + 1)[1]
        if n and not self.found[n - 1][2]:
            self.found[n - 1][1] += self.found.pop(n)[1]
