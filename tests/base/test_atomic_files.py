"""A folder is replaced as a whole, and no crash costs the old one."""

from pathlib import Path

import pytest

from autograder.base import atomic_files
from autograder.base.atomic_files import replace_folder


def write(folder: Path, text: str) -> None:
    with replace_folder(folder) as new:
        new.mkdir()
        (new / "file").write_text(text)


def test_a_folder_is_replaced(tmp_path: Path) -> None:
    for text in ("first", "second"):
        write(tmp_path / "folder", text)
        assert (tmp_path / "folder" / "file").read_text() == text
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_an_error_leaves_the_old_folder(tmp_path: Path) -> None:
    write(tmp_path / "folder", "first")
    with pytest.raises(ZeroDivisionError), replace_folder(tmp_path / "folder") as new:
        new.mkdir()
        raise ZeroDivisionError
    assert (tmp_path / "folder" / "file").read_text() == "first"


def test_a_crash_between_the_two_renames_does_not_cost_the_old_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "folder", "first")
    real = atomic_files.os.replace

    def crash_at_the_second(source: Path, target: Path) -> None:
        if source.name.endswith(".new"):
            raise KeyboardInterrupt
        real(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(atomic_files.os, "replace", crash_at_the_second)
        with pytest.raises(KeyboardInterrupt):
            write(tmp_path / "folder", "second")
    assert not (tmp_path / "folder").exists()
    with pytest.raises(ZeroDivisionError), replace_folder(tmp_path / "folder"):
        raise ZeroDivisionError
    assert (tmp_path / "folder" / "file").read_text() == "first"
