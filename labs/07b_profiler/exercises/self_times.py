# %% exercise
def self_times(rows: list[dict]) -> dict[str, float]:
    """The self time of each name, in microseconds, added up over its rows.

    rows: complete ones, in any order, each with "name", "tid", "ts" and "dur". Two rows of one
    thread lie beside each other, or one inside the other. Where one ends and the other begins
    at the same time, they lie beside each other. Of two that begin together the longer one is
    outside; no two begin and end together. Rows of two threads never lie inside each other. A
    row may lie in another one of its name. The rows stay as they are.
    """
    ### BEGIN SOLUTION
    found: dict[str, float] = {}
    around: dict[int, list[dict]] = {}  # of each thread: the rows that have not ended, the outermost first
    for one in sorted(rows, key=lambda one: (one["ts"], -one["dur"])):
        stack = around.setdefault(one["tid"], [])
        while stack and stack[-1]["ts"] + stack[-1]["dur"] <= one["ts"]:
            stack.pop()
        if stack:
            found[stack[-1]["name"]] -= one["dur"]
        found[one["name"]] = found.get(one["name"], 0.0) + one["dur"]
        stack.append(one)
    return found
    ### END SOLUTION


# %% checks
with check("example", "a linear layer, what it calls, and what that calls", weight=2, required=True):
    t = [
        trace_row("aten::linear", "cpu_op", 1, 0, 100),
        trace_row("aten::t", "cpu_op", 1, 5, 20),
        trace_row("aten::transpose", "cpu_op", 1, 10, 12),
        trace_row("aten::addmm", "cpu_op", 1, 30, 60),
    ]
    want = {"aten::linear": 20.0, "aten::t": 8.0, "aten::transpose": 12.0, "aten::addmm": 60.0}
    explain(
        self_times(t),
        want,
        {
            "these are totals: what was called inside is still in them": {
                "aten::linear": 100.0,
                "aten::t": 20.0,
                "aten::transpose": 12.0,
                "aten::addmm": 60.0,
            },
            "aten::transpose is taken off twice: it is inside aten::t, which is taken off already": {
                **want,
                "aten::linear": 8.0,
            },
        },
    )
with check("threads", "a row of another thread is nobody's child", weight=1):
    t = [trace_row("a", "cpu_op", 1, 0, 50), trace_row("b", "cpu_op", 2, 10, 20), trace_row("c", "cpu_op", 1, 40, 10)]
    assert_close(self_times(t), {"a": 40.0, "b": 20.0, "c": 10.0})

# %% hidden checks


def nested(depth, start, seed, tid):
    """Rows of one thread, some inside others, and the self time of each name."""
    rows, own, now = [], {}, start
    for n in range(1 + seed % 3):
        begin = now
        now += 1 + (seed + n) % 4
        alone = now - begin
        if depth:
            inner, times, end = nested(depth - 1, now, seed * 3 + n, tid)
            rows += inner
            for name, took in times.items():
                own[name] = own.get(name, 0.0) + took
            tail = (seed + depth) % 2
            now, alone = end + tail, alone + tail
        name = f"op{(seed + depth * n) % 4}"
        own[name] = own.get(name, 0.0) + alone
        rows.append(trace_row(name, "cpu_op", tid, begin, now - begin))
    return rows, own, now


with check(
    "deep",
    "rows inside rows, in any order",
    weight=4,
    required=True,
    hint="From which row is a row's time taken off: from one, or from all around it?",
):
    for depth, seed in ((0, 2), (2, 5), (3, 4), (4, 8)):
        t, want, _ = nested(depth, 3, seed, 11)
        order = torch.randperm(len(t), generator=torch.Generator().manual_seed(seed)).tolist()
        assert_close(self_times([t[n] for n in order]), want)
with check(
    "two_threads",
    "the same times in two threads and three",
    weight=2,
    hint="Could a row of one thread end up inside a row of another one?",
):
    for tids in ((4, 9), (7, 1, 3)):
        t, want = [], {}
        for n, tid in enumerate(tids):
            rows, own, _ = nested(2, n, 5 + n, tid)
            t += rows
            for name, took in own.items():
                want[name] = want.get(name, 0.0) + took
        assert_close(self_times(t[::-1]), want)
with check(
    "edges",
    "rows that touch, that begin or end together, and of no time",
    weight=2,
    hint="Which of two rows that begin together is outside? Is a row that begins where another ends inside it?",
):
    t = [trace_row("a", "cpu_op", 1, 0, 10), trace_row("b", "cpu_op", 1, 10, 5), trace_row("c", "cpu_op", 1, 15, 0.5)]
    assert_close(self_times(t), {"a": 10.0, "b": 5.0, "c": 0.5})
    t = [trace_row("in", "cpu_op", 1, 0, 4), trace_row("out", "cpu_op", 1, 0, 10), trace_row("end", "cpu_op", 1, 6, 4)]
    assert_close(self_times(t), {"in": 4.0, "out": 2.0, "end": 4.0})
    t = [trace_row("out", "cpu_op", 1, 0, 10), trace_row("mark", "cpu_op", 1, 5, 0), trace_row("in", "cpu_op", 1, 5, 3)]
    assert_close(self_times(t), {"out": 7.0, "mark": 0.0, "in": 3.0})
    t = [trace_row("long", "cpu_op", 1, 0, 2**24 + 3), trace_row("in", "cpu_op", 1, 5, 2)]
    assert_close(self_times(t), {"long": 2.0**24 + 1, "in": 2.0}, rtol=0, atol=0.01)
with check("own_name", "a row inside another one of its name", weight=1, hint="What are both rows together?"):
    t = [trace_row("f", "cpu_op", 1, 0, 30), trace_row("f", "cpu_op", 1, 5, 20), trace_row("g", "cpu_op", 1, 8, 6)]
    assert_close(self_times(t), {"f": 24.0, "g": 6.0})
