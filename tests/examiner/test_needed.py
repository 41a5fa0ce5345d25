"""A given cell runs beside the checks where one of them could tell that it did not."""

from __future__ import annotations

import pytest

from autograder.examiner.exposed import exposed
from autograder.examiner.needed import needed

CHECK = 'with check("a"):\n    t = torch.ones(2)\n    assert f(make(t)) == data.sum()\n'
START = "import torch\nimport warnings\nfrom labkit import check\n"


def left_out(*given: str, check: str = CHECK) -> list[str]:
    """Those of the given cells, which stand before the check and after imports, that it does not need."""
    cells = ((False, START), *((False, source) for source in given), (True, check))
    found = needed(cells)
    return [source for place, source in enumerate(given, 1) if place not in found]


NEEDED = {
    "what is read": ["data = torch.ones(3)"],
    "what is in that": ["part = torch.ones(1)", "data = torch.cat([part, part])"],
    "a change of it": ["data = torch.ones(3)", "data.add_(1)"],
    "a write into it": ["data = torch.ones(3)", "data[0] = 7"],
    "a change under another name": ["data = torch.ones(3)", "other = data[1:]", "other.zero_()"],
    "a change by a function": ["data = torch.ones(3)", "def grow():\n    data.add_(1)", "grow()"],
    "a change by a function kept in a value": ["data = torch.ones(3)", "steps = [lambda: data.add_(1)]", "steps[0]()"],
    "a function, and what it reads": ["size = 3", "def make(t):\n    return torch.zeros(size)"],
    "a function of a function": ["def inner(t):\n    return t", "def make(t):\n    return inner(t)"],
    "what its function reads at its end": ["def make(t):\n    return t * size", "size = 3"],
    "a class": ["class Maker:\n    pass", "def make(t):\n    return Maker()"],
    "what may have been bound anew": ["data = torch.ones(3)", "if torch.ones(1) > 0:\n    data = torch.ones(2)"],
    "what an exercise may not come to": ["data = torch.ones(3)", "print(exercise(1))\ndata = torch.ones(2)"],
    "a setting": ["torch.set_default_dtype(torch.float64)"],
    "a filter": ["warnings.simplefilter('error')"],
    "a module's attribute": ["torch.softmax = None"],
    "what was in hand with a list": ["n = [3]", "data = torch.ones(n)", "n.append(2)"],
    "a sum that goes on": ["data = torch.ones(3)", "data += 1"],
}
LEFT_OUT = {
    "what only shows": (["shown = torch.arange(4)\nprint(shown)"], [0]),
    "a name that is bound anew": (["data = torch.ones(3)\nprint(data)", "data = torch.ones(2)"], [0]),
    "the same name in a loop": (["data = 1", "for data in ():\n    print(data)", "data = 3"], [0, 1]),
    "a name of the check's own": (["t = torch.ones(3)"], [0]),
    "a filter that is set back": (["with warnings.catch_warnings():\n    warnings.simplefilter('error')"], [0]),
    "a mode that is set back": (["with torch.set_grad_enabled(False):\n    print(torch.ones(1))"], [0]),
    "seeds": (["torch.manual_seed(3)\nprint(torch.rand(1))"], [0]),
    "what was in hand with a number": (["n = 3", "data = torch.ones(n)", "print(n, torch.ones(n))"], [2]),
    "what another function of the cell reads": (
        ["kept = [1]\ndef make(t):\n    return t\ndef grow():\n    kept.append(1)", "grow()"],
        [1],
    ),
    "a parameter of a function": (["data = torch.ones(1)", "def other(data):\n    return data"], [1]),
}


@pytest.mark.parametrize("given", NEEDED.values(), ids=NEEDED)
def test_is_needed(given: list[str]) -> None:
    assert left_out(*given) == []


@pytest.mark.parametrize(("given", "places"), LEFT_OUT.values(), ids=LEFT_OUT)
def test_is_left_out(given: list[str], places: list[int]) -> None:
    assert left_out(*given) == [given[place] for place in places]


def test_a_check_needs_what_was_bound_when_it_runs() -> None:
    cells = (
        (False, "data = 1"),
        (True, "with check('a'):\n    assert data == 1"),
        (False, "data = 2\nprint(data)"),
        (False, "data = 3"),
        (True, "with check('b'):\n    assert data == 3"),
    )
    assert needed(cells) == {0, 3}


@pytest.mark.parametrize(
    ("source", "reads", "binds"),
    [
        ("x = x + 1", "x", "x"),
        ("x = 1\nprint(x)", "print", "x"),
        ("x += 1", "x", "x"),
        ("x[i] = y", "i x y", ""),
        ("x = y = z", "z", "x y"),
        ("import a.b, c as d\nfrom e import f\nd(f)", "", "a d f"),
        ("def f(x, y=z) -> q:\n    return w", "q z", "f"),
        ("@d\nclass A(B, metaclass=C):\n    def f(self):\n        return w", "B C d", "A"),
        ("f = lambda x, y=z: x + w", "z", "f"),
        ("for a, b in c:\n    print(a, d)\n    e = a\nprint(e, b)", "b c d e print", ""),
        ("m = [i + j + k for i in n for j in i]", "k n", "m"),
        ("while a:\n    b = 1\nelse:\n    b", "a b", ""),
        ("if a:\n    b = 1\nb", "a b", ""),
        ("with f() as (g, h):\n    k = g\nk", "f k", "g h"),
        ("try:\n    u = v\nexcept E as e:\n    e, u\nelse:\n    u\nfinally:\n    w", "E u v w", ""),
        ("(n := 3)\nn", "", "n"),
        ("f'{x + 1:{w}}'", "w x", ""),
        ("del x", "", ""),
    ],
)
def test_names_that_come_from_outside_and_names_that_are_surely_bound(source: str, reads: str, binds: str) -> None:
    assert exposed(source) == (frozenset(reads.split()), frozenset(binds.split()))
