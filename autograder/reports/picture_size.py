"""How many pixels a picture has, by its own head: a few kilobytes can fill a browser's memory.

A browser goes by what a picture begins with, whatever type it is said to have; so does this.
"""

from __future__ import annotations

import base64

MAX_PIXELS = 20_000_000  # of one picture
PNG, GIF, JPEG = b"\x89PNG\r\n\x1a\n", b"GIF8", b"\xff\xd8\xff"
NO_SIZE = frozenset((0xC4, 0xC8, 0xCC))  # markers of JPEG among those that hold a size


def pixels(picture: str) -> int | None:
    """Width times height of the PNG, GIF or JPEG in this base64 text; None where it is none of them."""
    try:
        data = base64.b64decode("".join(picture.split()), validate=True)
    except ValueError:
        return None
    if data.startswith(PNG):
        return int.from_bytes(data[16:20], "big") * int.from_bytes(data[20:24], "big")
    if data.startswith(GIF):
        return int.from_bytes(data[6:8], "little") * int.from_bytes(data[8:10], "little")
    return _of_jpeg(data) if data.startswith(JPEG) else None


def may_be_shown(picture: str) -> bool:
    size = pixels(picture)
    return size is not None and size <= MAX_PIXELS


def _of_jpeg(data: bytes) -> int | None:
    place = 2
    while data[place : place + 1] == b"\xff" and place + 9 <= len(data):
        marker = data[place + 1]
        if 0xC0 <= marker <= 0xCF and marker not in NO_SIZE:
            return int.from_bytes(data[place + 5 : place + 7], "big") * int.from_bytes(
                data[place + 7 : place + 9], "big"
            )
        place += 2 + int.from_bytes(data[place + 2 : place + 4], "big")
    return None
