"""Any notebook's text is what nbformat writes."""

import copy
from typing import Any

import nbformat
from hypothesis import given
from hypothesis import strategies as st
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from autograder.grading.notebook_text import format_notebook

words = st.text(st.characters(exclude_categories=["Cs"]))
values: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | words,
    lambda inner: st.lists(inner) | st.dictionaries(words, inner),
    max_leaves=12,
)


@given(words, words, st.dictionaries(words.filter(str.isidentifier), values), values)
def test_text_is_as_nbformat_writes_it(source: str, printed: str, metadata: dict[str, Any], shown: Any) -> None:
    outputs = [
        new_output("stream", text=printed),
        new_output("display_data", {"text/plain": printed, "application/json": shown}),
    ]
    cells = [new_code_cell(source, outputs=outputs, metadata=metadata), new_markdown_cell(source)]
    notebook = new_notebook(cells=cells, metadata=metadata)
    assert format_notebook(copy.deepcopy(notebook)) == nbformat.v4.writes(notebook) + "\n"


def test_labs_are_written_as_they_were_read(course: Any) -> None:
    for path in sorted((course.root / "solutions").glob("*/*.ipynb")):
        text = path.read_text()
        assert format_notebook(nbformat.reads(text, as_version=4)) == text
