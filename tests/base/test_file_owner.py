"""Whom a file belongs to, by the accounts that the machine knows."""

import pwd
from pathlib import Path

import pytest

from autograder.base.file_owner import get_owner_name, has_account


def test_an_account_that_a_directory_does_not_list_is_an_account(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = pwd.getpwuid(tmp_path.stat().st_uid).pw_name
    monkeypatch.setattr(pwd, "getpwall", lambda: [])
    assert has_account(tmp_path)
    assert get_owner_name(tmp_path) == own


def test_an_owner_without_an_account_has_a_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def find_no_account(number: int) -> pwd.struct_passwd:
        raise KeyError(number)

    monkeypatch.setattr(pwd, "getpwuid", find_no_account)
    assert not has_account(tmp_path)
    assert get_owner_name(tmp_path) == str(tmp_path.stat().st_uid)
