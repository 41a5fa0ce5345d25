# %% exercise
def time_by_name(rows: list[dict]) -> dict[str, list]:
    """How often each name occurs, and the time of all its rows: name -> [calls, microseconds].

    rows: dicts, in any order. Only complete ones count: those whose "ph" is "X". Such a row has
    "name" and "dur", a duration in microseconds. Other rows may lack both. The rows stay as they
    are.
    """
    ### BEGIN SOLUTION
    found: dict[str, list] = {}
    for one in rows:
        if one["ph"] == "X":
            entry = found.setdefault(one["name"], [0, 0.0])
            entry[0] += 1
            entry[1] += one["dur"]
    return found
    ### END SOLUTION


# %% checks
with check("example", "two operators: three calls and one", weight=2, required=True):
    t = [
        trace_row("aten::mm", "cpu_op", 1, 0, 5),
        trace_row("aten::tanh", "cpu_op", 1, 6, 2),
        trace_row("aten::mm", "cpu_op", 1, 9, 7.5),
    ]
    t.append({"ph": "i", "name": "aten::tanh", "ts": 11})
    t.append(trace_row("aten::mm", "cpu_op", 2, 12, 1))
    explain(
        time_by_name(t),
        {"aten::mm": [3, 13.5], "aten::tanh": [1, 2.0]},
        {
            "only rows whose ph is X count": {"aten::mm": [3, 13.5], "aten::tanh": [2, 2.0]},
            "a name may occur more than once: add its rows up": {"aten::mm": [1, 1.0], "aten::tanh": [1, 2.0]},
        },
    )

# %% hidden checks
with check("other_rows", "other names and times", weight=3, required=True, hint="Do you keep one entry for each name?"):
    for count in (1, 4, 9):
        t = [trace_row(f"op{n * n % 5}", "cpu_op", n % 2, 3 * n, n + 0.5) for n in range(count)]
        want = {}
        for n in range(count):
            calls, total = want.get(f"op{n * n % 5}", (0, 0.0))
            want[f"op{n * n % 5}"] = [calls + 1, total + n + 0.5]
        assert_close(time_by_name(t), want)
with check("other_kinds", "rows that are not complete, without a name and without a duration", weight=2, required=True):
    t = [
        {"ph": "M"},
        {"ph": "i", "name": "a", "ts": 3},
        trace_row("a", "kernel", 7, 2, 4),
        {"ph": "s", "id": 3, "dur": 5},
    ]
    assert_close(time_by_name(t), {"a": [1, 4.0]})
    assert_close(time_by_name([{"ph": "B", "name": "a", "dur": 9}]), {})
with check("zero", "a row of no time is a call, and no rows are no names", weight=1, hint="What is a duration of 0?"):
    assert_close(time_by_name([trace_row("b", "cpu_op", 1, 8, 0), trace_row("b", "cpu_op", 1, 8, 2)]), {"b": [2, 2.0]})
    assert_close(time_by_name([trace_row("c", "cpu_op", 1, 8, 0)]), {"c": [1, 0.0]})
    assert_close(time_by_name([]), {})
    t = [trace_row("d", "cpu_op", 1, 0, 2**24), trace_row("d", "cpu_op", 1, 2**24, 1)]
    assert_close(time_by_name(t), {"d": [2, 2.0**24 + 1]}, rtol=0, atol=0.01)
with check("keeps_input", "the rows stay as they are", guard=True):
    assert_close(unchanged(time_by_name, [trace_row("a", "cpu_op", 1, 0, 3), {"ph": "M"}]), {"a": [1, 3.0]})


# %% right "a Counter and sums"
from collections import Counter, defaultdict


def time_by_name(rows):
    whole = [r for r in rows if r.get("ph") == "X"]
    calls, total = Counter(r["name"] for r in whole), defaultdict(float)
    for r in whole:
        total[r["name"]] += r["dur"]
    return {name: (calls[name], total[name]) for name in calls}


# %% right "lists of durations"
def time_by_name(rows):
    durations = {}
    for r in rows:
        if r["ph"] == "X":
            durations.setdefault(r["name"], []).append(r["dur"])
    return {name: [len(found), sum(found)] for name, found in durations.items()}


# %% wrong "the last row of each name" fails=example,other_rows,zero
def time_by_name(rows):
    return {r["name"]: [1, r["dur"]] for r in rows if r["ph"] == "X"}


# %% wrong "every row with a name is a call" fails=example,other_kinds
def time_by_name(rows):
    found = {}
    for r in rows:
        if "name" in r:
            entry = found.setdefault(r["name"], [0, 0.0])
            entry[0] += 1
            entry[1] += r.get("dur", 0.0)
    return found


# %% wrong "the mean in place of the sum" fails=example,other_rows,zero
def time_by_name(rows):
    found = {}
    for r in rows:
        if r["ph"] == "X":
            calls, mean = found.get(r["name"], (0, 0.0))
            found[r["name"]] = (calls + 1, (calls * mean + r["dur"]) / (calls + 1))
    return found


# %% wrong "a duration of 0 is none" fails=zero
def time_by_name(rows):
    found = {}
    for r in rows:
        if r["ph"] == "X" and r["dur"]:
            entry = found.setdefault(r["name"], [0, 0.0])
            entry[0] += 1
            entry[1] += r["dur"]
    return found


# %% wrong "whatever has a duration is complete" fails=other_kinds
def time_by_name(rows):
    found = {}
    for r in rows:
        if "dur" in r and "name" in r:
            entry = found.setdefault(r["name"], [0, 0.0])
            entry[0] += 1
            entry[1] += r["dur"]
    return found
