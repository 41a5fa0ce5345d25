# %% exercise
def fragmentation(segments: list[dict]) -> dict[str, int]:
    """What is reserved, what of it is in use, and what the rest is good for.

    segments: in the form of a snapshot's, in any order, blocks in the order of their addresses.
    The result has five keys, each with bytes as an int:
    "reserved": of all segments. "allocated": of the blocks in state "active_allocated".
    "releasable": of the segments whose blocks are all inactive. empty_cache() gives these back.
    "split": of the inactive blocks in all other segments.
    "largest": of the largest request that an inactive block has room for. Requests of more than
    1 MiB go to segments whose segment_type is "large", others to "small" ones. 0 if there is none.
    In a "large" segment each inactive block has more than 1 MiB, as the rule for splitting leaves it.
    """
    ### BEGIN SOLUTION
    found = {"reserved": 0, "allocated": 0, "releasable": 0, "split": 0, "largest": 0}
    for one in segments:
        found["reserved"] += one["total_size"]
        free = [block["size"] for block in one["blocks"] if block["state"] == "inactive"]
        found["allocated"] += sum(block["size"] for block in one["blocks"] if block["state"] == "active_allocated")
        found["releasable" if len(free) == len(one["blocks"]) else "split"] += sum(free)
        largest = max(free, default=0)
        found["largest"] = max(found["largest"], largest if one["segment_type"] == "large" else min(largest, MIB))
    return found
    ### END SOLUTION


# %% checks
with check(
    "example",
    "the four segments above",
    weight=2,
    required=True,
    hint=(
        "Which key differs? Which blocks of the picture are in it, and which should be?",
        "allocated and releasable do not share a segment. split is what is neither of the two. largest is one block.",
    ),
):
    t = cut_up()
    in_use, given_back, pieces = 16 * MIB + MIB // 2, 20 * MIB, 25 * MIB + MIB // 2
    explain(
        fragmentation(t),
        {
            "reserved": 62 * MIB,
            "allocated": in_use,
            "releasable": given_back,
            "split": pieces,
            "largest": 20 * MIB,
        },
        {
            "empty_cache gives back whole segments only": {
                "reserved": 62 * MIB,
                "allocated": in_use,
                "releasable": given_back + pieces,
                "split": pieces,
                "largest": 20 * MIB,
            },
            "a request needs one block: free bytes do not add up": {
                "reserved": 62 * MIB,
                "allocated": in_use,
                "releasable": given_back,
                "split": pieces,
                "largest": given_back + pieces,
            },
            "what empty_cache gives back is not in pieces": {
                "reserved": 62 * MIB,
                "allocated": in_use,
                "releasable": given_back,
                "split": given_back + pieces,
                "largest": 20 * MIB,
            },
        },
    )

# %% hidden checks


def drawn_segments(seed, count, waits=0):
    """Segments cut at random. waits: of ten blocks in use, so many wait until they are free."""
    source = torch.Generator().manual_seed(seed)
    found, address = [], 2**33
    for _ in range(count):
        small = torch.rand((), generator=source).item() < 0.4
        unit = 512 if small else MIB + MIB // 2
        pieces, free = [], bool(torch.rand((), generator=source) < 0.5)
        for _ in range(torch.randint(5, (), generator=source).item()):
            many, wait = torch.randint(10, (2,), generator=source).tolist()
            state = "inactive" if free else "active_pending_free" if wait < waits else "active_allocated"
            pieces.append(((many + 1) * unit, state))
            free = not free
        missing = (2 * MIB if small else 64 * MIB) - sum(size for size, _ in pieces)
        pieces.append((missing, "inactive" if free else "active_allocated"))
        found.append(segment(address, *pieces))
        address += 2**30
    return found


def counted(segments):
    """What the exercise asks for, key by key."""
    rows = [
        (
            len(s["blocks"]) == 1,
            s["segment_type"],
            b["size"],
            b["state"] == "inactive",
            b["state"] == "active_allocated",
        )
        for s in segments
        for b in s["blocks"]
    ]
    fits = [size if kind == "large" or size < MIB else MIB for _, kind, size, free, _ in rows if free]
    return {
        "reserved": sum(size for *_, size, _, _ in rows),
        "allocated": sum(size for *_, size, _, used in rows if used),
        "releasable": sum(size for alone, _, size, free, _ in rows if alone and free),
        "split": sum(size for alone, _, size, free, _ in rows if free and not alone),
        "largest": max(fits, default=0),
    }


