"""Users of a hub who are more than one user of the machine, or the same as another one."""

import grp
import pwd
from pathlib import Path

import pytest

from autograder.hub import user_rights
from autograder.hub.settings import read_settings
from autograder.hub.user_rights import check_user_rights


def make_user(name: str, number: int, group: int = 60_000) -> pwd.struct_passwd:
    return pwd.struct_passwd((name, "x", number, group, "", f"/home/{name}", "/bin/sh"))


def find(folder: Path, *users: pwd.struct_passwd) -> list[tuple[str, str]]:
    hub = read_settings(folder / "hub.toml")
    return [(each.problem, each.cure) for each in check_user_rights(hub, {user.pw_name: user for user in users})]


def test_users_with_different_numbers_and_ordinary_groups_are_in_order(folder: Path) -> None:
    assert find(folder, make_user("ana", 1001), make_user("ben", 1002), make_user("root", 0, 0)) == []


def test_two_users_with_one_number_are_found(folder: Path) -> None:
    ((problem, fix),) = find(
        folder, make_user("ana", 1001), make_user("ben", 1001), make_user("x", 7), make_user("y", 7)
    )
    assert problem == "ana, ben have the same number, 1001, so they're one user of this machine"
    assert "usermod --uid" in fix


def test_a_user_with_the_number_of_root_is_found(folder: Path) -> None:
    ((problem, _),) = find(folder, make_user("root", 0, 0), make_user("ana", 0, 0))
    assert problem == "a user of the hub is the machine's root, with the number 0: ana"


def test_students_in_powerful_groups_are_found(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    groups = [grp.struct_group(("sudo", "x", 27, ["ana", "prof"])), grp.struct_group(("disk", "x", 6, []))]
    monkeypatch.setattr(user_rights.grp, "getgrall", lambda: groups)
    (sudo, sudo_fix), (disk, disk_fix) = find(folder, make_user("ana", 1001), make_user("ben", 1002, 6))
    assert sudo.startswith("students in the group sudo,") and sudo.endswith(": ana"), "a teacher may administer the hub"
    assert sudo_fix == "gpasswd -d ana sudo"
    assert disk.startswith("students whose primary group is disk,") and disk.endswith(": ben")
    assert disk_fix == "groupadd --force ben\nusermod --gid ben ben"
