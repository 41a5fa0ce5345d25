"""Uploads that are broken, too large or dishonest: refused with a reason, and nothing of them stays."""

import http.client
import io
import os
import signal
import socket
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from labext import folder_archive
from labext.folder_archive import MAX_ARCHIVE, MAX_BYTES, MAX_DEPTH, MAX_FILES, ArchiveError, unpack_archive
from tests.hub.exchange_process import COURSE, LAB, PREFIX, ExchangeProcess, pack, run_exchange
from tests.waiting import wait_until

SOUND = {f"{LAB}.ipynb": b"{}"}
PATH = f"{PREFIX}courses/{COURSE}/labs/{LAB}/submissions"


def pack_zip() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{LAB}.ipynb", bytes(10_000_000))
    return file.getvalue()


def pack_sparse() -> bytes:
    """A file of a terabyte, in two blocks."""
    header = tarfile.TarInfo("huge.bin")
    header.size = 2**40
    return header.tobuf(tarfile.GNU_FORMAT) + bytes(1024)


def nest_long_names(count: int) -> bytes:
    """Extended headers, each of which describes the next one."""
    header = tarfile.TarInfo("x")
    header.type, header.size = tarfile.GNUTYPE_LONGNAME, 1
    return (header.tobuf(tarfile.GNU_FORMAT) + bytes(512)) * count + bytes(1024)


LINKS = {
    "a symbolic link": pack({"secret": b""}, type=tarfile.SYMTYPE, linkname="/etc/passwd"),
    "a hard link": pack({"secret": b""}, type=tarfile.LNKTYPE, linkname="../../other/x.ipynb"),
    "a folder": pack({"folder": b""}, type=tarfile.DIRTYPE),
    "a pipe": pack({"pipe": b""}, type=tarfile.FIFOTYPE),
    "a device": pack({"zero": b""}, type=tarfile.CHRTYPE),
    "a sparse file": pack({"sparse": b""}, type=tarfile.GNUTYPE_SPARSE),
    "an extended header": pack({"long" * 100: b""}, format=tarfile.PAX_FORMAT),
    "nested headers": nest_long_names(3_000),
}
NAMES = {
    "an absolute path": {"/etc/passwd": b""},
    "a parent": {"../other+01_squares+2026/x.ipynb": b""},
    "a parent in the middle": {"a/../../x.ipynb": b""},
    "a parent in other letters": {"․․/x.ipynb": b""},
    "a slash in other letters": {"a／b": b""},
    "a backslash": {"a\\b": b""},
    "no name in a path": {"a//b": b""},
    "the folder itself": {".": b""},
    "a control": {"a\nb": b""},
    "a direction mark": {"a\u202egnp.py": b""},
    "too many folders": {"a/" * MAX_DEPTH + "b": b""},
    "another case": {"Data.csv": b"1", "data.csv": b"2"},
    "another normal form": {"caf\u00e9": b"1", "cafe\u0301": b"2"},
    "a compatible letter": {"ﬁle": b"1", "file": b"2"},
    "a file as a folder": {"a": b"1", "A/b": b"2"},
    "a folder as a file": {"a/b": b"1", "A": b"2"},
    "a folder in another case": {"Data/a": b"1", "data/b": b"2"},
    "the same name twice": {},
    "a forged time": {"timestamp.txt": b"2020-01-01 00:00:00 UTC"},
    "a forged time in capitals": {"TIMESTAMP.TXT": b"2020-01-01 00:00:00 UTC"},
    "a forged secret": {"submission_secret.txt": b"of ben"},
}
DAMAGED = {
    "nothing": b"",
    "text": b"no archive" * 100,
    "a zip bomb": pack_zip(),
    "a compressed archive": zlib.compress(pack(SOUND)),
    "a file that is larger than the archive": pack_sparse(),
    "a file cut short": pack({"a": bytes(5000)})[:3000],
    "no end": pack(SOUND).rstrip(b"\0") + bytes(512 - 2),
    "a wrong checksum": b"x" + pack(SOUND)[1:],
    "a negative size": pack(SOUND).replace(b"00000000002\0", b"\xff" * 12, 1),
}


@pytest.mark.parametrize("name", LINKS)
def test_an_entry_that_is_no_plain_file_is_refused_and_leaves_nothing(exchange: ExchangeProcess, name: str) -> None:
    assert_refused(exchange, LINKS[name], "isn't a plain file")


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_is_not_plain_is_refused_and_leaves_nothing(exchange: ExchangeProcess, name: str) -> None:
    twice = pack({"a": b"1"})[:1024] + pack({"a": b"2"})
    archive = pack(SOUND | NAMES[name]) if NAMES[name] else twice
    assert_refused(exchange, archive, "this can't be submitted")


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_archive_is_refused_and_leaves_nothing(exchange: ExchangeProcess, name: str) -> None:
    assert_refused(exchange, DAMAGED[name], "this can't be submitted")


def test_too_many_files_are_refused_and_leave_nothing(exchange: ExchangeProcess) -> None:
    header = tarfile.TarInfo("0" * 6)
    blocks = []
    for number in range(100_000):
        header.name = f"{number:06}"
        blocks.append(header.tobuf(tarfile.USTAR_FORMAT))
    assert_refused(exchange, b"".join(blocks) + bytes(1024), f"more than {MAX_FILES:,} files")


