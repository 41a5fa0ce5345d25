# %% given
def smooth_critic(w, x):
    """(n, d) -> (n,)."""
    return (x @ w).tanh().sum(-1)


def relu_critic(w, x):
    """(n, d) -> (n,). Where no element is positive, the score does not change with the sample."""
    return (x @ w).relu().square().sum(-1)


def image_critic(w, x):
    """(n, ..., d) -> (n,): samples with two axes or more."""
    return (x @ w).sin().sum(-1).square().flatten(1).sum(-1)


def column_critic(w, x):
    """(n, d, m) -> (n,): the image critic, for transposed samples."""
    return image_critic(w, x.mT)


# %% exercise
def gradient_penalty(critic, w: Tensor, real: Tensor, fake: Tensor, mix: Tensor) -> Tensor:
    """The mean over the samples of (norm - 1) ** 2, with the norm of the score's gradient with respect to the sample.

    critic: a function critic(w, x) from weights and samples (n, ...) to scores (n,), each computed from its own sample.
    real, fake: (n, ...), with n at least 1 and one or more axes after the first, and numbers from -2 to 2. mix: (n,),
    from 0 to 1.
    The gradient is taken at mix * real + (1 - mix) * fake, with each sample's own mix, and the norm over all of the
    sample's numbers. Returns a scalar that can be differentiated with respect to w. No gradient reaches real, fake or
    mix.

    Details:
    - critic: no tensor in it other than its arguments requires grad.
    - w: the weights, a leaf that requires grad.
    - w, real, fake and mix: all float32 or all float64, any strides. real, fake and mix may or may not require grad,
      may be the result of recorded operations, and are treated as constants.
    - The norm is exact except for rounding, even if it's as small as 1e-12.
    - If a sample's gradient is zero, its part of the penalty is 1 and adds zero to the gradient for w.
    - The arguments and their .grad aren't changed.
    """
    ### BEGIN SOLUTION
    mix = mix.reshape(-1, *[1] * (real.dim() - 1))
    points = (mix * real + (1 - mix) * fake).detach().requires_grad_()
    (slopes,) = torch.autograd.grad(critic(w, points).sum(), points, create_graph=True)
    norms = torch.linalg.vector_norm(slopes.flatten(1), dim=1)
    return (norms - 1).square().mean()
    ### END SOLUTION


# %% promises
# The mean over the -> example, other_cases
# critic: a function -> other_cases
# real, fake: (n -> other_cases
# mix: (n,), from -> other_cases
# The gradient is taken -> other_cases, example, small_gradient
# Returns a scalar -> reaches_weights, gradient, zero_gradient, no_input_grad
# No gradient reaches -> no_input_grad
# critic: no tensor -> other_cases
# w: the weights -> reaches_weights, gradient, zero_gradient, no_input_grad
# w, real, fake and mix -> other_cases
# real, fake and mix -> no_input_grad
# The norm is exact -> other_cases, example, small_gradient
# If a sample's gradient -> zero_gradient
# The arguments and -> keeps_input


# %% domain
@domain(
    reference,
    *(
        "float64",
        "float64, two axes",
        "one sample",
        "one number",
        "square",
        "two axes",
        "three axes",
        "all sizes equal",
    ),
    *("mix 0", "mix 1", "real is fake", "some gradients zero", "all gradients zero", "all gradients zero, float64"),
    *("small gradients", "small gradients, float64", "small gradients, float64, two axes"),
    *("transposed", "every second one", "expanded", "transposed by the critic", "hundreds of samples, float64"),
    *("real requires grad", "fake requires grad", "mix requires grad", "from operations", "hold .grad"),
)
def arguments(draw, edge):
    n, d, m = draw(st.integers(2, 5)), draw(st.integers(2, 4)), draw(st.integers(2, 3))
    n, d = {"one sample": (1, d), "one number": (n, 1), "square": (d, d), "all sizes equal": (3, 3)}.get(edge, (n, d))
    n = 257 if "hundreds" in edge else n
    axes = {
        "two axes": (3,),
        "transposed by the critic": (3,),
        "float64, two axes": (3,),
        "small gradients, float64, two axes": (3,),
        "three axes": (2, 3),
        "all sizes equal": (3, 3),
    }.get(edge, ())
    critic = image_critic if axes else smooth_critic
    g = draw.make_generator(here)
    dtype = torch.float64 if "float64" in edge else torch.float32
    # from -1 to 1: in the flat part of tanh, little but rounding errors would be left of a slope
    w = 2 * torch.rand(d, m, generator=g, dtype=dtype) - 1
    real, fake = (2 * torch.rand(n, *axes, d, generator=g, dtype=dtype) - 1 for _ in range(2))
    mix = torch.rand(n, generator=g, dtype=dtype)
    if edge == "transposed by the critic":
        critic, real, fake = column_critic, real.mT.contiguous(), fake.mT.contiguous()
    if edge in ("mix 0", "mix 1"):
        mix[:] = float(edge[-1])
    if "zero" in edge:
        some = slice(0, 1) if edge == "some gradients zero" else slice(None)
        critic, w = relu_critic, w.abs() + 0.1
        real, fake = real.abs() + 0.1, fake.abs() + 0.1
        real[some], fake[some] = -real[some], -fake[some]
    if "small" in edge:
        w = w * (3e-6 if axes else 1e-11)  # the slopes of image_critic shrink with the square of w
    if edge == "transposed":
        w, real, fake = (t.T.contiguous().T for t in (w, real, fake))
    if edge == "every second one":
        real, fake, mix = (torch.stack([t, -t], 1).flatten(0, 1)[::2] for t in (real, fake, mix))
    if edge == "expanded":
        fake, mix = fake[:1].expand(n, d), mix[:1].expand(n)
    if edge == "real is fake":
        fake = real
    w = w.requires_grad_()
    for name, t in (("real", real), ("fake", fake), ("mix", mix)):
        if edge in (f"{name} requires grad", "from operations", "hold .grad"):
            t.requires_grad_()
    if edge == "hold .grad":
        w.grad, real.grad = torch.full_like(w, 1000.0), torch.full_like(real, 1000.0)
    if edge == "from operations":
        real, fake, mix = real / 2, fake / 2, mix / 2
    return critic, w, real, fake, mix


