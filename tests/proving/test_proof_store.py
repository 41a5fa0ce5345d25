"""A proved exercise is not proved again while it, its lab's code, the proving code and the versions are the same."""

import json
from pathlib import Path

import pytest

from autograder.authoring.course_folder import read_course, read_labs
from autograder.authoring.new_lab import create_lab
from autograder.model.course import Lab
from autograder.proving import proof_store
from autograder.proving.exercise_proof import ExerciseProof
from autograder.proving.parallel_proofs import iter_proofs
from autograder.proving.proof import Proof
from autograder.proving.proof_store import PROOFS_FILE, load_proofs, load_records, save_proof

NAME = "sum_of_squares"


def make_proof(lab: Lab, *problems: str) -> Proof:
    proofs = {e.name: ExerciseProof(right=2, wrong=4, written_liar_points=0.5) for e in lab.exercises}
    proofs[NAME].problems += problems
    return Proof(lab.name, lab.points, proofs)


def read_first_lab(course: Path) -> Lab:
    return next(read_labs(read_course(course)))


def add_exercise(course: Path) -> None:
    """Give the lab a second exercise, sum_of_cubes."""
    folder = course / "labs" / "01_squares"
    path = folder / "exercises" / f"{NAME}.py"
    path.with_name("sum_of_cubes.py").write_text(path.read_text().replace(NAME, "sum_of_cubes"))
    lesson = folder / "lab.py"
    lesson.write_text(lesson.read_text() + "\n# %% exercise: sum_of_cubes points=2\n")


def test_a_proof_is_kept_with_what_it_found(small_course: Path) -> None:
    lab = read_first_lab(small_course)
    assert load_proofs(lab) == {}
    save_proof(lab, make_proof(lab))
    proof = load_proofs(read_first_lab(small_course))[NAME]
    assert proof.kept and (proof.right, proof.wrong, proof.written_liar_points) == (2, 4, 0.5)


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("lab.py", "# %% given\n", "# %% given\nmore = 1\n"),
        (f"exercises/{NAME}.py", "fails=keeps_input", "fails=shapes"),
        (f"exercises/{NAME}.py", "return x.pow(2).sum()", "return (x**2).sum()"),
    ],
)
def test_an_exercise_whose_answers_or_lab_changed_is_not_proved(
    small_course: Path, file: str, old: str, new: str
) -> None:
    lab = read_first_lab(small_course)
    save_proof(lab, make_proof(lab))
    path = small_course / "labs" / "01_squares" / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    assert load_proofs(read_first_lab(small_course)) == {}


def test_a_change_of_prose_keeps_the_proof(small_course: Path) -> None:
    lab = read_first_lab(small_course)
    save_proof(lab, make_proof(lab))
    path = small_course / "labs" / "01_squares" / "lab.py"
    path.write_text(path.read_text() + "\n# %% [markdown]\n# One more sentence.\n")
    assert NAME in load_proofs(read_first_lab(small_course))


def test_a_wrong_answer_that_changed_leaves_the_proofs_of_other_exercises(small_course: Path) -> None:
    add_exercise(small_course)
    lab = read_first_lab(small_course)
    save_proof(lab, make_proof(lab))
    path = small_course / "labs" / "01_squares" / "exercises" / "sum_of_cubes.py"
    path.write_text(path.read_text().replace("fails=keeps_input", "fails=shapes", 1))
    assert load_proofs(read_first_lab(small_course)).keys() == {NAME}


def test_only_exercises_without_a_proof_are_tried(small_course: Path) -> None:
    """Slow: it proves an exercise."""
    add_exercise(small_course)
    lab = read_first_lab(small_course)
    proof = make_proof(lab)
    del proof.exercises["sum_of_cubes"]
    save_proof(lab, proof)
    (proof,) = iter_proofs([lab], jobs=1)
    assert proof.exercises[NAME].kept and not proof.exercises["sum_of_cubes"].kept
    assert proof.right == 4
    assert {p.kept for p in load_proofs(lab).values()} == {True} and len(load_proofs(lab)) == 2


def test_a_proof_by_other_code_or_another_torch_is_invalid(small_course: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = read_first_lab(small_course)
    save_proof(lab, make_proof(lab))
    with monkeypatch.context() as other:
        other.setattr(proof_store, "digest_code", lambda names: "other code")
        assert load_proofs(lab) == {}
    monkeypatch.setattr(proof_store.torch, "__version__", "2.99")
    assert load_proofs(lab) == {}


def test_code_that_changes_removes_the_proofs_by_other_code(
    small_course: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = read_first_lab(small_course)
    save_proof(lab, make_proof(lab))
    monkeypatch.setattr(proof_store, "digest_code", lambda names: "other code")
    create_lab(small_course, "02_cubes")
    second = next(lab for lab in read_labs(read_course(small_course)) if lab.name == "02_cubes")
    save_proof(second, make_proof(second))
    assert list(load_records(small_course / "labs")) == ["02_cubes"]


def test_proofs_of_several_labs_are_kept_side_by_side(small_course: Path) -> None:
    create_lab(small_course, "02_cubes")
    labs = list(read_labs(read_course(small_course)))
    for lab in reversed(labs):
        save_proof(lab, make_proof(lab))
    assert all(load_proofs(lab) for lab in labs)


def test_an_exercise_with_problems_is_not_kept_and_a_damaged_record_is_ignored(small_course: Path) -> None:
    lab, file = read_first_lab(small_course), small_course / "labs" / PROOFS_FILE
    save_proof(lab, make_proof(lab, "a check is wrong"))
    assert NAME not in load_proofs(lab)
    save_proof(lab, make_proof(lab))
    store = json.loads(file.read_text())
    record = store["labs"][lab.name][NAME]
    damaged = [{}, {"labs": {}}, store | {"labs": 1}, store | {"labs": {lab.name: 1}}]
    damaged += [store | {"labs": {lab.name: {NAME: entry}}} for entry in (record | {"unknown": 1}, {"digest": "x"}, 1)]
    for text in ("", *map(json.dumps, damaged)):
        file.write_text(text)
        assert load_proofs(lab) == {}


@pytest.mark.parametrize(
    ("old", "new", "is_kept"),
    [
        ('"the square of the sum"', '"the sum is squared"', True),
        ("It may be empty", "It can be empty", True),
        ('hint="', 'hint="Think. ', True),
        ("required=True", "required=False", False),
        ("### BEGIN SOLUTION\n", "### BEGIN SOLUTION\n    # Squares first.\n", True),
        ("torch.tensor([3.0, 4.0])", "torch.tensor([4.0, 3.0])", False),
    ],
)
def test_only_wording_may_change(small_course: Path, old: str, new: str, is_kept: bool) -> None:
    lab = read_first_lab(small_course)
    save_proof(lab, make_proof(lab))
    path = small_course / "labs" / "01_squares" / "exercises" / f"{NAME}.py"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    assert (NAME in load_proofs(read_first_lab(small_course))) == is_kept
