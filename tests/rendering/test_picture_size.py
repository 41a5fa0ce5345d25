"""A picture's size is measured as a browser would, and data that is no picture is not shown."""

import base64
import io

import pytest
from matplotlib.figure import Figure
from PIL import Image

from autograder.rendering.picture_size import MAX_PIXELS, count_pixels


@pytest.mark.parametrize("kind", ["png", "jpg", "gif"])
def test_the_size_is_read_from_the_header(kind: str) -> None:
    file = io.BytesIO()
    Figure(figsize=(3, 2)).savefig(file, format=kind, dpi=100)
    assert count_pixels(base64.b64encode(file.getvalue()).decode()) == 60_000


def test_a_jpeg_of_many_scans_is_not_shown() -> None:
    """A browser processes all pixels for each scan, however short the scan is."""
    file = io.BytesIO()
    Image.new("RGB", (40, 30), (9, 99, 199)).save(file, "JPEG", progressive=True)
    jpeg = file.getvalue()
    assert count_pixels(base64.b64encode(jpeg).decode()) == 1200
    scan = jpeg[jpeg.rindex(b"\xff\xda") : -2]
    many = jpeg[:-2] + scan * 20 + jpeg[-2:]
    assert Image.open(io.BytesIO(many)).size == (40, 30) and count_pixels(base64.b64encode(many).decode()) is None


@pytest.mark.parametrize(
    "head",
    [
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + b"\0\0\xff\xff" * 2,
        b"GIF89a" + b"\xff" * 4,
        b"\xff\xd8\xff\xe0\0\x04ab\xff\xc2\0\x0b\x08" + b"\xff" * 4,
        b"\x89PNG\r\n\x1a\n\0\0\0\0tEXt\0\0\0\0\0\0\0\rIHDR" + b"\0\0\xff\xff" * 2,
        b"GIF89a" + b"\1\0\1\0\0\0\0" + b"\x2c\0\0\0\0" + b"\x80\x3e" * 2 + b"\0\2\1\0\0;",
        b"GIF89a" + b"\1\0\1\0\0\0\0" + b"\x21\xfe\1a\0" + b"\x2c\x80\x3e\x80\x3e" + b"\1\0" * 2 + b"\0\2\1\0\0;",
        b"\xff\xd8\xff\xff\xc0\0\x0b\x08" + b"\0\1" * 2 + b"\xff\xc0\0\x0b\x08" + b"\xff" * 4,
        b"\xff\xd8\xff\xd0\0\4ab\xff\xc0\0\x0b\x08" + b"\0\1" * 4,
        b"\xff\xd8\xff\xc0\0\x0b\x08\0\0\0\1\0\0\0\0\0\0",
        b"\xff\xd8" + b"\xff\xc0\0\x0b\x08" + b"\xff" * 6 + b"\xff\xc0\0\x0b\x08" + b"\0\1" * 3,
        b"RIFF\0\0\0\0WEBPVP8X",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
    ],
)
def test_a_picture_that_fills_a_browser_is_not_shown_whatever_it_is_called(head: bytes) -> None:
    size = count_pixels(base64.b64encode(head).decode())
    assert (size is None or size > MAX_PIXELS) and count_pixels("no base64") is None
