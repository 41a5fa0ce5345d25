"""Checks that the hub's packages are installed, in the versions that Gradlab's own metadata asks for."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version

from packaging.requirements import Requirement

from autograder.hub.finding import Finding

PACKAGE, EXTRA = "gradlab", "hub"


def check_versions() -> Iterator[Finding]:
    """Check each package that Gradlab or its hub needs."""
    for requirement in _list_requirements():
        if problem := _find_problem(requirement):
            wanted = f"{requirement.name}{requirement.specifier}"
            yield Finding(problem, f"{sys.executable} -m pip install {shlex.quote(wanted)}")


def _list_requirements() -> Iterator[Requirement]:
    try:
        texts = requires(PACKAGE) or ()
    except PackageNotFoundError:  # a clone that isn't installed
        return
    for requirement in map(Requirement, texts):
        if requirement.marker is None or requirement.marker.evaluate({"extra": EXTRA}):
            yield requirement


def _find_problem(requirement: Requirement) -> str:
    """Return what is wrong with an installed package; empty if nothing is."""
    try:
        found = version(requirement.name)
    except PackageNotFoundError:
        return f"{requirement.name} isn't installed, and the hub needs it"
    if requirement.specifier.contains(found, prereleases=True):
        return ""
    return f"{requirement.name} {found} is installed, and the hub needs {requirement.specifier}"
