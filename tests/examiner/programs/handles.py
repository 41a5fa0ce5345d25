"""Objects that aren't values: modules, classes, instances, autograd functions."""

import torch
from torch import nn

from tests.examiner.program import program


class Affine(nn.Module):
    def __init__(self, n, bias=True):
        super().__init__()
        self.weight = nn.Parameter(torch.arange(float(n)))
        self.bias = nn.Parameter(torch.ones(n)) if bias else None
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        y = x * self.weight
        return y if self.bias is None else y + self.bias


class Counter:
    step = 1

    def __init__(self, start=0):
        self.n = start

    def __call__(self, by=None):
        self.n += by or self.step
        return self.n

    def __len__(self):
        return self.n

    def __getitem__(self, key):
        return (self.n, key)

    def __setitem__(self, key, value):
        self.n = value

    def __contains__(self, item):
        return item == self.n

    def __iter__(self):
        return iter(range(self.n))

    def __enter__(self):
        self.n += 100
        return self

    def __exit__(self, kind, error, trace):
        self.n = -1
        return kind is KeyError

    @property
    def double(self):
        return 2 * self.n

    @classmethod
    def of(cls, n):
        return cls(n)

    @staticmethod
    def helper(x):
        return x + 1


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor, inplace):
        ctx.factor = factor
        if inplace:
            ctx.mark_dirty(x)
            return x.mul_(factor)
        return x * factor

    @staticmethod
    def backward(ctx, g):
        return g * ctx.factor, None, None


@program(f=Square.apply)
def an_autograd_function_by_its_apply(f):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    f(x).sum().backward()
    return x, torch.autograd.gradcheck(f, torch.ones(2, dtype=torch.float64, requires_grad=True))


@program(Function=Square)
def an_autograd_function_as_a_class(Function):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = Function.apply(x)
    y.sum().backward()
    return x, issubclass(Function, torch.autograd.Function)


@program(f=Square.apply)
def an_autograd_function_twice(f):
    x = torch.tensor([3.0], requires_grad=True)
    (g,) = torch.autograd.grad(f(f(x)).sum(), x, create_graph=True)
    return g, torch.autograd.grad(g.sum(), x)[0].tolist()


@program(f=Scale.apply)
def an_autograd_function_with_other_arguments(f):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    x = w * 1
    y, z = f(x, 3.0, False), f(x, 2.0, True)
    (y.sum() + z.sum()).backward()
    return w, x, z


@program(Model=Affine)
def parameters_of_a_module(Model):
    model = Model(2)
    names = [name for name, _ in model.named_parameters()]
    return names, list(model.parameters()), model.bias.shape


@program(Model=Affine)
def the_state_of_a_module(Model):
    model = Model(2)
    state = model.state_dict()
    model.load_state_dict({"weight": torch.tensor([5.0, 6.0]), "bias": torch.zeros(2)})
    return type(state).__name__, list(state), model(torch.ones(2))


@program(Model=Affine)
def backward_through_a_module_and_its_input(Model):
    model, x = Model(3), torch.ones(3, requires_grad=True)
    for _ in range(2):
        model(x).sum().backward()
    return model.weight.grad, model.bias.grad, x


@program(Model=Affine)
def backward_to_chosen_inputs_leaves_a_module_alone(Model):
    model, x = Model(3), torch.ones(3, requires_grad=True)
    model(x).sum().backward(inputs=[x])
    return x, model.weight.grad


@program(Model=Affine)
def a_module_of_modules(Model):
    inner = Model(2, bias=False)
    outer = inner.requires_grad_(False)
    return outer is inner, [p.requires_grad for p in outer.parameters()]


@program(Model=Affine)
def attributes_of_a_module(Model):
    model = Model(2)
    model(torch.ones(2)), model(torch.ones(2))
    model.note = [1]
    return model.calls, model.note, hasattr(model, "nothing"), getattr(model, "nothing", 7)


@program(Model=lambda: nn.Sequential(nn.Linear(2, 3), nn.ReLU()))
def a_module_of_torchs(Model):
    torch.manual_seed(0)
    model = Model()
    kinds = isinstance(model, nn.Sequential), isinstance(model[0], nn.Linear), isinstance(model[1], nn.Linear)
    return kinds, len(model), model(torch.ones(2)), [isinstance(m, nn.ReLU) for m in model]


