# %% exercise
def one_hot(labels: Tensor, n: int) -> Tensor:
    """A row for each label: 1 at the label's index, and 0 elsewhere.

    labels is (k,), int64, with elements from 0 to n - 1. Returns a float32 tensor (k, n).

    Details:
    - k may be 0, and a class may have no label.
    - labels isn't changed.
    """
    ### BEGIN SOLUTION
    rows = torch.zeros(len(labels), n)
    rows[torch.arange(len(labels)), labels] = 1
    return rows
    ### END SOLUTION


# %% promises
# A row for each label -> example, other_cases
# labels is (k,) -> other_cases, sizes
# Returns a float32 tensor -> example, other_cases
# k may be 0 -> empty, unused_class
# labels isn't changed -> keeps_input


# %% domain
@domain(reference, "no label", "one class", "as many labels as classes", "the last class has no label")
def arguments(draw, edge):
    n = 1 if edge == "one class" else draw(st.integers(3, 6))
    k = {"no label": 0, "as many labels as classes": n}.get(edge, n + draw(st.integers(1, 4)))
    used = n - 1 if edge == "the last class has no label" else n
    labels = torch.randint(used, (k,), generator=draw.make_generator())
    if k > n > 1:
        labels[0] = used - 1
    return labels, n


# %% checks
with check("example", "two labels of three", required=True):
    assert_close(one_hot(torch.tensor([2, 0]), 3), torch.tensor([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]))

# %% hidden checks
with check("other_cases", "other labels", weight=2, required=True, hint="Which element of a row is 1?"):
    arguments.assert_results(one_hot, "")
with check("unused_class", "a class without a label", weight=2, hint="What says how many classes there are?"):
    arguments.assert_results(one_hot, "the last class has no label")
with check("sizes", "one class, and as many labels as classes", hint="Which dimension belongs to the labels?"):
    arguments.assert_results(one_hot, "one class", "as many labels as classes")
with check("empty", "no label", guard=True):
    arguments.assert_results(one_hot, "no label")
with check("keeps_input", "labels keeps its values", guard=True):
    arguments.assert_arguments(one_hot)


# %% right "rows of the identity"
def one_hot(labels, n):
    return torch.eye(n)[labels]


# %% right "a comparison"
def one_hot(labels, n):
    return (labels[:, None] == torch.arange(n)).float()


# %% wrong "int64, as torch's own" fails=example,other_cases,unused_class,sizes,empty
def one_hot(labels, n):
    return torch.nn.functional.one_hot(labels, n)


# %% wrong "as many classes as the labels say" fails=unused_class,sizes,empty raises=RuntimeError
def one_hot(labels, n):
    return torch.eye(int(labels.max()) + 1)[labels]


# %% wrong "a column for each label" fails=example,other_cases,unused_class,sizes,empty
def one_hot(labels, n):
    return torch.eye(n)[labels].T


# %% wrong "labels begin at one" fails=example,other_cases,unused_class,sizes
def one_hot(labels, n):
    return torch.eye(n)[labels - 1]
