"""Numbers in words, as commands and pages show them."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table

from autograder.base.text import format_count, replace_controls
from autograder.cli.app import Terminal
from autograder.gradebook.labels import make_sort_key


@pytest.mark.parametrize(
    "number, words", [(0, "0 submissions wait"), (1, "1 submission waits"), (2, "2 submissions wait")]
)
def test_a_verb_agrees_with_its_number(number: int, words: str) -> None:
    assert format_count(number, "submission", "waits", "wait") == words
    assert format_count(number, "submission") == words.rpartition(" ")[0]


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


@given(st.lists(st.text()))
def test_any_names_have_an_order(names: list[str]) -> None:
    assert sorted(["wrong_10", "wrong_2", "²", "٣", *names], key=make_sort_key).index("wrong_2") < len(names) + 4
    assert make_sort_key("wrong_2") < make_sort_key("wrong_10")
