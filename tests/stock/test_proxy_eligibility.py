"""Which test cells are decided outside the student process."""

import pytest

from autograder.stock.content import StockNotebook
from autograder.stock.proxy_eligibility import can_use_proxies, inspect_course_source

SQUARES = "def squares(n):\n    return [i * i for i in range(n)]"


def can_decide_with_proxies(test: str, *others: str, solution: str = SQUARES) -> bool:
    code = ("import math", "import numpy as np", *others, solution, test)
    course = StockNotebook(name="p1", kernelspec={}, cells=(), code=code, solutions=(solution,))
    return can_use_proxies(test, inspect_course_source(course))


@pytest.mark.parametrize(
    "test",
    [
        "assert squares(3) == [0, 1, 4]",
        "for n in range(3):\n    assert len(squares(n)) == n, f'{n}'",
        "try:\n    squares(-1)\nexcept ValueError:\n    pass\nelse:\n    raise AssertionError('did not raise')",
        "np.testing.assert_allclose(np.array(squares(3)), [0, 1, 4])",
        "right = sum(squares(4)) == 14\n2.0 if right else 0.5",
        "x = [3, 1]\nassert isinstance(squares(len(x)), list)\nassert squares(2) is not None",
    ],
)
def test_calls_and_comparisons_are_eligible(test: str) -> None:
    assert can_decide_with_proxies(test)


@pytest.mark.parametrize(
    "test",
    [
        "assert a == 1",  # a variable
        "assert squares == [0]",  # the function itself
        "assert squares.calls == 1",
        "saved = squares\ndel squares",
        "squares = None\nassert squares is None",
        "assert squares(3) is squares(3)",
        "%timeit squares(3)",
        "assert open('x').read()",
        "import os\nassert os.getcwd()",
        "assert type(squares(3)) is list",
        "assert eval('squares(3)')",
        "assert squares(3).__class__ == list",
        "assert helper(squares(3))",
        "with open('a') as f:\n    assert squares(1)",
        "assert str(squares) == ''",
        "assert sorted([2, 1], key=squares)",
        "assert 1 == 1",  # no call: nothing to ask
    ],
)
def test_tests_that_read_anything_else_are_not_eligible(test: str) -> None:
    assert not can_decide_with_proxies(test)


@pytest.mark.parametrize(
    "other",
    [
        "import random",
        "np.random.seed(0)",
        "import time",
        "squares = 3",
        "%matplotlib inline",
        "def f():\n    global x",
    ],
)
def test_nothing_is_eligible_if_the_course_depends_on_more_than_arguments(other: str) -> None:
    assert not can_decide_with_proxies("assert squares(3) == [0, 1, 4]", other)


def test_a_function_that_the_course_gives_is_not_the_students() -> None:
    assert not can_decide_with_proxies("assert given(1) == 1", "def given(n):\n    return n")
