"""Finds the version of its tables that nbgrader writes into a new gradebook, without the 2 s of starting alembic.

It is the only migration that no other follows. If that isn't clear, nbgrader asks alembic as usual.
"""

from __future__ import annotations

import re
from pathlib import Path

import nbgrader.alembic
from nbgrader import api

REVISION = re.compile(r"""^(down_)?revision = ['"](\w+)['"]""", re.MULTILINE)
ask_alembic = api.get_alembic_version


def find_newest_version() -> str:
    """The version as `alembic heads` prints it."""
    revisions: set[str] = set()
    followed: set[str] = set()
    for folder in nbgrader.alembic.__path__:
        for script in Path(folder).glob("versions/*.py"):
            for down, revision in REVISION.findall(script.read_text(encoding="utf-8")):
                (followed if down else revisions).add(revision)
    heads = revisions - followed
    return heads.pop() if len(heads) == 1 else str(ask_alembic())


def patch_version_lookup() -> None:
    """Make nbgrader's own code find it this way, in this process."""
    api.get_alembic_version = find_newest_version
