"""A watch whose submissions are graded by the workers of a dask cluster."""

from pathlib import Path

import pytest

from tests.grading.graded_class import WRONG
from tests.grading.test_cluster import scheduling, worker
from tests.grading.test_watch import ONE, TWO, course, scores, start, submit

__all__ = ["course"]


@pytest.mark.slow
def test_what_arrives_is_marked_by_the_cluster(course: Path, tmp_path: Path) -> None:
    """Slow: a scheduler, a worker and its grader start."""
    pages = [submit(course, "ada", ONE), submit(course, "ben", TWO, WRONG)]
    with scheduling(tmp_path) as scheduler, worker(scheduler, tmp_path):
        output = start(course, "--once", "--cluster", scheduler).communicate(timeout=200)[0]
    assert "2 submissions marked" in output and all(page.exists() for page in pages), output
    assert scores(course) == {"ada": 2, "ben": 0}
