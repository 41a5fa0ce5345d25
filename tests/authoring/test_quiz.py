"""A quiz is written as statements with reasons; the builder makes the cells, the checks and the answers from it."""

import pytest

from autograder.authoring.notebooks import build_release_notebook, build_solution_notebook, build_source_notebook
from autograder.base.errors import SourceError
from autograder.model.course import CellKind
from autograder.model.metadata import read_cell_metadata
from autograder.proving.proof import prove_lab
from tests.lab_files import read_lab_text

LAB = """# %% given
from labkit import assert_answered, assert_letters, check

# %% [markdown]
# # A lab

# %% quiz: interview points=3
# ## Questions
#
# Think first.
#
# **Leaves**, of any graph
# - [x] A leaf has no `grad_fn`,
#   wherever it is.
#   > Nothing recorded made it.
# - [ ] A leaf requires grad.
#   > One that does not is a leaf too,
#   > by convention.
# - [x] A parameter is a leaf.
#   > It is made by hand.
#
# Hint: What made it?
#
# **`.grad`**
# - [ ] It is set to zero by backward.
#   > It is added to.
# - [x] It may be `None`.
#   > Before the first backward.
# - [ ] It has another shape than the tensor.
#   > It is one number for each.
# - [ ] Every tensor has one.
#   > Only leaves that require grad.
#
# Hint: What does it hold
# at first?
#
# **Views**
# - [x] They share memory.
#   > That is what they are.
# - [ ] They are copies.
#   > A view has no memory of its own.
#
# Hint: Who owns the memory?
"""
PREDICT = """
# %% predict: sums
# What is the sum?
# - [ ] three
# - [x] four

# %% [markdown]
# Two and two.
"""


def test_a_student_reads_statements_with_letters_and_no_reason() -> None:
    cells = build_release_notebook(read_lab_text(LAB)).cells
    prose = cells[2].source
    assert "## Questions\n\nThink first.\n\nSelect *all* true statements" in prose
    assert "half if you get one of four or more wrong.\n\n**q1. Leaves**, of any graph\n- a. A leaf has" in prose
    assert "`grad_fn`,\n  wherever it is.\n- b. A leaf requires grad.\n- c." in prose
    text = "\n".join(cell.source for cell in cells)
    assert not any(word in text for word in ("made it", "[x]", "convention", "Hint:"))
    assert cells[3].source == "# A place to try statements."
    assert "raise NotImplementedError" in cells[4].source and '"ac"' not in text


def test_the_worked_solution_says_why() -> None:
    solution = build_solution_notebook(read_lab_text(LAB)).cells[4].source
    assert "    # q1 b, false: One that does not is a leaf too, by convention.\n" in solution
    assert '{"q1": "ac", "q2": "b", "q3": "a"}' in solution


@pytest.mark.parametrize(
    ("title", "label"),
    [
        ("Graphs", "graphs"),
        ("A model's bytes", "a model's bytes"),
        ("Vector-Jacobian products", "vector-Jacobian products"),
        ("NumPy", "NumPy"),
        ("Adam and others", "Adam and others"),
    ],
)
def test_a_label_begins_in_lower_case_unless_it_begins_with_a_name(title: str, label: str) -> None:
    text = LAB.replace("**Leaves**", f"**{title}**").replace("A parameter is a leaf.", "With Adam, there are leaves.")
    assert read_lab_text(text).exercise("interview").checks[1].label == f"q1: {label}"


@pytest.mark.slow
def test_the_checks_of_a_quiz_are_proved_by_its_own_answers() -> None:
    """Slow: a proof of a lab."""
    lab = read_lab_text(LAB)
    quiz = lab.exercise("interview")
    assert [check.id for check in quiz.checks] == ["form", "q1", "q2_half", "q2", "q3"]
    assert quiz.checks[1].label == "q1: leaves" and quiz.checks[3].hint == "What does it hold at first?"
    proof = prove_lab(lab)
    assert proof.problems == [] and (proof.right, proof.wrong) == (2, 7)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("# - [x] They share", "# - [ ] They share", "'Views' has no true statement"),
        ("#   > It is added to.\n", "", "'`.grad`' has a statement without its reason"),
        ("# Hint: Who owns the memory?\n", "", "'Views' has no hint"),
        ("# - [ ] They are copies.", "# - [ ] B.\n#   > b\n" * 5 + "# - [ ] C.", "or more than 5 statements"),
        ("# Think", "Think", "isn't a comment"),
        ("points=3", "", "no points"),
    ],
)
def test_an_unfinished_quiz_is_refused_with_what_it_lacks(old: str, new: str, problem: str) -> None:
    with pytest.raises(SourceError) as caught:
        read_lab_text(LAB.replace(old, new))
    assert problem in caught.value.problem


def test_a_quiz_of_one_question_is_refused() -> None:
    with pytest.raises(SourceError, match="needs two questions"):
        read_lab_text(LAB[: LAB.index("# **`.grad`**")])


def test_a_prediction_is_released_with_no_choice_marked() -> None:
    lab = read_lab_text(LAB + PREDICT)
    assert lab.cells[-2].kind is CellKind.PREDICT and lab.points == 3
    release_cell, source_cell = build_release_notebook(lab).cells[-2], build_source_notebook(lab).cells[-2]
    assert release_cell.source == "What is the sum?\n- [ ] three\n- [ ] four"
    metadata = read_cell_metadata(source_cell)
    assert metadata is not None and metadata.answer == ("four",)
    assert "nbgrader" not in release_cell.metadata


def test_a_line_of_one_word_and_a_question_mark_is_text_not_a_magic() -> None:
    source = PREDICT.replace("# What is the sum?", "# What is\n# `sum`?")
    assert build_release_notebook(read_lab_text(LAB + source)).cells[-2].source.startswith("What is\n`sum`?")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("- [x] four", "- [ ] four"),
        ("# - [ ] three\n# - [x] four\n", ""),
        ("predict: sums", "predict: sums answer=4"),
        ("# - [ ] three\n", ""),
    ],
)
def test_a_prediction_without_a_number_or_one_right_choice_is_refused(old: str, new: str) -> None:
    with pytest.raises(SourceError, match="a prediction needs"):
        read_lab_text(LAB + PREDICT.replace(old, new))


NUMBER = PREDICT.replace("# - [ ] three\n# - [x] four\n", "").replace("sums", "sums answer=4.5")


def test_a_prediction_may_ask_for_a_number() -> None:
    assert read_lab_text(LAB + NUMBER).cells[-2].answer == ("4.5",)


def test_the_answer_to_a_prediction_without_choices_is_a_number() -> None:
    with pytest.raises(SourceError, match="isn't a number"):
        read_lab_text(LAB + NUMBER.replace("4.5", "four"))