# %% checks
with check(
    "example",
    "the penalty for three samples",
    weight=2,
    required=True,
    hint=(
        "What are the shapes of mix, the points, their gradient and the norms? What belongs to one sample?",
        "Differentiate the sum of the scores. Give mix axes of size 1 after its first, and flatten(1) before the norm.",
    ),
):
    t = torch.tensor([[[1.0, 0.5], [-0.3, 0.2], [0.4, -1.0]], [[0.0, 0.7], [0.9, -0.1], [-2.0, 1.5]]])
    t_w = torch.tensor([[0.9, -0.4, 0.3], [0.2, 0.5, -1.1]], requires_grad=True)
    want = torch.tensor(0.2813185)
    explain(
        gradient_penalty(smooth_critic, t_w, t[0], t[1], torch.tensor([0.25, 0.5, 0.125])).detach(),
        want,
        {
            "one norm was taken over the whole batch": torch.tensor(0.0045938),
            "the gradient is that of the mean score: each sample's is divided by n": torch.tensor(0.6759840),
            "real and fake are swapped: mix belongs to real": torch.tensor(0.1147237),
        },
    )
with check(
    "reaches_weights",
    "a gradient reaches the weights",
    hint=(
        "Is the value right? If so, does the gradient for the points have a grad_fn?",
        "create_graph=True records that backward pass. After that, nothing may be detached or turned into a number.",
    ),
):
    t = torch.tensor([[[1.0, 0.5], [-0.3, 0.2]], [[0.0, 0.7], [0.9, -0.1]]])
    t_w = torch.tensor([[0.9, -0.4, 0.3], [0.2, 0.5, -1.1]], requires_grad=True)
    want = torch.tensor(0.0814000)
    got = gradient_penalty(smooth_critic, t_w, t[0], t[1], torch.tensor([0.25, 0.5]))
    assert_close(got.detach(), want)
    assert got.requires_grad, "your penalty doesn't require grad"

# %% hidden checks
with check(
    "other_cases",
    "other critics, shapes and float64",
    weight=3,
    required=True,
    hint="Which axes does a sample's norm cover? Does mix line up with the right axis when n equals d?",
):
    arguments.assert_results(gradient_penalty, "", "float64", "one sample", "one number", "square")
    arguments.assert_results(gradient_penalty, "two axes", "three axes", "all sizes equal", "float64, two axes")
    arguments.assert_results(gradient_penalty, "mix 0", "mix 1", "real is fake")
    arguments.assert_results(gradient_penalty, "transposed", "every second one", "expanded")
    arguments.assert_results(gradient_penalty, "transposed by the critic", "hundreds of samples, float64")
with check(
    "gradient",
    "the gradient of the penalty with respect to the weights",
    weight=4,
    required=True,
    hint="Is the backward pass to the samples recorded?",
):
    arguments.assert_results(gradient_penalty, "", "float64", "two axes")
    arguments.assert_gradients(gradient_penalty, "", "float64", "one sample", "two axes", "float64, two axes", "square")
with check(
    "zero_gradient",
    "a sample whose gradient is zero gives a finite gradient",
    weight=2,
    hint="What is the slope of the square root at 0?",
):
    arguments.assert_results(gradient_penalty, "some gradients zero", "all gradients zero")
    arguments.assert_gradients(gradient_penalty, "some gradients zero", "all gradients zero")
    arguments.assert_results(gradient_penalty, "all gradients zero, float64")
    arguments.assert_gradients(gradient_penalty, "all gradients zero, float64")
