"""Writes docs/commands.md, every command with its options: python -m scripts.command_reference."""

from __future__ import annotations

import re
from pathlib import Path

import typer
from typer.cli import get_docs_for_click

import autograder.cli
from autograder.cli.app import app

PAGE = Path(__file__).parent.parent / "docs" / "commands.md"
HEAD = """\
# Commands

This page is for everyone who runs `gradlab`: each command with its arguments and options, as `gradlab COMMAND --help`
shows them. The commands are in `.venv/bin`. [teaching.md](teaching.md) uses them in the order of a term,
[writing-a-lab.md](writing-a-lab.md) those for authors. `python -m scripts.command_reference` writes this page.
"""


def format_command_reference() -> str:
    """Format the page, with a section for each command."""
    assert autograder.cli.run  # importing it has registered the commands
    group = typer.main.get_command(app)
    text = get_docs_for_click(obj=group, ctx=typer.Context(group), name="gradlab")
    sections = text.split("\n## `gradlab ")[1:]
    return HEAD + "".join(f"\n## `gradlab {_shorten(section)}" for section in sections)


def _shorten(section: str) -> str:
    """Leave out what's the same everywhere: the heading "Usage", the option --help, defaults of lists."""
    section = re.sub(r"\* `--help`: Show this message and exit\.\n", "", section)
    section = re.sub(r"\*\*(Options|Arguments)\*\*:\n\n(?!\*)", "", section)
    section = section.replace("**Usage**:\n\n", "")
    return re.sub(r"\n{3,}", "\n\n", section).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(format_command_reference(), encoding="utf-8")
