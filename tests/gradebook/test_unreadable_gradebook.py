"""A gradebook that can't be opened is an error that says what to correct, without the password."""

from pathlib import Path

import pytest

from autograder.base.errors import GradlabError
from autograder.gradebook.database import open_gradebook


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    (tmp_path / "gradebook.db").write_text("not a database\n" * 100)
    message = r"gradebook\.db can't be opened: file is not a database\n    fix: correct"
    with pytest.raises(GradlabError, match=message), open_gradebook(f"sqlite:///{tmp_path / 'gradebook.db'}"):
        pass


@pytest.mark.parametrize("url", ["nonsense", "no_such_dialect://ada:secret@host/db", ""])
def test_a_malformed_address_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(GradlabError, match="can't be opened") as refusal, open_gradebook(url):
        pass
    assert "secret" not in str(refusal.value)
    assert "c.CourseDirectory.db_url" in str(refusal.value)