with check(
    "small_gradient",
    "samples whose gradients are near zero, and float64",
    weight=2,
    hint="Is there a number under your root that isn't from the gradient? How large is it compared with a small one?",
):
    arguments.assert_results(gradient_penalty, "small gradients", "small gradients, float64")
    arguments.assert_results(gradient_penalty, "small gradients, float64, two axes")
    arguments.assert_gradients(gradient_penalty, "small gradients", "small gradients, float64")
    arguments.assert_gradients(gradient_penalty, "small gradients, float64, two axes")
with check(
    "no_input_grad",
    "no gradient reaches real, fake or mix",
    hint="Which tensor do you make the leaf, and what is it still connected to?",
):
    arguments.assert_results(gradient_penalty, "real requires grad", "fake requires grad", "mix requires grad")
    arguments.assert_gradients(gradient_penalty, "real requires grad", "fake requires grad", "mix requires grad")
    arguments.assert_results(gradient_penalty, "from operations", "hold .grad")
    arguments.assert_gradients(gradient_penalty, "from operations", "hold .grad")
with check(
    "keeps_input",
    "the arguments and w.grad aren't changed",
    guard=True,
    hint="Which function doesn't write to any .grad?",
):
    arguments.assert_arguments(gradient_penalty)


# %% right "torch.func, sample by sample"
def gradient_penalty(critic, w, real, fake, mix):
    def score(point):
        return critic(w, point[None])[0]

    ways = (-1,) + (1,) * (real.dim() - 1)
    points = torch.lerp(fake, real, mix.view(ways)).detach()
    slopes = torch.func.vmap(torch.func.grad(score))(points)
    return ((slopes.flatten(1).norm(dim=1) - 1) ** 2).mean()


# %% right "grad_outputs of ones, and the smallest number under the root"
def gradient_penalty(critic, w, real, fake, mix):
    n = len(real)
    ratio = mix.detach().view(n, *([1] * (real.ndim - 1))).expand_as(real)
    points = ratio * real.detach() + (1 - ratio) * fake.detach()
    points.requires_grad_(True)
    scores = critic(w, points)
    slopes = torch.autograd.grad(
        outputs=scores, inputs=points, grad_outputs=torch.ones_like(scores), create_graph=True, retain_graph=True
    )[0]
    norms = torch.sqrt(slopes.reshape(n, -1).pow(2).sum(1) + torch.finfo(real.dtype).tiny)
    return torch.mean((norms - 1) ** 2)


# %% right "one sample after the other"
def gradient_penalty(critic, w, real, fake, mix):
    penalties = []
    for r, f, m in zip(real.detach(), fake.detach(), mix.tolist()):
        point = (m * r + (1 - m) * f)[None].requires_grad_()
        (slope,) = torch.autograd.grad(critic(w, point)[0], point, create_graph=True)
        penalties.append((slope.norm() - 1) ** 2)
    return torch.stack(penalties).mean()


# %% wrong "the norm of the gradient" fails=example,reaches_weights,other_cases,gradient,zero_gradient,small_gradient,no_input_grad
def gradient_penalty(critic, w, real, fake, mix):
    mix = mix.reshape(-1, *[1] * (real.dim() - 1))
    points = (mix * real + (1 - mix) * fake).detach().requires_grad_()
    (slopes,) = torch.autograd.grad(critic(w, points).sum(), points, create_graph=True)
    return (slopes.norm() - 1).square()


# %% wrong "the mean score has the same gradient" fails=example,reaches_weights,other_cases,gradient,zero_gradient,small_gradient,no_input_grad
def gradient_penalty(critic, w, real, fake, mix):
    mix = mix.reshape(-1, *[1] * (real.dim() - 1))
    points = (mix * real + (1 - mix) * fake).detach().requires_grad_()
    (slopes,) = torch.autograd.grad(critic(w, points).mean(), points, create_graph=True)
    return (slopes.flatten(1).norm(dim=1) - 1).square().mean()


# %% wrong "mix belongs to the fake" fails=example,reaches_weights,other_cases,gradient,zero_gradient,small_gradient,no_input_grad
def gradient_penalty(critic, w, real, fake, mix):
    mix = mix.reshape(-1, *[1] * (real.dim() - 1))
    points = (mix * fake + (1 - mix) * real).detach().requires_grad_()
    (slopes,) = torch.autograd.grad(critic(w, points).sum(), points, create_graph=True)
    return (slopes.flatten(1).norm(dim=1) - 1).square().mean()


# %% wrong "a root of a sum of squares" fails=zero_gradient
def gradient_penalty(critic, w, real, fake, mix):
    mix = mix.reshape(-1, *[1] * (real.dim() - 1))
    points = (mix * real + (1 - mix) * fake).detach().requires_grad_()
    (slopes,) = torch.autograd.grad(critic(w, points).sum(), points, create_graph=True)
    return (slopes.flatten(1).square().sum(1).sqrt() - 1).square().mean()