with check(
    "others",
    "other segments, in any order",
    weight=4,
    required=True,
    hint="Take one segment at a time. When is it releasable, and what do you add to split when it is not?",
):
    for seed in range(4):
        t = drawn_segments(seed, 5 + seed)
        want = counted(t)
        assert_close(fragmentation(t[::-1]), want)
    t = [segment(2**33, (22 * MIB, "inactive")), segment(2**34, (2 * MIB, "active_allocated"))]
    want = counted(t)
    assert_close(fragmentation(t), want)
    t = [segment(2**40, (2**34 + 512, "active_allocated"), (2**34 + 1536, "inactive"))]
    t.append(segment(2**41, (2**35 + 2 * MIB, "inactive")))
    for k in (1, 2):
        want = counted(t[:k])
        assert_close(fragmentation(t[:k]), want)
with check(
    "small_segments",
    "only small segments have room: a request of more than 1 MiB goes elsewhere",
    weight=2,
    hint="A segment of 2 MiB is free. Does a request of 1.5 MiB go there?",
):
    t = [segment(2**33, (2 * MIB, "inactive")), segment(2**34, (24 * MIB, "active_allocated"))]
    want = counted(t)
    assert_close(fragmentation(t), want)
    t = [segment(2**33, (2 * MIB, "active_allocated")), segment(2**34, (24 * MIB, "active_allocated"))]
    want = counted(t)
    assert_close(fragmentation(t), want)
    t = [segment(2**33, (2 * MIB - 512, "active_allocated"), (512, "inactive"))]
    t.append(segment(2**34, (3 * 512, "inactive"), (2 * MIB - 3 * 512, "active_allocated")))
    want = counted(t)
    assert_close(fragmentation(t), want)
with check(
    "awaiting",
    "blocks that wait until they are free",
    weight=2,
    hint="A block in state active_pending_free: is it allocated? Is it free? Can its segment be given back?",
):
    t = [segment(2**33, (20 * MIB, "active_pending_free")), segment(2**34, (2 * MIB, "active_pending_free"))]
    t.append(segment(2**35, (3 * MIB, "active_pending_free"), (17 * MIB, "inactive")))
    want = counted(t)
    assert_close(fragmentation(t), want)
    for seed in range(3):
        t = drawn_segments(10 + seed, 6, waits=6)
        want = counted(t)
        assert_close(fragmentation(t), want)
with check("keeps_input", "segments stay as they are, and no segments are no bytes", guard=True):
    t = [segment(2**33, (2 * MIB, "inactive")), segment(2**34, (4 * MIB, "active_allocated"), (16 * MIB, "inactive"))]
    want = counted(t)
    assert_close(unchanged(fragmentation, t), want)
    nothing = {"reserved": 0, "allocated": 0, "releasable": 0, "split": 0, "largest": 0}
    assert_close(fragmentation([]), nothing)


# %% right "one sum for each key"
def fragmentation(segments):
    whole = [s for s in segments if all(b["state"] == "inactive" for b in s["blocks"])]
    inactive = [(s["segment_type"], b["size"]) for s in segments for b in s["blocks"] if b["state"] == "inactive"]
    releasable = sum(s["total_size"] for s in whole)
    return {
        "reserved": sum(s["total_size"] for s in segments),
        "allocated": sum(b["size"] for s in segments for b in s["blocks"] if b["state"] == "active_allocated"),
        "releasable": releasable,
        "split": sum(size for _, size in inactive) - releasable,
        "largest": max((size if kind == "large" else min(size, MIB) for kind, size in inactive), default=0),
    }


# %% right "by the sizes that the segment has"
def fragmentation(segments):
    out = dict.fromkeys(("reserved", "allocated", "releasable", "split", "largest"), 0)
    for s in segments:
        out["reserved"] += s["total_size"]
        out["allocated"] += s["allocated_size"]
        free = s["total_size"] - s["active_size"]
        if s["active_size"] == 0:
            out["releasable"] += free
        else:
            out["split"] += free
        for b in s["blocks"]:
            if b["state"] == "inactive":
                size = b["size"]
                if s["segment_type"] == "small" and size > MIB:
                    size = MIB
                if size > out["largest"]:
                    out["largest"] = size
    return out


# %% right "numpy over all blocks"
import numpy as np


