"""Probes of training, and those of a given cell: a student's model or step, and functions that a probe calls."""

import torch
from torch import nn

from labkit import probes
from tests.examiner.program import program

BATCHES = [(torch.randn(5, 3, generator=torch.Generator().manual_seed(n)), torch.ones(5, 2) * n) for n in range(3)]
LAST = (torch.linspace(-1, 1, 6).reshape(2, 3), torch.zeros(2, 2))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)

    def forward(self, x):
        return self.last(torch.relu(self.norm(self.first(x))))


class Broken(Net):
    def forward(self, x):
        raise KeyError("no such layer")


def make_net():
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))


def step(model, optimizer, x, y):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    return loss


@probes.probe
def accumulated(train, batches, scale):
    model = make_net()
    total = train(model, batches)
    batches.append(scale)
    return total, probes.gradients_of(model), scale


@probes.probe
def chained(functions, x):
    for function in functions:
        x = function(x)
    return x


@probes.probe
def course_mistake(f):
    f(1)
    raise probes.ProbeError("this probe was never finished")


GIVEN = {"make_net": make_net, "accumulated": accumulated, "course_mistake": course_mistake}


@program(Net=Net)
def an_instance_is_trained_and_stays_so(Net):
    net = Net()
    first = probes.trained(net, [*BATCHES, LAST], optimizer=torch.optim.Adam, lr=0.01)
    return first, probes.trained(net, BATCHES, loss=nn.functional.l1_loss, lr=0.1), net.eval()(LAST[0])


@program(Net=Net)
def a_course_model_takes_the_same_steps(Net):
    record = probes.trained(Net, BATCHES, lr=0.1, momentum=0.9)
    mine = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2))
    names = dict(zip(("first", "norm", "last"), ("0", "1", "3"), strict=True))
    mine.load_state_dict({names[k.split(".")[0]] + "." + k.split(".")[1]: v for k, v in record["before"].items()})
    wanted = probes.trained(mine, BATCHES, lr=0.1, momentum=0.9)
    return [torch.allclose(a, b) for a, b in zip(record["state"].values(), wanted["state"].values(), strict=True)]


@program(Net=lambda: nn.Linear(3, 2))
def the_check_says_where_training_starts(Net):
    start = [torch.linspace(-1, 1, 6).reshape(2, 3), torch.tensor([0.5, -0.5])]
    by_name = dict(zip(("weight", "bias"), start, strict=True))
    return [probes.trained(Net, BATCHES, start=s, lr=0.1) for s in (start, by_name)], start


@program(Net=lambda: nn.Linear(3, 2))
def a_start_that_does_not_fit(Net):
    probes.trained(Net, BATCHES, start=[torch.ones(2)])


@program(Net=Broken)
def an_exception_of_the_models(Net):
    probes.trained(Net, BATCHES)


@program(f=lambda: 3)
def an_object_that_is_no_model(f):
    probes.trained(f, BATCHES)


@program(Net=Net)
def an_optimizer_that_does_not_know_the_option(Net):
    probes.trained(Net, BATCHES, speed=3)


@program(Net=lambda: nn.Sequential())
def a_model_without_parameters(Net):
    probes.trained(Net, BATCHES)


@program(given=GIVEN, loop=lambda model, batches: model.missing)
def a_loop_with_a_typo(loop):
    accumulated(loop, list(BATCHES), 1.0)


@program(
    given=GIVEN, train=lambda model, batches: sum(step(model, torch.optim.SGD(model.parameters()), *b) for b in batches)
)
def a_given_cells_own_probe(train):
    batches = [list(b) for b in BATCHES]
    scale = torch.tensor(2.0)
    seen = accumulated(train, batches, scale)
    return seen, len(batches), batches[-1] is scale, seen[2] is scale


@program(given=GIVEN, f=lambda x: x)
def a_probe_that_is_the_courses_error(f):
    course_mistake(f)


@program(given={"chained": chained}, f=lambda x: x.exp())
def a_probes_result_can_be_differentiated(f):
    x = torch.tensor([0.5, 1.0], requires_grad=True)
    y = chained((f, f), x)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    g.sum().backward()
    return y, g, x


@program(Net=Net)
def a_probe_under_no_grad(Net):
    net = Net()
    with torch.no_grad():
        return probes.operations(net, LAST[0]), torch.is_grad_enabled()


a_class_of_the_students_is_trained = program(Net=Net)(lambda Net: probes.trained(Net, BATCHES, lr=0.1))
a_probe_without_the_students_objects_runs_here = program(f=lambda x: x)(
    lambda f: probes.trained(make_net, BATCHES, lr=0.1)
)
several_functions_in_a_list = program(given={"chained": chained}, f=lambda x: x * 2, g=lambda x: x + 1)(
    lambda f, g: chained([f, g], torch.ones(2, requires_grad=True))
)
a_probe_changes_its_argument_in_place = program(
    given={"chained": chained}, f=lambda x: x.mul_(3), make=lambda: [torch.ones(1)]
)(lambda f, make: ((y := chained([f], x := torch.arange(3.0))) is x, x, y))
a_student_returns_a_given_function = program(given={"chained": chained}, f=lambda g: g)(lambda f: f(chained) is chained)
a_probe_draws_random_numbers = program(given={"chained": chained}, f=lambda x: x + torch.rand(3))(
    lambda f: (torch.rand(1), chained([f], torch.zeros(2, 3)), torch.rand(1))
)
