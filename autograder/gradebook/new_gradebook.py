"""The version of its tables that nbgrader writes into a new gradebook, without the program that it asks for it: 2 s.

It is the one migration that no other follows. Where that isn't clear, nbgrader asks as it does.
"""

from __future__ import annotations

import re
from pathlib import Path

import nbgrader.alembic
from nbgrader import api

REVISION = re.compile(r"""^(down_)?revision = ['"](\w+)['"]""", re.MULTILINE)
ask_alembic = api.get_alembic_version


def find_newest_version() -> str:
    """As `alembic heads` says it."""
    revisions: set[str] = set()
    followed: set[str] = set()
    for folder in nbgrader.alembic.__path__:
        for script in Path(folder).glob("versions/*.py"):
            for down, revision in REVISION.findall(script.read_text(encoding="utf-8")):
                (followed if down else revisions).add(revision)
    heads = revisions - followed
    return heads.pop() if len(heads) == 1 else str(ask_alembic())


def patch_version_lookup() -> None:
    """Have nbgrader's own code do it this way, in this process."""
    api.get_alembic_version = find_newest_version