def fragmentation(segments):
    rows = [(n, b["size"], b["state"], s["segment_type"]) for n, s in enumerate(segments) for b in s["blocks"]]
    size = np.array([r[1] for r in rows], dtype=np.int64)
    free = np.array([r[2] == "inactive" for r in rows], dtype=bool)
    used = np.array([r[2] == "active_allocated" for r in rows], dtype=bool)
    busy = {r[0] for r in rows if r[2] != "inactive"}
    whole = np.array([r[0] not in busy for r in rows], dtype=bool)
    limit = np.array([MIB if r[3] == "small" else 2**62 for r in rows], dtype=np.int64)
    room = np.minimum(size, limit)[free]
    return {
        "reserved": int(size.sum()),
        "allocated": int(size[used].sum()),
        "releasable": int(size[whole].sum()),
        "split": int(size[free & ~whole].sum()),
        "largest": int(room.max()) if len(room) else 0,
    }


# %% wrong "empty_cache gives all free blocks back" fails=example,others,small_segments,awaiting,keeps_input
def fragmentation(segments):
    found = {"reserved": 0, "allocated": 0, "releasable": 0, "split": 0, "largest": 0}
    for one in segments:
        found["reserved"] += one["total_size"]
        free = [b["size"] for b in one["blocks"] if b["state"] == "inactive"]
        found["allocated"] += sum(b["size"] for b in one["blocks"] if b["state"] == "active_allocated")
        found["releasable"] += sum(free)
        found["split"] += sum(free) if len(free) < len(one["blocks"]) else 0
        largest = max(free, default=0)
        found["largest"] = max(found["largest"], largest if one["segment_type"] == "large" else min(largest, MIB))
    return found


# %% wrong "every inactive block is split" fails=example,others,small_segments,awaiting,keeps_input
def fragmentation(segments):
    found = {"reserved": 0, "allocated": 0, "releasable": 0, "split": 0, "largest": 0}
    for one in segments:
        found["reserved"] += one["total_size"]
        free = [b["size"] for b in one["blocks"] if b["state"] == "inactive"]
        found["allocated"] += sum(b["size"] for b in one["blocks"] if b["state"] == "active_allocated")
        found["split"] += sum(free)
        found["releasable"] += sum(free) if len(free) == len(one["blocks"]) else 0
        largest = max(free, default=0)
        found["largest"] = max(found["largest"], largest if one["segment_type"] == "large" else min(largest, MIB))
    return found


# %% wrong "what waits is allocated" fails=awaiting
def fragmentation(segments):
    found = {"reserved": 0, "allocated": 0, "releasable": 0, "split": 0, "largest": 0}
    for one in segments:
        found["reserved"] += one["total_size"]
        free = [b["size"] for b in one["blocks"] if b["state"] == "inactive"]
        found["allocated"] += sum(b["size"] for b in one["blocks"] if b["state"] != "inactive")
        found["releasable" if len(free) == len(one["blocks"]) else "split"] += sum(free)
        largest = max(free, default=0)
        found["largest"] = max(found["largest"], largest if one["segment_type"] == "large" else min(largest, MIB))
    return found


# %% wrong "what waits is free" fails=awaiting
def fragmentation(segments):
    found = {"reserved": 0, "allocated": 0, "releasable": 0, "split": 0, "largest": 0}
    for one in segments:
        found["reserved"] += one["total_size"]
        free = [b["size"] for b in one["blocks"] if b["state"] != "active_allocated"]
        found["allocated"] += sum(b["size"] for b in one["blocks"] if b["state"] == "active_allocated")
        found["releasable" if len(free) == len(one["blocks"]) else "split"] += sum(free)
        largest = max(free, default=0)
        found["largest"] = max(found["largest"], largest if one["segment_type"] == "large" else min(largest, MIB))
    return found


# %% wrong "a segment is releasable if nothing in it is allocated" fails=awaiting
def fragmentation(segments):
    found = {"reserved": 0, "allocated": 0, "releasable": 0, "split": 0, "largest": 0}
    for one in segments:
        found["reserved"] += one["total_size"]
        free = [b["size"] for b in one["blocks"] if b["state"] == "inactive"]
        found["allocated"] += sum(b["size"] for b in one["blocks"] if b["state"] == "active_allocated")
        found["releasable" if all(b["state"] != "active_allocated" for b in one["blocks"]) else "split"] += sum(free)
        largest = max(free, default=0)
        found["largest"] = max(found["largest"], largest if one["segment_type"] == "large" else min(largest, MIB))
    return found


