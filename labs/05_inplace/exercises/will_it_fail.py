# %% exercise
def will_it_fail() -> dict[str, str]:
    """For each of the cases "a" to "l", one of "now", "backward", "silent" and "ok"."""
    ### BEGIN SOLUTION
    return {
        "a": "now",
        "b": "backward",
        "c": "ok",
        "d": "ok",
        "e": "backward",
        "f": "ok",
        "g": "backward",
        "h": "silent",
        "i": "backward",
        "j": "silent",
        "k": "backward",
        "l": "now",
    }
    ### END SOLUTION


# %% promises
# For each of the cases -> all_answered, enough_right, leaf_writes, square, exp, aliases, relu_and_rows


# %% domain
# There are no arguments: the answer is a table of twelve cases.


# %% checks
with check(
    "all_answered",
    "a to l each have one of the four words",
    weight=2,
    required=True,
    guard=True,
    hint=(
        "Which key is missing, or which word is none of the four?",
        'A dict with the twelve keys "a" to "l". Mind the spelling: now, backward, silent, ok, in small letters.',
    ),
):
    got = will_it_fail()
    assert isinstance(got, dict), f"your result is a {type(got).__name__}"
    assert set(got) == set("abcdefghijkl"), f"your keys are {sorted(map(str, got))}"
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
    ]
    assert known == [True] * 12, "not all of your words are among the four"

# %% hidden checks
with check(
    "enough_right",
    "at least seven of the twelve are right",
    required=True,
    guard=True,
    hint="The table of what is kept answers four of the cases. The list of uncounted writes answers three more.",
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
    ]
    assert right.count(True) >= 7, "fewer than seven are right"
with check("leaf_writes", "a and b: writes to a leaf", weight=2, hint="What does no_grad switch off, and what not?"):
    got = will_it_fail()
    explain(
        [got["a"], got["b"]],
        ["now", "backward"],
        {
            "no_grad hides nothing: the write is not recorded, and it is counted": ["now", "silent"],
            "a write to a leaf that requires grad is refused at once": ["backward", "backward"],
        },
    )
with check("square", "c, d and e: what square keeps", weight=3, hint="The derivative of a square is twice what?"):
    got = will_it_fail()
    explain(
        [got["c"], got["d"], got["e"]],
        ["ok", "ok", "backward"],
        {
            "not every write is an error: only one that hits what was kept": ["backward", "backward", "backward"],
            "square keeps its input, not its output": ["ok", "backward", "ok"],
        },
    )
with check("exp", "f and g: what exp keeps", weight=3, hint="Which of the two does exp need for its derivative?"):
    got = will_it_fail()
    explain(
        [got["f"], got["g"]],
        ["ok", "backward"],
        {"exp keeps its output, not its input": ["backward", "ok"]},
    )
with check(
    "aliases", "h, i and j: other names for the same memory", weight=3, hint="Which of the three share the counter?"
):
    got = will_it_fail()
    explain(
        [got["h"], got["i"], got["j"]],
        ["silent", "backward", "silent"],
        {
            "a detached tensor shares the counter: that write is seen": ["silent", "silent", "silent"],
            "writes by .data and by NumPy are not counted": ["backward", "backward", "backward"],
        },
    )
with check(
    "relu_and_rows",
    "k and l: relu over a sigmoid, and rows that share memory",
    weight=2,
    hint="Does relu change a sigmoid?",
):
    got = will_it_fail()
    explain(
        [got["k"], got["l"]],
        ["backward", "now"],
        {
            "the counter counts writes: also one that changes no value": ["ok", "now"],
        },
    )


# %% right "grouped by word"
def will_it_fail():
    groups = {"now": "al", "backward": "begik", "silent": "hj", "ok": "cdf"}
    return {case: word for word, cases in groups.items() for case in cases}


# %% right "keyword arguments"
def will_it_fail():
    return dict(
        a="now", b="backward", c="ok", d="ok", e="backward", f="ok",
        g="backward", h="silent", i="backward", j="silent", k="backward", l="now",
    )  # fmt: skip


# %% wrong "no_grad hides the write" fails=leaf_writes
def will_it_fail():
    return dict(
        zip("abcdefghijkl", "now silent ok ok backward ok backward silent backward silent backward now".split())
    )


# %% wrong "a leaf fails at backward" fails=leaf_writes
def will_it_fail():
    return dict(
        zip("abcdefghijkl", "backward backward ok ok backward ok backward silent backward silent backward now".split())
    )


# %% wrong "every write is an error" fails=square
def will_it_fail():
    return dict(
        zip(
            "abcdefghijkl",
            "now backward backward backward backward ok backward silent backward silent backward now".split(),
        )
    )


# %% wrong "the output is kept by square, the input by exp" fails=square,exp
def will_it_fail():
    return dict(
        zip("abcdefghijkl", "now backward ok backward ok backward ok silent backward silent backward now".split())
    )


# %% wrong "detach hides a write as .data does" fails=aliases
def will_it_fail():
    return dict(
        zip("abcdefghijkl", "now backward ok ok backward ok backward silent silent silent backward now".split())
    )


# %% wrong "every write is counted" fails=aliases
def will_it_fail():
    return dict(
        zip("abcdefghijkl", "now backward ok ok backward ok backward backward backward backward backward now".split())
    )


# %% wrong "a write that changes no value does not count" fails=relu_and_rows
def will_it_fail():
    return dict(zip("abcdefghijkl", "now backward ok ok backward ok backward silent backward silent ok now".split()))


# %% wrong "in-place operations give silently wrong gradients" fails=enough_right,leaf_writes,square,exp,aliases,relu_and_rows
def will_it_fail():
    return dict.fromkeys("abcdefghijkl", "silent")


# %% wrong "free text" fails=all_answered,enough_right,leaf_writes,square,exp,aliases,relu_and_rows
def will_it_fail():
    return dict.fromkeys("abcdefghijkl", "error")
