"""The score of a value that a test cell shows, and when a remark says that nbgrader reads no score in it."""

from __future__ import annotations

import nbformat
import pytest
from nbformat import NotebookNode

from autograder.stock.score import Score, score_cell

WORTH = 4.0


def make_shown_cell(text: str | None, *before: dict[str, str]) -> NotebookNode:
    """A test cell that shows this value after these outputs."""
    cell = nbformat.v4.new_code_cell("the tests")
    cell.metadata["nbgrader"] = {"grade": True, "solution": False, "grade_id": "t", "points": WORTH}
    cell.outputs = [nbformat.from_dict(output) for output in before]
    data = {} if text is None else {"text/plain": text}
    cell.outputs.append(nbformat.v4.new_output("execute_result", data=data))
    return cell


@pytest.mark.parametrize(
    "text, points",
    [
        ("np.float64(0.0)", 0.0),
        ("np.float64(1.5)", 1.5),
        ("np.float32(1.5)", 1.5),
        ("np.float16(0.5)", 0.5),
        ("np.longdouble('2.25')", 2.25),
        ("np.int64(2)", 2.0),
        ("np.uint8(3)", 3.0),
        ("2", 2.0),
        ("2.5", 2.5),
        ("0", 0.0),
    ],
)
def test_a_number_is_the_score_even_one_of_numpys(text: str, points: float) -> None:
    score = score_cell(make_shown_cell(text))
    assert (score.points, score.remark, score.note) == (points, "", "")


@pytest.mark.parametrize(
    "text",
    """False|None|-1|-0.5|nan|(1, 4)|'2'|Fraction(1, 2)|Decimal('2')|array(2)|tensor(2.)|np.False_|np.True_|np.float64(nan)|
    np.float64(-1.0)|np.complex128(1j)|array([1., 2.])|[3]|1/2""".replace("\n    ", "").split("|"),
)
def test_any_other_value_gives_all_points_and_a_remark(text: str) -> None:
    score = score_cell(make_shown_cell(text))
    assert score.points == WORTH and not score.note
    read = "nan" if text == "np.float64(nan)" else "-1.0" if text == "np.float64(-1.0)" else text
    assert f"it shows {read}," in score.remark and "all points" in score.remark


def test_true_means_that_a_test_passes() -> None:
    assert score_cell(make_shown_cell("True")) == Score(WORTH)


def test_a_value_without_a_text_gives_all_points_and_a_remark() -> None:
    score = score_cell(make_shown_cell(None))
    assert score.points == WORTH and "without text" in score.remark


def test_a_long_value_is_cut_in_its_remark() -> None:
    assert len(score_cell(make_shown_cell(f"[{', '.join('9' * 500)}]")).remark) < 200


@pytest.mark.parametrize("text", ["9", "np.float64(9.0)", "inf"])
def test_a_score_above_the_points_is_the_points_and_noted(text: str) -> None:
    score = score_cell(make_shown_cell(text))
    assert score.points == WORTH
    assert "above" in score.note
    assert not score.remark


def test_a_value_after_output_on_stderr_counts_for_nothing() -> None:
    score = score_cell(
        make_shown_cell("np.float64(4.0)", {"output_type": "stream", "name": "stderr", "text": "careful"})
    )
    assert score.points == 0 and not score.remark
