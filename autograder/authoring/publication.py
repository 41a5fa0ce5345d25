"""Where students reach what `gradlab release` writes: an address to install labkit from, and labs to open in Colab."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from autograder.base.errors import GradlabError

# `%pip install` passes the address to a shell.
ADDRESS = re.compile(r"https?://[\w.~-]+(:\d+)?(/[\w.~%@+-]+)*/?", re.ASCII)
GITHUB = re.compile(r"(?P<repository>[\w.-]+/[\w.-]+?)(@(?P<branch>[\w./-]+))?", re.ASCII)
COLAB = "https://colab.research.google.com/github/{repository}/blob/{branch}/labs/{page}"
RAW = "https://raw.githubusercontent.com/{repository}/{branch}"
INDEX = "index.html"


class Link(NamedTuple):
    """A link to a notebook, which depends on no folder: Colab shows a notebook without those around it."""

    words: str
    address: str


@dataclass(frozen=True)
class Publication:
    """The addresses of a student release. Each is empty if there's none."""

    address: str = ""
    """Of the folder, without a slash at the end."""
    repository: str = ""
    """Its repository on GitHub, OWNER/REPO."""
    branch: str = ""

    def make_link(self, lab: str) -> Link | None:
        """Return the link that opens a lab in Colab, which opens only GitHub's, or else downloads it."""
        page = f"{lab}/{lab}.ipynb"
        if self.repository:
            return Link("Open in Colab", self.get_colab_address(page))
        return Link("Download", f"{self.address}/labs/{page}") if self.address else None

    def get_colab_address(self, page: str) -> str:
        """Return the address that opens a notebook of labs/ in Colab."""
        return COLAB.format(repository=self.repository, branch=self.branch, page=page)

    def get_overview_address(self, start_page: str) -> str:
        """Return the address of the list of labs: the start page in Colab, since GitHub shows no web pages."""
        return self.get_colab_address(start_page) if self.repository else f"{self.address}/{INDEX}"


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
