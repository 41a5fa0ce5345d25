"""What a watch says of an error, and where the traceback of one that no one foresaw is."""

from pathlib import Path

from autograder.base.errors import GradlabError
from autograder.watch.watch_state import describe_error


def fail() -> None:
    raise AttributeError("no such thing")


def catch_failure() -> Exception:
    try:
        fail()
    except AttributeError as error:
        return error
    raise AssertionError("fail() raised nothing")


def test_an_unforeseen_error_names_the_file_with_its_traceback(tmp_path: Path) -> None:
    log = tmp_path / "results" / "a" / ".watch.log"
    assert describe_error(tmp_path, "a", catch_failure()) == f"AttributeError: no such thing (see {log})"
    assert "in fail\n" in log.read_text()


def test_an_error_that_repeats_leaves_one_traceback(tmp_path: Path) -> None:
    for _ in range(3):
        describe_error(tmp_path, "a", catch_failure())
    assert (tmp_path / "results" / "a" / ".watch.log").read_text().count("Traceback") == 1


def test_an_error_that_a_person_can_act_on_needs_no_file(tmp_path: Path) -> None:
    assert describe_error(tmp_path, "a", GradlabError("no roster", fix="add one")) == "no roster\n    fix: add one"
    assert describe_error(tmp_path, "a", FileNotFoundError(2, "gone", "x")) == "FileNotFoundError: [Errno 2] gone: 'x'"
    assert not list(tmp_path.iterdir())
