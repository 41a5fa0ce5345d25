"""The digest of statements changes when the code's behavior does, and only then."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder.base.digest import digest_statements

CODE = '''"""A module."""


class Point:
    """A point."""

    x: int
    """Across."""


def render(x):
    # Shown to people.
    return f"""
    # {x}
    """ + """
# kept
"""
'''


def digest_text(text: str, folder: Path) -> str:
    (folder / "code.py").write_text(text)
    return digest_statements(folder / "code.py")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""A module."""', '"""Another\n\nmodule."""'),
        ('    """A point."""\n', ""),
        ('"""Across."""', '"""How far it is\n    # to the right."""'),
        ("# Shown to people.", "# Shown to nobody.\n\n    # Or is it?"),
    ],
)
def test_docstrings_and_comments_do_not_change_a_digest(old: str, new: str, tmp_path: Path) -> None:
    assert digest_text(CODE, tmp_path) == digest_text(CODE.replace(old, new), tmp_path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# {x}", "#  {x}"),
        ("# kept", "# lost"),
        ("# kept\n", "# kept\n\n"),
        ("x: int", "x: float"),
        ('"""A point."""', 'x = """A point."""'),
        ("render(x):\n", 'render(x):\n    """Text."""; x = 2\n'),
    ],
)
def test_each_change_of_what_code_does_counts(old: str, new: str, tmp_path: Path) -> None:
    assert digest_text(CODE, tmp_path) != digest_text(CODE.replace(old, new), tmp_path)
