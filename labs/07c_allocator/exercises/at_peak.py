# %% exercise
def at_peak(snapshot: dict) -> dict[str, int]:
    """The bytes allocated by each line at the peak: "FILE:LINE" -> bytes.

    The trace is snapshot["device_traces"][0], in chronological order. A block is allocated from its "alloc" to the next
    "free_requested" with the same "addr". Two kinds of blocks were allocated before the trace began: (a) those whose
    address has "free_requested" as the first of these two actions in the trace, and (b) blocks in state
    "active_allocated" in snapshot["segments"] whose address has neither action in the trace.
    A block's bytes are the "size" of its entry in the trace. For (b), they are the block's "requested_size".
    The peak is the moment with the largest sum of bytes. A block counts toward the innermost frame f with is_yours(f),
    as f"{filename}:{line}", or toward "" if no frame is yours.

    Details:
    - snapshot: of one device, in the form of torch.cuda.memory._snapshot(). It isn't changed.
    - Actions other than "alloc" and "free_requested" change nothing. After "free_requested", an address may be
      allocated again.
    - If several moments have the largest sum, the peak is the first. The moment before the first entry counts too.
    - Frames start with the innermost. Every block of kind (a) counts toward "": the frames of "free_requested" show
      what freed it. Lines without bytes at the peak are left out.
    - For example, the segments contain a block of 6 bytes at address 8, in use and with no frame of yours. The trace:
      free_requested at 1 (3 bytes), alloc at 2 (4 bytes, from a.py:1), alloc at 1 (2 bytes, from a.py:2),
      free_requested at 2. The sums are 9, 6, 10, 12, 8. The peak is 12: {"": 6, "a.py:1": 4, "a.py:2": 2}.
    """
    ### BEGIN SOLUTION
    trace = [one for one in snapshot["device_traces"][0] if one["action"] in ("alloc", "free_requested")]

    def line(frames: list[dict]) -> str:
        return next((f"{f['filename']}:{f['line']}" for f in frames if is_yours(f)), "")

    def by_line() -> dict[str, int]:
        total: dict[str, int] = {}
        for name, size in alive.values():
            total[name] = total.get(name, 0) + size
        return {name: size for name, size in total.items() if size}

    seen: set[int] = set()
    alive: dict[int, tuple[str, int]] = {}
    for one in trace:
        if one["addr"] not in seen and one["action"] == "free_requested":
            alive[one["addr"]] = ("", one["size"])
        seen.add(one["addr"])
    for segment in snapshot["segments"]:
        for block in segment["blocks"]:
            if block["state"] == "active_allocated" and block["address"] not in seen:
                alive[block["address"]] = (line(block["frames"]), block["requested_size"])
    now = peak = sum(size for _, size in alive.values())
    best = by_line()
    for one in trace:
        if one["action"] == "alloc":
            alive[one["addr"]] = (line(one["frames"]), one["size"])
            now += one["size"]
        else:
            now -= alive.pop(one["addr"])[1]
        if now > peak:
            peak, best = now, by_line()
    return best
    ### END SOLUTION


# %% promises
# The bytes allocated -> example, others
# The trace is -> others, moments
# A block is allocated -> others, waiting
# Two kinds of -> others, waiting, moments
# A block's bytes -> others
# For (b), they are -> others, moments
# The peak is the moment -> moments
# A block counts -> others
# snapshot: of one -> others
# It isn't changed -> keeps_input
# Actions other than -> others, waiting
# After "free_requested", an -> others
# If several moments -> moments
# The moment before -> moments
# Frames start with -> others
# Every block of -> others
# Lines without bytes -> others
# For example, the segments -> others, waiting, moments
# The trace: free_requested -> others, waiting, moments
# The sums are -> others, waiting, moments
# The peak is 12 -> others, waiting, moments


