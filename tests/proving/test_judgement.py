"""prove refuses a lab whose checks are not proved, and says which answer shows it."""

from pathlib import Path

import pytest

from autograder.authoring.lab import read_lab
from autograder.authoring.new_lab import create_lab
from autograder.base.errors import SourceError
from autograder.model.course import LabEntry
from autograder.proving.expected_failures import replace_fails_option, update_fails_options
from autograder.proving.judge import judge_edge, judge_ineffective_edges, judge_promises
from autograder.proving.proof import Proof, prove_lab
from autograder.proving.workbench import Workbench, iter_workbenches

pytestmark = pytest.mark.gate

EXERCISE = "sum_of_squares.py"
ENTRY = LabEntry(name="01_squares", title="Squares", minutes=1)
CALL = "    assert_close(sum_of_squares(torch.tensor([3.0, 4.0])), torch.tensor(25.0))"  # of the first check
TOLERANT = "try:\n        got = sum_of_squares(t)\n    except RuntimeError:\n        got = None\n"
LAST = "    arguments.assert_arguments(sum_of_squares)"  # line of the checks


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return create_squares(tmp_path)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return create_squares(tmp_path_factory.mktemp("template"))


@pytest.fixture(scope="module")
def template_proof(template: Path) -> Proof:
    return prove(template, mutate=True)


def create_squares(course: Path) -> Path:
    (course / "labs").mkdir()
    (course / "labs" / "course.toml").write_text('title = "t"\n')
    return create_lab(course, "01_squares")


def edit(folder: Path, old: str, new: str) -> None:
    """Replace text in the exercise's file."""
    path = folder / "exercises" / EXERCISE
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def prove(folder: Path, mutate: bool = False) -> Proof:
    return prove_lab(read_lab(folder, ENTRY), mutate)


def test_the_template_of_a_new_lab_is_proved(template_proof: Proof) -> None:
    assert template_proof.problems == []
    assert (template_proof.right, template_proof.wrong) == (2, 4)
    assert template_proof.generated >= 6
    assert template_proof.exercises["sum_of_squares"].mutants >= 3


# Each line is a mistake and the problem that names it. Independent mistakes are tried in one proof, of which
# each takes a hundred forks. A wrong reference solution is tried by the command line's tests.
ANSWERS_AND_CALLS = [
    ("return x.pow(2).sum()", "return x.pow(3).sum()", 'right answer of sum_of_squares "pow, then sum": it gets'),
    ("return x.sum() ** 2", "return (x**2).sum()", "it gets full marks"),
    ("fails=keeps_input", "fails=empty", "it fails other checks than it says"),
    ("return (x * x).mean()", "return (x * x).median()", "no answer of sum_of_squares reaches the message 'this is the mean'"),
    ("(x: Tensor) -> Tensor:", "(x: Tensor, p: int = 2) -> Tensor:", "the hidden checks of sum_of_squares always pass the same value for p"),
    (CALL, f"    t = torch.tensor([3.0, 4.0])\n    {TOLERANT}    assert_close(got, torch.tensor(25.0))", "not that nothing is written yet"),
]  # fmt: skip
WHAT_IS_RAISED = [
    ("fails=keeps_input", "fails=keeps_input raises=TypeError", "nothing raised that"),
    ('# %% right "pow, then sum"', '# %% wrong "p" fails=keeps_input', "has 1 right answer\n"),
    ("fails=example,shapes\n", "fails=example,shapes,empty,keeps_input\n", "failed because the answer raised NameError"),
    ("return x.sum() ** 2", "return y.sum() ** 2", "name 'y' is not defined"),
    ("return (x * x).sum(-1)", "import os; os._exit(0)", "it can't be tried: the Python process ended during this check"),
]  # fmt: skip
WHAT_ALL_PASS = [
    (", required=True", "", "hard-coded"),
    ("empty -> empty\n", "empty -> empty, free\n", "the empty notebook earns 0.4"),
    (LAST, f"{LAST}\nwith check('free', 'free'):\n    pass", "the empty notebook earns 0.4"),
]


@pytest.mark.parametrize("edits", [ANSWERS_AND_CALLS, WHAT_IS_RAISED, WHAT_ALL_PASS])
def test_an_unproved_lab_is_refused(folder: Path, edits: list[tuple[str, str, str]]) -> None:
    for old, new, _ in edits:
        edit(folder, old, new)
    problems = "\n".join(prove(folder).problems)
    for _, _, problem in edits:
        assert problem in problems
    assert f"{folder}/" in problems


def open_workbench(folder: Path) -> Workbench:
    return next(iter_workbenches(read_lab(folder, ENTRY)))


