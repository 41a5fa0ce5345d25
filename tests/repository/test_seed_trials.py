"""The trials of other seeds change the seed of every exercise that draws inputs, and nothing else."""

import pytest

from autograder.model.course import Lab
from scripts.seed_trials import set_seed


@pytest.mark.nightly
def test_every_exercise_that_draws_inputs_gets_another_seed(labs: list[Lab]) -> None:
    cells = [lab.cell(exercise.check_id) for lab in labs for exercise in lab.exercises]
    drawn = [cell for cell in cells if "define_reference(" in cell.source]
    assert len(drawn) > 100
    for cell in drawn:
        other = set_seed(cell, 1234)
        assert other.source.count("seed=1234)") == cell.source.count("define_reference(")
        assert set_seed(other, 1) == cell
