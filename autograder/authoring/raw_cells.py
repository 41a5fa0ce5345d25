"""Reads files in the percent format into cells, and parses their headers."""

from __future__ import annotations

import contextlib
import io
import re
import tokenize
from dataclasses import dataclass, field
from pathlib import Path

from autograder.authoring.syntax_trees import parse_source
from autograder.base.errors import SourceError

HEADER = re.compile(r"^# %%(?P<rest>.*)$")
WORD = re.compile(r'\s*(?:(?P<key>\w+)=(?P<value>"[^"]*"|[^\s"]+)|"(?P<quoted>[^"]*)"|(?P<word>[^\s"=]+))(?=\s|$)')


@dataclass
class RawCell:
    """A cell as it's in the file. `words`, `label` and `options` are from its header."""

    path: Path
    line: int
    """The line of the header, from 1."""
    first_line: int
    """The line where `source` begins."""
    markdown: bool
    source: str
    words: list[str] = field(default_factory=list)
    label: str = ""
    options: dict[str, str] = field(default_factory=dict)

    @property
    def line_numbers(self) -> tuple[int, ...]:
        """The line number in the file of each line of the source."""
        return tuple(range(self.first_line, self.first_line + self.source.count("\n") + 1))


def repeat_line(line: int, source: str) -> tuple[int, ...]:
    """Return the line number of each line of a source that the builder made from one header."""
    return (line,) * (source.count("\n") + 1)


def read_cells(text: str, path: Path) -> list[RawCell]:
    """Read the cells of a percent-format file. Before the first header, there may be only comments."""
    lines = text.splitlines()
    headers = [i for i, line in enumerate(lines) if HEADER.match(line)]
    before = lines[: headers[0]] if headers else lines
    code = next((i for i, line in enumerate(before) if line.strip() and not line.startswith("#")), None)
    if code is not None:
        raise SourceError(path, code + 1, "code before the first cell", "put a line '# %% given' above it")
    for number, line in enumerate(lines, start=1):
        if line.startswith("#%%"):
            raise SourceError(path, number, "a header without a space", "write '# %%'")
    if not headers:
        raise SourceError(path, 1, "no cells", "start each cell with a line such as '# %% given'")
    cells = []
    for number, end in zip(headers, [*headers[1:], len(lines)], strict=True):
        words, label, options, tags = read_header(lines[number], path, number + 1)
        markdown = "[markdown]" in tags
        first, last = _find_bounds(lines, number + 1, end)
        source = lines[first:last]
        if markdown:
            source = _uncomment_lines(source, path, first)
        else:
            _refuse_open_string(source, path, number)
        cells.append(RawCell(path, number + 1, first + 1, markdown, "\n".join(source), words, label, options))
    return cells


def _find_bounds(lines: list[str], first: int, end: int) -> tuple[int, int]:
    """Return where the source of a cell begins and ends, without the blank lines around it."""
    numbers = [number for number in range(first, end) if lines[number].strip()]
    return (numbers[0], numbers[-1] + 1) if numbers else (first, first)


def _uncomment_lines(lines: list[str], path: Path, first: int) -> list[str]:
    """Remove the leading comment signs of prose.

    Args:
        first: The number of the first line, from 0.
    """
    for number, line in enumerate(lines, start=first + 1):
        if line.strip() and not line.startswith("#"):
            raise SourceError(path, number, "code in a cell of prose", "begin the line with '# ', or start a new cell")
    return [line.removeprefix("#").removeprefix(" ") for line in lines]


def _refuse_open_string(lines: list[str], path: Path, header: int) -> None:
    """Refuse a header inside a string. Other invalid Python isn't refused here."""
    with contextlib.suppress(SyntaxError, ValueError):
        parse_source("\n".join(lines))
        return
    try:
        for _ in tokenize.generate_tokens(io.StringIO("\n".join(lines) + "\n").readline):
            pass
    except tokenize.TokenError as error:
        if "string" in str(error):
            problem = "a string doesn't end before the next line that starts with '# %%'"
            fix = "end it in this cell, and don't start a line of a string with '# %%'"
            raise SourceError(path, header + 1, problem, fix) from None
    except (SyntaxError, ValueError):
        pass  # reported when the code is parsed


def read_header(text: str, path: Path, line: int) -> tuple[list[str], str, dict[str, str], list[str]]:
    """Return the words, quoted label, key=value options and [tags] of a header line.

    Args:
        path: The file, for messages.
        line: The number of this line, for messages.
    """
    match = HEADER.match(text)
    rest = match["rest"] if match else text
    words: list[str] = []
    tags: list[str] = []
    options: dict[str, str] = {}
    label = ""
    position = 0
    while rest[position:].strip():
        word = WORD.match(rest, position)
        if word is None:
            raise SourceError(
                path,
                line,
                f"can't read {rest[position:].strip()!r} in the header",
                'write key="value" or a plain word',
            )
        position = word.end()
        if word["key"]:
            options[word["key"]] = word["value"].strip('"')
        elif word["quoted"] is not None:
            label = word["quoted"]
        elif word["word"].startswith("["):
            tags.append(word["word"])
        else:
            words.append(word["word"])
    return words, label, options, tags
