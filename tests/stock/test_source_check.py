"""Sources on which nbgrader would end with a traceback are refused first, with the place and a fix."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from traitlets.log import get_logger

from autograder.base.errors import GradlabError
from autograder.stock.source_check import refuse_unfit_source
from tests.stock.stock_course import (
    Cell,
    make_cell,
    make_given,
    make_manual,
    make_notebook,
    make_solution,
    make_task,
    make_test,
    write,
)

F = make_solution("f", "### BEGIN SOLUTION\nx = 1\n### END SOLUTION")
T = make_test("t", "assert x == 1")


def get_refusal(root: Path, text: str, lab: str = "a1", name: str = "p", config: Any = None) -> str:
    write(root / "source" / lab / f"{name}.ipynb", text)
    with pytest.raises(GradlabError) as error_info:
        refuse_unfit_source(root, lab, config or {})
    assert "Traceback" not in str(error_info.value) and len(str(error_info.value).splitlines()) <= 2
    return str(error_info.value).replace(str(root), "")


def set_kernel(language: str, name: str = "python3") -> str:
    data = json.loads(make_notebook(F, T))
    data["metadata"]["kernelspec"] = {"name": name, "display_name": name, "language": language}
    return json.dumps(data)


def test_a_valid_source_is_accepted(tmp_path: Path) -> None:
    write(
        tmp_path / "source/a1/p.ipynb",
        make_notebook(F, T, make_manual("w", "YOUR ANSWER HERE"), make_task("free", "Draw."), make_cell("")),
    )
    refuse_unfit_source(tmp_path, "a1", {})


@pytest.mark.parametrize("language, name", [("R", "ir"), ("julia", "julia-1.10"), ("octave", "octave"), ("scala", "x")])
def test_other_languages_go_to_stock_nbgrader(language: str, name: str, tmp_path: Path) -> None:
    message = get_refusal(tmp_path, set_kernel(language, name))
    assert f"kernel of {language.lower()}" in message and "fix: grade it with stock nbgrader" in message


def test_a_language_in_another_case_is_corrected(tmp_path: Path) -> None:
    assert 'fix: write "language": "python"' in get_refusal(tmp_path, set_kernel("Python"))


@pytest.mark.parametrize("name", ["ps[a]", "ps*", "ps?", "ps+1", "ps{1}"])
def test_names_that_nbgrader_reads_as_patterns_are_replaced(name: str, tmp_path: Path) -> None:
    assert f"fix: mv '/source/{name}' /source/ps" in get_refusal(tmp_path, make_notebook(F, T), lab=name)
    assert f"fix: mv '/source/a1/{name}.ipynb' /source/a1/ps" in get_refusal(tmp_path, make_notebook(F, T), name=name)


def test_a_file_that_is_no_notebook_is_named(tmp_path: Path) -> None:
    assert get_refusal(tmp_path, "{").startswith("/source/a1/p.ipynb isn't a notebook: ")


@pytest.mark.parametrize(
    "cells, problem",
    [
        (
            [F, T, {**T, "source": "assert x"}],
            "cell 3, which begins `assert x`: its grade_id is t, which cell 2 has too",
        ),
        (
            [make_solution("my f", "x = 1")],
            'its grade_id is "my f", but nbgrader accepts only letters from a to z, digits, - and _',
        ),
        ([make_cell("x = 1", grade_id="x (old)")], "change it to x_old_ in Create Assignment"),
        ([F, make_test("", "assert x")], "cell 2, which begins `assert x`: it has no grade_id"),
        (
            [
                F,
                make_test("t", "assert x") | {"metadata": {"nbgrader": {**T["metadata"]["nbgrader"], "points": "two"}}},
            ],
            'its points are "two"',
        ),
        ([F, make_test("t", "assert x", points=-1)], "its points are -1"),
        ([make_cell("assert x", grade=True, grade_id="t")], "it has no points"),
        ([make_cell("Tests.", "markdown", grade=True, grade_id="t", points=1)], "is not marked as a solution cell"),
        (
            [make_solution("f", "### BEGIN SOLUTION\nx = 1")],
            "cell 1, which begins `### BEGIN SOLUTION`: no end solution",
        ),
        ([make_test("t", "### BEGIN HIDDEN TESTS\nassert x")], "BEGIN HIDDEN TESTS`: No end hidden tests"),
        ([make_task("free", "Draw.\n=== BEGIN MARK SCHEME ===\n1")], "No end mark scheme"),
        ([make_cell("### BEGIN SOLUTION\nx = 1\n### END SOLUTION")], "in a non-solution cell"),
        ([make_given("g", "x") | {"metadata": {"nbgrader": "?"}}], "nbgrader's metadata isn't a dictionary"),
    ],
)
def test_a_cell_that_nbgrader_refuses_is_named(cells: list[Cell], problem: str, tmp_path: Path) -> None:
    message = get_refusal(tmp_path, make_notebook(*cells))
    assert problem in message and "    fix: " in message


def test_nbgraders_own_log_is_heard_afterwards(tmp_path: Path) -> None:
    """Its validators and preprocessors share the program's log."""
    write(tmp_path / "source/a1/p.ipynb", make_notebook(F, T))
    refuse_unfit_source(tmp_path, "a1", {})
    assert not get_logger().disabled
