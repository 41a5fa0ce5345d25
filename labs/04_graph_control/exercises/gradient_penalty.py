# %% exercise
def gradient_penalty(critic, w: Tensor, real: Tensor, fake: Tensor, mix: Tensor) -> Tensor:
    """The mean over the samples of (norm of the gradient of the sample's score by the sample - 1) ** 2.

    critic: a function critic(w, x) from weights and samples (n, ...) to scores (n,), each from its own sample.
    w: the weights, a leaf that requires grad. real, fake: (n, ...) with n at least 1, one axis or more after the first.
    mix: (n,). All float32 or all float64. The gradient is taken at mix * real + (1 - mix) * fake, with its own mix for
    each sample, and the norm over all numbers of the sample.
    Returns a scalar that can be differentiated by w. real, fake and mix count as constants. Where a sample's gradient
    is zero, its part of the penalty is 1, and adds zero to the gradient by w. The arguments stay as they are, and
    w.grad too.
    """
    ### BEGIN SOLUTION
    mix = mix.reshape(-1, *[1] * (real.dim() - 1))
    points = (mix * real + (1 - mix) * fake).detach().requires_grad_()
    (slopes,) = torch.autograd.grad(critic(w, points).sum(), points, create_graph=True)
    norms = torch.linalg.vector_norm(slopes.flatten(1), dim=1)
    return (norms - 1).square().mean()
    ### END SOLUTION


# %% checks
with check(
    "example",
    "the penalty of three samples",
    weight=2,
    required=True,
    hint=(
        "Which shapes have mix, the points, their gradient and the norms? What belongs to one sample?",
        "Differentiate the sum of the scores. Give mix axes of size 1 behind n, and flatten(1) before the norm.",
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
        "Is the value right? If so: does the gradient by the points have a grad_fn?",
        "create_graph=True records that backward pass. Behind it, nothing may be detached or become a number.",
    ),
):
    t = torch.tensor([[[1.0, 0.5], [-0.3, 0.2]], [[0.0, 0.7], [0.9, -0.1]]])
    t_w = torch.tensor([[0.9, -0.4, 0.3], [0.2, 0.5, -1.1]], requires_grad=True)
    want = torch.tensor(0.0814000)
    got = gradient_penalty(smooth_critic, t_w, t[0], t[1], torch.tensor([0.25, 0.5]))
    assert_close(got.detach(), want)
    assert got.requires_grad, "your penalty does not require grad"


# %% hidden checks
def penalty_by_samples(critic, w, real, fake, mix):
    """The same, one sample after the other."""
    parts = []
    for i in range(len(real)):
        point = (mix[i] * real[i] + (1 - mix[i]) * fake[i]).detach().requires_grad_()
        (slope,) = torch.autograd.grad(critic(w, point[None]).sum(), point, create_graph=True)
        parts.append((torch.linalg.vector_norm(slope) - 1) ** 2)
    return sum(parts) / len(parts)


with check(
    "other_cases",
    "other critics, shapes and float64",
    weight=3,
    required=True,
    hint="Over which axes does a sample's norm go? Does mix meet the right axis when n equals d?",
):
    for dtype in (torch.float32, torch.float64):
        for f, shape in (
            (smooth_critic, (3, 3)),
            (smooth_critic, (1, 4)),
            (relu_critic, (6, 2)),
            (image_critic, (4, 3, 2)),
            (image_critic, (2, 1, 2)),
        ):
            t = torch.randn(2, *shape, dtype=dtype, generator=torch.Generator(here).manual_seed(len(shape)))
            t_w = torch.randn(
                shape[-1], 5, dtype=dtype, generator=torch.Generator(here).manual_seed(4)
            ).requires_grad_()
            t_mix = torch.linspace(0.1, 0.8, shape[0], dtype=dtype)
            want = penalty_by_samples(f, t_w, t[0], t[1], t_mix).detach()
            assert_close(gradient_penalty(f, t_w, t[0], t[1], t_mix).detach(), want)
with check(
    "gradient",
    "the gradient of the penalty by the weights",
    weight=4,
    required=True,
    hint="Is the backward pass by the samples recorded?",
):
    for dtype in (torch.float32, torch.float64):
        for f, shape in ((smooth_critic, (5, 2)), (image_critic, (3, 2, 4))):
            t = torch.randn(2, *shape, dtype=dtype, generator=torch.Generator(here).manual_seed(8))
            t_w = torch.randn(
                shape[-1], 3, dtype=dtype, generator=torch.Generator(here).manual_seed(9)
            ).requires_grad_()
            t_mix = torch.linspace(1, 0.2, shape[0], dtype=dtype)
            right = penalty_by_samples(f, t_w, t[0], t[1], t_mix)
            (want,) = torch.autograd.grad(-3 * right, t_w)
            got = gradient_penalty(f, t_w, t[0], t[1], t_mix)
            assert_close(got.detach(), right.detach())
            assert_close(torch.autograd.grad(-3 * got, t_w)[0], want)
