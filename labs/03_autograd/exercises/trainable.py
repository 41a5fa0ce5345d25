# %% exercise
def trainable(values: dict[str, Tensor], scale: float) -> dict[str, Tensor]:
    """New parameters from starting values, under the same names.

    values: tensors of any shape. A float32 or float64 tensor t yields a leaf that requires grad, with the values
    scale * t and t's dtype. An integer or boolean tensor yields an unscaled copy that doesn't require grad.

    Details:
    - t may itself require grad or be the result of recorded operations.
    - No result shares memory with a tensor in values or with another result.
    - values and its tensors aren't changed, and backward doesn't reach them from the results.
    """
    ### BEGIN SOLUTION
    params = {}
    for name, t in values.items():
        if t.is_floating_point():
            params[name] = (scale * t.detach()).requires_grad_()
        else:
            params[name] = t.clone()
    return params
    ### END SOLUTION


# %% promises
# New parameters from -> example, other_cases
# values: tensors of -> other_cases, integers
# A float32 or float64 -> example, requires_grad, backward, other_cases
# An integer or boolean -> integers
# t may itself -> requires_grad
# No result shares -> no_sharing
# values and its tensors -> keeps_input, no_sharing, other_cases, backward


# %% domain
@domain(
    reference,
    *("float64", "0-dim", "empty", "requires grad", "from an operation", "holds .grad", "integers", "booleans"),
    "empty integers",
    *("scale 0", "scale 1", "scale -1", "no values", "one tensor twice", "views of one", "transposed", "expanded"),
)
def arguments(draw, edge):
    scale = {"scale 0": 0.0, "scale 1": 1.0, "scale -1": -1.0}.get(edge, draw(st.sampled_from([0.1, 0.5, -2.0, 3.0])))
    shape = () if edge == "0-dim" else (draw(st.integers(2, 4)), draw(st.integers(1, 3)))
    g, dtype = draw.make_generator(here), torch.float64 if edge == "float64" else torch.float32
    count = 0 if edge == "no values" else draw(st.integers(1, 3))
    names = draw(st.permutations(["w", "w.bias", "weight", "steps"]))[:count]
    values = {name: torch.randn(shape, generator=g, dtype=dtype) for name in names}
    if edge in ("integers", "booleans"):
        kinds = [torch.bool] if edge == "booleans" else [torch.int64, torch.int32, torch.uint8, torch.int8]
        values[draw(st.sampled_from(["a", "z"]))] = torch.tensor([[0, 1], [5, 3]]).to(draw(st.sampled_from(kinds)))
    if edge == "empty integers":
        kind = draw(st.sampled_from([torch.bool, torch.int64, torch.uint8]))
        values["none"] = torch.empty(draw(st.sampled_from([(0, 3), (2, 0, 3)])), dtype=kind)
    if edge == "empty":
        values = {"rows": torch.empty(0, 3), "columns": torch.empty(2, 0)}
    if edge == "one tensor twice":
        values["again"] = values[names[0]]
        values["count"] = values["same count"] = torch.tensor([draw(st.integers(1, 9))])
    if edge == "views of one":
        values["row"] = values[names[0]][0]
    if edge in ("transposed", "expanded"):
        turn = (lambda t: t.T) if edge == "transposed" else (lambda t: t[:1].expand(shape))
        values = {name: turn(t) for name, t in values.items()}
    if edge in ("requires grad", "from an operation", "holds .grad"):
        for t in values.values():
            t.requires_grad_()
            t.grad = torch.ones_like(t) if edge == "holds .grad" else None
    if edge == "from an operation":
        values = {name: t * 3 for name, t in values.items()}
    return values, scale


# %% checks
with check(
    "example",
    "a float32 tensor yields a leaf that requires grad, with scaled values",
    weight=3,
    required=True,
    hint=(
        "Is there a recorded operation between your result and the tensor that you marked?",
        "Scale first, without history. Then requires_grad_() makes the product a leaf.",
    ),
):
    t = torch.tensor([[1.0, -2.0, 3.0]])
    want = {"weight": torch.tensor([[0.5, -1.0, 1.5]])}
    got = trainable({"weight": t}, 0.5)
    assert_close(got, want)
    assert got["weight"].is_leaf, "your result isn't a leaf"
    assert got["weight"].requires_grad, "your result doesn't require grad"

