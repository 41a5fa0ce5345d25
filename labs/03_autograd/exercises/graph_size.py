# %% given
def two_sines(x):
    """Two operations with the same name and the same input."""
    return (x.sin() * x.sin()).sum()


@probes.probe
def counted_twice(graph_size, f, x, later):
    """graph_size of f at x, and once more after later was copied into the same tensor."""
    x = x.clone().requires_grad_()
    before = graph_size(f, x)
    with torch.no_grad():
        x.copy_(later)
    return [before, graph_size(f, x)]


# %% exercise
def graph_size(f, x: Tensor) -> int:
    """The number of distinct nodes in the graph of f(x), including AccumulateGrad nodes.

    f: a function of one tensor that returns a tensor. Returns 0 if f(x) has no grad_fn, as inside
    torch.no_grad().

    Details:
    - x: any floating-point tensor; it may or may not require grad. If it's the result of recorded operations, their
      nodes belong to the graph of f(x) and count too.
    - The graph may share nodes between many paths, and may be 3,000 nodes deep.
    - x, its requires_grad and its .grad aren't changed.
    """
    ### BEGIN SOLUTION
    root = f(x).grad_fn
    seen = set() if root is None else {root}
    waiting = list(seen)
    while waiting:
        for node, _ in waiting.pop().next_functions:
            if node is not None and node not in seen:
                seen.add(node)
                waiting.append(node)
    return len(seen)
    ### END SOLUTION


# %% promises
# The number of distinct -> example, shared_node, several_results, all_leaves
# f: a function of one -> actual_run, several_results, example, all_leaves
# Returns 0 if -> nothing_recorded
# x: any floating-point -> several_results, all_leaves
# If it's the result -> all_leaves
# The graph may share -> shared_node, long_chain
# x, its requires_grad -> keeps_grad


# %% domain
@domain(
    reference,
    "no grad needed",
    "from an operation",
    "its own leaf",
    "two alike",
    "float64",
    "bfloat16",
    "handed back",
    "holds .grad",
    "recording off",
    contexts={"recording off": torch.no_grad},
)
def arguments(draw, edge):
    known = [polynomial, doubled_twelve_times, spread, second_of_two, three_inputs, growing, energy, rolled, mixed]
    special = {"its own leaf": with_own_leaf, "two alike": two_sines, "handed back": handed_back}
    f = special.get(edge, draw(st.sampled_from(known)))
    dtype = {"float64": torch.float64, "bfloat16": torch.bfloat16}.get(edge, torch.float32)
    x = torch.rand(draw(st.sampled_from([3, 6])), generator=draw.make_generator(here)).to(dtype)
    x.requires_grad_(edge != "no grad needed")
    if edge == "holds .grad":
        x.grad = torch.ones_like(x)
    return f, x * 2 if edge == "from an operation" else x


# %% checks
with check(
    "example",
    "the graph of (x * x + 3 * (x + 1)).sum() has 6 nodes",
    weight=3,
    required=True,
    hint=(
        "Which nodes can you reach from grad_fn, and which of them have two incoming edges?",
        "Keep a set of the nodes that you've seen, and a list of those whose next_functions you still have to read.",
    ),
):
    t = torch.tensor([1.0, 2.0], requires_grad=True)
    got = graph_size(polynomial, t)
    explain(
        got,
        6,
        {
            "nodes with two incoming edges were counted twice: this is the number of visits": 8,
            "these are the edges, not the nodes": 7,
            "the AccumulateGrad node is a node too": 5,
            "nodes were freed while you counted, and others got their ids: keep the nodes, not their ids": 3,
        },
    )

# %% hidden checks
with check(
    "shared_node",
    "a node that many paths reach counts once",
    weight=2,
    required=True,
    hint="How do you know that you've already counted a node?",
):
    t = torch.tensor(1.5, requires_grad=True)
    explain(
        graph_size(doubled_twelve_times, t), 13, {"every path was counted": 2**13 - 1, "the edges were counted": 24}
    )
with check(
    "actual_run",
    "the size depends on what ran, not on the code",
    weight=2,
    required=True,
    hint="Do you count the graph of this call?",
):
    for begin, want in ((0.5, 2), (3.0, 4), (100.0, 9)):
        t = torch.tensor([begin], requires_grad=True)
        assert_close(graph_size(halve_until_small, t), want)
    t = torch.tensor([3.0])
    assert_close(counted_twice(graph_size, halve_until_small, t, t + 97), [4, 9])
with check(
    "several_results",
    "an operation with several results is one node, and two that look alike are two",
    weight=2,
    hint="What does the second part of a pair in next_functions distinguish?",
):
    t = torch.linspace(0, 1, 6, dtype=torch.float64, requires_grad=True)
    explain(graph_size(spread, t), 6, {"the results of one operation were counted as separate nodes": 8})
    arguments.assert_results(graph_size, "", "two alike", "float64", "bfloat16")
