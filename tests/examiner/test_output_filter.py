"""Anything that a student process sends as outputs becomes valid outputs of a notebook."""

import json
from typing import Any

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.examiner.output_filter import CUT, MAX_DATA, MAX_ITEMS, MAX_TEXT, limit_outputs, read_outputs

PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=9)
ANYTHING = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4)
)
FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "output_type": st.sampled_from(["stream", "error", "display_data", "execute_result", "update", 3]),
        "name": ANYTHING,
        "text": ANYTHING,
        "ename": ANYTHING,
        "traceback": ANYTHING,
        "data": st.dictionaries(
            st.sampled_from(["text/plain", "image/png", "a+json", "application/json", "application/a+json", "x" * 300]),
            ANYTHING,
        )
        | ANYTHING,
        "metadata": st.dictionaries(st.sampled_from(["image/png", "width", "root", "needs_background"]), ANYTHING)
        | ANYTHING,
        "execution_count": ANYTHING,
    },
)


def write_outputs(outputs: list[dict[str, Any]]) -> str:
    cell = nbformat.v4.new_code_cell("x", id="a", outputs=[nbformat.from_dict(output) for output in outputs])
    notebook = nbformat.v4.new_notebook(cells=[cell])
    nbformat.validate(notebook)
    text: str = nbformat.writes(notebook)
    text.encode("utf-8")
    json.loads(text, parse_constant=lambda name: 1 / 0)
    return text


@given(st.lists(FIELDS | ANYTHING, max_size=5))
def test_any_json_becomes_outputs_that_a_notebook_can_hold(sent: list[Any]) -> None:
    write_outputs(read_outputs(json.dumps(sent)))


@given(st.text() | st.none() | st.integers() | st.binary())
def test_json_that_is_not_a_list_is_not_output(sent: Any) -> None:
    assert read_outputs(sent) == []


def test_halves_of_characters_can_be_written() -> None:
    half = '[{"output_type": "stream", "name": "stdout", "text": "a\\ud800b"}]'
    assert "a?b" in write_outputs(read_outputs(half))


def test_valid_outputs_are_kept_unchanged() -> None:
    outputs = [
        {"output_type": "stream", "name": "stderr", "text": "careful\n"},
        {"output_type": "display_data", "data": {"image/png": "AAAA", "text/plain": "<Figure>"}, "metadata": {}},
        {"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": ["line"]},
    ]
    assert read_outputs(json.dumps(outputs)) == outputs


def test_only_known_metadata_is_kept() -> None:
    sizes = {"width": 30, "height": "50%", "alt": "<b>", "unconfined": 1}
    metadata = {"needs_background": "dark", "image/png": sizes, "text/html": {"isolated": True}, "other": {"width": 1}}
    display = {"output_type": "display_data", "data": {"image/png": "AAAA", "text/plain": "x"}, "metadata": metadata}
    (output,) = read_outputs(json.dumps([display]))
    assert output["metadata"] == {"needs_background": "dark", "image/png": {"width": 30, "height": "50%"}}
    wrong = {"width": -1, "height": '1" onload="x', "needs_background": "red", "root": "<", "expanded": None}
    (output,) = read_outputs(json.dumps([{**display, "metadata": {**wrong, "image/png": wrong, "text/plain": [1]}}]))
    assert output["metadata"] == {}


def test_an_execution_count_is_a_number_or_none() -> None:
    for count, expected in ((3, 3), (True, None), (-1, None), (10**9, None), ("3", None), (None, None)):
        result = {"output_type": "execute_result", "data": {"text/plain": "x"}, "execution_count": count}
        assert read_outputs(json.dumps([result]))[0]["execution_count"] == expected


def test_a_verdict_that_a_submission_displays_is_not_shown() -> None:
    forgery = {"application/vnd.gradlab.verdict+json": {"earned": 9}, "text/plain": "9"}
    (output,) = read_outputs(json.dumps([{"output_type": "display_data", "data": forgery}]))
    assert output["data"] == {"text/plain": "9"}


def test_deeply_nested_display_data_is_left_out() -> None:
    deep: dict[str, Any] = {}
    for _ in range(600):
        deep = {"a": deep}
    for value, formats in ((deep, ["text/plain"]), ({"a": [1]}, ["application/json", "text/plain"])):
        data = {"application/json": value, "text/plain": "x"}
        (output,) = read_outputs(json.dumps([{"output_type": "display_data", "data": data}]))
        assert list(output["data"]) == formats


@pytest.mark.parametrize(
    "mime",
    ["vnd.vega.v5+json", "vnd.vegalite.v5+json", "vnd.plotly.v1+json", "geo+json", "javascript", "pdf", "x+json"],
)
def test_a_program_for_a_renderer_is_left_out(mime: str) -> None:
    """JupyterLab would run it with the login of anyone who opens the graded notebook."""
    data = {f"application/{mime}": {"data": {"url": "../../source/x.ipynb"}}, "text/plain": "x"}
    (output,) = read_outputs(json.dumps([{"output_type": "display_data", "data": data}]))
    assert list(output["data"]) == ["text/plain"]


def test_a_number_that_json_lacks_becomes_text() -> None:
    reply = '[{"output_type": "display_data", "data": {"application/json": [1e999, -1e999, NaN, 1.5]}}]'
    (output,) = read_outputs(reply)
    assert output["data"]["application/json"] == ["1e999", "-1e999", "NaN", 1.5]


def test_outputs_are_bounded() -> None:
    stream = {"output_type": "stream", "name": "stdout", "text": "x" * 2 * MAX_TEXT}
    assert len(read_outputs(json.dumps([stream]))[0]["text"]) == MAX_TEXT
    assert len(read_outputs(json.dumps([{**stream, "text": "x"}] * 3 * MAX_ITEMS))) == MAX_ITEMS
    pictures = {"image/png": "x" * (MAX_DATA // 2 + 1), "image/jpeg": "x" * (MAX_DATA // 2 + 1)}
    (output,) = read_outputs(json.dumps([{"output_type": "display_data", "data": pictures}]))
    assert list(output["data"]) == ["image/png"]


def test_empty_lists_count_as_output_too() -> None:
    outputs = [{"output_type": "display_data", "metadata": {}, "data": {"application/json": [[], {}] * 1_000}}]
    (output,) = read_outputs(json.dumps(outputs))
    assert limit_outputs([output], 10_000)[0][0]["text"] == CUT
