"""How many pixels a picture has, by its own head: a few kilobytes can fill a browser's memory.

A browser goes by what a picture begins with, whatever type it is said to have; so does this. What isn't as its format
has it is no picture here: a browser could read it otherwise.
"""

# Pillow, though installed, isn't enough: of a PNG or JPEG that states two sizes it gives the last one, and of a GIF the
# first image's unless it decodes all of them.

from __future__ import annotations

import base64
from typing import Literal

MAX_PIXELS = 20_000_000  # of one picture
MAX_SCANS = 20  # of a JPEG: a browser goes over all of it for each, and progressive ones have about ten
PNG, GIF, JPEG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", (b"GIF87a", b"GIF89a"), b"\xff\xd8"
# Markers of JPEG: frames, which hold the size, and tables and comments, which can be in front of one.
FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
SCAN = b"\xff\xda"  # a byte of 255 in a scan's data is followed by 0, so this is a marker wherever it is
TABLES = frozenset((0xC4, 0xCC, 0xDB, 0xDD, *range(0xE0, 0xF0), 0xFE))
IMAGE, EXTENSION, END = 0x2C, 0x21, 0x3B  # of GIF


def count_pixels(picture: str) -> int | None:
    """Width times height of the PNG, GIF or JPEG in this base64 text; None where it is none of them."""
    try:
        data = base64.b64decode("".join(picture.split()), validate=True)
        if data.startswith(PNG):
            return _read_area(data, 16, 4, "big")
        if data.startswith(GIF):
            return _measure_gif(data)
        return _measure_jpeg(data) if data.startswith(JPEG) else None
    except (ValueError, IndexError):
        return None


def _read_area(data: bytes, place: int, length: int, order: Literal["little", "big"]) -> int:
    """Of two numbers. Raises ValueError where one of them is 0 or missing: the size comes later, or never."""
    numbers = [int.from_bytes(data[at : at + length], order) for at in (place, place + length)]
    if 0 in numbers or len(data) < place + 2 * length:
        raise ValueError("no size")
    return numbers[0] * numbers[1]


def _measure_gif(data: bytes) -> int:
    """The largest of the screen and its images: a browser enlarges the screen to what the first one needs."""
    largest, place = _read_area(data, 6, 2, "little"), 13 + _measure_colour_table(data[10])
    while data[place] != END:
        if data[place] == IMAGE:
            left, top, width, height = (
                int.from_bytes(data[at : at + 2], "little") for at in range(place + 1, place + 9, 2)
            )
            largest = max(largest, (left + width) * (top + height))
            place += 11 + _measure_colour_table(data[place + 9])
        elif data[place] == EXTENSION:
            place += 2
        else:
            raise ValueError("no GIF")
        while data[place]:  # blocks, each with its length in front
            place += 1 + data[place]
        place += 1
    return largest


def _measure_colour_table(flags: int) -> int:
    """Bytes of the table of colours that follows."""
    return 3 * 2 ** (1 + flags % 8) if flags & 0x80 else 0


def _measure_jpeg(data: bytes) -> int:
    place = 2
    while data[place] == 0xFF and data[place + 1] in TABLES:
        length = int.from_bytes(data[place + 2 : place + 4], "big")
        if length < 2:
            raise ValueError("no JPEG")
        place += 2 + length
    if data[place] != 0xFF or data[place + 1] not in FRAMES:
        raise ValueError("no JPEG")
    if data.count(SCAN) > MAX_SCANS:
        raise ValueError("too many scans")
    return _read_area(data, place + 5, 2, "big")
