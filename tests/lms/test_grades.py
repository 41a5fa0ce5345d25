"""Exported grades run no formula in the program that opens them."""

import csv
from pathlib import Path

import pytest

from autograder.base.entry_points import list_names
from autograder.lms.learning_system import GROUP, load_system
from autograder.lms.people import Person
from tests.lms.graded_labs import LABS


@pytest.mark.parametrize("name", ["=1+1", "+49", "-x", "@sum", "\tx", "=HYPERLINK(1)"])
@pytest.mark.parametrize("system", list_names(GROUP))
def test_no_cell_begins_like_a_formula(name: str, system: str, tmp_path: Path) -> None:
    path = tmp_path / "grades.csv"
    load_system(system).grades.write(path, [Person(id=name, first_name=name, last_name=name)], LABS)
    with path.open(newline="", encoding="utf-8") as file:
        assert not any(cell.startswith(("=", "+", "-", "@", "\t")) for row in csv.reader(file) for cell in row)
