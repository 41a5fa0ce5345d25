# %% exercise
def at_peak(snapshot: dict) -> dict[str, int]:
    """Who had allocated what when most was allocated: "FILE:LINE" -> bytes.

    snapshot: of one device, in the form of torch.cuda.memory._snapshot(). The trace is
    snapshot["device_traces"][0], in the order in which things happened.

    1. A block is allocated from its "alloc" to the next "free_requested" with the same "addr".
       Other actions change nothing. An address may be allocated again after that.
    2. Two kinds of blocks were allocated before the trace began: (a) those whose address has
       "free_requested" as the first of these two actions in the trace, and (b) blocks in state
       "active_allocated" in snapshot["segments"] whose address has neither action in the trace.
    3. A block's bytes are the "size" of its entry in the trace. For (b) they are the
       "requested_size" of the block.
    4. The peak is the moment with the largest sum of bytes, the first one of several. The moment
       before the first entry is one too.
    5. A block counts for the innermost frame f with is_yours(f), as f"{filename}:{line}". Frames
       begin with the innermost. It counts for "" if no frame is yours, and so does every block
       of kind (a): the frames of "free_requested" say who freed. Lines without bytes at the peak
       are left out.

    For example, the segments hold a block at 8 of 6 bytes, in use and with no frame of yours. The
    trace: free_requested at 1 (3 bytes), alloc at 2 (4 bytes, from a.py:1), alloc at 1 (2 bytes,
    from a.py:2), free_requested at 2. The sums are 9, 6, 10, 12, 8. The peak is 12:
    {"": 6, "a.py:1": 4, "a.py:2": 2}.
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


# %% checks
with check(
    "example",
    "the shipped snapshot: what is there at the peak, by line",
    weight=2,
    required=True,
    hint=(
        "Add up your bytes. Is the sum 1,525 MiB? If it is, the blocks are right and a line is wrong.",
        "Before the trace there were the weights, the states, and one block that is freed in the trace. Weights and "
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
            "an innermost frame may be torch's own: take the innermost of yours": innermost,
            "frames begin with the innermost": outermost,
            "a block is allocated up to free_requested, and no longer": {
                **older,
                **in_model,
                **in_step,
                "": 150 * MIB,
            },
        },
        name="your bytes by line",
    )

# %% hidden checks


def frames_of(n):
    """Frames of some kind, and the line that they mean."""
    inner, outer, torchs = f"/a/m{n % 3}.py:{n % 5 + 3}", "/a/run.py:9", f"/b/torch/nn/f{n % 2}.py:{n % 7}"
    kinds = [
        ((inner, outer), inner),
        (("??:0", torchs, inner, torchs, outer), inner),
        (("/c/allocator.cpp:77", outer), outer),
        ((torchs, torchs), ""),
        ((), ""),
        ((torchs, "/a/torchlike.py:4", inner), "/a/torchlike.py:4"),
        (("/a/lib.so:0", torchs, f"/tmp/ipykernel_7/{n % 2}.py:1", outer), f"/tmp/ipykernel_7/{n % 2}.py:1"),
    ]
    places, line = kinds[n % len(kinds)]
    return stack(*places), line


class Told:
    """Writes a history, and knows what was allocated at its peak."""

    def __init__(self, older=()):
        self.alive, self.freed, self.waiting, self.trace = {}, {}, [], []
        self.peak, self.want = -1, {}
        for address, size, n, mortal in older:
            self.alive[address] = (size, frames_of(n)[0], "" if mortal else frames_of(n)[1])
        self.look()

    def look(self):
        now = sum(size for size, *_ in self.alive.values())
        if now > self.peak:
            self.peak, self.want = now, {}
            for size, _, name in self.alive.values():
                self.want[name] = self.want.get(name, 0) + size

    def alloc(self, address, size, n):
        frames, name = frames_of(n)
        self.freed.pop(address, None)
        self.alive[address] = (size, frames, name)
        self.trace.append(entry("alloc", address, size, frames))
        self.look()

    def free(self, address, n, late=False):
        size = self.alive.pop(address)[0]
        self.trace.append(entry("free_requested", address, size, frames_of(n)[0]))
        self.waiting.append((address, size, n))
        if not late:
            self.complete()

    def complete(self):
        for address, size, n in self.waiting:
            self.trace.append(entry("free_completed", address, size, frames_of(n)[0]))
            self.freed[address] = size
        self.waiting = []

    def snapshot(self):
        used, late, free = "active_allocated", "active_pending_free", "inactive"
        blocks = [(a, size, used, frames) for a, (size, frames, _) in self.alive.items()]
        blocks += [(a, size, late, frames_of(n)[0]) for a, size, n in self.waiting]
        blocks += [(a, size, free, []) for a, size in self.freed.items()]
        segments = [segment(a, (math.ceil(size / 512) * 512, state, f, size)) for a, size, state, f in sorted(blocks)]
        return {"segments": segments, "device_traces": [self.trace]}


def random_told(seed, count, late=False):
    source = torch.Generator().manual_seed(seed)

    def draw(below):
        return torch.randint(below, (), generator=source).item()

    mortal, old = [2**40, 2**41], [2**42, 2**43, 2**44]
    told = Told([(a, 1000 + 37 * draw(50), draw(30), a in mortal) for a in mortal + old])
    for step in range(count):
        if step % 7 == 3:
            other = ("segment_alloc", "segment_free", "oom", "snapshot")[draw(4)]
            told.trace.append(entry(other, 2**45, 2**21, frames_of(draw(30))[0]))
        can_go = sorted(set(told.alive) - set(old))
        if mortal and step % 4 == 2:
            told.free(mortal.pop(), draw(30))
        elif can_go and draw(10) < 4 and not mortal:
            told.free(can_go[draw(len(can_go))], draw(30), late and draw(2) == 0)
        else:
            free = sorted(told.freed)
            address = free[draw(len(free))] if free and draw(2) else 2**46 + step * 4096
            told.alloc(address, 100 + draw(5000), draw(30))
    for address in mortal:
        told.free(address, 3)
    return told


with check(
    "others",
    "other histories, with addresses that are used again",
    weight=4,
    required=True,
    hint="Do old blocks count, of both kinds? Does an address that was freed and allocated again count once?",
):
    for seed in range(4):
        t = random_told(seed, 12 + 9 * seed)
        assert_close(at_peak(t.snapshot()), t.want, name="your bytes by line")
with check(
    "waiting",
    "blocks that wait for a stream after they are freed",
    weight=1,
    hint="Which of the two entries of a free ends the block's time?",
):
    for seed in range(3):
        t = random_told(20 + seed, 40, late=True)
        assert_close(at_peak(t.snapshot()), t.want, name="your bytes by line")
    t = random_told(24, 20, late=True)
    freed_before = t.snapshot()
    freed_before["segments"].append(segment(2**50, (4608, "active_pending_free", frames_of(1)[0], 4500)))
    assert_close(at_peak(freed_before), t.want, name="your bytes by line")
with check(
    "moments",
    "two moments with one sum, a peak before the first entry, large blocks, and an empty history",
    weight=2,
    hint="Which of two equal peaks counts? And can most be allocated before anything happens?",
):
    t = Told([(2**40, 300, 0, False)])
    for n, size in ((7, 700), (14, 500), (1, 700)):
        t.alloc(2**41, size, n)
        t.free(2**41, 2)
    assert_close(at_peak(t.snapshot()), t.want, name="your bytes by line")
    t = Told([(2**40, 900, 0, False), (2**41, 5000, 7, True), (2**42, 77, 8, False)])
    t.free(2**41, 0)
    t.alloc(2**41, 4000, 1)
    assert_close(at_peak(t.snapshot()), t.want, name="your bytes by line")
    t = Told([(2**40, 900, 0, False), (2**42, 77, 8, False), (2**43, 20, 7, False)])
    assert_close(at_peak(t.snapshot()), t.want, name="your bytes by line")
    t = Told([(2**50, 2**34 + 77, 1, False)])
    t.alloc(2**51, 2**33 + 3, 2)
    assert_close(at_peak(t.snapshot()), t.want, name="your bytes by line")
    assert_close(at_peak({"segments": [], "device_traces": [[]]}), {})
with check("keeps_input", "the snapshot stays as it is", guard=True):
    t = random_told(30, 15)
    assert_close(unchanged(at_peak, t.snapshot()), t.want, name="your bytes by line")


# %% right "backwards from the end"
def at_peak(snapshot):
    def owner(frames):
        for f in frames:
            if is_yours(f):
                return f"{f['filename']}:{f['line']}"
        return ""

    def sums(blocks):
        out = {}
        for name, size in blocks.values():
            out[name] = out.get(name, 0) + size
        return out

    alive = {
        b["address"]: (owner(b["frames"]), b["requested_size"])
        for s in snapshot["segments"]
        for b in s["blocks"]
        if b["state"] == "active_allocated"
    }
    trace = snapshot["device_traces"][0]
    allocs = {}
    for n, e in enumerate(trace):  # the alloc that a free belongs to
        if e["action"] == "alloc":
            allocs[e["addr"]] = e
        elif e["action"] == "free_requested":
            made = allocs.pop(e["addr"], None)
            allocs[n] = (owner(made["frames"]) if made else "", e["size"])
    best = (sum(size for _, size in alive.values()), sums(alive))
    for n in range(len(trace) - 1, -1, -1):
        e = trace[n]
        if e["action"] == "alloc":
            del alive[e["addr"]]
        elif e["action"] == "free_requested":
            alive[e["addr"]] = allocs[n]
        total = sum(size for _, size in alive.values())
        if total >= best[0]:
            best = (total, sums(alive))
    return best[1]


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


# %% right "a Counter by line"
from collections import Counter


def at_peak(snapshot):
    trace = [e for e in snapshot["device_traces"][0] if e["action"] in ("alloc", "free_requested")]

    def name_of(frames):
        return next(iter([f"{f['filename']}:{f['line']}" for f in frames if is_yours(f)]), "")

    first = {}
    for e in trace:
        first.setdefault(e["addr"], e)
    owner, totals = {}, Counter()
    for addr, e in first.items():
        if e["action"] == "free_requested":
            owner[addr] = ""
            totals[""] += e["size"]
    for s in snapshot["segments"]:
        for b in s["blocks"]:
            if b["state"] == "active_allocated" and b["address"] not in first:
                totals[name_of(b["frames"])] += b["requested_size"]
    best = Counter(totals)
    for e in trace:
        if e["action"] == "alloc":
            owner[e["addr"]] = name_of(e["frames"])
            totals[owner[e["addr"]]] += e["size"]
            if sum(totals.values()) > sum(best.values()):
                best = Counter(totals)
        else:
            totals[owner[e["addr"]]] -= e["size"]
    return {name: size for name, size in best.items() if size}


# %% wrong "old blocks of the segments are left out" fails=example,others,waiting,moments,keeps_input
def at_peak(snapshot):
    trace = [e for e in snapshot["device_traces"][0] if e["action"] in ("alloc", "free_requested")]

    def line(frames):
        return next((f"{f['filename']}:{f['line']}" for f in frames if is_yours(f)), "")

    def by_line():
        total = {}
        for name, size in alive.values():
            total[name] = total.get(name, 0) + size
        return total

    seen, alive = set(), {}
    for e in trace:
        if e["addr"] not in seen and e["action"] == "free_requested":
            alive[e["addr"]] = ("", e["size"])
        seen.add(e["addr"])
    now = peak = sum(size for _, size in alive.values())
    best = by_line()
    for e in trace:
        if e["action"] == "alloc":
            alive[e["addr"]] = (line(e["frames"]), e["size"])
            now += e["size"]
        else:
            now -= alive.pop(e["addr"])[1]
        if now > peak:
            peak, best = now, by_line()
    return best


# %% wrong "old blocks that are freed in the trace are left out" fails=others,moments,keeps_input
def at_peak(snapshot):
    trace = [e for e in snapshot["device_traces"][0] if e["action"] in ("alloc", "free_requested")]

    def line(frames):
        return next((f"{f['filename']}:{f['line']}" for f in frames if is_yours(f)), "")

    def by_line():
        total = {}
        for name, size in alive.values():
            total[name] = total.get(name, 0) + size
        return total

    seen, alive = set(), {}
    seen = {e["addr"] for e in trace}
    for s in snapshot["segments"]:
        for b in s["blocks"]:
            if b["state"] == "active_allocated" and b["address"] not in seen:
                alive[b["address"]] = (line(b["frames"]), b["requested_size"])
    now = peak = sum(size for _, size in alive.values())
    best = by_line()
    for e in trace:
        if e["action"] == "alloc":
            alive[e["addr"]] = (line(e["frames"]), e["size"])
            now += e["size"]
        else:
            now -= alive.pop(e["addr"], ("", 0))[1]
        if now > peak:
            peak, best = now, by_line()
    return best


# %% wrong "no old blocks at all" fails=example,others,waiting,moments,keeps_input
def at_peak(snapshot):
    trace = [e for e in snapshot["device_traces"][0] if e["action"] in ("alloc", "free_requested")]

    def line(frames):
        return next((f"{f['filename']}:{f['line']}" for f in frames if is_yours(f)), "")

    def by_line():
        total = {}
        for name, size in alive.values():
            total[name] = total.get(name, 0) + size
        return total

    alive = {}
    now = peak = sum(size for _, size in alive.values())
    best = by_line()
    for e in trace:
        if e["action"] == "alloc":
            alive[e["addr"]] = (line(e["frames"]), e["size"])
            now += e["size"]
        else:
            now -= alive.pop(e["addr"], ("", 0))[1]
        if now > peak:
            peak, best = now, by_line()
    return best


# %% wrong "every block in the segments was there before" fails=example,others,waiting,moments,keeps_input
def at_peak(snapshot):
    trace = [e for e in snapshot["device_traces"][0] if e["action"] in ("alloc", "free_requested")]

    def line(frames):
        return next((f"{f['filename']}:{f['line']}" for f in frames if is_yours(f)), "")

    def by_line():
        total = {}
        for name, size in alive.values():
            total[name] = total.get(name, 0) + size
        return total

    seen, alive = set(), {}
    for e in trace:
        if e["addr"] not in seen and e["action"] == "free_requested":
            alive[e["addr"]] = ("", e["size"])
        seen.add(e["addr"])
    for s in snapshot["segments"]:
        for b in s["blocks"]:
            if b["state"] == "active_allocated":
                alive[b["address"]] = (line(b["frames"]), b["requested_size"])
    now = peak = sum(size for _, size in alive.values())
    best = by_line()
    for e in trace:
        if e["action"] == "alloc":
            alive[e["addr"]] = (line(e["frames"]), e["size"])
            now += e["size"]
        else:
            now -= alive.pop(e["addr"])[1]
        if now > peak:
            peak, best = now, by_line()
    return best


# %% wrong "until free_completed" fails=example,waiting
def at_peak(snapshot):
    trace = [e for e in snapshot["device_traces"][0] if e["action"] in ("alloc", "free_completed")]

    def line(frames):
        return next((f"{f['filename']}:{f['line']}" for f in frames if is_yours(f)), "")

    def by_line():
        total = {}
        for name, size in alive.values():
            total[name] = total.get(name, 0) + size
        return total

    seen, alive = set(), {}
    for e in trace:
        if e["addr"] not in seen and e["action"] == "free_completed":
            alive[e["addr"]] = ("", e["size"])
        seen.add(e["addr"])
    for s in snapshot["segments"]:
        for b in s["blocks"]:
            if b["state"] == "active_allocated" and b["address"] not in seen:
                alive[b["address"]] = (line(b["frames"]), b["requested_size"])
    now = peak = sum(size for _, size in alive.values())
    best = by_line()
    for e in trace:
        if e["action"] == "alloc":
            alive[e["addr"]] = (line(e["frames"]), e["size"])
            now += e["size"]
        else:
            now -= alive.pop(e["addr"])[1]
        if now > peak:
            peak, best = now, by_line()
    return best


# %% wrong "the outermost frame of yours" fails=example,others,waiting,moments,keeps_input
def at_peak(snapshot):
    trace = [e for e in snapshot["device_traces"][0] if e["action"] in ("alloc", "free_requested")]

    def line(frames):
        return next((f"{f['filename']}:{f['line']}" for f in reversed(frames) if is_yours(f)), "")

    def by_line():
        total = {}
        for name, size in alive.values():
            total[name] = total.get(name, 0) + size
        return total

    seen, alive = set(), {}
    for e in trace:
        if e["addr"] not in seen and e["action"] == "free_requested":
            alive[e["addr"]] = ("", e["size"])
        seen.add(e["addr"])
    for s in snapshot["segments"]:
        for b in s["blocks"]:
            if b["state"] == "active_allocated" and b["address"] not in seen:
                alive[b["address"]] = (line(b["frames"]), b["requested_size"])
    now = peak = sum(size for _, size in alive.values())
    best = by_line()
    for e in trace:
        if e["action"] == "alloc":
            alive[e["addr"]] = (line(e["frames"]), e["size"])
            now += e["size"]
        else:
            now -= alive.pop(e["addr"])[1]
        if now > peak:
            peak, best = now, by_line()
    return best


# %% wrong "the innermost frame, whosever it is but C++'s" fails=example,others,waiting,moments,keeps_input
def at_peak(snapshot):
    trace = [e for e in snapshot["device_traces"][0] if e["action"] in ("alloc", "free_requested")]

    def line(frames):
        return next((f"{f['filename']}:{f['line']}" for f in frames if f["filename"].endswith(".py")), "")

    def by_line():
        total = {}
        for name, size in alive.values():
            total[name] = total.get(name, 0) + size
        return total

    seen, alive = set(), {}
    for e in trace:
        if e["addr"] not in seen and e["action"] == "free_requested":
            alive[e["addr"]] = ("", e["size"])
        seen.add(e["addr"])
    for s in snapshot["segments"]:
        for b in s["blocks"]:
            if b["state"] == "active_allocated" and b["address"] not in seen:
                alive[b["address"]] = (line(b["frames"]), b["requested_size"])
    now = peak = sum(size for _, size in alive.values())
    best = by_line()
    for e in trace:
        if e["action"] == "alloc":
            alive[e["addr"]] = (line(e["frames"]), e["size"])
            now += e["size"]
        else:
            now -= alive.pop(e["addr"])[1]
        if now > peak:
            peak, best = now, by_line()
    return best


# %% wrong "the first frame only" fails=example,others,waiting,moments,keeps_input
def at_peak(snapshot):
    trace = [e for e in snapshot["device_traces"][0] if e["action"] in ("alloc", "free_requested")]

    def line(frames):
        return next((f"{f['filename']}:{f['line']}" for f in frames[:1] if is_yours(f)), "")

    def by_line():
        total = {}
        for name, size in alive.values():
            total[name] = total.get(name, 0) + size
        return total

    seen, alive = set(), {}
    for e in trace:
        if e["addr"] not in seen and e["action"] == "free_requested":
            alive[e["addr"]] = ("", e["size"])
        seen.add(e["addr"])
    for s in snapshot["segments"]:
        for b in s["blocks"]:
            if b["state"] == "active_allocated" and b["address"] not in seen:
                alive[b["address"]] = (line(b["frames"]), b["requested_size"])
    now = peak = sum(size for _, size in alive.values())
    best = by_line()
    for e in trace:
        if e["action"] == "alloc":
            alive[e["addr"]] = (line(e["frames"]), e["size"])
            now += e["size"]
        else:
            now -= alive.pop(e["addr"])[1]
        if now > peak:
            peak, best = now, by_line()
    return best


# %% wrong "the last of several peaks" fails=moments
def at_peak(snapshot):
    trace = [e for e in snapshot["device_traces"][0] if e["action"] in ("alloc", "free_requested")]

    def line(frames):
        return next((f"{f['filename']}:{f['line']}" for f in frames if is_yours(f)), "")

    def by_line():
        total = {}
        for name, size in alive.values():
            total[name] = total.get(name, 0) + size
        return total

    seen, alive = set(), {}
    for e in trace:
        if e["addr"] not in seen and e["action"] == "free_requested":
            alive[e["addr"]] = ("", e["size"])
        seen.add(e["addr"])
    for s in snapshot["segments"]:
        for b in s["blocks"]:
            if b["state"] == "active_allocated" and b["address"] not in seen:
                alive[b["address"]] = (line(b["frames"]), b["requested_size"])
    now = peak = sum(size for _, size in alive.values())
    best = by_line()
    for e in trace:
        if e["action"] == "alloc":
            alive[e["addr"]] = (line(e["frames"]), e["size"])
            now += e["size"]
        else:
            now -= alive.pop(e["addr"])[1]
        if now >= peak:
            peak, best = now, by_line()
    return best


# %% wrong "what is there at the end" fails=example,others,waiting,moments,keeps_input
def at_peak(snapshot):
    trace = [e for e in snapshot["device_traces"][0] if e["action"] in ("alloc", "free_requested")]

    def line(frames):
        return next((f"{f['filename']}:{f['line']}" for f in frames if is_yours(f)), "")

    def by_line():
        total = {}
        for name, size in alive.values():
            total[name] = total.get(name, 0) + size
        return total

    seen, alive = set(), {}
    for e in trace:
        if e["addr"] not in seen and e["action"] == "free_requested":
            alive[e["addr"]] = ("", e["size"])
        seen.add(e["addr"])
    for s in snapshot["segments"]:
        for b in s["blocks"]:
            if b["state"] == "active_allocated" and b["address"] not in seen:
                alive[b["address"]] = (line(b["frames"]), b["requested_size"])
    now = sum(size for _, size in alive.values())
    best = by_line()
    for e in trace:
        if e["action"] == "alloc":
            alive[e["addr"]] = (line(e["frames"]), e["size"])
            now += e["size"]
        else:
            now -= alive.pop(e["addr"])[1]
        best = by_line()
    return best


# %% wrong "the moment before the first entry is none" fails=moments
def at_peak(snapshot):
    trace = [e for e in snapshot["device_traces"][0] if e["action"] in ("alloc", "free_requested")]

    def line(frames):
        return next((f"{f['filename']}:{f['line']}" for f in frames if is_yours(f)), "")

    def by_line():
        total = {}
        for name, size in alive.values():
            total[name] = total.get(name, 0) + size
        return total

    seen, alive = set(), {}
    for e in trace:
        if e["addr"] not in seen and e["action"] == "free_requested":
            alive[e["addr"]] = ("", e["size"])
        seen.add(e["addr"])
    for s in snapshot["segments"]:
        for b in s["blocks"]:
            if b["state"] == "active_allocated" and b["address"] not in seen:
                alive[b["address"]] = (line(b["frames"]), b["requested_size"])
    now, peak, best = sum(size for _, size in alive.values()), 0, {}
    for e in trace:
        if e["action"] == "alloc":
            alive[e["addr"]] = (line(e["frames"]), e["size"])
            now += e["size"]
        else:
            now -= alive.pop(e["addr"])[1]
        if now > peak:
            peak, best = now, by_line()
    return best


# %% wrong "who frees a block allocated it" fails=others,moments,keeps_input
def at_peak(snapshot):
    trace = [e for e in snapshot["device_traces"][0] if e["action"] in ("alloc", "free_requested")]

    def line(frames):
        return next((f"{f['filename']}:{f['line']}" for f in frames if is_yours(f)), "")

    def by_line():
        total = {}
        for name, size in alive.values():
            total[name] = total.get(name, 0) + size
        return total

    seen, alive = set(), {}
    for e in trace:
        if e["addr"] not in seen and e["action"] == "free_requested":
            alive[e["addr"]] = (line(e["frames"]), e["size"])
        seen.add(e["addr"])
    for s in snapshot["segments"]:
        for b in s["blocks"]:
            if b["state"] == "active_allocated" and b["address"] not in seen:
                alive[b["address"]] = (line(b["frames"]), b["requested_size"])
    now = peak = sum(size for _, size in alive.values())
    best = by_line()
    for e in trace:
        if e["action"] == "alloc":
            alive[e["addr"]] = (line(e["frames"]), e["size"])
            now += e["size"]
        else:
            now -= alive.pop(e["addr"])[1]
        if now > peak:
            peak, best = now, by_line()
    return best


# %% wrong "rounded bytes of the old blocks" fails=others,waiting,moments,keeps_input
def at_peak(snapshot):
    trace = [e for e in snapshot["device_traces"][0] if e["action"] in ("alloc", "free_requested")]

    def line(frames):
        return next((f"{f['filename']}:{f['line']}" for f in frames if is_yours(f)), "")

    def by_line():
        total = {}
        for name, size in alive.values():
            total[name] = total.get(name, 0) + size
        return total

    seen, alive = set(), {}
    for e in trace:
        if e["addr"] not in seen and e["action"] == "free_requested":
            alive[e["addr"]] = ("", e["size"])
        seen.add(e["addr"])
    for s in snapshot["segments"]:
        for b in s["blocks"]:
            if b["state"] == "active_allocated" and b["address"] not in seen:
                alive[b["address"]] = (line(b["frames"]), b["size"])
    now = peak = sum(size for _, size in alive.values())
    best = by_line()
    for e in trace:
        if e["action"] == "alloc":
            alive[e["addr"]] = (line(e["frames"]), e["size"])
            now += e["size"]
        else:
            now -= alive.pop(e["addr"])[1]
        if now > peak:
            peak, best = now, by_line()
    return best


# %% wrong "blocks that wait count as old ones" fails=waiting
def at_peak(snapshot):
    trace = [e for e in snapshot["device_traces"][0] if e["action"] in ("alloc", "free_requested")]

    def line(frames):
        return next((f"{f['filename']}:{f['line']}" for f in frames if is_yours(f)), "")

    def by_line():
        total = {}
        for name, size in alive.values():
            total[name] = total.get(name, 0) + size
        return total

    seen, alive = set(), {}
    for e in trace:
        if e["addr"] not in seen and e["action"] == "free_requested":
            alive[e["addr"]] = ("", e["size"])
        seen.add(e["addr"])
    for s in snapshot["segments"]:
        for b in s["blocks"]:
            if b["state"] != "inactive" and b["address"] not in seen:
                alive[b["address"]] = (line(b["frames"]), b["requested_size"])
    now = peak = sum(size for _, size in alive.values())
    best = by_line()
    for e in trace:
        if e["action"] == "alloc":
            alive[e["addr"]] = (line(e["frames"]), e["size"])
            now += e["size"]
        else:
            now -= alive.pop(e["addr"])[1]
        if now > peak:
            peak, best = now, by_line()
    return best


# %% wrong "only what the line of the peak allocated" fails=example,others,waiting,moments,keeps_input
def at_peak(snapshot):
    trace = [e for e in snapshot["device_traces"][0] if e["action"] in ("alloc", "free_requested")]

    def line(frames):
        return next((f"{f['filename']}:{f['line']}" for f in frames if is_yours(f)), "")

    def by_line():
        total = {}
        for name, size in alive.values():
            total[name] = total.get(name, 0) + size
        return total

    seen, alive = set(), {}
    for e in trace:
        if e["addr"] not in seen and e["action"] == "free_requested":
            alive[e["addr"]] = ("", e["size"])
        seen.add(e["addr"])
    for s in snapshot["segments"]:
        for b in s["blocks"]:
            if b["state"] == "active_allocated" and b["address"] not in seen:
                alive[b["address"]] = (line(b["frames"]), b["requested_size"])
    now = peak = sum(size for _, size in alive.values())
    best = by_line()
    for e in trace:
        if e["action"] == "alloc":
            alive[e["addr"]] = (line(e["frames"]), e["size"])
            now += e["size"]
        else:
            now -= alive.pop(e["addr"])[1]
        if now > peak:
            peak, best = now, by_line()
    return dict([max(best.items(), key=lambda item: item[1])] if best else [])


# %% wrong "all bytes that each line ever allocated" fails=example,others,waiting,moments,keeps_input
def at_peak(snapshot):
    trace = [e for e in snapshot["device_traces"][0] if e["action"] in ("alloc", "free_requested")]

    def line(frames):
        return next((f"{f['filename']}:{f['line']}" for f in frames if is_yours(f)), "")

    total = {}
    for e in trace:
        if e["action"] == "alloc":
            total[line(e["frames"])] = total.get(line(e["frames"]), 0) + e["size"]
    return total


# %% wrong "a file without its line" fails=example,others,waiting,moments,keeps_input
def at_peak(snapshot):
    trace = [e for e in snapshot["device_traces"][0] if e["action"] in ("alloc", "free_requested")]

    def line(frames):
        return next((f["filename"] for f in frames if is_yours(f)), "")

    def by_line():
        total = {}
        for name, size in alive.values():
            total[name] = total.get(name, 0) + size
        return total

    seen, alive = set(), {}
    for e in trace:
        if e["addr"] not in seen and e["action"] == "free_requested":
            alive[e["addr"]] = ("", e["size"])
        seen.add(e["addr"])
    for s in snapshot["segments"]:
        for b in s["blocks"]:
            if b["state"] == "active_allocated" and b["address"] not in seen:
                alive[b["address"]] = (line(b["frames"]), b["requested_size"])
    now = peak = sum(size for _, size in alive.values())
    best = by_line()
    for e in trace:
        if e["action"] == "alloc":
            alive[e["addr"]] = (line(e["frames"]), e["size"])
            now += e["size"]
        else:
            now -= alive.pop(e["addr"])[1]
        if now > peak:
            peak, best = now, by_line()
    return best
