"""Packages of a hub that are missing, or of a version that it doesn't work with."""

import pytest

from autograder.hub import version_checks
from autograder.hub.version_checks import check_versions


def test_the_packages_of_this_environment_are_in_order() -> None:
    assert [each.problem for each in check_versions()] == []


@pytest.mark.parametrize(
    ("needed", "problem"),
    [
        ("jupyterhub<5; extra == 'hub'", "is installed, and the hub needs <5"),
        ("no-such-package>=1", "no-such-package isn't installed, and the hub needs it"),
        ("no-such-package>=1; extra == 'test'", ""),
    ],
)
def test_a_package_of_another_version_is_found(needed: str, problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(version_checks, "requires", lambda name: [needed])
    found = list(check_versions())
    assert len(found) == bool(problem) and all(
        problem in each.problem and "-m pip install" in each.cure for each in found
    )
