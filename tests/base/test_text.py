"""Numbers in words, as commands and pages show them."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table

from autograder.base.text import CUT_OFF, format_count, join_first, replace_controls, truncate
from autograder.cli.app import Terminal
from autograder.gradebook.labels import make_sort_key


@pytest.mark.parametrize(
    "number, words", [(0, "0 submissions wait"), (1, "1 submission waits"), (2, "2 submissions wait")]
)
def test_a_verb_agrees_with_its_number(number: int, words: str) -> None:
    assert format_count(number, "submission", "waits", "wait") == words
    assert format_count(number, "submission") == words.rpartition(" ")[0]


def test_a_list_says_whether_it_goes_on() -> None:
    assert join_first([], 2) == "" and join_first(["a", "b"], 2) == "a, b"
    assert join_first(["a", "b", "c"], 2, separator="; ") == "a; b and more"


def test_a_text_is_cut_only_if_it_is_longer() -> None:
    assert truncate("abc", 3) == "abc"
    assert truncate("abcd", 3) == f"abc{CUT_OFF}"
    assert truncate("abcd", 3, "…") == "abc…"


def test_no_text_moves_the_cursor_of_a_terminal() -> None:
    text = "a\x1b]0;t\x07\x1b[2J\x9b8m\u202eb\r\n\tc é"
    assert replace_controls(text) == "a?]0;t???[2J?8m?b?\n\tc é".replace("t???", "t??")
    output = io.StringIO()
    terminal = Terminal(file=output, force_terminal=True, color_system=None)
    table = Table("x")
    table.add_row(text)
    for value in (text, table):
        terminal.print(value, markup=False)
    assert not [c for c in output.getvalue() if c in "\x1b\x07\x9b\r\u202e"]


def test_a_line_number_between_colons_is_printed_as_it_is() -> None:
    output = io.StringIO()
    Terminal(file=output).print("lab.py:100: :sparkles:", markup=False)
    assert output.getvalue() == "lab.py:100: :sparkles:\n"


@given(st.lists(st.text()))
def test_any_names_have_an_order(names: list[str]) -> None:
    assert sorted(["wrong_10", "wrong_2", "²", "٣", *names], key=make_sort_key).index("wrong_2") < len(names) + 4
    assert make_sort_key("wrong_2") < make_sort_key("wrong_10")
