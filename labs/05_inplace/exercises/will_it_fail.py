# %% exercise
def will_it_fail() -> dict[str, str]:
    """For each of the cases "a" to "n", one of "now", "backward", "silent" and "ok"."""
    ### BEGIN SOLUTION
    return {
        "a": "now",  # a recorded write to a leaf that requires grad
        "b": "backward",  # no_grad turns off recording, but the write to the saved x is counted
        "c": "ok",  # the write comes before the square, which saves the new h
        "d": "ok",  # the square saves its input, not its output
        "e": "backward",  # the square saves h, and the write is counted
        "f": "ok",  # exp saves its output, not its input
        "g": "backward",  # exp saves y, and the write to part of it is counted
        "h": "silent",  # exp saves y, but a write through .data isn't counted
        "i": "backward",  # a detached tensor shares the counter of the saved y
        "j": "silent",  # exp saves y, but NumPy doesn't update the counter
        "k": "backward",  # sigmoid saves its output, which relu overwrites
        "l": "now",  # the two rows share memory (stride 0)
        "m": "silent",  # the windows overlap, so autograd's assumption is wrong
        "n": "ok",  # the windows don't overlap
    }
    ### END SOLUTION


# %% promises
# For each of the cases -> all_answered, enough_right, leaf_writes, square, exp, aliases, relu_and_rows, windows


# %% domain
# There are no arguments: the answer is a table of fourteen cases.


# %% checks
with check(
    "all_answered",
    "a to n each have one of the four words",
    weight=2,
    required=True,
    guard=True,
    hint=(
        "Which key is missing, or which word isn't one of the four?",
        'Return a dict with the fourteen keys "a" to "n". Write the words in lowercase: now, backward, silent, ok.',
    ),
):
    got = will_it_fail()
    assert isinstance(got, dict), f"your result is a {type(got).__name__}"
    assert set(got) == set("abcdefghijklmn"), f"your keys are {sorted(map(str, got))}"
    four = ("now", "backward", "silent", "ok")
    known = [
        got["a"] in four,
        got["b"] in four,
        got["c"] in four,
        got["d"] in four,
        got["e"] in four,
        got["f"] in four,
        got["g"] in four,
        got["h"] in four,
        got["i"] in four,
        got["j"] in four,
        got["k"] in four,
        got["l"] in four,
        got["m"] in four,
        got["n"] in four,
    ]
    strange = [number for number, is_known in enumerate(known, 1) if not is_known]
    assert not strange, f"not one of the four words: your words number {strange}, counted from a"

# %% hidden checks
with check(
    "enough_right",
    "at least eight of the fourteen are right",
    required=True,
    guard=True,
    hint="The table of what's kept settles four of the cases. The list of uncounted writes settles three more.",
):
    got = will_it_fail()
    right = [
        got["a"] == "now",
        got["b"] == "backward",
        got["c"] == "ok",
        got["d"] == "ok",
        got["e"] == "backward",
        got["f"] == "ok",
        got["g"] == "backward",
        got["h"] == "silent",
        got["i"] == "backward",
        got["j"] == "silent",
        got["k"] == "backward",
        got["l"] == "now",
        got["m"] == "silent",
        got["n"] == "ok",
    ]
    assert right.count(True) >= 8, "fewer than eight are right"
with check(
    "leaf_writes",
    "a and b: writes to a leaf",
    weight=2,
    hint="What does no_grad switch off, and what does it leave on?",
):
    got = will_it_fail()
    explain(
        {"a": got["a"], "b": got["b"]},
        {"a": "now", "b": "backward"},
        {
            "no_grad hides nothing: the write isn't recorded, but it's counted": {"a": "now", "b": "silent"},
            "a write to a leaf that requires grad is refused at once": {"a": "backward", "b": "backward"},
        },
    )
with check("square", "c, d and e: what square keeps", weight=3, hint="The derivative of a square is twice what?"):
    got = will_it_fail()
    explain(
        {"c": got["c"], "d": got["d"], "e": got["e"]},
        {"c": "ok", "d": "ok", "e": "backward"},
        {
            "not every write is an error: only one that hits what was kept": {
                "c": "backward",
                "d": "backward",
                "e": "backward",
            },
            "square keeps its input, not its output": {"c": "ok", "d": "backward", "e": "ok"},
        },
    )
with check("exp", "f and g: what exp keeps", weight=3, hint="Which of the two does exp need for its derivative?"):
    got = will_it_fail()
    explain(
        {"f": got["f"], "g": got["g"]},
        {"f": "ok", "g": "backward"},
        {"exp keeps its output, not its input": {"f": "backward", "g": "ok"}},
    )