with check(
    "zero_gradient",
    "a sample whose gradient is zero gives a finite gradient",
    weight=2,
    hint="What is the slope of the square root at 0?",
):
    t = torch.tensor([[[1.0, 0.5], [-1.0, -2.0], [0.4, 1.0]], [[1.0, 0.7], [-1.5, -0.5], [0.6, 0.8]]])
    t_w = torch.tensor([[0.9, 0.4, 0.3], [0.2, 0.5, 1.1]], requires_grad=True)
    t_mix = torch.tensor([0.3, 0.6, 0.9])
    right = penalty_by_samples(relu_critic, t_w, t[0], t[1], t_mix)
    (want,) = torch.autograd.grad(right, t_w)
    got = gradient_penalty(relu_critic, t_w, t[0], t[1], t_mix)
    assert_close(got.detach(), right.detach())
    assert_close(torch.autograd.grad(got, t_w)[0], want)
with check(
    "no_input_grad",
    "no gradient reaches real, fake and mix",
    hint="Which tensor do you make the leaf, and what still leads behind it?",
):
    t = [torch.tensor([[1.0, 0.5], [-0.3, 0.2]]), torch.tensor([[0.0, 0.7], [0.9, -0.1]]), torch.tensor([0.3, 0.6])]
    t_w = torch.tensor([[0.9, -0.4, 0.3], [0.2, 0.5, -1.1]], requires_grad=True)
    right = penalty_by_samples(smooth_critic, t_w, *t)
    want = [torch.autograd.grad(right, t_w)[0], torch.zeros(2, 2), torch.zeros(2, 2), torch.zeros(2)]
    for tensor in t:
        tensor.requires_grad_()
    got = gradient_penalty(smooth_critic, t_w, *t)
    assert_close(got.detach(), right.detach())
    got = torch.autograd.grad(got, (t_w, *t), materialize_grads=True)
    assert_close(got, want, name="the gradients for w, real, fake and mix")
with check(
    "keeps_input", "the arguments and w.grad stay as they are", guard=True, hint="Which function writes to no .grad?"
):
    t = torch.tensor([[[1.0, 0.5], [-0.3, 0.2]], [[0.0, 0.7], [0.9, -0.1]]])
    t_w = torch.tensor([[0.9, -0.4, 0.3], [0.2, 0.5, -1.1]], requires_grad=True)
    t_mix = torch.tensor([0.25, 0.5])
    t_w.grad = torch.full((2, 3), 2.0)
    unchanged(gradient_penalty, image_critic, t_w, t[0, :, None], t[1, :, None], t_mix)
    unchanged(gradient_penalty, smooth_critic, t_w, t[0], t[1], t_mix)


# %% right "torch.func, sample by sample"
def gradient_penalty(critic, w, real, fake, mix):
    def score(point):
        return critic(w, point[None])[0]

    ways = (-1,) + (1,) * (real.dim() - 1)
    points = torch.lerp(fake, real, mix.view(ways)).detach()
    slopes = torch.func.vmap(torch.func.grad(score))(points)
    return ((slopes.flatten(1).norm(dim=1) - 1) ** 2).mean()


# %% right "grad_outputs of ones, and a tiny number under the root"
def gradient_penalty(critic, w, real, fake, mix):
    n = len(real)
    ratio = mix.detach().view(n, *([1] * (real.ndim - 1))).expand_as(real)
    points = ratio * real.detach() + (1 - ratio) * fake.detach()
    points.requires_grad_(True)
    scores = critic(w, points)
    slopes = torch.autograd.grad(
        outputs=scores, inputs=points, grad_outputs=torch.ones_like(scores), create_graph=True, retain_graph=True
    )[0]
    norms = torch.sqrt(slopes.reshape(n, -1).pow(2).sum(1) + 1e-14)
    return torch.mean((norms - 1) ** 2)


# %% right "one sample after the other"
def gradient_penalty(critic, w, real, fake, mix):
    penalties = []
    for r, f, m in zip(real.detach(), fake.detach(), mix.tolist()):
        point = (m * r + (1 - m) * f)[None].requires_grad_()
        (slope,) = torch.autograd.grad(critic(w, point)[0], point, create_graph=True)
        penalties.append((slope.norm() - 1) ** 2)
    return torch.stack(penalties).mean()


