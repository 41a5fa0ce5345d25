# %% exercise
def self_times(rows: list[dict]) -> dict[str, float]:
    """The self time of each name, in microseconds, added up over its rows.

    rows: complete rows, in any order, each with "name", "tid", "ts" and "dur"; the list may be empty. Two rows of the
    same thread don't overlap, or one is inside the other. Rows of different threads are never inside each other.

    Details:
    - If one row of a thread ends when another begins, its ts + dur is exactly the other's ts, and they don't overlap.
      If two rows of a thread begin together, the longer one is outside; no two of them begin and end together.
    - A row may be inside another with the same name. At most 50 rows are inside each other.
    - A row whose "dur" is 0 has no self time, wherever it is. A name with a self time of 0 isn't left out.
    - Times have the precision of a Python float.
    - The rows aren't changed.
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


# %% promises
# The self time of each -> example, threads, deep, two_threads, edges, own_name
# rows: complete rows -> deep, keeps_input
# Two rows of the same -> example, deep
# Rows of different threads -> threads, two_threads
# If one row of a thread -> edges
# If two rows of a -> edges
# A row may be -> own_name
# At most 50 rows -> deep
# A row whose "dur" -> edges
# A name with a -> edges
# Times have the precision -> edges
# The rows aren't -> keeps_input


# %% domain
@domain(
    reference,
    *(
        "no rows",
        "one row",
        "beside each other",
        "a long chain",
        "in order",
        "whole numbers",
        "tenths",
        "long rows",
        "nanoseconds",
        "hours later",
    ),
    *("touching", "begin together", "end together", "covered", "of no time", "inside its own name", "one name"),
    *("two threads", "three threads", "same times in two threads", "thread 0", "only these keys"),
)
def arguments(draw, edge):
    g = draw.make_generator()

    def pick(*choices):
        return choices[int(torch.randint(len(choices), (), generator=g))]

    rows, unit = [], {"whole numbers": 1, "tenths": 0.1, "long rows": 2**22 + 0.125, "nanoseconds": 2**-12}
    unit = unit.get(edge, 0.125)

    def add_row(begin, tid, depth, inside):
        """Add a row that begins at this tick, with rows inside it. Returns the tick at which it ends."""
        now = begin if inside else begin + pick(2, 3, 5)
        for n in range(inside):
            gap = {"begin together": n > 0, "touching": n == 0, "covered": 0}.get(edge, 1) and pick(1, 2, 4)
            now = add_row(
                now + gap, tid, depth + 1, 1 if edge == "a long chain" and depth < 40 else pick(0, 2) * (not depth)
            )
        now += pick(1, 3) if inside and edge not in ("end together", "covered") else 0
        name = f"op{pick(0, 1) if edge == 'inside its own name' else f'{depth}.{pick(0, 1)}'}"
        name = "op" if edge == "one name" else name
        rows.append(trace_row(name, "cpu_op", tid, unit * begin, unit * (now - begin)))
        return now

    tids = {"two threads": [9, 4], "three threads": [7, 101, 3], "thread 0": [1, 0]}.get(edge, [11])
    for tid in tids if edge != "no rows" else []:
        end = add_row(
            pick(1, 2), tid, 0, {"one row": 0, "beside each other": 0, "a long chain": 1}.get(edge, pick(2, 3))
        )
        for _ in range(edge != "one row" and draw(st.integers(1, 2))):
            end = add_row(end + (edge not in ("touching", "covered")), tid, 0, 0)
    if edge == "same times in two threads":
        rows += [{**one, "tid": 12, "name": pick("op0.0", "op1.0", "other")} for one in rows]
    if edge == "of no time":
        rows += [trace_row(pick("mark", "op1.0"), "cpu_op", 11, one["ts"] + pick(0, one["dur"]), 0) for one in rows]
    if edge == "hours later":
        rows = [{**one, "ts": one["ts"] + 2.0**34} for one in rows]
    if edge == "only these keys":
        rows = [{key: one[key] for key in ("name", "tid", "ts", "dur")} for one in rows]
    if edge == "in order":
        return (sorted(rows, key=lambda one: one["ts"]),)
    return ([rows[n] for n in torch.randperm(len(rows), generator=g).tolist()],)


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
            "these are totals: they still include what was called inside": {
                "aten::linear": 100.0,
                "aten::t": 20.0,
                "aten::transpose": 12.0,
                "aten::addmm": 60.0,
            },
            "aten::transpose is subtracted twice: it's inside aten::t, which is already subtracted": {
                **want,
                "aten::linear": 8.0,
            },
        },
    )
with check("threads", "a row of another thread isn't inside any row", weight=1):
    t = [trace_row("a", "cpu_op", 1, 0, 50), trace_row("b", "cpu_op", 2, 10, 20), trace_row("c", "cpu_op", 1, 40, 10)]
    assert_close(self_times(t), {"a": 40.0, "b": 20.0, "c": 10.0})

# %% hidden checks
with check(
    "deep",
    "rows inside rows, in any order",
    weight=4,
    required=True,
    hint="Which rows is a row's time subtracted from: one, or all around it?",
):
    arguments.assert_results(self_times, "", "one row", "beside each other", "a long chain", "in order")
    arguments.assert_results(self_times, "whole numbers", "tenths", "hours later", "only these keys")
with check(
    "two_threads",
    "two or three threads, also with the same times",
    weight=2,
    hint="Could a row of one thread end up inside a row of another?",
):
    arguments.assert_results(self_times, "two threads", "three threads", "same times in two threads", "thread 0")
with check(
    "edges",
    "rows that touch, begin or end together, or have a duration of 0",
    weight=2,
    hint="Which of two rows that begin together is outside? Is a row that begins where another ends inside it?",
):
    arguments.assert_results(self_times, "touching", "begin together", "end together", "covered", "of no time")
    arguments.assert_results(self_times, "long rows", rtol=0, atol=0.001)
    arguments.assert_results(self_times, "nanoseconds", rtol=1e-9, atol=0)
with check(
    "own_name", "a row inside another with the same name", weight=1, hint="Which name gets each row's self time?"
):
    arguments.assert_results(self_times, "inside its own name", "one name")
with check("keeps_input", "the rows aren't changed, and an empty list gives an empty dict", guard=True):
    arguments.assert_arguments(self_times)
    arguments.assert_results(self_times, "no rows")


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


# %% wrong "totals" fails=example,threads,deep,two_threads,edges,own_name
def self_times(rows):
    found = {}
    for one in rows:
        found[one["name"]] = found.get(one["name"], 0) + one["dur"]
    return found


# %% wrong "all that is inside, not only the next level" fails=example,deep,two_threads,edges,own_name
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
