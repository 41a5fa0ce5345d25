"""The timeline of version counters shows writes, saved tensors, and uncounted writes."""

import pytest
import torch

from labkit import show_versions, try_writes
from labkit.pictures.version_timeline import run_lines

X = {"x": torch.tensor([0.5, 2.0], requires_grad=True)}
LINES = ["h = x * 3", "y = h.exp()", "write", "y.sum().backward()"]


def list_fates(lines: list[str]) -> dict[str, str]:
    return {record.node: record.fate for step in run_lines(lines, X) for record in step.kept}


@pytest.mark.parametrize(
    ("write", "fate", "error"),
    [
        ("h += 1", "kept", ""),
        ("y += 1", "caught", "RuntimeError"),
        ("y.mul_(1)", "caught", "RuntimeError"),
        ("y.detach().add_(1)", "caught", "RuntimeError"),
        ("y.data += 1", "unseen", ""),
        ("y.detach().numpy()[0] = 9", "unseen", ""),
    ],
)
def test_a_write_to_a_saved_tensor_is_caught_or_unnoticed(write: str, fate: str, error: str) -> None:
    steps = run_lines([write if line == "write" else line for line in LINES], X)
    assert [(record.node, record.name, record.fate) for step in steps for record in step.kept] == [
        ("ExpBackward0", "y", fate)
    ]
    assert steps[-1].error == error


def test_versions_are_those_after_each_line() -> None:
    steps = run_lines(["h = x * 3", "h += 1", "h[0] = 5"], X)
    assert [step.versions.get("h") for step in steps] == [None, 0, 1, 2]


def test_an_error_ends_the_run() -> None:
    steps = run_lines(["x += 1", "y = x * 2"], X)
    assert [step.line for step in steps] == ["", "x += 1"]
    assert steps[-1].error == "RuntimeError"


def test_the_initial_tensors_are_unchanged() -> None:
    x = torch.tensor([1.0], requires_grad=True)
    show_versions(["x.data += 1", "y = x * x", "y.sum().backward()"], {"x": x})
    assert x.tolist() == [1.0]
    assert x.grad is None
    assert x._version == 0


def test_two_nodes_that_keep_the_same_tensor_are_both_named() -> None:
    assert set(list_fates(["h = x * 3", "y = h.exp()", "z = y * h"])) == {"ExpBackward0", "MulBackward0"}


def test_words_and_drawing_say_the_same() -> None:
    picture = show_versions([line.replace("write", "y += 1") for line in LINES], X)
    assert "ExpBackward0 keeps y at version 0; at the end it is at 1" in picture.words
    assert "keeps y at version 0; at the end it is at 1" in picture.first_frame
    assert picture.words.splitlines()[-1].endswith("RuntimeError")


def test_the_text_of_a_line_is_escaped() -> None:
    assert "y = x &lt; 1" in show_versions(["y = x < 1"], X).first_frame


def test_other_mistakes_become_words() -> None:
    assert "no picture: NameError" in repr(show_versions(["y = nobody"], X))


def test_each_write_has_its_own_frame() -> None:
    picture = try_writes(LINES, ["h += 1", "y += 1"], X)
    assert picture.drawing is not None
    assert list(picture.drawing.groups[0].labels) == ["h += 1", "y += 1"]
    assert "h += 1" in picture.first_frame
    assert "y += 1" not in picture.first_frame
    assert "h += 1" in repr(picture)
    assert "y += 1" in repr(picture)


def test_the_frame_of_a_write_says_whether_it_is_an_error() -> None:
    drawing = try_writes(LINES, ["h += 1", "y += 1"], X).drawing
    assert drawing is not None
    assert "RuntimeError" not in drawing.words[0]
    assert "RuntimeError" in drawing.words[1]