with check(
    "aliases", "h, i and j: other names for the same memory", weight=3, hint="Which of the three share the counter?"
):
    got = will_it_fail()
    explain(
        {"h": got["h"], "i": got["i"], "j": got["j"]},
        {"h": "silent", "i": "backward", "j": "silent"},
        {
            "a detached tensor shares the counter, so that write is counted": {
                "h": "silent",
                "i": "silent",
                "j": "silent",
            },
            "writes through .data and NumPy aren't counted": {"h": "backward", "i": "backward", "j": "backward"},
        },
    )
with check(
    "relu_and_rows",
    "k and l: relu over a sigmoid, and rows that share memory",
    weight=2,
    hint="Does relu change the output of a sigmoid?",
):
    got = will_it_fail()
    explain(
        {"k": got["k"], "l": got["l"]},
        {"k": "backward", "l": "now"},
        {
            "the counter counts every write, even one that doesn't change any values": {"k": "ok", "l": "now"},
        },
    )
with check(
    "windows",
    "m and n: writes through windows",
    weight=2,
    hint="Which elements of h are in each window? Is one of them in two windows?",
):
    got = will_it_fail()
    explain(
        {"m": got["m"], "n": got["n"]},
        {"m": "silent", "n": "ok"},
        {
            "PyTorch doesn't look for windows that overlap: the write in m is recorded, but its gradient is wrong": {
                "m": "now",
                "n": "ok",
            },
            "a write that is recorded and counted can have a wrong gradient: in m, one element is in two windows": {
                "m": "ok",
                "n": "ok",
            },
            "windows are fine if no two of them share an element, as in n": {"m": "silent", "n": "silent"},
        },
    )


# %% right "grouped by word"
def will_it_fail():
    groups = {"now": "al", "backward": "begik", "silent": "hjm", "ok": "cdfn"}
    return {case: word for word, cases in groups.items() for case in cases}


# %% right "keyword arguments"
def will_it_fail():
    return dict(
        a="now", b="backward", c="ok", d="ok", e="backward", f="ok",
        g="backward", h="silent", i="backward", j="silent", k="backward", l="now", m="silent", n="ok",
    )  # fmt: skip


# %% wrong "no_grad hides the write" fails=leaf_writes
def will_it_fail():
    return dict(
        zip(
            "abcdefghijklmn",
            "now silent ok ok backward ok backward silent backward silent backward now silent ok".split(),
        )
    )


# %% wrong "a leaf fails at backward" fails=leaf_writes
def will_it_fail():
    return dict(
        zip(
            "abcdefghijklmn",
            "backward backward ok ok backward ok backward silent backward silent backward now silent ok".split(),
        )
    )


# %% wrong "every write is an error" fails=square
def will_it_fail():
    return dict(
        zip(
            "abcdefghijklmn",
            "now backward backward backward backward ok backward silent backward silent backward now silent ok".split(),
        )
    )


# %% wrong "the output is kept by square, the input by exp" fails=square,exp
def will_it_fail():
    return dict(
        zip(
            "abcdefghijklmn",
            "now backward ok backward ok backward ok silent backward silent backward now silent ok".split(),
        )
    )


# %% wrong "every write is counted" fails=aliases
def will_it_fail():
    return dict(
        zip(
            "abcdefghijklmn",
            "now backward ok ok backward ok backward backward backward backward backward now silent ok".split(),
        )
    )


# %% wrong "a write that changes no value does not count" fails=relu_and_rows
def will_it_fail():
    return dict(
        zip("abcdefghijklmn", "now backward ok ok backward ok backward silent backward silent ok now silent ok".split())
    )


# %% wrong "in-place operations give silently wrong gradients" fails=enough_right,leaf_writes,square,exp,aliases,relu_and_rows,windows
def will_it_fail():
    return dict.fromkeys("abcdefghijklmn", "silent")


# %% wrong "overlapping windows are refused, as expanded rows are" fails=windows
def will_it_fail():
    return dict(
        zip(
            "abcdefghijklmn",
            "now backward ok ok backward ok backward silent backward silent backward now now ok".split(),
        )
    )


# %% wrong "what is recorded and counted has a right gradient" fails=windows
def will_it_fail():
    return dict(
        zip(
            "abcdefghijklmn",
            "now backward ok ok backward ok backward silent backward silent backward now ok ok".split(),
        )
    )