# %% domain
@domain(
    reference,
    *("no old blocks", "an address used again", "an old address used again", "one line", "huge", "other actions"),
    *("no frame of yours", "yours after others", "yours among packages", "some wait", "one waits from the start"),
    *("equal sums", "most before the first entry", "no history", "nothing"),
)
def arguments(draw, edge):
    g = draw.make_generator()

    def pick(count):
        return int(torch.randint(count, (), generator=g))

    def draw_size():
        if edge == "equal sums":
            return 700
        new = edge == "most before the first entry" and trace
        return (1 + pick(40) if new else 100 + pick(9000)) * scale + (pick(999) if scale > 1 else 0)

    def draw_frames():
        inner, outer, torchs = f"/a/m{pick(3)}.py:{pick(5) + 3}", "/a/run.py:9", f"/b/torch/nn/f{pick(2)}.py:{pick(7)}"
        others = [("/a/torchlike.py:4", inner), ("/a/lib.so:0", torchs, f"/tmp/ipykernel_7/{pick(2)}.py:1", outer)]
        kinds = [(inner, outer), (torchs, inner, torchs, outer), ("/c/allocator.cpp:77", outer), *others, (torchs,), ()]
        if edge == "no frame of yours":
            kinds = [(torchs,), (), ("/c/allocator.cpp:77", torchs, "/a/lib.so:0")]
        if edge == "yours after others":
            kinds = [("??:0", torchs, torchs, inner, outer), (torchs, inner, torchs, outer)]
        if edge == "yours among packages":
            kinds = [(f"/env/site-packages/{name}/{pick(2)}.py:3", torchs, outer) for name in ("mine", "torchmine")]
        return stack("/a/m.py:1") if edge == "one line" else stack(*kinds[pick(len(kinds))])

    scale = 2**22 if edge == "huge" else 1
    place, trace, waiting = 2**14 * scale, [], {}  # a place for a block, whose address is 2**40 + n * place
    alive = {n: (draw_size(), draw_frames()) for n in range(0 if edge in ("no old blocks", "nothing") else 4)}
    if edge == "one waits from the start":
        waiting[6] = draw_size()
        trace.append(entry("free_completed", 2**40 + 7 * place, draw_size(), draw_frames()))
    steps = {
        "an address used again": [4] * 7,
        "an old address used again": [2, 2, 4, 3, 3, 2, 2],
        "equal sums": [4, 4, 5, 5, 4, 4],
        "most before the first entry": [3, 4, 2, 3],
        "no history": [],
        "nothing": [],
    }.get(edge, [4, 2, 3] + [2 + pick(4) for _ in range(9)])
    for step, n in enumerate(steps):  # the block at n is freed, or one is allocated there
        address = 2**40 + n * place
        if n in alive:
            size = alive.pop(n)[0]
            trace.append(entry("free_requested", address, size, draw_frames()))
            waiting[n] = size
        if n in waiting and not (trace[-1]["addr"] == address and edge == "some wait" and pick(4)):
            trace.append(entry("free_completed", address, waiting.pop(n), draw_frames()))
        elif n not in alive and n not in waiting:
            alive[n] = (draw_size(), draw_frames())
            trace.append(entry("alloc", address, *alive[n]))
        if edge == "other actions":
            other = ["segment_alloc", "segment_free", "segment_map", "segment_unmap", "snapshot", "oom"][step % 6]
            trace.append(entry(other, 2**40 + pick(8) * place, 2**21, draw_frames()))
    pieces = [
        (place, "active_allocated", alive[n][1], alive[n][0])
        if n in alive
        else (place, "active_pending_free" if n in waiting else "inactive")
        for n in range(8)
    ]
    segments = [segment(2**40 + n * place, *pieces[n : n + 2]) for n in range(0, 8, 2) if edge != "nothing"]
    return ({"segments": segments, "device_traces": [trace]},)


# %% checks
with check(
    "example",
    "the handwritten snapshot: the bytes at the peak, by line",
    weight=2,
    required=True,
    hint=(
        "Add up your bytes. Is the sum 1,525 MiB? If it is, the blocks are right and a line is wrong.",
        "Before the trace, there were the weights, the states, and one block that the trace frees. Weights and "
        "states have no entry in it.",
    ),
):
    t = shipped_snapshot()
    in_model = {"/lab/model.py:31": 150 * MIB, "/lab/model.py:34": 150 * MIB, "/lab/model.py:36": 125 * MIB}
    in_step = {"/lab/train.py:18": 50 * MIB, "/lab/train.py:21": 500 * MIB, "/lab/train.py:22": 250 * MIB}
    older = {"": 100 * MIB, "/lab/train.py:23": 200 * MIB}
    outermost = {**older, **in_step, "/lab/train.py:20": 425 * MIB}
    innermost = {
        "": 100 * MIB,
        TORCH + "optim/adam.py:180": 200 * MIB,
        "/lab/train.py:18": 50 * MIB,
        LINEAR: 275 * MIB,
        "/lab/model.py:34": 150 * MIB,
        "/lab/train.py:21": 250 * MIB,
        LOSS: 250 * MIB,
        BACKWARD: 250 * MIB,
    }
    explain(
        at_peak(t),
        {**older, **in_model, **in_step},
        {
            "weights from before the trace are in the segments": {**in_model, **in_step},
            "the innermost frame may be torch's own: take the innermost of yours": innermost,
            "frames start with the innermost": outermost,
            "a block is allocated only until free_requested": {
                **older,
                **in_model,
                **in_step,
                "": 150 * MIB,
            },
        },
        name="your bytes by line",
    )