# %% wrong "the backward pass is part of the loss anyway" fails=reaches_weights,gradient,zero_gradient,no_input_grad raises=RuntimeError
def gradient_penalty(critic, w, real, fake, mix):
    mix = mix.reshape(-1, *[1] * (real.dim() - 1))
    points = (mix * real + (1 - mix) * fake).detach().requires_grad_()
    (slopes,) = torch.autograd.grad(critic(w, points).sum(), points, retain_graph=True)
    return (slopes.flatten(1).norm(dim=1) - 1).square().mean()


# %% wrong "it must require grad, so mark it" fails=gradient,zero_gradient,no_input_grad raises=RuntimeError
def gradient_penalty(critic, w, real, fake, mix):
    mix = mix.reshape(-1, *[1] * (real.dim() - 1))
    points = (mix * real + (1 - mix) * fake).detach().requires_grad_()
    (slopes,) = torch.autograd.grad(critic(w, points).sum(), points)
    return (slopes.flatten(1).norm(dim=1) - 1).square().mean().requires_grad_()


# %% wrong "the norm of the gradient" fails=example,reaches_weights,other_cases,gradient,zero_gradient,no_input_grad
def gradient_penalty(critic, w, real, fake, mix):
    mix = mix.reshape(-1, *[1] * (real.dim() - 1))
    points = (mix * real + (1 - mix) * fake).detach().requires_grad_()
    (slopes,) = torch.autograd.grad(critic(w, points).sum(), points, create_graph=True)
    return (slopes.norm() - 1).square()


# %% wrong "the mean score has the same gradient" fails=example,reaches_weights,other_cases,gradient,zero_gradient,no_input_grad
def gradient_penalty(critic, w, real, fake, mix):
    mix = mix.reshape(-1, *[1] * (real.dim() - 1))
    points = (mix * real + (1 - mix) * fake).detach().requires_grad_()
    (slopes,) = torch.autograd.grad(critic(w, points).mean(), points, create_graph=True)
    return (slopes.flatten(1).norm(dim=1) - 1).square().mean()


# %% wrong "mix belongs to the fake" fails=example,reaches_weights,other_cases,gradient,zero_gradient,no_input_grad
def gradient_penalty(critic, w, real, fake, mix):
    mix = mix.reshape(-1, *[1] * (real.dim() - 1))
    points = (mix * fake + (1 - mix) * real).detach().requires_grad_()
    (slopes,) = torch.autograd.grad(critic(w, points).sum(), points, create_graph=True)
    return (slopes.flatten(1).norm(dim=1) - 1).square().mean()


# %% wrong "one mix for the whole batch" fails=example,reaches_weights,other_cases,gradient,zero_gradient,no_input_grad
def gradient_penalty(critic, w, real, fake, mix):
    points = (mix[0] * real + (1 - mix[0]) * fake).detach().requires_grad_()
    (slopes,) = torch.autograd.grad(critic(w, points).sum(), points, create_graph=True)
    return (slopes.flatten(1).norm(dim=1) - 1).square().mean()


# %% wrong "a sample has one axis" fails=other_cases,gradient
def gradient_penalty(critic, w, real, fake, mix):
    mix = mix.reshape(-1, *[1] * (real.dim() - 1))
    points = (mix * real + (1 - mix) * fake).detach().requires_grad_()
    (slopes,) = torch.autograd.grad(critic(w, points).sum(), points, create_graph=True)
    return (slopes.norm(dim=-1) - 1).square().mean()


# %% wrong "a root of a sum of squares" fails=zero_gradient
def gradient_penalty(critic, w, real, fake, mix):
    mix = mix.reshape(-1, *[1] * (real.dim() - 1))
    points = (mix * real + (1 - mix) * fake).detach().requires_grad_()
    (slopes,) = torch.autograd.grad(critic(w, points).sum(), points, create_graph=True)
    return (slopes.flatten(1).square().sum(1).sqrt() - 1).square().mean()


# %% wrong "requires_grad_() makes a leaf of the points" fails=no_input_grad
def gradient_penalty(critic, w, real, fake, mix):
    mix = mix.reshape(-1, *[1] * (real.dim() - 1))
    points = (mix * real + (1 - mix) * fake).requires_grad_()
    (slopes,) = torch.autograd.grad(critic(w, points).sum(), points, create_graph=True)
    return (slopes.flatten(1).norm(dim=1) - 1).square().mean()


# %% wrong "backward fills .grad of the points only" fails=keeps_input
def gradient_penalty(critic, w, real, fake, mix):
    mix = mix.reshape(-1, *[1] * (real.dim() - 1))
    points = (mix * real + (1 - mix) * fake).detach().requires_grad_()
    critic(w, points).sum().backward(create_graph=True)
    return (points.grad.flatten(1).norm(dim=1) - 1).square().mean()
