"""Reads a percent-format file with jupytext, and each cell's header word by word."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import jupytext

from autograder.errors import SourceError

HEADER = re.compile(r"^# %%(?P<rest>.*)$")
WORD = re.compile(r'\s*(?:(?P<key>\w+)=(?P<value>"[^"]*"|[^\s"]+)|"(?P<quoted>[^"]*)"|(?P<word>[^\s"=]+))(?=\s|$)')


@dataclass
class RawCell:
    """A cell as it stands in the file. `words`, `label` and `options` come from its header.

    path: of the file. line: of the header, from 1. first_line: of the first line of `source`.
    """

    path: Path
    line: int
    first_line: int
    markdown: bool
    source: str
    words: list[str] = field(default_factory=list)
    label: str = ""
    options: dict[str, str] = field(default_factory=dict)

    @property
    def lines(self) -> tuple[int, ...]:
        """For each line of the source its number in the file."""
        return tuple(range(self.first_line, self.first_line + self.source.count("\n") + 1))


def read_cells(text: str, path: Path) -> list[RawCell]:
    """The cells of a percent-format file. What stands before the first header must be comments only."""
    lines = text.splitlines()
    headers = [i for i, line in enumerate(lines) if HEADER.match(line)]
    before = lines[: headers[0]] if headers else lines
    code = next((i for i, line in enumerate(before) if line.strip() and not line.startswith("#")), None)
    if code is not None:
        raise SourceError(path, code + 1, "code before the first cell", "put a line '# %% given' above it")
    if not headers:
        raise SourceError(path, 1, "no cells", "start each cell with a line such as '# %% given'")
    try:
        notebook = jupytext.reads(
            "\n".join(lines[headers[0] :]) + "\n",
            fmt={"extension": ".py", "format_name": "percent", "comment_magics": False},
        )
    except Exception as error:
        raise SourceError(path, 1, f"jupytext cannot read this file: {error}", "check the '# %%' lines") from None
    if len(notebook.cells) != len(headers):
        raise SourceError(
            path,
            headers[0] + 1,
            f"{len(headers)} lines start with '# %%', but jupytext sees {len(notebook.cells)} cells",
            "do not start a line of a string or a comment with '# %%'",
        )
    raw = []
    for line, cell in zip(headers, notebook.cells, strict=True):
        words, label, options, tags = read_header(lines[line], path, line + 1)
        markdown = cell.cell_type == "markdown"
        if markdown != ("[markdown]" in tags):
            raise SourceError(path, line + 1, "the type of this cell is unclear", "write '# %% [markdown]' for prose")
        raw.append(
            RawCell(path, line + 1, _first_line(lines, line, cell.source), markdown, cell.source, words, label, options)
        )
    return raw


def _first_line(lines: list[str], header: int, source: str) -> int:
    """jupytext drops blank lines after a header: the number of the line, from 1, where the source begins."""
    number = header + 1
    if source:
        while number < len(lines) and not lines[number].strip():
            number += 1
    return number + 1


def read_header(text: str, path: Path, line: int) -> tuple[list[str], str, dict[str, str], list[str]]:
    """(words, quoted label, key=value options, [tags]) of a header line."""
    match = HEADER.match(text)
    rest = match["rest"] if match else text
    words: list[str] = []
    tags: list[str] = []
    options: dict[str, str] = {}
    label = ""
    position = 0
    while rest[position:].strip():
        found = WORD.match(rest, position)
        if found is None:
            raise SourceError(
                path,
                line,
                f"cannot read {rest[position:].strip()!r} in the header",
                'write key="value" or a plain word',
            )
        position = found.end()
        if found["key"]:
            options[found["key"]] = found["value"].strip('"')
        elif found["quoted"] is not None:
            label = found["quoted"]
        elif found["word"].startswith("["):
            tags.append(found["word"])
        else:
            words.append(found["word"])
    return words, label, options, tags
