"""A proved lab is not proved again while the lab, the proving code and the versions are the same."""

import json
from pathlib import Path

import pytest

from autograder.authoring.course_folder import read_course, read_labs
from autograder.model.course import Lab
from autograder.proving import proof_store
from autograder.proving.proof import Proof
from autograder.proving.proof_store import FILE, load_proof, save_proof

PROOF = Proof("01_squares", points=2, right=2, wrong=4, claimed={"sum_of_squares": 0.5})


def read_first_lab(course: Path) -> Lab:
    return next(read_labs(read_course(course)))


def test_a_proof_is_kept_with_what_it_found(small_course: Path) -> None:
    lab = read_first_lab(small_course)
    assert load_proof(lab) is None
    save_proof(lab, PROOF)
    proof = load_proof(read_first_lab(small_course))
    assert proof is not None and proof.kept
    assert (proof.right, proof.wrong, proof.points, proof.claimed) == (2, 4, 2, {"sum_of_squares": 0.5})


@pytest.mark.parametrize("file", ["lab.py", "exercises/sum_of_squares.py"])
def test_a_lab_that_changed_is_not_proved(small_course: Path, file: str) -> None:
    save_proof(read_first_lab(small_course), PROOF)
    path = small_course / "labs" / "01_squares" / file
    path.write_text(path.read_text() + "\n")
    assert load_proof(read_first_lab(small_course)) is None


def test_a_proof_by_other_code_or_another_torch_is_invalid(small_course: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = read_first_lab(small_course)
    save_proof(lab, PROOF)
    with monkeypatch.context() as other:
        other.setattr(proof_store, "digest_code", lambda names: "other code")
        assert load_proof(lab) is None
    monkeypatch.setattr(proof_store.torch, "__version__", "2.99")
    assert load_proof(lab) is None


def test_a_lab_with_problems_is_not_kept_and_a_damaged_record_is_ignored(small_course: Path) -> None:
    lab = read_first_lab(small_course)
    save_proof(lab, Proof("01_squares", problems=["a check is wrong"]))
    assert not (lab.path / FILE).exists()
    save_proof(lab, PROOF)
    record = json.loads((lab.path / FILE).read_text())
    for text in ("", "{}", json.dumps(record | {"proof": {"unknown": 1}}), json.dumps({"key": record["key"]})):
        (lab.path / FILE).write_text(text)
        assert load_proof(lab) is None
