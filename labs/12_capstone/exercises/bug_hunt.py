# %% exercise
def bug_hunt() -> dict[str, str]:
    """For each loop, one letter from a to p: {"loop1": "k", "loop2": "b", ..., "loop12": "o"}, with other letters.

    You need three right loops to earn points. The loops are marked in pairs: 1 and 2, 3 and 6, 4 and 7, 5 and 12, 8 and
    11, 9 and 10. A pair earns points only if both of its letters are right.
    """
    ### BEGIN SOLUTION
    return {f"loop{n}": letter for n, letter in enumerate("efmhdcajilng", 1)}
    ### END SOLUTION


# %% promises
# For each loop, one letter -> all_answered, loops_1_2, loops_3_6, loops_4_7, loops_5_12, loops_8_11, loops_9_10
# You need three -> enough_right, loops_1_2, loops_3_6, loops_4_7, loops_5_12, loops_8_11, loops_9_10
# The loops are marked -> loops_1_2, loops_3_6, loops_4_7, loops_5_12, loops_8_11, loops_9_10
# A pair earns -> loops_1_2, loops_3_6, loops_4_7, loops_5_12, loops_8_11, loops_9_10


# %% domain
# There are no arguments: the answer is a table of twelve loops.


# %% checks
with check(
    "all_answered",
    "each loop has one letter from a to p",
    weight=2,
    required=True,
    guard=True,
    hint="Which key is missing, or which value isn't a single letter from a to p?",
):
    got = bug_hunt()
    assert type(got) is dict, f"your result is a {type(got).__name__}"
    assert set(got) == {f"loop{n}" for n in range(1, 13)}, "your keys aren't loop1 to loop12"
    assert set(got.values()) <= set("abcdefghijklmnop"), "a value isn't a letter from a to p"

# %% hidden checks


def letters_of(answers, right):
    """The right letters, by the names of their loops."""
    assert type(answers) is dict, "your result is no dict"
    return {name: letter for name, letter in right.items() if answers.get(name) == letter}


def assert_bugs(answers, right):
    """Assert that all of these loops have the right letters."""
    assert letters_of(answers, right) == right, "not all of these loops have the right letters"


with check(
    "enough_right",
    "at least three loops are right",
    weight=2,
    required=True,
    guard=True,
    hint="Begin with the short loops. Which line of a sound loop is missing?",
):
    want = {f"loop{n}": letter for n, letter in enumerate("efmhdcajilng", 1)}
    assert len(letters_of(bug_hunt(), want)) >= 3, "fewer than three are right"
with check(
    "loops_1_2", "loops 1 and 2", weight=5, hint="What's different when the second batch, or the second epoch, begins?"
):
    assert_bugs(bug_hunt(), {"loop1": "e", "loop2": "f"})
with check(
    "loops_3_6", "loops 3 and 6", weight=5, hint="Both measure. One number is right, at a price. The other isn't."
):
    assert_bugs(bug_hunt(), {"loop3": "m", "loop6": "c"})
with check(
    "loops_4_7",
    "loops 4 and 7",
    weight=5,
    hint="What did lab 9 say about when to clip, and what belongs inside the context?",
):
    assert_bugs(bug_hunt(), {"loop4": "h", "loop7": "a"})
with check("loops_5_12", "loops 5 and 12", weight=5, hint="Which objects exist twice, and which only once?"):
    assert_bugs(bug_hunt(), {"loop5": "d", "loop12": "g"})
with check(
    "loops_8_11",
    "loops 8 and 11",
    weight=5,
    hint="Both have wrong gradients. One confuses two layers, the other two values.",
):
    assert_bugs(bug_hunt(), {"loop8": "j", "loop11": "n"})
with check("loops_9_10", "loops 9 and 10", weight=5, hint="What is called too early? And what isn't called at all?"):
    assert_bugs(bug_hunt(), {"loop9": "i", "loop10": "l"})


# %% right "written out"
def bug_hunt():
    text = "loop1 e loop2 f loop3 m loop4 h loop5 d loop6 c loop7 a loop8 j loop9 i loop10 l loop11 n loop12 g".split()
    return dict(zip(text[::2], text[1::2]))


# %% right "in another order"
def bug_hunt():
    found = {}
    for letter, number in {"g": 12, "n": 11, "l": 10, "i": 9, "j": 8, "a": 7}.items():
        found[f"loop{number}"] = letter
    found |= {f"loop{i + 1}": "efmhdc"[i] for i in range(6)}
    return found


# %% wrong "by the loss alone" fails=loops_1_2,loops_3_6,loops_4_7,loops_8_11
def bug_hunt():
    return dict(zip([f"loop{n}" for n in range(1, 13)], "eocmdcakillg"))


# %% wrong "memory, copies and modes are not known" fails=loops_1_2,loops_3_6,loops_5_12,loops_9_10
def bug_hunt():
    return dict(zip([f"loop{n}" for n in range(1, 13)], "eblhpcajiink"))


# %% wrong "two loops short" fails=all_answered,loops_5_12,loops_8_11
def bug_hunt():
    return dict(zip([f"loop{n}" for n in range(1, 11)], "efmhdcajil"))


# %% wrong "modes for means" fails=loops_3_6,loops_5_12,loops_9_10
def bug_hunt():
    return dict(zip([f"loop{n}" for n in range(1, 13)], "efchdmajicnd"))
