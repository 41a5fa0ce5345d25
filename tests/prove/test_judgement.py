"""prove refuses a lab whose checks are not proved, and says which answer shows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder.build.lab import read_lab
from autograder.build.new import new_lab
from autograder.course import LabEntry
from autograder.errors import SourceError
from autograder.prove.lab import Proof, prove_lab

CONTRACT = 'with check("3 and 4 give 25, a 0-dim tensor", required=True):'
MAIN = 'with check("other shapes and float64 as well", required=True, hint="Does the result depend on every element?"):'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "labs").mkdir()
    (tmp_path / "labs" / "course.toml").write_text('title = "t"\n')
    return new_lab(tmp_path, "01_squares")


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def prove(folder: Path, mutate: bool = False) -> Proof:
    return prove_lab(read_lab(folder / "lab.py", LabEntry(name="01_squares", title="Squares", minutes=1)), mutate)


def test_the_template_of_a_new_lab_is_proved(folder: Path) -> None:
    proof = prove(folder, mutate=True)
    assert proof.problems == []
    assert (proof.right, proof.wrong) == (2, 4)
    assert proof.generated >= 6
    assert proof.mutants >= 3


@pytest.mark.parametrize(
    ("file", "old", "new", "problem"),
    [
        ("lab.py", "return (x * x).sum()", "return (x * x).sum() + 1", "reference solution of sum_of_squares: it gets 0 of 2"),
        ("answers.py", "return x.pow(2).sum()", "return x.pow(3).sum()", 'right answer of sum_of_squares "pow, then sum": it gets'),
        ("answers.py", "return x.sum() ** 2", "return (x**2).sum()", "it gets full marks"),
        ("answers.py", 'fails="x keeps its values"', 'fails="an empty tensor gives zero"', "it fails other checks than it says"),
        ("answers.py", 'fails="x keeps its values"', 'fails="x keeps its values" raises=TypeError', "nothing raised that"),
        ("answers.py", '# %% right: sum_of_squares "pow, then sum"', '# %% wrong: sum_of_squares "p" fails="x keeps its values"', "has 1 right answers"),
        ("answers.py", "return (x * x).mean()", "return (x * x).median()", "no answer of sum_of_squares reaches the message 'this is the mean'"),
        ("lab.py", CONTRACT, 'with check("3 and 4 give 25, a 0-dim tensor"):', "hard-coded"),
        ("lab.py", "    assert_close(sum_of_squares(torch.tensor([3.0, 4.0]))", "    assert_close(sum_of_squares(undefined_name if False else torch.tensor([3.0, 4.0]))", "not defined"),
    ],
)  # fmt: skip
def test_an_unproved_lab_is_refused(folder: Path, file: str, old: str, new: str, problem: str) -> None:
    if "hard-coded" in problem:
        edit(folder / "lab.py", MAIN, MAIN.replace(", required=True", ""))
    edit(folder / file, old, new)
    if problem == "not defined":
        with pytest.raises(SourceError, match="not defined"):
            prove(folder)
        return
    problems = "\n".join(prove(folder).problems)
    assert problem in problems
    assert f"{folder}/" in problems


def test_a_typo_in_a_wrong_answer_proves_nothing(folder: Path) -> None:
    everywhere = "3 and 4 give 25, a 0-dim tensor | other shapes and float64 as well | an empty tensor gives zero"
    edit(folder / "answers.py", 'fails="x keeps its values"', f'fails="{everywhere} | x keeps its values"')
    edit(folder / "answers.py", "return x.mul_(x).sum()", "return y.mul_(x).sum()")
    assert any("failed because the answer raised NameError" in problem for problem in prove(folder).problems)


def test_a_check_that_the_empty_notebook_passes_is_refused(folder: Path) -> None:
    edit(folder / "lab.py", ", required=True", "")
    free = "    assert_close(t, torch.tensor([1.5, -2.0]))"
    edit(folder / "lab.py", free, f"{free}\nwith check('free'):\n    pass")
    assert any("the empty notebook earns 0.4" in problem for problem in prove(folder).problems)


def test_a_first_check_that_takes_an_unwritten_exercise_for_a_result_is_refused(folder: Path) -> None:
    call = "    assert_close(sum_of_squares(torch.tensor([3.0, 4.0])), torch.tensor(25.0))"
    probe = "try:\n        got = sum_of_squares(t)\n    except RuntimeError:\n        got = None\n"
    edit(
        folder / "lab.py",
        call,
        f"    t = torch.tensor([3.0, 4.0])\n    {probe}    assert_close(got, torch.tensor(25.0))",
    )
    assert any("not that nothing is written yet" in problem for problem in prove(folder).problems)


def test_a_parameter_that_never_changes_in_hidden_checks_is_named(folder: Path) -> None:
    edit(
        folder / "lab.py",
        "def sum_of_squares(x: Tensor) -> Tensor:",
        "def sum_of_squares(x: Tensor, p: int = 2) -> Tensor:",
    )
    assert any("p of sum_of_squares never changes" in problem for problem in prove(folder).problems)


def test_a_surviving_mutant_needs_a_check_or_a_reason(folder: Path) -> None:
    edit(folder / "lab.py", "return (x * x).sum()", "return (x * x + 0.0).sum()")
    survivors = [p for p in prove(folder, mutate=True).problems if "a mutant of" in p]
    assert len(survivors) == 1
    assert "Add to Sub: return (x * x - 0.0).sum()" in survivors[0]
    with (folder / "answers.py").open("a") as file:
        file.write('\n\n# %% equivalent: sum_of_squares "Add to Sub: return (x * x - 0.0).sum()"\n# Zero is zero.\n')
    proof = prove(folder, mutate=True)
    assert proof.problems == []
    assert proof.survivors == [("sum_of_squares", "Add to Sub: return (x * x - 0.0).sum()")]


def test_a_reason_for_a_mutant_that_does_not_survive_is_stale(folder: Path) -> None:
    with (folder / "answers.py").open("a") as file:
        file.write('\n\n# %% equivalent: sum_of_squares "gone"\n# Because.\n')
    assert any("no surviving mutant 'gone'" in problem for problem in prove(folder, mutate=True).problems)


def test_an_answer_that_never_ends_or_kills_its_process_is_a_problem_and_not_the_end(folder: Path) -> None:
    edit(folder / "answers.py", "return x.sum() ** 2", "import os; os._exit(0)")
    assert any("it cannot be tried: the process died" in problem for problem in prove(folder).problems)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("# %% right: sum_of_squares", "# %% right: sum", "no exercise 'sum'"),
        ("# %% right: sum_of_squares", "# %% perhaps: sum_of_squares", "cannot read this header"),
        ('fails="x keeps its values"', "", "must say which checks fail"),
        ('fails="x keeps its values"', 'fails="y keeps its values"', "no check 'y keeps its values'"),
        ("return x.pow(2).sum()", "return x.pow(2).sum(", "not valid Python"),
        ('"pow, then sum"', "", "says no answer"),
    ],
)
def test_a_bad_answer_file_is_refused_with_its_line(folder: Path, old: str, new: str, problem: str) -> None:
    edit(folder / "answers.py", old, new)
    with pytest.raises(SourceError) as caught:
        prove(folder)
    assert problem in caught.value.problem
    lines = (folder / "answers.py").read_text().splitlines()
    assert new in lines[caught.value.line - 1]
