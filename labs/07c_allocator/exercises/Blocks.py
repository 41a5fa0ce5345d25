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
    """One segment of `size` bytes, cut into blocks; it starts as a single free block.

    size: 2 * MIB, or a multiple of it that's at least 10 * MIB. Addresses are relative to the segment's start, which is
    0. Two segments are independent.
    """

    def __init__(self, size: int) -> None:
        ### BEGIN SOLUTION
        self.least = 512 if size == 2 * MIB else MIB + 512
        self.found = [(0, size, False)]
        ### END SOLUTION

    def blocks(self) -> list[tuple[int, int, bool]]:
        """(address, size, whether it is in use) of each block, in order of address."""
        ### BEGIN SOLUTION
        return list(self.found)
        ### END SOLUTION

    def alloc(self, request: int) -> int | None:
        """The address of a block for request > 0 bytes, rounded up to a multiple of 512.

        It is the smallest free block that is large enough; if several have that size, the one with the lowest address.
        The request gets its start. The rest becomes a free block of its own if it has at least 512 bytes in a segment
        of 2 MiB, or more than 1 MiB in any other. Otherwise, the whole block is used. If no free block is large enough,
        alloc returns None, and nothing changes.
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
        """Free the block in use at this address. It and its free neighbors become one block."""
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


# %% promises
# One segment of -> example, small, large, just_fits
# size: 2 * MIB, or -> small, large
# Addresses are relative -> example, small, large, just_fits, equal, two_segments
# Two segments are -> two_segments
# (address, size, whether -> example, small, large, just_fits, equal
# The address of a block -> small
# It is the smallest free -> small, equal
# The request gets its -> small, just_fits
# The rest becomes a free -> just_fits, large
# Otherwise, the whole -> large
# If no free block -> just_fits
# Free the block in use -> small, just_fits
# It and its free -> small


# %% domain
def draw_events(draw, size):
    """Events in a random order. Each free is of a block in use."""
    g = draw.make_generator()

    def pick(count):
        return int(torch.randint(count, (), generator=g))

    one, in_use, events = reference.function(size), {}, []
    for n in range(40):
        if in_use and pick(5) < 2:
            name = sorted(in_use)[pick(len(in_use))]
            one.free(in_use.pop(name))
            events.append(("free", name))
        else:
            events.append(("alloc", f"n{n:02}", 1 + pick(size * 2 // 5)))
            address = one.alloc(events[-1][2])
            in_use |= {} if address is None else {events[-1][1]: address}
    return events


@domain(
    reference,
    *("multiples of 512", "one byte more", "best fit", "equal sizes", "between free neighbours", "one free neighbour"),
    *("exact fit", "a rest of 512 bytes", "nothing fits", "the whole segment", "a rest of 1 MiB"),
    *("a rest above 1 MiB", "10 MiB", "two segments", "a run, small", "a run, large"),
    *("equal sizes, the last freed first", "equal sizes, a rest made last"),
    call=after_each,
)
def arguments(draw, edge):
    size = draw(st.sampled_from([48 * MIB, 60 * MIB] if edge.endswith(("1 MiB", "large")) else [2 * MIB, 60 * MIB]))
    size = {"10 MiB": 10 * MIB, "a rest of 512 bytes": 2 * MIB, "a run, small": 2 * MIB}.get(edge, size)
    unit = 512 if size == 2 * MIB else MIB

    def alloc(*names, **units):
        """Requests that are rounded to so many units; each of names is a block of a units."""
        for name, n in {**dict.fromkeys(names, a), **units}.items():
            less = {"multiples of 512": 0, "one byte more": 511}.get(edge, draw(st.integers(1, 510)))
            events.append(("alloc", name, unit * n - less))

    def free(names):
        events.extend(("free", name) for name in names)

    a, b, c, d = sorted(draw(st.permutations([2, 3, 4, 5, 6, 7, 8]))[:4])
    events, whole = [], size // unit
    if edge.startswith("a run"):
        events = draw_events(draw, size)
    elif edge == "best fit":
        p, q, r, s = draw(st.permutations([a, b, c, d]))
        alloc(p=p, u=1, q=q, v=1, r=r, w=1, s=s, x=1)
        free("pqrs")
        alloc(e=b, f=a, g=a, h=d)
    elif edge == "equal sizes, a rest made last":
        alloc(p=a + b, q=1, r=a, s=1)
        free("rp")
        alloc(e=b, f=a, g=1)
    elif edge.startswith("equal sizes"):
        alloc(*"pqrstu")
        free("qsu" if edge == "equal sizes" else "usq")
        alloc("e", "f", g=1)
    elif edge == "between free neighbours":
        alloc(p=a, q=b, r=c, s=d)
        free([*draw(st.permutations("pr")), "q"])
        alloc(e=a + b + c)
    elif edge == "one free neighbour":
        alloc(p=a, q=b, r=a, s=d)
        free(["q", draw(st.sampled_from("pr"))])
        alloc(e=a + b)
    elif edge in ("exact fit", "a rest of 512 bytes"):
        alloc(p=a, q=c, r=b)
        free("q")
        alloc(e=c - (edge != "exact fit"), f=1)
    elif edge == "nothing fits":
        alloc(p=a, q=b, r=c, s=whole - a - b - c)
        free("pr")
        alloc(e=c + 1, f=c, g=a + 1, h=a)
    elif edge == "the whole segment":
        alloc(p=whole, q=1)
        free("p")
        alloc(r=whole)
        free("r")
    elif edge in ("a rest of 1 MiB", "10 MiB"):
        alloc(p=whole - 1, q=1)
        free("p")
        alloc(r=whole - 2, s=2)
    elif edge == "a rest above 1 MiB":
        events = [("alloc", "p", size - MIB - draw(st.integers(512, 1023))), ("alloc", "q", MIB + 1)]
    elif edge == "two segments":
        alloc(p=b)
        events.append(("other",))
        alloc(q=c)
        events.append(("other",))
        alloc(r=a)
        free("p")
        events.append(("other",))
        free("q")
    else:
        alloc(p=d, q=a, r=c)
        free("p")
        alloc(e=b, f=d)
        free("r")
    return size, events


# %% checks
with check(
    "example",
    "20 MiB: alloc 4 MiB, alloc 6 MiB, free the first, alloc 2 MiB, free that one",
    weight=2,
    required=True,
    hint=(
        "After which event does a block first differ? Draw the segment on paper before and after that event.",
        "At event 4 there are two free blocks, of 4 and of 10 MiB: the smaller one is cut. At event 5 the free block "
        "has a free neighbor.",
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
            "a block that is freed joins its free neighbors": {**want, "event 4, at 0": cut, "event 5, free": pieces},
            "it takes the smallest block that is large enough": {
                **want,
                f"event 4, at {10 * MIB}": worst,
                "event 5, free": last,
            },
        },
        name="your blocks",
    )

# %% hidden checks


def assert_blocks(make, *edges):
    """The same after each event. The message names an event by its place, from 0 on: the texts hold addresses."""
    for trial in arguments.iter_trials(make, *edges):
        got, want = trial.report.result, trial.case.report.result
        assert_close([*got.values()], [*want.values()], name="your blocks")
        assert [*got] == [*want], "the blocks are right, but what alloc returned isn't"


with check(
    "small",
    "requests that are rounded, cut and joined in many orders",
    weight=4,
    required=True,
    hint="After which event does it first differ? Is the freed block joined on both sides?",
):
    assert_blocks(Blocks, "", "a run, small", "multiples of 512", "one byte more", "best fit")
    assert_blocks(Blocks, "between free neighbours", "one free neighbour")
with check(
    "large",
    "larger segments: a rest of at most 1 MiB stays with the block",
    weight=3,
    hint="Does a rest of exactly 1 MiB become a block? In which segments does a rest of 512 bytes?",
):
    assert_blocks(Blocks, "a run, large", "a rest of 1 MiB", "a rest above 1 MiB", "10 MiB")
with check(
    "just_fits",
    "a request as large as a block, and one that fits nowhere",
    weight=2,
    hint="What is left of a block of 1024 bytes when 1000 are requested? And what does alloc return if nothing fits?",
):
    assert_blocks(Blocks, "exact fit", "a rest of 512 bytes", "nothing fits", "the whole segment")
with check(
    "equal",
    "the first of several free blocks of the same size is taken",
    weight=1,
    hint="Which of several equal blocks does your comparison take?",
):
    assert_blocks(Blocks, "equal sizes", "equal sizes, the last freed first", "equal sizes, a rest made last")
with check("two_segments", "two segments are independent", guard=True):
    assert_blocks(Blocks, "two segments")


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
        return self.found

    def alloc(self, request):
        request = -(-request // 512) * 512
        free = [b for b in self.found if not b[2] and b[1] >= request]
        if not free:
            return None
        best = min(free, key=lambda b: b[1])
        best[2] = True
        return best[0]

    def free(self, address):
        n = [b[0] for b in self.found].index(address)
        self.found[n][2] = False
        for k in (n, n - 1):
            if k >= 0 and [b[2] for b in self.found[k : k + 2]] == [False, False]:
                self.found[k][1] += self.found.pop(k + 1)[1]


# %% wrong "free blocks are never joined" fails=example,small,large,equal,two_segments
class Blocks:
    def __init__(self, size):
        self.least = 512 if size == 2 * MIB else MIB + 512
        self.found = [[0, size, False]]

    def blocks(self):
        return self.found

    def alloc(self, request):
        request = -(-request // 512) * 512
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
        self.found[[b[0] for b in self.found].index(address)][2] = False


# %% wrong "the largest free block" fails=example,small,large,just_fits,equal
class Blocks:
    def __init__(self, size):
        self.least = 512 if size == 2 * MIB else MIB + 512
        self.found = [[0, size, False]]

    def blocks(self):
        return self.found

    def alloc(self, request):
        request = -(-request // 512) * 512
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
        n = [b[0] for b in self.found].index(address)
        self.found[n][2] = False
        for k in (n, n - 1):
            if k >= 0 and [b[2] for b in self.found[k : k + 2]] == [False, False]:
                self.found[k][1] += self.found.pop(k + 1)[1]


# %% wrong "every rest becomes a block, in large segments too" fails=large
class Blocks:
    def __init__(self, size):
        self.least = 512
        self.found = [[0, size, False]]

    def blocks(self):
        return self.found

    def alloc(self, request):
        request = -(-request // 512) * 512
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
        n = [b[0] for b in self.found].index(address)
        self.found[n][2] = False
        for k in (n, n - 1):
            if k >= 0 and [b[2] for b in self.found[k : k + 2]] == [False, False]:
                self.found[k][1] += self.found.pop(k + 1)[1]
