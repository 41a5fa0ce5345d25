"""The exercise that docs/first-lab.md takes from idea to proof goes the way that the page says."""

import re
from pathlib import Path

import pytest

from autograder.authoring.course_folder import read_course, read_labs
from autograder.proving.proof import prove_lab

TUTORIAL = (Path(__file__).parents[2] / "docs" / "first-lab.md").read_text(encoding="utf-8")
LESSON, EXERCISE, DOMAIN, MORE_CHECKS, PROMISES = re.findall(r"```python\n(.*?)```", TUTORIAL, re.DOTALL)
LISTS = dict(line[1:].rsplit('"', 1) for line in TUTORIAL.splitlines() if line.startswith("+# %% wrong"))


def prove(course: Path, exercise: str) -> list[str]:
    lab = course / "labs" / "01_squares"
    (lab / "exercises" / "sum_of_squares.py").unlink(missing_ok=True)
    head = (lab / "lab.py").read_text().split("# %% [markdown]\n# ## Squares")[0].replace("explain, ", "")
    (lab / "lab.py").write_text(head + LESSON)
    (lab / "exercises" / "row_softmax.py").write_text(exercise)
    return list(map(str, prove_lab(next(read_labs(read_course(course)))).problems))


def test_the_first_version_has_the_problems_that_the_page_shows(small_course: Path) -> None:
    problems = prove(small_course, EXERCISE)
    assert len(problems) == 5
    block = " ".join(TUTORIAL.split("```\nrow_softmax.py:35")[1].split("```")[0].split())
    for problem in (p for p in problems if "full marks" in p or "hard-coded" in p):
        assert problem.splitlines()[0].partition("row_softmax ")[2] in block


@pytest.mark.parametrize("with_exception", [True, pytest.param(False, marks=pytest.mark.nightly)])
def test_the_last_version_is_proved_once_the_exception_is_named(small_course: Path, with_exception: bool) -> None:
    begin, end = EXERCISE.index("# %% promises\n"), EXERCISE.index("# %% checks\n")
    exercise = f"{EXERCISE[:begin]}{PROMISES}\n\n{DOMAIN}\n\n{EXERCISE[end:]}"
    exercise = exercise.replace("# %% hidden checks\n", f"# %% hidden checks\n{MORE_CHECKS}")
    for label, checks in LISTS.items():
        exercise = exercise.replace(f'{label}"', f'{label}"{checks}')
    if with_exception:
        exercise = exercise.replace(
            "fails=other_rows,far_apart,empty", "fails=other_rows,far_apart,empty raises=RuntimeError"
        )
    problems = prove(small_course, exercise)
    assert not problems if with_exception else len(problems) == 1