def test_the_reference_wrong_at_an_edge_must_fail_a_check(folder: Path) -> None:
    edit(folder, '"0-dim", "float64", "transposed")\nwith', '"0-dim", "float64")\nwith')
    workbench = open_workbench(folder)
    results = workbench.try_edges()
    (problem,) = [p for edge, r in results.items() for p in judge_edge(workbench.lab, workbench.exercise, edge, r)]
    assert 'wrong with "transposed", gets full marks' in problem


def test_an_edge_has_to_change_what_is_drawn(folder: Path) -> None:
    edit(folder, 'edge == "float64"', 'edge == "float 64"')
    workbench = open_workbench(folder)
    edges = workbench.find_ineffective_edges()
    (problem,) = judge_ineffective_edges(workbench.lab, workbench.exercise, edges)
    assert 'with the edge "float64", the same inputs are drawn' in problem


def test_each_promise_is_broken_alone_by_an_answer(template: Path, template_proof: Proof) -> None:
    breaches = template_proof.exercises["sum_of_squares"].breaches
    assert list(breaches) == [
        "Sum of x * x over all elements of x: a 0-dim tensor of x's dtype.",
        "x has any shape, and is float32 or float64.",
        "It may be empty.",
        "It isn't changed.",
    ]
    assert "the square of the sum" in breaches["Sum of x * x over all elements of x: a 0-dim tensor of x's dtype."]
    assert "wrong at an edge: transposed" in breaches["x has any shape, and is float32 or float64."]
    assert breaches["It may be empty."] == ("wrong at an edge: empty",)
    assert "numbers of an argument changed" in breaches["It isn't changed."]

    lab = read_lab(template, ENTRY)
    (problem,) = judge_promises(lab, lab.exercise("sum_of_squares"), breaches | {"It may be empty.": ()})
    assert 'no answer to sum_of_squares breaks this promise alone: "It may be empty."' in problem


def test_a_check_that_reads_an_undefined_name_is_refused(folder: Path) -> None:
    edit(folder, "sum_of_squares(torch.tensor([3.0, 4.0]))", "sum_of_squares(nothing)")
    with pytest.raises(SourceError, match="not defined"):
        prove(folder)


def test_a_surviving_mutant_needs_a_check_or_a_reason_and_a_reason_a_survivor(folder: Path) -> None:
    edit(folder, "return (x * x).sum()", "return (x * x + 0.0 - 0.0).sum()")
    survivor = "Sub to Add: return (x * x + 0.0 + 0.0).sum()"
    explanation = "Add to Sub: return (x * x - 0.0 - 0.0).sum()"
    with (folder / "exercises" / EXERCISE).open("a") as file:
        file.writelines(f'\n\n# %% equivalent "{mutant}"\n# Zero is zero.\n' for mutant in ("gone", explanation))
    proof = prove(folder, mutate=True)
    assert len(proof.problems) == 2
    assert any("a mutant of" in problem and survivor in problem for problem in proof.problems)
    assert any("no surviving mutant 'gone'" in problem for problem in proof.problems)
    assert proof.exercises["sum_of_squares"].survivors == [explanation]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("# %% right", "# %% perhaps", "unknown kind of cell in an exercise"),
        ("# %% right", "# %% right fails=shapes", "can't read this header"),
        ("fails=keeps_input", "fails=keeps_y", "no check 'keeps_y'"),
        ("return x.pow(2).sum()", "return x.pow(2).sum(", "not valid Python"),
        ('"pow, then sum"', "", "unknown kind of cell in an exercise"),
    ],
)
def test_a_bad_answer_file_is_refused_with_its_line(folder: Path, old: str, new: str, problem: str) -> None:
    edit(folder, old, new)
    with pytest.raises(SourceError) as caught:
        prove(folder)
    assert problem in caught.value.problem
    lines = (folder / "exercises" / EXERCISE).read_text().splitlines()
    assert new in lines[caught.value.line - 1]


@pytest.mark.nightly
def test_the_list_of_checks_that_a_wrong_answer_fails_can_be_updated(folder: Path) -> None:
    text = (folder / "exercises" / EXERCISE).read_text()
    edit(folder, "fails=keeps_input", "fails=empty")
    edit(folder, " fails=shapes,empty", "")
    proof = prove(folder)
    assert len(proof.outdated) == 2 and set(proof.outdated) == set(proof.problems)
    difference = update_fails_options(proof.outdated.values())
    assert '-# %% wrong "scratch space is free" fails=empty\n' in difference
    assert '+# %% wrong "scratch space is free" fails=keeps_input\n' in f"{difference}\n"
    assert (folder / "exercises" / EXERCISE).read_text() == text


def test_the_rest_of_a_header_is_kept_with_a_new_list() -> None:
    assert replace_fails_option('# %% wrong "a fails=b" fails=x raises=KeyError', ("y", "z")) == (
        '# %% wrong "a fails=b" fails=y,z raises=KeyError'
    )
