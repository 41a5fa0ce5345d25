# %% exercise
def alive() -> dict[str, int]:
    """Activations alive after each of the six loops: {"a": ..., ..., "f": ...}, all ints."""
    ### BEGIN SOLUTION
    return {"a": 0, "b": 32, "c": 8, "d": 4, "e": 32, "f": 4}
    ### END SOLUTION


# %% promises
# Activations alive after -> all_answered, enough_right, loop_a, loop_b, loop_c, loop_d, loop_e, loop_f


# %% domain
# There are no arguments: the answer is a table of six loops.


# %% checks
with check(
    "all_answered",
    "a number for each of the six loops",
    required=True,
    guard=True,
    hint="Which key is missing, or which number isn't an int?",
):
    got = alive()
    assert isinstance(got, dict), f"your result is a {type(got).__name__}"
    assert set(got) == set("abcdef"), f"your keys are {sorted(map(str, got))}"
    kinds = [type(got["a"]), type(got["b"]), type(got["c"]), type(got["d"]), type(got["e"]), type(got["f"])]
    assert kinds == [int] * 6, "not all of your numbers are ints"
with check(
    "loop_a",
    "loop a",
    weight=2,
    hint=(
        "When does backward free what was kept for it?",
        "What does loss still hold after backward: activations, or only the nodes of the graph? Run after(loop_a).",
    ),
):
    explain(alive()["a"], 0, {"after backward, the graph of a loss keeps no activations": 32})

# %% hidden checks
with check("enough_right", "at least three are right", required=True, guard=True, hint="Run after(...) for each loop."):
    got = alive()
    right = [got["a"] == 0, got["b"] == 32, got["c"] == 8, got["d"] == 4, got["e"] == 32, got["f"] == 4]
    assert right.count(True) >= 3, "fewer than three are right"
with check("loop_b", "loop b", weight=2, hint="What does total hold after four additions?"):
    assert alive()["b"] == 32, "your number for loop b isn't right"
with check("loop_c", "loop c", weight=2, hint="total is a number. Is loss?"):
    assert alive()["c"] == 8, "your number for loop c isn't right"
with check("loop_d", "loop d", weight=2, hint="What is a column a view of?"):
    assert alive()["d"] == 4, "your number for loop d isn't right"
with check("loop_e", "loop e", weight=2, hint="What does retain_graph=True retain?"):
    assert alive()["e"] == 32, "your number for loop e isn't right"
with check("loop_f", "loop f", weight=2, hint="Which activation has a name?"):
    assert alive()["f"] == 4, "your number for loop f isn't right"


# %% right "worked out from what is kept"
def alive():
    layers, batches = 8, 4
    return dict(a=0, b=layers * batches, c=layers, d=batches, e=layers * batches, f=batches)


# %% right "measured"
def alive():
    found = {}
    for letter, loop in zip("abcdef", (loop_a, loop_b, loop_c, loop_d, loop_e, loop_f)):
        model = deep(8, 32, 1)
        for p in model.parameters():
            p.grad = torch.zeros_like(p)
        xs = [torch.ones(512, 32) for _ in range(4)]
        with memory.watch(model, xs) as seen:
            names = loop(model, xs)
            found[letter] = round(seen.now / memory.nbytes(xs[0]))
            del names
    return found


# %% wrong "whoever keeps a loss keeps its activations" fails=loop_a,loop_f
def alive():
    return {"a": 32, "b": 32, "c": 8, "d": 4, "e": 32, "f": 32}


# %% wrong "item frees everything, and a column is a column" fails=loop_c,loop_d
def alive():
    return {"a": 0, "b": 32, "c": 0, "d": 0, "e": 32, "f": 4}


# %% wrong "retain_graph keeps one graph, and a result its graph" fails=loop_e,loop_f
def alive():
    return {"a": 0, "b": 32, "c": 8, "d": 4, "e": 8, "f": 32}


# %% wrong "only the last batch is ever alive" fails=enough_right,loop_b,loop_d,loop_e,loop_f
def alive():
    return {"a": 0, "b": 8, "c": 8, "d": 1, "e": 8, "f": 1}
