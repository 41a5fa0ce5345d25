"""A folder as one archive: plain files with plain names, in the simplest form of tar.

The archive isn't compressed, so what it unpacks to is no larger than itself. Links, devices, sparse files and extended
headers are refused because of their type, before anything is created for them. Both ends of the exchange use this: a
class's labs and students' submissions.
"""

from __future__ import annotations

import os
import stat
import tarfile
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

MAX_BYTES = 100_000_000  # of all files
MAX_FILES = 2_000
MAX_DEPTH = 20  # folders in a path, and the file
MAX_NAME = 200  # bytes of each
BLOCK = tarfile.BLOCKSIZE
PIECE = 2**20
MAX_ARCHIVE = MAX_BYTES + MAX_FILES * 2 * BLOCK + tarfile.RECORDSIZE  # bytes, with headers and padding
FLAGS = os.O_NOFOLLOW | os.O_CLOEXEC
REGULAR = (tarfile.REGTYPE, tarfile.AREGTYPE)


class ArchiveError(ValueError):
    """A reason why a folder can't be packed, or an archive unpacked."""


def pack_folder(folder: Path, archive: BinaryIO) -> None:
    """Write the regular files of this folder to an archive. Links aren't followed, and empty folders are left out."""
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for path in sorted(_iter_files(folder)):
            with os.fdopen(os.open(path, os.O_RDONLY | FLAGS), "rb") as file:
                header = tarfile.TarInfo(path.relative_to(folder).as_posix())
                header.size = os.fstat(file.fileno()).st_size
                try:
                    tar.addfile(header, file)
                except ValueError:  # what this form of tar can't say
                    raise ArchiveError(f"{header.name}: its name is too long, or the file too large") from None


def unpack_archive(archive: BinaryIO, folder: Path, reserved: frozenset[str] = frozenset()) -> None:
    """Unpack an untrusted archive into a new folder, readable only by this process's user.

    Args:
        archive: Read from its current position.
        folder: Must not exist. If the archive is refused, it holds what was unpacked until then.
        reserved: Names in lower case that no file at the top may have.

    Raises:
        ArchiveError: If the archive is damaged, exceeds a limit, or has an entry that isn't a plain file.
    """
    folder.mkdir(mode=0o700)
    names, left = _Names(reserved), MAX_BYTES
    for header in _iter_headers(archive):
        if len(names.files) == MAX_FILES:
            raise ArchiveError(f"it has more than {MAX_FILES:,} files")
        if header.size > left:
            raise ArchiveError(f"its files are larger than {MAX_BYTES:,} bytes")
        left -= header.size
        path = folder.joinpath(*names.add(header.name))
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | FLAGS, 0o600), "wb") as file:
            _copy(archive, file, header.size)
        _read(archive, -header.size % BLOCK)


def _iter_files(folder: Path) -> Iterator[Path]:
    for place, _, names in os.walk(folder):
        for name in names:
            path = Path(place, name)
            if stat.S_ISREG(path.lstat().st_mode):
                yield path


def _iter_headers(archive: BinaryIO) -> Iterator[tarfile.TarInfo]:
    """Yield the header of each file. The caller reads the content before it asks for the next."""
    while any(block := _read(archive, BLOCK)):
        try:
            # Reads one block. TarFile also follows extended headers, whose nesting and sizes an attacker chooses.
            header = tarfile.TarInfo.frombuf(block, "utf-8", "strict")
        except (tarfile.HeaderError, ValueError):
            raise ArchiveError("it isn't a tar archive, or it's damaged") from None
        if header.type not in REGULAR:
            raise ArchiveError(f"{header.name!r} isn't a plain file")
        if header.size < 0:
            raise ArchiveError(f"{header.name!r} has a negative size")
        yield header


@dataclass
class _Names:
    """The names in an archive so far. No two may look alike, or be one name on another file system."""

    reserved: frozenset[str]
    files: set[str] = field(default_factory=set)
    folders: dict[str, str] = field(default_factory=dict)
    """The spelling of each folder by its key."""

    def add(self, name: str) -> list[str]:
        """Return the parts of this path. Raises ArchiveError if the path isn't plain, or collides with another one."""
        parts = name.split("/")
        if len(parts) > MAX_DEPTH:
            raise ArchiveError(f"{name!r} is in more than {MAX_DEPTH - 1} folders")
        for part in parts:
            _check_part(name, part)
        key = _fold_name(name)
        if key in self.reserved:
            raise ArchiveError(f"{name!r} is a name that the exchange uses itself")
        for depth in range(1, len(parts)):
            folder = "/".join(parts[:depth])
            if self.folders.setdefault(_fold_name(folder), folder) != folder or _fold_name(folder) in self.files:
                raise ArchiveError(f"{name!r}: {folder!r} is also there in another spelling, or as a file")
        if key in self.files or key in self.folders:
            raise ArchiveError(f"{name!r} is there twice, perhaps in another spelling")
        self.files.add(key)
        return parts


def _check_part(name: str, part: str) -> None:
    plain = unicodedata.normalize("NFKC", part)
    if plain in ("", ".", "..") or not part.isprintable() or {"/", "\\"}.intersection(plain):
        raise ArchiveError(f"{name!r} isn't a plain relative path")
    if len(part.encode()) > MAX_NAME:
        raise ArchiveError(f"{name!r} has a part of more than {MAX_NAME} bytes")


def _fold_name(name: str) -> str:
    """Return what is the same for all spellings of a name that some file system takes as one."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def _copy(archive: BinaryIO, file: BinaryIO, size: int) -> None:
    while size:
        piece = _read(archive, min(size, PIECE))
        file.write(piece)
        size -= len(piece)


def _read(archive: BinaryIO, size: int) -> bytes:
    data = archive.read(size)
    if len(data) != size:
        raise ArchiveError("it's incomplete")
    return data
