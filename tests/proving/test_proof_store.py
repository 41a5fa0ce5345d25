"""A proved lab is not proved again while the lab, the proving code and the versions are the same."""

import json
from pathlib import Path

import pytest

from autograder.authoring.course_folder import read_course, read_labs
from autograder.authoring.new_lab import create_lab
from autograder.model.course import Lab
from autograder.proving import proof_store
from autograder.proving.proof import Proof
from autograder.proving.proof_store import PROOFS_FILE, load_proof, load_records, save_proof

PROOF = Proof("01_squares", points=2, right=2, wrong=4, written_liar_points={"sum_of_squares": 0.5})


def read_first_lab(course: Path) -> Lab:
    return next(read_labs(read_course(course)))


def test_a_proof_is_kept_with_what_it_found(small_course: Path) -> None:
    lab = read_first_lab(small_course)
    assert load_proof(lab) is None
    save_proof(lab, PROOF)
    proof = load_proof(read_first_lab(small_course))
    assert proof is not None and proof.kept
    assert (proof.right, proof.wrong, proof.points, proof.written_liar_points) == (2, 4, 2, {"sum_of_squares": 0.5})


@pytest.mark.parametrize(
    ("file", "text"), [("lab.py", "\n# %% given\nmore = 1\n"), ("exercises/sum_of_squares.py", "\n")]
)
def test_a_lab_that_changed_is_not_proved(small_course: Path, file: str, text: str) -> None:
    save_proof(read_first_lab(small_course), PROOF)
    path = small_course / "labs" / "01_squares" / file
    path.write_text(path.read_text() + text)
    assert load_proof(read_first_lab(small_course)) is None


def test_a_change_of_prose_keeps_the_proof(small_course: Path) -> None:
    save_proof(read_first_lab(small_course), PROOF)
    path = small_course / "labs" / "01_squares" / "lab.py"
    path.write_text(path.read_text() + "\n# %% [markdown]\n# One more sentence.\n")
    assert load_proof(read_first_lab(small_course)) is not None


def test_a_proof_by_other_code_or_another_torch_is_invalid(small_course: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = read_first_lab(small_course)
    save_proof(lab, PROOF)
    with monkeypatch.context() as other:
        other.setattr(proof_store, "digest_code", lambda names: "other code")
        assert load_proof(lab) is None
    monkeypatch.setattr(proof_store.torch, "__version__", "2.99")
    assert load_proof(lab) is None


def test_code_that_changes_removes_the_proofs_by_other_code(
    small_course: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = read_first_lab(small_course)
    save_proof(lab, PROOF)
    monkeypatch.setattr(proof_store, "digest_code", lambda names: "other code")
    create_lab(small_course, "02_cubes")
    save_proof(next(lab for lab in read_labs(read_course(small_course)) if lab.name == "02_cubes"), PROOF)
    assert list(load_records(small_course / "labs")) == ["02_cubes"]


def test_proofs_of_several_labs_are_kept_side_by_side(small_course: Path) -> None:
    create_lab(small_course, "02_cubes")
    labs = list(read_labs(read_course(small_course)))
    for lab in reversed(labs):
        save_proof(lab, PROOF)
    assert all(load_proof(lab) for lab in labs)


def test_a_lab_with_problems_is_not_kept_and_a_damaged_record_is_ignored(small_course: Path) -> None:
    lab, file = read_first_lab(small_course), small_course / "labs" / PROOFS_FILE
    save_proof(lab, Proof("01_squares", problems=["a check is wrong"]))
    assert not file.exists()
    save_proof(lab, PROOF)
    store = json.loads(file.read_text())
    record = store["labs"][lab.name]
    damaged = [{}, {"labs": {}}, store | {"labs": 1}, store | {"labs": {lab.name: 1}}]
    damaged += [store | {"labs": {lab.name: entry}} for entry in (record | {"proof": {"unknown": 1}}, {"lab": "x"})]
    for text in ("", *map(json.dumps, damaged)):
        file.write_text(text)
        assert load_proof(lab) is None
