"""A picture's size is what a browser would make of it, and what is no picture is not shown."""

import base64
import io

import pytest
from matplotlib.figure import Figure

from autograder.reports.picture_size import may_be_shown, pixels


@pytest.mark.parametrize("kind", ["png", "jpg", "gif"])
def test_the_size_stands_in_the_head(kind: str) -> None:
    file = io.BytesIO()
    Figure(figsize=(3, 2)).savefig(file, format=kind, dpi=100)
    assert pixels(base64.b64encode(file.getvalue()).decode()) == 60_000


@pytest.mark.parametrize(
    "head",
    [
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + b"\0\0\xff\xff" * 2,
        b"GIF89a" + b"\xff" * 4,
        b"\xff\xd8\xff\xe0\0\x04ab\xff\xc2\0\x0b\x08" + b"\xff" * 4,
        b"RIFF\0\0\0\0WEBPVP8X",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
    ],
)
def test_a_picture_that_fills_a_browser_is_not_shown_whatever_it_is_called(head: bytes) -> None:
    assert not may_be_shown(base64.b64encode(head).decode()) and not may_be_shown("no base64")