with check(
    "all_leaves", "all leaves are counted, not only x", weight=2, hint="Do you follow every entry of next_functions?"
):
    t = torch.tensor([1.0, 2.0], requires_grad=True)
    assert_close(graph_size(with_own_leaf, t), 6)
    assert_close(graph_size(with_own_leaf, t.detach()), 5)
    arguments.assert_results(graph_size, "its own leaf", "from an operation")
with check(
    "long_chain",
    "a chain of 3,001 nodes is counted",
    weight=3,
    hint="How deeply can calls be nested in Python? What else could hold the nodes that are left to visit?",
):
    t = torch.tensor(0.5, requires_grad=True)
    assert_close(graph_size(deep, t), 3001)
with check(
    "nothing_recorded",
    "if nothing is recorded, the size is 0",
    hint="What is the grad_fn of a result that wasn't recorded?",
):
    t = torch.tensor([1.0, 2.0])
    assert_close(graph_size(polynomial, t), 0)
    arguments.assert_results(graph_size, "no grad needed", "handed back", "recording off")
with check(
    "keeps_grad",
    "x, its requires_grad and its .grad aren't changed",
    guard=True,
    hint="Does counting need a backward pass?",
):
    arguments.assert_results(graph_size, "holds .grad")
    arguments.assert_arguments(graph_size)
    arguments.assert_settings(graph_size)


# %% right "by identity, with a queue"
def graph_size(f, x):
    from collections import deque

    out = f(x)
    found, queue = {}, deque([out.grad_fn])
    while queue:
        node = queue.popleft()
        if node is None or id(node) in found:
            continue
        found[id(node)] = node
        queue.extend(following for following, _ in node.next_functions)
    return len(found)


# %% right "recursion with a memory and a higher limit"
def graph_size(f, x):
    import sys

    seen, limit = set(), sys.getrecursionlimit()

    def visit(node):
        if node is not None and node not in seen:
            seen.add(node)
            for following, _ in node.next_functions:
                visit(following)

    sys.setrecursionlimit(20_000)
    try:
        visit(f(x).grad_fn)
    finally:
        sys.setrecursionlimit(limit)
    return len(seen)


# %% right "level by level, with sets"
def graph_size(f, x):
    level, seen = {f(x).grad_fn} - {None}, set()
    while level:
        seen |= level
        level = {following for node in level for following, _ in node.next_functions} - seen - {None}
    return len(seen)


# %% wrong "recursion without a memory" fails=example,shared_node,several_results,all_leaves,long_chain,keeps_grad raises=RecursionError
def graph_size(f, x):
    def count(node):
        return 0 if node is None else 1 + sum(count(following) for following, _ in node.next_functions)

    return count(f(x).grad_fn)


# %% wrong "recursion with a memory" fails=long_chain raises=RecursionError
def graph_size(f, x):
    seen = set()

    def visit(node):
        if node is not None and node not in seen:
            seen.add(node)
            for following, _ in node.next_functions:
                visit(following)

    visit(f(x).grad_fn)
    return len(seen)


# %% wrong "the edges are the graph" fails=example,shared_node,actual_run,several_results,all_leaves,long_chain,keeps_grad
def graph_size(f, x):
    root = f(x).grad_fn
    seen, waiting, edges = {root}, [root], 0
    while waiting and root is not None:
        for node, _ in waiting.pop().next_functions:
            if node is not None:
                edges += 1
                if node not in seen:
                    seen.add(node)
                    waiting.append(node)
    return edges


# %% wrong "a leaf is no node" fails=example,shared_node,actual_run,several_results,all_leaves,long_chain,keeps_grad
def graph_size(f, x):
    root = f(x).grad_fn
    seen, waiting = set(), [root]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen and not hasattr(node, "variable"):
            seen.add(node)
            waiting += [following for following, _ in node.next_functions]
    return len(seen)


# %% wrong "a pair in next_functions is a node" fails=several_results
def graph_size(f, x):
    out = f(x)
    seen, waiting = set(), [(out.grad_fn, 0)]
    while waiting:
        pair = waiting.pop()
        if pair[0] is not None and pair not in seen:
            seen.add(pair)
            waiting += pair[0].next_functions
    return len(seen)


# %% wrong "nodes of the same name are the same" fails=example,shared_node,actual_run,several_results,all_leaves,long_chain,keeps_grad
def graph_size(f, x):
    root = f(x).grad_fn
    seen, waiting = {}, [root]
    while waiting:
        node = waiting.pop()
        if node is not None and node.name() not in seen:
            seen[node.name()] = node
            waiting += [following for following, _ in node.next_functions]
    return len(seen)
