"""The picture of compiled graphs agrees with Dynamo."""

import torch
from torch import Tensor

from labkit.pictures.compilations import MODES, record_compilations, show_compiles


def f(x: Tensor) -> Tensor:
    return x.sin() + 1


def make_inputs(*sizes: int) -> list[Tensor]:
    return [torch.ones(size, 3) for size in sizes]


def test_each_call_uses_the_graph_whose_guards_accept_it() -> None:
    run = record_compilations(f, make_inputs(4, 5, 6, 1, 4), None)
    assert run.graphs == ["(4, 3)", "(n, 3)", "(1, 3)"]
    assert run.compiled == [True, True, False, True, False]
    assert run.served[:4] == [0, 1, 1, 2]


def test_beyond_the_limit_no_graph_is_used() -> None:
    run = record_compilations(f, make_inputs(*range(2, 13), 3), False)
    assert run.served == [0, 1, 2, 3, 4, 5, 6, 7, -1, -1, -1, 1]


def test_the_picture_has_words_and_a_drawing_for_each_setting() -> None:
    picture = show_compiles(f, make_inputs(2, 3, 1))
    assert all(mode in picture.first_frame for mode in MODES)
    words = picture.words.splitlines()
    assert words[0] == "calls with (2, 3), (3, 3), (1, 3)"
    assert [line.split()[1] for line in words[1:]] == ["3", "3", "2"]


def test_without_an_input_it_says_so() -> None:
    assert "there are no inputs" in show_compiles(f, []).words
