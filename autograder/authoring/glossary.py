"""The glossary, release/00_glossary.ipynb: each term with the sentence of a lab that explains it, and a link.

A term is a phrase in italics in a sentence of a lab that explains it: "A *leaf* is ...", "this is called *pinning*".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import nbformat
from nbformat import NotebookNode

from autograder.authoring.notebooks import build_notebook
from autograder.model.course import CellKind, Lab

NAME = "00_glossary.ipynb"
TERM = re.compile(r"(?<![*\w])\*(?P<term>[A-Za-z][\w -]{1,40})\*(?![*\w])")
SENTENCE = re.compile(r"(?<=[.?])\s+(?=[A-Z*`])")
NAMED = re.compile(
    r"(?:\b(?:called|named|calls?|means|To get|That's|(?:is|are) (?:its|the|an?))|, its) "
    r"(?:it |this |them )?(?:an? |the )?$"
)
AFTER = re.compile(r"^(?:,? (?:is|are|means|says|holds|lists|puts|gives|takes|turns)|, which|,? if)\b")
# A sentence that begins like this says little without the one before it.
LEANS = re.compile(
    r"^(?:This|That|These|Those|Such|Another|Its?|They|But|So|Going|The (?:last|rule|matrix of them)|What is made|"
    r"PyTorch's source|In the middle)\b"
)
NO_TERMS = {"backend", "sum", "not", "all", "before", "after", "later", "same", "one", "more", "now", "only", "ring"}
NO_TERMS |= {"your turn", "further practice", "mark my work", "check"}
ITEM = re.compile(r"^(?:\d+\.|[-*]) +", re.MULTILINE)  # the mark of a list's item
HEADING = re.compile(r"^#{2,4} (?P<title>.+)$", re.MULTILINE)


class GlossaryEntry(NamedTuple):
    """A term of the glossary."""

    term: str
    """The term in lower case."""
    sentence: str
    """The sentence that explains it, in Markdown."""
    lab: str
    section: str
    """The heading above it; empty in the lab's introduction."""


def collect_entries(labs: Iterable[Lab]) -> list[GlossaryEntry]:
    """Return the entries in alphabetical order, each from the first explanation of its term."""
    entries: dict[str, GlossaryEntry] = {}
    for lab in labs:
        for entry in _find_entries(lab):
            entries.setdefault(entry.term, entry)
    return sorted(entries.values())


def build_glossary(labs: Iterable[Lab]) -> NotebookNode:
    lines = ["# Glossary", "", "Each term with the sentence that explains it first, and where that stands.", ""]
    for entry in collect_entries(labs):
        anchor = f"#{entry.section.replace(' ', '-')}" if entry.section else ""
        lines.append(f"- **{entry.term}**: {entry.sentence} ([{entry.lab}]({entry.lab}/{entry.lab}.ipynb{anchor}))")
    return build_notebook([nbformat.v4.new_markdown_cell("\n".join(lines), id="glossary")])


def _find_entries(lab: Lab) -> Iterator[GlossaryEntry]:
    """Yield each term that the lab's prose explains. If a sentence says little alone, the one before is included."""
    section = ""
    for cell in lab.cells:
        if cell.kind is not CellKind.PROSE or cell.name:
            continue
        for paragraph in re.split(r"\n\s*\n", cell.source):
            if heading := HEADING.match(paragraph):
                section = heading["title"]
                continue
            sentences = SENTENCE.split(re.sub(r"\s+", " ", ITEM.sub("", paragraph.strip())))
            for before, sentence in zip(["", *sentences], sentences, strict=False):
                for match in TERM.finditer(sentence):
                    leans = LEANS.match(sentence)
                    whole = sentence.endswith((".", "?")) and not (leans and not before)
                    if whole and match["term"].lower() not in NO_TERMS and _is_explanation(sentence, match):
                        text = f"{before} {sentence}" if leans else sentence
                        yield GlossaryEntry(match["term"].lower(), text, lab.name, section)


def _is_explanation(sentence: str, match: re.Match[str]) -> bool:
    """Return whether the sentence says what the term is, before it ("is called *x*") or after it ("a *x* is ...")."""
    return bool(NAMED.search(sentence[: match.start()]) or AFTER.match(sentence[match.end() :]))
