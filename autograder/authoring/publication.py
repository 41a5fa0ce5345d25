"""Where students reach what `gradlab release` writes: an address to install labkit from, and labs to open in Colab."""

from __future__ import annotations

import re
from dataclasses import dataclass

from autograder.base.errors import GradlabError

# `%pip install` passes the address to a shell.
ADDRESS = re.compile(r"https?://[\w.~-]+(:\d+)?(/[\w.~%@+-]+)*/?", re.ASCII)
GITHUB = re.compile(r"(?P<repository>[\w.-]+/[\w.-]+?)(@(?P<branch>[\w./-]+))?", re.ASCII)
COLAB = "https://colab.research.google.com/github/{repository}/blob/{branch}/labs/{lab}/{lab}.ipynb"
RAW = "https://raw.githubusercontent.com/{repository}/{branch}"


@dataclass(frozen=True)
class Publication:
    """The addresses of a student release. Each is empty if there's none."""

    address: str = ""
    """Of the folder, without a slash at the end."""
    repository: str = ""
    """Its repository on GitHub, OWNER/REPO."""
    branch: str = ""

    def get_colab_address(self, lab: str) -> str:
        """Return the address that opens a lab in Colab; empty without a repository."""
        return COLAB.format(repository=self.repository, branch=self.branch, lab=lab) if self.repository else ""


def read_publication(address: str = "", github: str = "") -> Publication:
    """Read the options of `gradlab release`.

    Args:
        address: Of the folder; by default, GitHub's own for its files.
        github: OWNER/REPO or OWNER/REPO@BRANCH; the branch is main by default.

    Raises:
        GradlabError: If one of them has another form.
    """
    if address and not ADDRESS.fullmatch(address):
        fix = "write --address https://example.org/course, with letters, digits and .~%@+- between the slashes"
        raise GradlabError(f"{address!r} can't be the address of the folder", fix=fix)
    if not github:
        return Publication(address.rstrip("/"))
    match = GITHUB.fullmatch(github)
    if match is None:
        fix = "write --github OWNER/REPO, or OWNER/REPO@BRANCH"
        raise GradlabError(f"{github!r} can't be a repository on GitHub", fix=fix)
    repository, branch = match["repository"], match["branch"] or "main"
    address = address.rstrip("/") or RAW.format(repository=repository, branch=branch)
    return Publication(address, repository, branch)
