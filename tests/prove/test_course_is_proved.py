"""The course's own labs: every check proved, the empty notebook worth nothing."""

from __future__ import annotations

import pytest

from autograder.course import Lab
from autograder.prove.lab import prove_lab
from autograder.prove.trial import notebook_points


@pytest.mark.slow
def test_every_lab_is_proved(labs: list[Lab]) -> None:
    """Slow: some hundred forks a lab, one for each answer."""
    for lab in labs:
        proof = prove_lab(lab)
        assert proof.problems == []
        assert proof.wrong >= 4 * len(lab.exercises)
        assert sum(notebook_points(lab, {}).values()) == 0


def test_a_lab_has_seven_to_ten_exercises_choices_and_a_question_in_words(labs: list[Lab]) -> None:
    for lab in labs:
        assert 7 <= len(lab.exercises) <= 11
        assert len(lab.questions) >= 1
        assert 60 <= lab.minutes <= 90