@program(make=lambda: torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=0.5))
def an_optimizer_of_the_students(make):
    opt = make()
    return isinstance(opt, torch.optim.Optimizer), isinstance(opt, nn.Module), opt.param_groups[0]["lr"]


@program(Count=Counter)
def changing_an_instance(Count):
    c = Count()
    c.n = 4
    c["x"] = c.n + 1
    seen = c.n
    del c.n
    return seen, hasattr(c, "n")


@program(Count=Counter)
def identity_of_instances(Count):
    a, b = Count(), Count()
    return a is b, a == b, a == a, a != b


@program(Count=Counter)
def a_context_manager(Count):
    c = Count()
    with c as inside:
        seen = inside.n, inside is c
    return seen, c.n


@program(Count=Counter)
def a_context_manager_that_swallows(Count):
    with Count():
        raise KeyError("swallowed")
    return "after"


@program(Count=Counter)
def a_context_manager_that_does_not(Count):
    with Count():
        raise ValueError("kept")


@program(make=torch.no_grad)
def torchs_context_manager_from_the_student(make):
    with make():
        seen = torch.is_grad_enabled()
    return seen, torch.is_grad_enabled()


@program(make=lambda: [Counter(1), Counter(2)])
def instances_in_a_list(make):
    a, b = make()
    return a.n, b.n, a()


class Deep(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.w = w

    def forward(self, x):
        return (x * self.w).sum()


@program(Model=Deep)
def a_tensor_of_the_checks_inside_a_module(Model):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    model, x = Model(w * 3), torch.tensor([3.0, 4.0], requires_grad=True)
    model(x).backward()
    return w, x


def _hook_on(x, seen):
    return x.register_hook(lambda g: g * 2)


a_module = program(Model=Affine)(
    lambda Model: (
        (model := Model(3))(torch.ones(3)),
        isinstance(model, nn.Module),
        issubclass(Model, nn.Module),
        model.training,
    )
)
grad_through_a_module_fills_nothing = program(Model=Affine)(
    lambda Model: (
        torch.autograd.grad((model := Model(3))(x := torch.ones(3, requires_grad=True)).sum(), x),
        model.weight.grad,
    )
)
an_instance_by_its_name = program(model=Affine(2))(
    lambda model: (isinstance(model, nn.Module), model(torch.ones(2)), isinstance(model, torch.optim.Optimizer))
)
a_plain_instance = program(Count=Counter)(
    lambda Count: ((c := Count(2))(), c(by=5), c.n, c.double, len(c), c["k"], 8 in c, 9 in c, list(c)[:3])
)
members_of_a_class = program(Count=Counter)(
    lambda Count: (Count.step, Count.of(3).n, Count.helper(1), isinstance(Count, type), Count.__name__)
)
isinstance_of_a_class_of_the_students = program(Count=Counter)(
    lambda Count: (isinstance(Count(), Count), isinstance(3, Count), isinstance(torch.ones(1), Count))
)
isinstance_of_two_classes = program(Count=Counter, Model=Affine)(
    lambda Count, Model: (isinstance(Count(), Model), isinstance(Model(1), Model), issubclass(Count, nn.Module))
)
an_instance_through_a_function = program(Count=Counter, f=lambda c: c)(
    lambda Count, f: (f(c := Count()) is c, f([c])[0] is c)
)
an_instance_as_argument = program(Count=Counter, f=lambda c: c())(lambda Count, f: (f(c := Count(5)), c.n))
the_truth_of_instances = program(Count=Counter)(lambda Count: (bool(Count(0)), bool(Count(1))))
an_instance_method_as_a_function = program(Model=Affine)(lambda Model: Model(2).forward(torch.ones(2)))
a_generator_expression = program(make=lambda n: (i for i in range(n)))(lambda make: (sum(make(4)), max(make(3))))
an_iterator = program(make=lambda *items: map(str, items))(lambda make: (list(make(1, 2)), 3 in make(1, 2)))
a_handle_of_a_hook = program(f=_hook_on)(lambda f: hasattr(f(torch.ones(1, requires_grad=True), []), "remove"))


backward_through_a_module_fills_its_parameters = program(Model=Affine)(
    lambda Model: ((model := Model(3))(torch.ones(3)).sum().backward(), model.weight.grad, model.bias.grad)
)
modes_of_a_module = program(Model=Affine)(
    lambda Model: ((model := Model(2)).eval(), model.training, model.train() is model, model.training)
)
