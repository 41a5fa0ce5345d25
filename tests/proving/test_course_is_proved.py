"""The course's own labs: every check proved, the empty notebook worth nothing."""

from __future__ import annotations

import pytest

from autograder.course import Lab
from autograder.proving.lab import prove_lab
from autograder.proving.trial import notebook_points


@pytest.mark.slow
def test_the_first_lab_is_proved(labs: list[Lab]) -> None:
    """Slow: some hundred forks, one for each answer. The gate proves every lab by itself."""
    proof = prove_lab(labs[0])
    assert proof.problems == []
    assert proof.wrong >= 4 * len(labs[0].exercises)
    assert sum(notebook_points(labs[0], {}).values()) == 0


def test_a_lab_has_seven_to_ten_exercises_choices_and_a_question_in_words(labs: list[Lab]) -> None:
    for lab in labs:
        assert 7 <= len(lab.exercises) <= 11
        assert len(lab.questions) >= 1
        assert 60 <= lab.minutes <= 90