# %% hidden checks
with check(
    "other_cases",
    "several tensors, other shapes, scales and float64",
    weight=2,
    required=True,
    hint="Do you take the names, the dtype and the shape from the starting values?",
):
    plain = ("", "0-dim", "empty", "scale 0", "scale 1", "scale -1", "no values", "transposed", "expanded", "float64")
    arguments.assert_results(trainable, *plain)
    arguments.assert_gradients(trainable, *plain)
with check(
    "requires_grad",
    "a starting value that requires grad yields a leaf too",
    weight=2,
    hint="When does requires_grad_() turn a tensor into a leaf, and when does it do nothing?",
):
    arguments.assert_results(trainable, "requires grad", "from an operation", "holds .grad")
    arguments.assert_gradients(trainable, "requires grad", "from an operation", "holds .grad")
with check(
    "backward",
    "backward fills in the .grad of the parameters, not of the starting values",
    hint="Does a recorded operation connect the parameters to the starting values?",
):
    t = torch.tensor([1.0, 4.0], requires_grad=True)
    weight = torch.tensor([5.0, -1.0])
    got = trainable({"w": t}, 0.1)
    (got["w"] * weight).sum().backward()
    assert_close(got["w"].grad, weight, name=".grad of your result")
    assert t.grad is None, "the gradient reached the starting value too"
with check(
    "integers",
    "integer and boolean tensors are copied unscaled and don't require grad",
    weight=2,
    hint="Which dtypes can require grad?",
):
    arguments.assert_results(trainable, "integers", "booleans", "empty integers")
    arguments.assert_gradients(trainable, "integers", "booleans", "empty integers")
with check(
    "no_sharing",
    "the results share no memory with the starting values, or with each other",
    hint="Which of the functions that you call copy, and which return a tensor that shares memory?",
):
    t = {"w": torch.tensor([1.0, 2.0]), "steps": torch.tensor([7, 8])}
    got = trainable(t, 1.0)
    with torch.no_grad():
        got["w"].add_(1)
        got["steps"].add_(1)
    assert_close(t, {"w": torch.tensor([1.0, 2.0]), "steps": torch.tensor([7, 8])}, name="the starting values")
    arguments.assert_memory(trainable)
    arguments.assert_results(trainable, "one tensor twice", "views of one")
with check(
    "keeps_input",
    "the starting values aren't changed",
    guard=True,
    hint="Which of your calls ends in an underscore, and which tensor does it change?",
):
    arguments.assert_arguments(trainable)


# %% right "torch.tensor makes a leaf, and warns"
def trainable(values, scale):
    return {
        name: torch.tensor(t * scale, requires_grad=True) if t.is_floating_point() else torch.tensor(t)
        for name, t in values.items()
    }


# %% right "a Parameter of the detached product"
def trainable(values, scale):
    result = {}
    for name, t in values.items():
        if t.dtype in (torch.float32, torch.float64):
            result[name] = torch.nn.Parameter((t * scale).detach())
        else:
            result[name] = t.detach().clone()
    return result


# %% right "no_grad, then the flag"
def trainable(values, scale):
    with torch.no_grad():
        result = {name: t * scale if t.is_floating_point() else t.clone() for name, t in values.items()}
    for t in result.values():
        t.requires_grad = t.is_floating_point()
    return result


# %% wrong "requires_grad_() makes a leaf of anything" fails=requires_grad,backward
def trainable(values, scale):
    return {n: (scale * t).requires_grad_() if t.is_floating_point() else t.clone() for n, t in values.items()}


# %% wrong "every tensor can be trained" fails=integers,no_sharing raises=RuntimeError
def trainable(values, scale):
    return {name: (scale * t.detach()).to(t.dtype).requires_grad_() for name, t in values.items()}


# %% wrong "what is not trained needs no copy" fails=no_sharing
def trainable(values, scale):
    return {n: (scale * t.detach()).requires_grad_() if t.is_floating_point() else t for n, t in values.items()}


# %% wrong "training is done in float32" fails=other_cases
def trainable(values, scale):
    return {
        n: (scale * t.detach()).float().requires_grad_() if t.is_floating_point() else t.clone()
        for n, t in values.items()
    }
