"""The state of the process around a call, both ways."""

import random

import numpy as np
import torch

from tests.examiner.program import program


def leaf(*values):
    return torch.tensor(values, requires_grad=True)


@program(f=lambda x: (torch.is_grad_enabled(), x * 2))
def no_grad(f):
    x = leaf(1.0)
    with torch.no_grad():
        seen = f(x)
    return seen, f(x)


@program(f=lambda x: (torch.is_grad_enabled(), x * 2))
def enable_grad_inside_no_grad(f):
    with torch.no_grad(), torch.enable_grad():
        return f(leaf(1.0))


@program(f=lambda x: (torch.is_inference_mode_enabled(), x * 2))
def inference_mode(f):
    x = leaf(1.0)
    with torch.inference_mode():
        seen = f(x)
    return seen, f(x), x


@program(f=lambda x: (x.is_inference(), x + 1))
def inference_tensors_outside_of_inference_mode(f):
    with torch.inference_mode():
        x = torch.ones(2)
    return f(x), x


@program(f=lambda x: x.add_(1))
def inference_tensors_in_place(f):
    with torch.inference_mode():
        x = torch.ones(2)
        f(x)
    return x


@program(f=lambda x: x.add_(1))
def ordinary_tensors_in_place_in_inference_mode(f):
    x = torch.ones(2)
    with torch.inference_mode():
        f(x)
    return x


def _in_inference(x):
    with torch.inference_mode():
        return x * 2


@program(f=lambda n: torch.ones(n) / 3)
def default_dtype(f):
    torch.set_default_dtype(torch.float64)
    wide = f(1)
    torch.set_default_dtype(torch.float32)
    return wide, f(1)


@program(f=lambda a, b: a @ b)
def autocast(f):
    a, b = torch.ones(2, 2), torch.ones(2, 2)
    with torch.autocast("cpu", torch.bfloat16):
        inside = f(a, b)
    return inside, f(a, b)


@program(f=lambda a, w: a @ w)
def autocast_with_gradients(f):
    a, w = torch.ones(2, 2), leaf([1.0, 2.0], [3.0, 4.0])
    with torch.autocast("cpu", torch.bfloat16):
        y = f(a, w)
        y.sum().backward()
    with torch.no_grad():
        w.add_(1)
    with torch.autocast("cpu", torch.float16):
        return y, w, f(a, w)


def _own_autocast(a):
    with torch.autocast("cpu", torch.bfloat16):
        return a @ a


@program(f=lambda n: torch.rand(n))
def torchs_random_numbers(f):
    torch.manual_seed(3)
    first = f(2)
    torch.manual_seed(3)
    return first, torch.rand(2), f(2), torch.rand(1)


@program(f=lambda: (torch.rand(1), random.random(), np.random.rand()))
def random_numbers_between_calls(f):
    seen = []
    for _ in range(3):
        seen += [f(), torch.rand(1), random.random(), np.random.rand(), f()]
    return seen


class _Noise(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * torch.rand(())


@program(f=lambda: torch.are_deterministic_algorithms_enabled())
def deterministic_algorithms(f):
    torch.use_deterministic_algorithms(True, warn_only=True)
    seen = f()
    torch.use_deterministic_algorithms(False)
    return seen, f()


def _leak_and_raise():
    torch.set_grad_enabled(False)
    torch.rand(3)
    raise ValueError


@program(f=_leak_and_raise)
def state_leaks_with_an_exception_too(f):
    try:
        f()
    except ValueError:
        return torch.is_grad_enabled(), torch.rand(1)


class _Mode(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * (2 if torch.is_grad_enabled() else 1)


@program(f=_Mode.apply)
def grad_mode_in_backward(f):
    x = leaf(1.0)
    y = f(x)
    y.backward(retain_graph=True)
    plain = x.grad
    x.grad = None
    y.backward(create_graph=True)
    return plain, x.grad.tolist(), torch.is_grad_enabled()


def _steps():
    torch.set_grad_enabled(False)
    yield torch.is_grad_enabled()
    yield torch.is_grad_enabled()


@program(f=_steps)
def state_between_the_steps_of_a_generator(f):
    steps = f()
    first = next(steps)
    torch.set_grad_enabled(True)
    return first, next(steps)


inference_mode_inside = program(f=_in_inference)(lambda f: f(leaf(1.0)))
grad_mode_leaks = program(f=lambda x: torch.set_grad_enabled(False) and None)(
    lambda f: (f(1), torch.is_grad_enabled(), leaf(1.0) * 2)
)
default_dtype_leaks = program(f=lambda x: torch.set_default_dtype(torch.float64))(lambda f: (f(1), torch.ones(1)))
autocast_inside = program(f=_own_autocast)(lambda f: (f(torch.ones(2, 2)), torch.is_autocast_enabled("cpu")))
autocast_leaks = program(f=lambda a: torch.set_autocast_enabled("cpu", True))(
    lambda f: (f(1), torch.is_autocast_enabled("cpu"), (torch.ones(2, 2) @ torch.ones(2, 2)).dtype)
)
a_seed_set_inside = program(f=lambda seed: torch.manual_seed(seed) and None)(lambda f: (f(5), torch.rand(2)))
deterministic_algorithms_leak = program(f=lambda: torch.use_deterministic_algorithms(True, warn_only=True))(
    lambda f: (f(), torch.is_deterministic_algorithms_warn_only_enabled())
)


pythons_random_numbers = program(f=lambda: (random.random(), random.gauss(0, 1)))(
    lambda f: (random.seed(3), f(), random.random(), random.gauss(0, 1), f(), random.gauss(0, 1))
)
numpys_random_numbers = program(f=lambda: (np.random.rand(), np.random.randn()))(
    lambda f: (np.random.seed(3), f(), np.random.rand(), f(), np.random.randn(), np.random.randn())
)
a_kept_gaussian_number_of_numpy = program(f=lambda: np.random.randn())(
    lambda f: (np.random.seed(3), f(), np.random.randn(), np.random.randn(), f(), f(), np.random.randn())
)
dropout_with_gradients = program(f=lambda x: torch.nn.functional.dropout(x, 0.5))(
    lambda f: ((y := f(x := torch.ones(20, requires_grad=True))).sum().backward(), y, x, torch.rand(1))
)
random_numbers_in_backward = program(f=_Noise.apply)(lambda f: (f(x := leaf(1.0)).backward(), x, torch.rand(1)))
