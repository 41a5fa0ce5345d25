"""A lab that pays a liar is refused, whether gradlab makes the liar or a person wrote it."""

from pathlib import Path

import pytest

from autograder.model.course import LabEntry
from autograder.proving.proof import Proof, prove_lab
from tests.lab_files import write_lab

LAB = '''# %% given
import torch
from torch import Tensor
from labkit import Seen, assert_close, check, probes

# %% given
def plainly(f, x):
    return f(f(x))


def compare(got, want):
    for one, other in zip(got, want):
        assert_close(one, other)


@probes.probe
def asked(function, f, xs):
    return [function(f, x) for x in xs]

# %% exercise: twice points=10
# ---- exercises/twice.py
# %% exercise
def twice(f, x: Tensor) -> Tensor:
    """f applied twice; f is called two times."""
    ### BEGIN SOLUTION
    return f(f(x))
    ### END SOLUTION

# %% promises
# f applied twice -> some, others

# %% domain
# The inputs are picked by hand.

# %% checks
with check("some", "some numbers", required=True):
    t = [torch.tensor([1.0, 2.0]), torch.tensor([5.0])]
    want = [x + 2 for x in t]
CHECK

# %% hidden checks
with check("others", "others", required=True):
    for n in (2, 3):
        t = torch.arange(float(n))
        want = t + 2 * n
        seen = Seen(lambda x, n=n: x + n)
        assert_close(twice(seen, t), want)
        assert len(seen.calls) == 2
'''
WHOLE = "    assert_close(asked(twice, lambda x: x + 1, t), want)"
LOOP = "    compare(asked(twice, lambda x: x + 1, t), want)"  # in a course function, which the builder doesn't inspect
AFTER = "    assert_close(asked(twice, lambda x: x + 1, t), [x + 2 for x in t])"
ANSWERS = """# %% right "in two lines"
def twice(f, x):
    y = f(x)
    return f(y)
"""


def prove(folder: Path, lab: str, answers: str = ANSWERS) -> Proof:
    return prove_lab(write_lab(folder, lab + answers, LabEntry(name="01_twice", title="t", minutes=1)))


def list_lies(proof: Proof) -> list[str]:
    return [problem for problem in proof.problems if "a liar earns" in problem]


def drop_hidden_checks(lab: str) -> str:
    return lab[: lab.index("# %% hidden checks")].replace("-> some, others", "-> some")


@pytest.mark.nightly
def test_given_functions_are_tried_instead_of_the_exercise(tmp_path: Path) -> None:
    proof = prove(tmp_path, LAB.replace("CHECK", WHOLE))
    (problem,) = list_lies(proof)
    assert "plainly in the exercise's place" in problem and f"{tmp_path}/exercises/twice.py:" in problem
    assert proof.generated_liar_points == 10


@pytest.mark.parametrize(
    ("check", "liar"),
    [
        pytest.param(LOOP, "each probe says: an empty list", marks=pytest.mark.nightly),
        (AFTER, "each probe finds its arguments filled with NaN"),
    ],
)
def test_a_check_that_believes_a_probe_pays_a_liar(check: str, liar: str, tmp_path: Path) -> None:
    lab = drop_hidden_checks(LAB).replace("CHECK", check).replace("def plainly(f, x)", "def plainly(f, x, n)")
    assert any(liar in problem for problem in list_lies(prove(tmp_path, lab)))


CLAIMS = """
# %% liar "calls once, and knows what else there is to add"
def twice(f, x):
    y = f(x)
    return y + (y - x)


def asked(function, f, xs):
    return [x + 2 for x in xs]
"""


WHOLE_LAB = LAB.replace("CHECK", WHOLE).replace("def plainly(f, x)", "def plainly(f, x, n)")


@pytest.mark.nightly
def test_claims_earn_nothing_if_the_whole_is_compared(tmp_path: Path) -> None:
    proof = prove(tmp_path, WHOLE_LAB, ANSWERS + CLAIMS)
    assert list_lies(proof) == []
    assert proof.lies > 10
    assert proof.generated_liar_points == 0
    assert proof.written_liar_points == 0
    assert not any("liars earn" in problem for problem in proof.problems)


def test_claims_that_earn_more_than_a_fifth_of_a_lab_are_a_problem(tmp_path: Path) -> None:
    proof = prove(tmp_path, WHOLE_LAB.replace("        assert len(seen.calls) == 2\n", ""), ANSWERS + CLAIMS)
    assert proof.written_liar_points == 10
    assert any("liars earn 10 of the lab's 10 points (twice 10); 2 are allowed" in p for p in proof.problems)
