# %% exercise
def fragmentation(segments: list[dict]) -> dict[str, int]:
    """How much memory is reserved and in use, and what the rest can be used for.

    The result has five keys, each with a number of bytes as an int:
    "reserved": of all segments.
    "allocated": of the blocks in state "active_allocated".
    "releasable": of the segments whose blocks are all inactive. empty_cache() gives these back.
    "split": of the inactive blocks in all other segments.
    "largest": of the largest request that fits into one inactive block. A request for more than 1 MiB can use only a
    segment whose segment_type is "large"; any other, only a "small" one. It's 0 if no request fits.

    Details:
    - segments: in a snapshot's form, of any streams and in any order, with blocks in order of address. It may be
      empty, and it isn't changed.
    - All sizes are multiples of 512. Two neighbors in a segment are never both inactive.
    - A "small" segment has 2 MiB, and a "large" one at least 10 MiB. In a "large" one, each inactive block has more
      than 1 MiB.
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


# %% promises
# How much memory -> example, others, small_segments, awaiting
# The result has five -> others, small_segments, awaiting
# "allocated": of the -> awaiting, others
# "releasable": of -> awaiting, others
# empty_cache() gives -> example, others, small_segments, awaiting
# "split": of the -> awaiting, others
# "largest": of the -> others, awaiting
# A request for more -> small_segments
# It's 0 if -> small_segments, awaiting, keeps_input
# segments: in a -> others, small_segments, awaiting
# It may be empty -> keeps_input
# All sizes are -> others, small_segments, awaiting
# Two neighbors in -> others, small_segments, awaiting
# A "small" segment has -> others, small_segments
# In a "large" one -> others


# %% domain
def draw_segment(draw, number, small, states, scale=1):
    """A segment whose blocks have these states."""
    more = [512 * draw(st.integers(1, 900)) for _ in states[1:]]
    sizes = [n if small else (n + MIB) * scale for n in more]
    total = 2 * MIB if small else 2 * MIB * draw(st.integers(10, 12)) * scale
    sizes.insert(draw(st.integers(0, len(more))), total - sum(sizes))
    pieces = zip(sizes, states, strict=True)
    return segment(2 ** (33 + number), *[(n, state, [], n - draw(st.integers(1, 511))) for n, state in pieces])


@domain(
    reference,
    *("no segments", "one segment", "one small segment", "all free", "all in use", "nothing releasable", "huge"),
    *("a small segment is free", "only small pieces are free", "only small ones are in use", "other streams"),
    *("some blocks wait", "whole segments wait", "all others wait", "only those that wait are in use"),
)
def arguments(draw, edge):
    used, free, waits = "active_allocated", "inactive", "active_pending_free"
    cut = [[free, used, free], [used, free, used, free], [used, free, used], [free, used], [free, used, used, free]]
    pieces = [draw(st.sampled_from(cut)) for _ in range(3)]
    small, large = [pieces[0]], [*pieces[1:], [used], *([[free]] if draw(st.booleans()) else [])]
    small, large = {
        "no segments": ([], []),
        "one segment": ([], [pieces[0]]),
        "one small segment": ([pieces[0]], []),
        "all free": ([[free]], [[free], [free]]),
        "all in use": ([[used], [used, used]], [[used], [used, used, used]]),
        "nothing releasable": (small, pieces[1:]),
        "a small segment is free": ([[free], [used]], [[used, used], [used]]),
        "only small pieces are free": (pieces[:2], [[used, used], [used]]),
        "only small ones are in use": (small, [[free], [free]]),
        "some blocks wait": (small, [[waits, used, free], *draw(st.permutations([[used, free, waits, free], [free]]))]),
        "whole segments wait": ([[waits]], [*large, [waits], [waits, waits]]),
        "all others wait": ([[waits, free]], [[free, waits, free], [waits, free, waits], [free]]),
        "only those that wait are in use": ([[waits]], [[waits], [waits, waits]]),
    }.get(edge, (small, large))
    kinds = draw(st.permutations([*enumerate([(True, one) for one in small] + [(False, one) for one in large])]))
    scale = 2**15 if edge == "huge" else 1
    found = [draw_segment(draw, n, is_small, states, scale) for n, (is_small, states) in kinds]
    return ([{**one, "stream": 3 + n} for n, one in enumerate(found)] if edge == "other streams" else found,)


# %% checks
with check(
    "example",
    "the four segments above",
    weight=2,
    required=True,
    hint=(
        "Which key differs? Which blocks in the picture count toward it, and which should?",
        "split counts inactive blocks in segments that also contain others. largest is the size of a single block.",
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
            "empty_cache gives back only whole segments": {
                "reserved": 62 * MIB,
                "allocated": in_use,
                "releasable": given_back + pieces,
                "split": pieces,
                "largest": 20 * MIB,
            },
            "a request needs one block: free bytes don't add up": {
                "reserved": 62 * MIB,
                "allocated": in_use,
                "releasable": given_back,
                "split": pieces,
                "largest": given_back + pieces,
            },
            "what empty_cache gives back doesn't count as split": {
                "reserved": 62 * MIB,
                "allocated": in_use,
                "releasable": given_back,
                "split": given_back + pieces,
                "largest": 20 * MIB,
            },
        },
    )

# %% hidden checks


def assert_bytes(count, *edges):
    """Compare the results, which have no float."""
    arguments.assert_results(count, *edges)
    for trial in arguments.iter_trials(count, *edges):
        assert not any(isinstance(n, float) for n in trial.report.result.values()), "one of your numbers is a float"


with check(
    "others",
    "other segments, in any order",
    weight=4,
    required=True,
    hint="Take one segment at a time. When is it releasable, and what do you add to split if it isn't?",
):
    assert_bytes(fragmentation, "", "one segment", "one small segment", "all free", "nothing releasable", "huge")
    assert_bytes(fragmentation, "other streams")
with check(
    "small_segments",
    "only small segments have room: a request for more than 1 MiB can't use them",
    weight=2,
    hint="A segment of 2 MiB is free. Can a request for 1.5 MiB use it?",
):
    assert_bytes(fragmentation, "a small segment is free", "only small pieces are free", "all in use")
    assert_bytes(fragmentation, "only small ones are in use")
with check(
    "awaiting",
    "blocks that are waiting to be freed",
    weight=2,
    hint="A block in state active_pending_free: is it allocated? Is it free? Can its segment be given back?",
):
    assert_bytes(fragmentation, "some blocks wait", "whole segments wait", "all others wait")
    assert_bytes(fragmentation, "only those that wait are in use")
with check("keeps_input", "segments aren't changed, and an empty list has no bytes", guard=True):
    arguments.assert_arguments(fragmentation)
    arguments.assert_results(fragmentation, "no segments")


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


# %% wrong "empty_cache gives all free blocks back" fails=example,others,small_segments,awaiting
def fragmentation(segments):
    found = {"reserved": 0, "allocated": 0, "releasable": 0, "split": 0, "largest": 0}
    for one in segments:
        free = [b["size"] for b in one["blocks"] if b["state"] == "inactive"]
        found["reserved"] += one["total_size"]
        found["allocated"] += one["allocated_size"]
        found["releasable"] += sum(free)
        found["split"] += sum(free) if len(free) < len(one["blocks"]) else 0
        largest = max(free, default=0)
        found["largest"] = max(found["largest"], largest if one["segment_type"] == "large" else min(largest, MIB))
    return found


# %% wrong "every inactive block is split" fails=example,others,small_segments,awaiting
def fragmentation(segments):
    found = {"reserved": 0, "allocated": 0, "releasable": 0, "split": 0, "largest": 0}
    for one in segments:
        free = [b["size"] for b in one["blocks"] if b["state"] == "inactive"]
        found["reserved"] += one["total_size"]
        found["allocated"] += one["allocated_size"]
        found["split"] += sum(free)
        found["releasable"] += sum(free) if len(free) == len(one["blocks"]) else 0
        largest = max(free, default=0)
        found["largest"] = max(found["largest"], largest if one["segment_type"] == "large" else min(largest, MIB))
    return found


# %% wrong "free bytes add up to a request" fails=example,others,small_segments,awaiting
def fragmentation(segments):
    found = {"reserved": 0, "allocated": 0, "releasable": 0, "split": 0, "largest": 0}
    for one in segments:
        free = [b["size"] for b in one["blocks"] if b["state"] == "inactive"]
        found["reserved"] += one["total_size"]
        found["allocated"] += one["allocated_size"]
        found["releasable" if len(free) == len(one["blocks"]) else "split"] += sum(free)
        found["largest"] += sum(free)
    return found


# %% wrong "what waits is allocated" fails=awaiting
def fragmentation(segments):
    found = {"reserved": 0, "allocated": 0, "releasable": 0, "split": 0, "largest": 0}
    for one in segments:
        free = [b["size"] for b in one["blocks"] if b["state"] == "inactive"]
        found["reserved"] += one["total_size"]
        found["allocated"] += one["active_size"]
        found["releasable" if len(free) == len(one["blocks"]) else "split"] += sum(free)
        largest = max(free, default=0)
        found["largest"] = max(found["largest"], largest if one["segment_type"] == "large" else min(largest, MIB))
    return found


# %% equivalent "first two arguments swapped: found['largest'] = max(largest if one['segment_type'] == 'large' else min(largest, MIB), found['largest'])"
# The larger of two sizes is the same in either order.


# %% equivalent "first two arguments swapped: found['largest'] = max(found['largest'], largest if one['segment_type'] == 'large' else min(MIB, largest))"
# The smaller of two sizes is the same in either order.
