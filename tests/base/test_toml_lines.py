"""A mistake in a TOML file has the line on which a person finds it."""

import pytest

from autograder.base.toml_lines import find_entry_line, find_key_line

TEXT = """\
title = "ours"

[[team]]
name = "blue"

[[ team ]]
name = "red"
members = ["ada"]

[labs.a]
attempts = 0

[labs."b c"]
practice = true
"""


@pytest.mark.parametrize(("number", "line"), [(0, 3), (1, 6), (2, 1)])
def test_an_entry_begins_at_its_header(number: int, line: int) -> None:
    assert find_entry_line(TEXT, "team", number) == line


@pytest.mark.parametrize(
    ("location", "line"),
    [
        (("title",), 1),
        (("team", 1, "members", 0), 8),
        (("team", 0, "members"), 3),
        (("labs", "a", "attempts"), 11),
        (("labs", "b c", "practice"), 14),
        (("labs", "b c", "attempts"), 13),
        (("nothing",), 1),
    ],
)
def test_a_key_is_found_in_its_own_table_and_a_missing_one_at_the_header(
    location: tuple[str | int, ...], line: int
) -> None:
    assert find_key_line(TEXT, location) == line