def test_files_that_are_too_large_together_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder_archive, "MAX_BYTES", 1000)
    unpack_archive(io.BytesIO(pack({"a": bytes(400), "b": bytes(600)})), tmp_path / "fits")
    with pytest.raises(ArchiveError, match="larger than 1,000 bytes"):
        unpack_archive(io.BytesIO(pack({"a": bytes(400), "b": bytes(601)})), tmp_path / "too_large")


def test_a_body_that_announces_too_much_is_refused_before_it_is_read(exchange: ExchangeProcess) -> None:
    before = exchange.list_files()
    status, _ = exchange.ask(
        f"courses/{COURSE}/labs/{LAB}/submissions",
        headers={"Content-Length": str(MAX_ARCHIVE + 1)},
        method="POST",
    )
    assert status == 413
    assert exchange.list_files() == before


def test_a_body_of_unknown_length_that_is_too_large_leaves_nothing(exchange: ExchangeProcess) -> None:
    before = exchange.list_files()
    piece = bytes(2**20)

    def send() -> Iterator[bytes]:
        for _ in range(MAX_BYTES // len(piece) + 10):
            yield piece

    connection = http.client.HTTPConnection("127.0.0.1", exchange.port)
    with pytest.raises((ConnectionError, http.client.HTTPException)):
        connection.request("POST", PATH, send(), {"Authorization": "token ana-token"}, encode_chunked=True)
        assert connection.getresponse().status == 400
        raise ConnectionError("it was refused")
    connection.close()
    wait_until(lambda: exchange.list_files() == before, "the exchange has removed what it had received")


@contextmanager
def begin_upload(exchange: ExchangeProcess, token: str = "ana-token") -> Iterator[None]:
    """Send half of an upload, wait until it has arrived, and break the connection off at the end of the block."""
    archive = pack({f"{LAB}.ipynb": bytes(2_000_000)})
    head = f"POST {PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: token {token}\r\nContent-Length: {len(archive)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", exchange.port)) as connection:
        connection.sendall(head.encode() + archive[:1_000_000])
        wait_until(
            lambda: sum(path.stat().st_size for path in (exchange.course / ".staging").glob("*/body")) > 500_000,
            "half of the upload has arrived",
        )
        yield


def test_an_upload_that_breaks_off_leaves_nothing(exchange: ExchangeProcess) -> None:
    before = exchange.list_files()
    with begin_upload(exchange):
        assert exchange.list_files() != before
    wait_until(lambda: exchange.list_files() == before, "the exchange has removed what it had received")


def test_a_student_uploads_one_submission_at_a_time(exchange: ExchangeProcess) -> None:
    with begin_upload(exchange):
        before = exchange.list_stored()
        refusal = (429, "another submission of yours is under way: try again when it's done")
        assert exchange.submit(pack(SOUND)) == refusal
        assert exchange.submit(pack(SOUND), "ben-token") == (200, "")
    wait_until(lambda: exchange.submit(pack(SOUND))[0] == 200, "the student may submit again")
    assert len(exchange.list_stored()) == len(before) + 2


def test_no_request_chooses_the_student_or_the_time(exchange: ExchangeProcess) -> None:
    before = set(exchange.list_stored())
    forged = {"X-Forwarded-User": "ben", "Date": "Thu, 01 Jan 2020 00:00:00 GMT"}
    query = "?student=ben&timestamp=2020-01-01&secret=mine"
    path = f"courses/{COURSE}/labs/{LAB}/submissions{query}"
    assert exchange.ask(path, "ana-token", pack(SOUND), forged)[0] == 200
    (name,) = set(exchange.list_stored()) - before
    student, lab, time, _ = name.split("+")
    assert (student, lab) == ("ana", LAB) and not time.startswith("2020")


def test_a_user_whose_name_would_be_read_as_another_ones_cannot_submit(exchange: ExchangeProcess) -> None:
    assert_refused(exchange, pack(SOUND), "ask your instructor for another name", "plus-token", 409)


def test_a_killed_exchange_keeps_what_it_has_confirmed_and_nothing_else(tmp_path: Path) -> None:
    with run_exchange(tmp_path) as exchange:
        assert exchange.submit(pack(SOUND)) == (200, "")
        confirmed = exchange.list_stored()
        assert exchange.process is not None
        with begin_upload(exchange, "ben-token"):
            os.kill(exchange.process.pid, signal.SIGKILL)
            exchange.process.wait()
        assert exchange.list_stored() == confirmed
        assert os.listdir(exchange.course / ".staging")
        exchange.start()
        assert not os.listdir(exchange.course / ".staging")
        assert exchange.list_stored() == confirmed
        (folder,) = (exchange.course / "inbound").iterdir()
        assert (folder / f"{LAB}.ipynb").read_bytes() == SOUND[f"{LAB}.ipynb"]
        assert exchange.submit(pack(SOUND), "ben-token") == (200, "")


def assert_refused(
    exchange: ExchangeProcess, archive: bytes, reason: str, token: str = "ana-token", status: int = 400
) -> None:
    before = exchange.list_files()
    answered, problem = exchange.submit(archive, token)
    assert answered == status and reason in problem, (answered, problem)
    assert exchange.list_files() == before
