"""Reads a picture's size in pixels from its header: a few kilobytes can fill a browser's memory.

A browser goes by a picture's first bytes, whatever its declared type, and so does this module. Data that breaks its
format's rules doesn't count as a picture, since a browser could read it differently.
"""

# Pillow, though installed, isn't enough: for a PNG or JPEG that states two sizes it returns the last one, and for a GIF
# the first image's unless it decodes all of them.

from __future__ import annotations

import base64
from typing import Literal

MAX_PIXELS = 20_000_000  # of one picture
MAX_SCANS = 20  # of a JPEG: a browser goes over the whole picture for each, and progressive ones have about ten
PNG, GIF, JPEG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", (b"GIF87a", b"GIF89a"), b"\xff\xd8"
# Markers of JPEG: frames, which hold the size, and the tables and comments that can precede one.
FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
SCAN = b"\xff\xda"  # a byte of 255 in a scan's data is followed by 0, so this is a marker wherever it is
TABLES = frozenset((0xC4, 0xCC, 0xDB, 0xDD, *range(0xE0, 0xF0), 0xFE))
IMAGE, EXTENSION, END = 0x2C, 0x21, 0x3B  # of GIF


def count_pixels(picture: str) -> int | None:
    """Return width times height of the PNG, GIF or JPEG in this base64 text; None if it's none of them."""
    try:
        data = base64.b64decode("".join(picture.split()), validate=True)
        if data.startswith(PNG):
            return _read_area(data, 16, 4, "big")
        if data.startswith(GIF):
            return _measure_gif(data)
        return _measure_jpeg(data) if data.startswith(JPEG) else None
    except (ValueError, IndexError):
        return None


def _read_area(data: bytes, offset: int, length: int, order: Literal["little", "big"]) -> int:
    """Return the product of the two numbers at the offset, each of this many bytes.

    Raises:
        ValueError: One of them is 0 or missing: the size follows later, or never.
    """
    numbers = [int.from_bytes(data[start : start + length], order) for start in (offset, offset + length)]
    if 0 in numbers or len(data) < offset + 2 * length:
        raise ValueError("no size")
    return numbers[0] * numbers[1]


def _measure_gif(data: bytes) -> int:
    """Return the largest area of the screen and its images: a browser enlarges the screen to fit the first image."""
    largest, offset = _read_area(data, 6, 2, "little"), 13 + _measure_color_table(data[10])
    while data[offset] != END:
        if data[offset] == IMAGE:
            left, top, width, height = (
                int.from_bytes(data[start : start + 2], "little") for start in range(offset + 1, offset + 9, 2)
            )
            largest = max(largest, (left + width) * (top + height))
            offset += 11 + _measure_color_table(data[offset + 9])
        elif data[offset] == EXTENSION:
            offset += 2
        else:
            raise ValueError("no GIF")
        while data[offset]:  # blocks, each preceded by its length
            offset += 1 + data[offset]
        offset += 1
    return largest


def _measure_color_table(flags: int) -> int:
    """Return the size in bytes of the color table that follows."""
    return 3 * 2 ** (1 + flags % 8) if flags & 0x80 else 0


def _measure_jpeg(data: bytes) -> int:
    offset = 2
    while data[offset] == 0xFF and data[offset + 1] in TABLES:
        length = int.from_bytes(data[offset + 2 : offset + 4], "big")
        if length < 2:
            raise ValueError("no JPEG")
        offset += 2 + length
    if data[offset] != 0xFF or data[offset + 1] not in FRAMES:
        raise ValueError("no JPEG")
    if data.count(SCAN) > MAX_SCANS:
        raise ValueError("too many scans")
    return _read_area(data, offset + 5, 2, "big")
