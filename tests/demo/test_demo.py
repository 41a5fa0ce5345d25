"""The demo grades a class whose right marks are known, in a folder that holds nothing else."""

from pathlib import Path

import pytest

from tests.conftest import NIGHTLY, CommandLine


@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_the_demo_runs_and_every_mark_is_right(small_course: Path, cli: CommandLine) -> None:
    """Slow: a class of more than twelve submissions; at night it is made twice."""
    for _ in range(2 if NIGHTLY else 1):
        output = cli("demo --folder show")
        assert "Every mark is as expected" in output
        assert output.count("│") > 3 * 12
    assert (small_course / "show" / "results" / "01_squares.html").exists()
    (small_course / "show" / ".gradlab-demo").unlink()
    assert "files that aren't from a demo" in cli("demo --folder show", status=1)