# %% wrong "free bytes add up to a request" fails=example,others,small_segments,awaiting,keeps_input
def fragmentation(segments):
    found = {"reserved": 0, "allocated": 0, "releasable": 0, "split": 0, "largest": 0}
    for one in segments:
        found["reserved"] += one["total_size"]
        free = [b["size"] for b in one["blocks"] if b["state"] == "inactive"]
        found["allocated"] += sum(b["size"] for b in one["blocks"] if b["state"] == "active_allocated")
        found["releasable" if len(free) == len(one["blocks"]) else "split"] += sum(free)
        found["largest"] = found["largest"] + sum(free)
    return found


# %% wrong "free bytes of one segment add up" fails=others,awaiting
def fragmentation(segments):
    found = {"reserved": 0, "allocated": 0, "releasable": 0, "split": 0, "largest": 0}
    for one in segments:
        found["reserved"] += one["total_size"]
        free = [b["size"] for b in one["blocks"] if b["state"] == "inactive"]
        found["allocated"] += sum(b["size"] for b in one["blocks"] if b["state"] == "active_allocated")
        found["releasable" if len(free) == len(one["blocks"]) else "split"] += sum(free)
        largest = sum(free)
        found["largest"] = max(found["largest"], largest if one["segment_type"] == "large" else min(largest, MIB))
    return found


# %% wrong "a small segment serves any request" fails=small_segments,awaiting
def fragmentation(segments):
    found = {"reserved": 0, "allocated": 0, "releasable": 0, "split": 0, "largest": 0}
    for one in segments:
        found["reserved"] += one["total_size"]
        free = [b["size"] for b in one["blocks"] if b["state"] == "inactive"]
        found["allocated"] += sum(b["size"] for b in one["blocks"] if b["state"] == "active_allocated")
        found["releasable" if len(free) == len(one["blocks"]) else "split"] += sum(free)
        largest = max(free, default=0)
        found["largest"] = max(found["largest"], largest)
    return found


# %% wrong "only large segments have room" fails=small_segments,awaiting
def fragmentation(segments):
    found = {"reserved": 0, "allocated": 0, "releasable": 0, "split": 0, "largest": 0}
    for one in segments:
        found["reserved"] += one["total_size"]
        free = [b["size"] for b in one["blocks"] if b["state"] == "inactive"]
        found["allocated"] += sum(b["size"] for b in one["blocks"] if b["state"] == "active_allocated")
        found["releasable" if len(free) == len(one["blocks"]) else "split"] += sum(free)
        largest = max(free, default=0)
        found["largest"] = max(found["largest"], largest if one["segment_type"] == "large" else 0)
    return found


# %% wrong "room only where nothing can be given back" fails=example,others,small_segments,awaiting
def fragmentation(segments):
    found = {"reserved": 0, "allocated": 0, "releasable": 0, "split": 0, "largest": 0}
    for one in segments:
        found["reserved"] += one["total_size"]
        free = [b["size"] for b in one["blocks"] if b["state"] == "inactive"]
        found["allocated"] += sum(b["size"] for b in one["blocks"] if b["state"] == "active_allocated")
        found["releasable" if len(free) == len(one["blocks"]) else "split"] += sum(free)
        largest = max(free, default=0) if len(free) < len(one["blocks"]) else 0
        found["largest"] = max(found["largest"], largest if one["segment_type"] == "large" else min(largest, MIB))
    return found


# %% wrong "reserved without what is in use" fails=example,others,small_segments,awaiting,keeps_input
def fragmentation(segments):
    found = {"reserved": 0, "allocated": 0, "releasable": 0, "split": 0, "largest": 0}
    for one in segments:
        found["reserved"] += one["total_size"] - one["active_size"]
        free = [b["size"] for b in one["blocks"] if b["state"] == "inactive"]
        found["allocated"] += sum(b["size"] for b in one["blocks"] if b["state"] == "active_allocated")
        found["releasable" if len(free) == len(one["blocks"]) else "split"] += sum(free)
        largest = max(free, default=0)
        found["largest"] = max(found["largest"], largest if one["segment_type"] == "large" else min(largest, MIB))
    return found


# %% equivalent "first two arguments swapped: found['largest'] = max(largest if one['segment_type'] == 'large' else min(largest, MIB), found['largest'])"
# The larger of two sizes is the same in either order.


# %% equivalent "first two arguments swapped: found['largest'] = max(found['largest'], largest if one['segment_type'] == 'large' else min(MIB, largest))"
# The smaller of two sizes is the same in either order.
