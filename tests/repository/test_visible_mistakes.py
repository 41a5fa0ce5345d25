"""The mistake that an exercise is about fails a visible check, so a student sees it before the lab is marked."""

import pytest

from autograder.model.course import Lab

MISTAKES = [
    ("01_tensors", "slots", "every tensor begins at slot 0"),
    ("01_tensors", "slots", "a tensor has rows and columns"),
    ("02_shapes_and_devices", "with_batch", "squeeze at the end in any case"),
    ("05_inplace", "clamp_params_", "new memory under .data"),
    ("05_inplace", "replace_rows", "a detached clone is safe to write to"),
    ("05_inplace", "replace_rows", "new numbers are numbers"),
    ("05_inplace", "scale_by_average", "new memory under .data is in place"),
    ("06_training", "train_accumulated", "the mean over a window is its losses divided by every"),
    ("06_training", "train_accumulated", "every batch of a window counts the same"),
    ("06_training", "train_accumulated", "what doesn't fill a window is left out"),
]


@pytest.mark.parametrize(("lab_name", "name", "mistake"), MISTAKES)
def test_an_exercises_own_mistake_fails_a_visible_check(
    labs: list[Lab], lab_name: str, name: str, mistake: str
) -> None:
    exercise = next(lab for lab in labs if lab.name == lab_name).exercise(name)
    answer = next(answer for answer in exercise.answers if answer.label == mistake)
    visible = {check.id for check in exercise.checks if not check.hidden}
    assert visible & {*answer.fails}  # gradlab prove makes sure that exactly these checks fail


def test_each_lab_begins_by_saying_that_its_imports_have_to_be_run(labs: list[Lab]) -> None:
    for lab in labs:
        last = lab.cells[0].source.split("\n\n")[-1]
        assert last.startswith("Run the next cell first. It imports "), lab.name