with check("keeps_input", "the rows stay as they are, and no rows have no times", guard=True):
    t = [trace_row("b", "cpu_op", 1, 3, 4), trace_row("a", "cpu_op", 1, 0, 9)]
    assert_close(unchanged(self_times, t), {"a": 5.0, "b": 4.0})
    assert_close(self_times([]), {})


# %% right "for each row the shortest one around it"
def self_times(rows):
    own = [one["dur"] for one in rows]
    for n, one in enumerate(rows):
        around = [
            m
            for m, other in enumerate(rows)
            if m != n
            and other["tid"] == one["tid"]
            and other["dur"] > one["dur"]
            and other["ts"] <= one["ts"] < other["ts"] + other["dur"]
        ]
        if around:
            own[min(around, key=lambda m: rows[m]["dur"])] -= one["dur"]
    found = {}
    for one, took in zip(rows, own):
        found[one["name"]] = found.get(one["name"], 0) + took
    return found


# %% right "a recursion over each thread's rows"
def self_times(rows):
    found = {}

    def visit(rest):
        taken = 0
        while rest:
            one, rest = rest[0], rest[1:]
            end = one["ts"] + one["dur"]
            inside = [r for r in rest if r["ts"] < end]
            rest = rest[len(inside) :]
            own = one["dur"] - visit(inside)
            found[one["name"]] = found.get(one["name"], 0) + own
            taken += one["dur"]
        return taken

    for tid in {one["tid"] for one in rows}:
        visit(sorted((r for r in rows if r["tid"] == tid), key=lambda r: (r["ts"], -r["dur"])))
    return found


# %% right "beginnings and ends"
def self_times(rows):
    found = {r["name"]: 0 for r in rows}
    for tid in {r["tid"] for r in rows}:
        own = [r for r in rows if r["tid"] == tid and r["dur"] > 0]
        moments = sorted([(r["ts"] + r["dur"], 0, r["dur"], n) for n, r in enumerate(own)])
        moments = sorted(moments + [(r["ts"], 1, -r["dur"], n) for n, r in enumerate(own)])
        open_rows, last = [], 0
        for at, begins, _, n in moments:
            if open_rows:
                found[own[open_rows[-1]]["name"]] += at - last
            last = at
            if begins:
                open_rows.append(n)
            else:
                open_rows.remove(n)
    return found


# %% wrong "totals" fails=example,threads,deep,two_threads,edges,own_name,keeps_input
def self_times(rows):
    found = {}
    for one in rows:
        found[one["name"]] = found.get(one["name"], 0) + one["dur"]
    return found


# %% wrong "all that is inside, not only the next level" fails=example,deep,two_threads,own_name
def self_times(rows):
    found = {}
    for one in rows:
        inside = sum(
            r["dur"]
            for r in rows
            if r is not one
            and r["tid"] == one["tid"]
            and r["dur"] < one["dur"]
            and one["ts"] <= r["ts"] < one["ts"] + one["dur"]
        )
        found[one["name"]] = found.get(one["name"], 0) + one["dur"] - inside
    return found


# %% wrong "threads do not matter" fails=threads,two_threads
def self_times(rows):
    found, stack = {}, []
    for one in sorted(rows, key=lambda one: (one["ts"], -one["dur"])):
        while stack and stack[-1]["ts"] + stack[-1]["dur"] <= one["ts"]:
            stack.pop()
        if stack:
            found[stack[-1]["name"]] -= one["dur"]
        found[one["name"]] = found.get(one["name"], 0) + one["dur"]
        stack.append(one)
    return found


# %% wrong "sorted by the beginning only" fails=edges
def self_times(rows):
    found, around = {}, {}
    for one in sorted(rows, key=lambda one: one["ts"]):
        stack = around.setdefault(one["tid"], [])
        while stack and stack[-1]["ts"] + stack[-1]["dur"] <= one["ts"]:
            stack.pop()
        if stack:
            found[stack[-1]["name"]] -= one["dur"]
        found[one["name"]] = found.get(one["name"], 0) + one["dur"]
        stack.append(one)
    return found


# %% wrong "rows that touch are inside each other" fails=deep,two_threads,edges
def self_times(rows):
    found, around = {}, {}
    for one in sorted(rows, key=lambda one: (one["ts"], -one["dur"])):
        stack = around.setdefault(one["tid"], [])
        while stack and stack[-1]["ts"] + stack[-1]["dur"] < one["ts"]:
            stack.pop()
        if stack:
            found[stack[-1]["name"]] -= one["dur"]
        found[one["name"]] = found.get(one["name"], 0) + one["dur"]
        stack.append(one)
    return found


# %% wrong "the rows come in order" fails=deep,two_threads,edges,keeps_input
def self_times(rows):
    found, around = {}, {}
    for one in rows:
        stack = around.setdefault(one["tid"], [])
        while stack and stack[-1]["ts"] + stack[-1]["dur"] <= one["ts"]:
            stack.pop()
        if stack:
            found[stack[-1]["name"]] -= one["dur"]
        found[one["name"]] = found.get(one["name"], 0) + one["dur"]
        stack.append(one)
    return found


# %% wrong "the last row of each name" fails=deep,two_threads,own_name
def self_times(rows):
    found, around = {}, {}
    for one in sorted(rows, key=lambda one: (one["ts"], -one["dur"])):
        stack = around.setdefault(one["tid"], [])
        while stack and stack[-1]["ts"] + stack[-1]["dur"] <= one["ts"]:
            stack.pop()
        if stack:
            found[stack[-1]["name"]] -= one["dur"]
        found[one["name"]] = one["dur"]
        stack.append(one)
    return found