# %% hidden checks
with check(
    "others",
    "other histories, with addresses that are used again",
    weight=4,
    required=True,
    hint="Do both kinds of old blocks count? Does an address that was freed and allocated again count once?",
):
    arguments.assert_results(at_peak, "", "no old blocks", "an address used again", "an old address used again")
    arguments.assert_results(at_peak, "one line", "huge", "other actions", "no frame of yours", "yours after others")
    arguments.assert_results(at_peak, "yours among packages")
with check(
    "waiting",
    "blocks that wait for a stream after they are freed",
    weight=1,
    hint="Which of a free's two entries ends the allocation?",
):
    arguments.assert_results(at_peak, "some wait", "one waits from the start")
with check(
    "moments",
    "two moments with the same sum, a peak before the first entry, and an empty history",
    weight=2,
    hint="Which of two equal peaks counts? Can the peak be before anything happens?",
):
    arguments.assert_results(at_peak, "equal sums", "most before the first entry", "no history", "nothing")
with check("keeps_input", "the snapshot isn't changed", guard=True):
    arguments.assert_arguments(at_peak)


# %% right "lifetimes, then the moment"
def at_peak(snapshot):
    def owner(frames):
        mine = [f for f in frames if is_yours(f)]
        return mine[0]["filename"] + ":" + str(mine[0]["line"]) if mine else ""

    trace = snapshot["device_traces"][0]
    spans, begun, touched = [], {}, set()
    for n, e in enumerate(trace, 1):
        if e["action"] == "alloc":
            begun[e["addr"]] = (n, e)
            touched.add(e["addr"])
        elif e["action"] == "free_requested":
            touched.add(e["addr"])
            start, made = begun.pop(e["addr"], (0, None))
            spans.append((start, n, e["size"], owner(made["frames"]) if made else ""))
    end = len(trace) + 1
    spans += [(start, end, made["size"], owner(made["frames"])) for start, made in begun.values()]
    for s in snapshot["segments"]:
        for b in s["blocks"]:
            if b["state"] == "active_allocated" and b["address"] not in touched:
                spans.append((0, end, b["requested_size"], owner(b["frames"])))
    change = [0] * (end + 1)
    for start, stop, size, _ in spans:
        change[start] += size
        change[stop] -= size
    now, top, when = 0, -1, 0
    for n in range(end):
        now += change[n]
        if now > top:
            top, when = now, n
    out = {}
    for start, stop, size, name in spans:
        if start <= when < stop:
            out[name] = out.get(name, 0) + size
    return out


# %% right "every moment in a list"
def at_peak(snapshot):
    def line(frames):
        return next((f"{f['filename']}:{f['line']}" for f in frames if is_yours(f)), "")

    trace = [e for e in snapshot["device_traces"][0] if e["action"] in ("alloc", "free_requested")]
    first = {e["addr"]: e for e in reversed(trace)}
    alive = {a: ("", e["size"]) for a, e in first.items() if e["action"] == "free_requested"}
    for b in [b for s in snapshot["segments"] for b in s["blocks"] if b["state"] == "active_allocated"]:
        if b["address"] not in first:
            alive[b["address"]] = line(b["frames"]), b["requested_size"]
    moments = [alive]
    for e in trace:
        alive = {a: block for a, block in alive.items() if a != e["addr"]}
        if e["action"] == "alloc":
            alive[e["addr"]] = line(e["frames"]), e["size"]
        moments.append(alive)
    peak = max(moments, key=lambda alive: sum(size for _, size in alive.values()))
    total = dict.fromkeys([name for name, _ in peak.values()], 0)
    for name, size in peak.values():
        total[name] += size
    return total


