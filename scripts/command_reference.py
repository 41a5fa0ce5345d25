"""Writes docs/commands.md, every command with its options: python -m scripts.command_reference."""

from __future__ import annotations

import re
from pathlib import Path

import typer
from typer.cli import get_docs_for_click
from typer.core import TyperCommand, TyperGroup

import autograder.cli  # noqa: F401, registers the commands
from autograder.cli.app import app

PAGE = Path(__file__).parent.parent / "docs" / "commands.md"
HEAD = """\
# Commands

Every command of `gradlab`, with the arguments and options that `gradlab COMMAND --help` shows. The commands are in
`.venv/bin`. [teaching.md](teaching.md) uses them in the order of a term, [writing-a-lab.md](writing-a-lab.md) those for
authors. `python -m scripts.command_reference` writes this page.
"""
STATUS = """
Every command ends with status 0 if it did everything you asked for, 1 if something failed or was left undone, and 2 if
its arguments are wrong. After Ctrl-C it's 1 or 130. For instance, `gradlab watch --once` ends with 1 if it was stopped
early, and `gradlab build --check` if a notebook is out of date."""


def format_command_reference() -> str:
    """Format the page: a list of the commands by group, then a section for each."""
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    groups: dict[str, list[str]] = {}
    for command in group.commands.values():
        assert isinstance(command, TyperCommand | TyperGroup)
        groups.setdefault(str(command.rich_help_panel), []).append(str(command.name))
    rows = [f"| {panel} | {', '.join(map(_link, names))} |" for panel, names in groups.items()]
    text = get_docs_for_click(obj=group, ctx=typer.Context(group), name="gradlab")
    sections = {section.split("`")[0]: section for section in text.split("\n## `gradlab ")[1:]}
    ordered = [sections[name] for names in groups.values() for name in names]
    parts = [
        HEAD,
        "| to | commands |",
        "|---|---|",
        *rows,
        STATUS,
        *(f"\n## `gradlab {_shorten(part)}" for part in ordered),
    ]
    return "\n".join(parts) + "\n"


def _link(name: str) -> str:
    return f"[{name}](#gradlab-{name})"


def _shorten(section: str) -> str:
    """Leave out what's the same everywhere, and the list of commands that have sections of their own."""
    section = re.sub(r"\* `--help`: Show this message and exit\.\n", "", section)
    section = re.sub(r"\*\*(Options|Arguments)\*\*:\n\n(?!\*)", "", section)
    section = re.sub(r"\*\*Commands\*\*:\n\n(\* .*\n)+", "", section)
    section = section.replace("**Usage**:\n\n", "")
    return re.sub(r"\n{3,}", "\n\n", section).rstrip()


if __name__ == "__main__":
    PAGE.write_text(format_command_reference(), encoding="utf-8")
