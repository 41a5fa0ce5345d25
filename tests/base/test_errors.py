"""An error of a lab's source arrives from another process as it was raised."""

import pickle
from pathlib import Path

from autograder.base.errors import SourceError


def test_a_source_error_can_be_pickled() -> None:
    error = SourceError("labs/a/lab.py", 3, "no such header", "write one")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is SourceError and str(copy) == str(error)
    assert (copy.path, copy.line, copy.problem, copy.fix) == (Path("labs/a/lab.py"), 3, "no such header", "write one")