# %% wrong "old blocks of the segments are left out" fails=example,others,waiting,moments
def at_peak(snapshot):
    def line(frames):
        return next((f"{f['filename']}:{f['line']}" for f in frames if is_yours(f)), "")

    trace = [e for e in snapshot["device_traces"][0] if e["action"] in ("alloc", "free_requested")]
    first = {e["addr"]: e for e in reversed(trace)}
    alive = {a: ("", e["size"]) for a, e in first.items() if e["action"] == "free_requested"}
    moments = [alive]
    for e in trace:
        alive = {a: block for a, block in alive.items() if a != e["addr"]}
        if e["action"] == "alloc":
            alive[e["addr"]] = line(e["frames"]), e["size"]
        moments.append(alive)
    peak = max(moments, key=lambda alive: sum(size for _, size in alive.values()))
    total = dict.fromkeys([name for name, _ in peak.values()], 0)
    for name, size in peak.values():
        total[name] += size
    return total


# %% wrong "until free_completed" fails=example,waiting
def at_peak(snapshot):
    def line(frames):
        return next((f"{f['filename']}:{f['line']}" for f in frames if is_yours(f)), "")

    trace = [e for e in snapshot["device_traces"][0] if e["action"] in ("alloc", "free_completed")]
    first = {e["addr"]: e for e in reversed(trace)}
    alive = {a: ("", e["size"]) for a, e in first.items() if e["action"] == "free_completed"}
    for b in [b for s in snapshot["segments"] for b in s["blocks"] if b["state"] == "active_allocated"]:
        if b["address"] not in first:
            alive[b["address"]] = line(b["frames"]), b["requested_size"]
    moments = [alive]
    for e in trace:
        alive = {a: block for a, block in alive.items() if a != e["addr"]}
        if e["action"] == "alloc":
            alive[e["addr"]] = line(e["frames"]), e["size"]
        moments.append(alive)
    peak = max(moments, key=lambda alive: sum(size for _, size in alive.values()))
    total = dict.fromkeys([name for name, _ in peak.values()], 0)
    for name, size in peak.values():
        total[name] += size
    return total


# %% wrong "the outermost frame of yours" fails=example,others,waiting,moments
def at_peak(snapshot):
    def line(frames):
        return next((f"{f['filename']}:{f['line']}" for f in reversed(frames) if is_yours(f)), "")

    trace = [e for e in snapshot["device_traces"][0] if e["action"] in ("alloc", "free_requested")]
    first = {e["addr"]: e for e in reversed(trace)}
    alive = {a: ("", e["size"]) for a, e in first.items() if e["action"] == "free_requested"}
    for b in [b for s in snapshot["segments"] for b in s["blocks"] if b["state"] == "active_allocated"]:
        if b["address"] not in first:
            alive[b["address"]] = line(b["frames"]), b["requested_size"]
    moments = [alive]
    for e in trace:
        alive = {a: block for a, block in alive.items() if a != e["addr"]}
        if e["action"] == "alloc":
            alive[e["addr"]] = line(e["frames"]), e["size"]
        moments.append(alive)
    peak = max(moments, key=lambda alive: sum(size for _, size in alive.values()))
    total = dict.fromkeys([name for name, _ in peak.values()], 0)
    for name, size in peak.values():
        total[name] += size
    return total


# %% wrong "the innermost frame, whosever it is but C++'s" fails=example,others,waiting,moments
def at_peak(snapshot):
    def line(frames):
        return next((f"{f['filename']}:{f['line']}" for f in frames if f["filename"].endswith(".py")), "")

    trace = [e for e in snapshot["device_traces"][0] if e["action"] in ("alloc", "free_requested")]
    first = {e["addr"]: e for e in reversed(trace)}
    alive = {a: ("", e["size"]) for a, e in first.items() if e["action"] == "free_requested"}
    for b in [b for s in snapshot["segments"] for b in s["blocks"] if b["state"] == "active_allocated"]:
        if b["address"] not in first:
            alive[b["address"]] = line(b["frames"]), b["requested_size"]
    moments = [alive]
    for e in trace:
        alive = {a: block for a, block in alive.items() if a != e["addr"]}
        if e["action"] == "alloc":
            alive[e["addr"]] = line(e["frames"]), e["size"]
        moments.append(alive)
    peak = max(moments, key=lambda alive: sum(size for _, size in alive.values()))
    total = dict.fromkeys([name for name, _ in peak.values()], 0)
    for name, size in peak.values():
        total[name] += size
    return total
