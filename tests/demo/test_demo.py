"""The demo grades a class whose right marks are known, in a folder that holds nothing else."""

import re
from pathlib import Path

import pytest

from autograder.authoring.course_folder import read_course, read_labs
from autograder.demo.students import make_class
from tests.conftest import NIGHTLY, CommandLine


@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_the_demo_runs_and_every_mark_is_right(small_course: Path, cli: CommandLine) -> None:
    """Slow: a class of more than twelve submissions; at night it is made twice."""
    for _ in range(2 if NIGHTLY else 1):
        output = cli("demo --folder show")
        assert "Every mark is as expected" in output
        assert re.search(r"isolated at the level [a-z]+; gradlab doctor", output)
        assert output.count("│") > 3 * 12
    assert (small_course / "show" / "results" / "01_squares.html").exists()
    (small_course / "show" / ".gradlab-demo").unlink()
    assert "files that aren't from a demo" in cli("demo --folder show", status=1)


def test_further_practice_earns_nothing_in_any_form(small_course: Path) -> None:
    path = small_course / "labs" / "01_squares" / "lab.py"
    path.write_text(path.read_text().replace("sum_of_squares points=2", "sum_of_squares points=2 further"))
    (lab,) = read_labs(read_course(small_course))
    assert {submission.points for submission in make_class(lab)} == {0}
