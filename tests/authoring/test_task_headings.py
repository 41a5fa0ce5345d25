"""The heading of a task says what the exercise is worth and how hard it is; further exercises earn points by choice."""

from pathlib import Path

import pytest

from autograder.authoring.course_folder import build_course, read_course, read_labs
from autograder.authoring.notebooks import build_release_notebook
from autograder.base.errors import SourceError
from autograder.model.course import Lab, Level
from autograder.model.metadata import read_cell_metadata
from autograder.model.term import read_term
from tests.lab_files import read_lab_text, write_files

EXERCISE = '''# ---- exercises/{name}.py
# %% exercise
def {name}(x):
    """Twice x."""
    ### BEGIN SOLUTION
    return x * 2
    ### END SOLUTION

# %% promises
# Twice x -> one

# %% domain
# The inputs are picked by hand.

# %% checks
with check("one", "one becomes two"):
    assert_close({name}(1), 2)
# ---- lab.py
'''
LAB = f"""# %% given
from labkit import assert_close, check

# %% [markdown]
# # A lab
#
# An explanation.
#
# ### Your turn: double
# Write it.

# %% exercise: double points=1 level=easy
{EXERCISE.format(name="double")}
# %% [markdown]
# ### Your turn: twice
# Write it again. Why is it the same?

# %% exercise: twice points=2 further level=hard
{EXERCISE.format(name="twice")}
# %% answer [markdown]
# Because *two* times is twice.
"""


def read(text: str = LAB, further: tuple[str, ...] = ()) -> Lab:
    return read_lab_text(text, further=further)


def list_prose(lab: Lab) -> list[str]:
    return [cell.source for cell in lab.cells if cell.kind == "prose"]


def test_a_task_has_its_own_cell_with_points_and_level() -> None:
    explanation, task, _, _ = list_prose(read())
    assert explanation == "# A lab\n\nAn explanation."
    assert task == "### Your turn: double, 1 point, easy\nWrite it."


def test_a_further_exercise_earns_no_points_unless_the_term_says_so() -> None:
    for further, heading, worth in (
        ((), "### Further practice: twice, hard", 0),
        (("twice",), "### Your turn: twice, 2 points, hard", 2),
    ):
        lab = read(further=further)
        assert heading in "\n".join(list_prose(lab))
        cells = build_release_notebook(lab).cells
        check = next(cell for cell in cells if cell.metadata.get("nbgrader", {}).get("grade_id") == "check-twice")
        assert check.metadata.nbgrader.points == worth and f'score("twice", points={worth})' in check.source
        metadata = read_cell_metadata(next(cell for cell in cells if "def twice" in cell.source))
        assert metadata is not None and metadata.level is Level.HARD
        assert (lab.points, lab.worth, lab.exercise("twice").points) == (3, 1 + worth, 2)


def test_an_answer_is_folded_below_its_question() -> None:
    assert list_prose(read())[-1] == (
        "<details><summary>Answer</summary>\n\nBecause *two* times is twice.\n\n</details>"
    )


def test_a_question_without_an_answer_is_refused() -> None:
    question = "# %% [markdown]\n# Is it *two*?\n\n"
    answer, example = "# %% answer [markdown]\n# Yes.\n\n", "# %% example\nprint(2)\n\n"
    for after in (answer, example):
        read(LAB + question + after)
    for after in ("", "# %% [markdown]\n# Something else.\n"):
        with pytest.raises(SourceError, match="no cell answers this question"):
            read(LAB + question + after)


@pytest.mark.parametrize(
    ("old", "new", "further", "problem"),
    [
        ("turn: double", "turn: triple", (), "'triple' is no exercise of this lab"),
        ("turn: double", "turn: double, 1 point", (), "'double, 1 point' is no exercise"),
        ("level=easy", "level=simple", (), "'simple' is no level"),
        ("further level", "later level", (), "unknown kind of cell"),
        ("answer [markdown]", "answer", (), "wrong type of cell for kind answer"),
        ("", "", ("double",), "'double' as a further exercise, and it already earns points"),
        ("", "", ("triple",), "'triple' as a further exercise, and this lab has no such exercise"),
    ],
)
def test_a_wrong_heading_or_header_is_refused(old: str, new: str, further: tuple[str, ...], problem: str) -> None:
    with pytest.raises(SourceError) as caught:
        read(LAB.replace(old, new, 1) if old else LAB, further)
    assert problem in caught.value.problem


def test_the_terms_choice_is_built_into_the_notebooks(tmp_path: Path) -> None:
    write_files(tmp_path / "labs" / "x", LAB)
    (tmp_path / "labs" / "course.toml").write_text('title = "C"\n[[labs]]\nname = "x"\ntitle = "X"\nminutes = 1\n')
    build_course(read_course(tmp_path))
    release = tmp_path / "release" / "x" / "x.ipynb"
    assert "Further practice: twice" in release.read_text()
    (tmp_path / "term.toml").write_text('[labs.x]\nfurther = ["twice"]\n')
    course = read_course(tmp_path, read_term(tmp_path).further)
    assert next(read_labs(course)).worth == 3
    build_course(course)
    assert "Your turn: twice, 2 points, hard" in release.read_text()


def test_the_start_page_says_what_each_lab_leads_to(tmp_path: Path) -> None:
    write_files(tmp_path / "labs" / "x", LAB)
    manifest = 'title = "C"\n[[labs]]\nname = "x"\ntitle = "X"\nminutes = 1\nmilestone = "a network"\n'
    (tmp_path / "labs" / "course.toml").write_text(manifest)
    build_course(read_course(tmp_path))
    text = (tmp_path / "release" / "00_start_here.ipynb").read_text()
    assert "after | you will have |" in text and "| a network |" in text
