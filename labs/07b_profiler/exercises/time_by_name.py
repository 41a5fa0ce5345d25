# %% exercise
def time_by_name(rows: list[dict]) -> dict[str, list]:
    """How often each name occurs, and its rows' total duration: name -> [calls, microseconds].

    rows: dicts, each with "ph", in any order; the list may be empty. Only complete rows count: those whose "ph" is
    "X". Such a row has "name" and "dur", a duration in microseconds of at least 0. Other rows may have both, one of
    them, or neither. Sums have the precision of a Python float. The rows aren't changed.
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


# %% promises
# How often each name -> example, other_rows, zero
# rows: dicts, each -> example, other_rows, zero
# Only complete rows -> example, other_kinds
# Such a row has -> example, other_rows, zero
# Other rows may have -> example, other_kinds
# Sums have the precision -> zero
# The rows aren't -> keeps_input


# %% domain
@domain(
    reference,
    *(
        "no rows",
        "one row",
        "one name",
        "equal rows",
        "whole numbers",
        "long names",
        "an empty name",
        "some of no time",
        "only of no time",
    ),
    *("nothing complete", "others with a name", "others with a duration", "others with both", "others with neither"),
    *("an hour", "nanoseconds"),
)
def arguments(draw, edge):
    g = draw.make_generator()

    def pick(choices):
        return choices[int(torch.randint(len(choices), (), generator=g))]

    names = (
        ["aten::mm"]
        if edge == "one name"
        else ["", "aten::mm"]
        if edge == "an empty name"
        else ["aten::add", "aten::add_", "aten::addmm", "aten::mm"]
    )
    if edge == "long names":
        names = ["void at::native::vectorized_elementwise_kernel<4, at::native::" + name for name in names]
    rows = []
    for n in range({"no rows": 0, "one row": 1, "nothing complete": 0}.get(edge, draw(st.integers(4, 9)))):
        dur = pick(range(1, 900)) / (1 if edge == "whole numbers" else 10) + (3.6e9 if edge == "an hour" else 0)
        dur = dur / 4096 if edge == "nanoseconds" else dur
        dur = 0 if edge == "only of no time" or edge == "some of no time" and n % 2 else dur
        rows.append(trace_row(pick(names), pick(["cpu_op", "kernel"]), n % 2, 1000 * n, dur))
    if edge == "equal rows":
        rows += [rows[0], dict(rows[1]), rows[0]]
    others = {
        "others with a name": [
            *({"ph": "i", "name": pick(names), "ts": 5}, {"ph": "M", "name": "process_name"}),
            *({"ph": ph, "name": names[0], "tid": 1, "ts": ts} for ph, ts in (("B", 1), ("E", 4))),
        ],
        "others with a duration": [{"ph": "s", "dur": 5.5, "id": 3}],
        "others with both": [{"ph": "B", "name": pick(names), "dur": 9.5}, {"ph": "b", "name": "step", "dur": 7}],
        "others with neither": [{"ph": "M"}, {"ph": "f", "id": 3}],
    }
    rows += sum(others.values(), []) if edge == "nothing complete" else others.get(edge, [])
    return ([rows[n] for n in torch.randperm(len(rows), generator=g).tolist()],)


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
            "a name may occur more than once: add up its rows": {"aten::mm": [1, 1.0], "aten::tanh": [1, 2.0]},
        },
    )

# %% hidden checks
with check("other_rows", "other names and times", weight=3, required=True, hint="Do you keep one entry for each name?"):
    arguments.assert_results(time_by_name, "", "one row", "one name", "equal rows", "whole numbers", "long names")
    arguments.assert_results(time_by_name, "an empty name")
with check("other_kinds", "rows that aren't complete, with or without a name and a duration", weight=2, required=True):
    arguments.assert_results(time_by_name, "others with a name", "others with a duration")
    arguments.assert_results(time_by_name, "others with both", "others with neither", "nothing complete")
with check(
    "zero",
    "rows with a duration of 0 count, and an empty list has no names",
    weight=1,
    hint="Is a row of 0 microseconds a call?",
):
    arguments.assert_results(time_by_name, "some of no time", "only of no time", "no rows")
    arguments.assert_results(time_by_name, "an hour", rtol=0, atol=0.001)
    arguments.assert_results(time_by_name, "nanoseconds", rtol=1e-12, atol=0)
with check("keeps_input", "the rows aren't changed", guard=True):
    arguments.assert_arguments(time_by_name)


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


# %% wrong "the last row of each name" fails=example,other_rows,other_kinds,zero
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


# %% wrong "whatever has a duration is complete" fails=other_kinds
def time_by_name(rows):
    found = {}
    for r in rows:
        if "dur" in r and "name" in r:
            entry = found.setdefault(r["name"], [0, 0.0])
            entry[0] += 1
            entry[1] += r["dur"]
    return found


# %% wrong "a tensor adds up faster" fails=zero
def time_by_name(rows):
    found = {}
    for r in rows:
        if r["ph"] == "X":
            found.setdefault(r["name"], []).append(r["dur"])
    return {name: [len(durations), torch.tensor(durations).sum().item()] for name, durations in found.items()}
