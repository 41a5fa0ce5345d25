"""A submission on its way into the exchange: the body of a request, streamed to disk, then unpacked and stored."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from pathlib import Path

from autograder.base.submission_files import SECRET, TIMESTAMP
from autograder.hub.exchange_folder import ExchangeFolder, SubmissionRefused
from labext.folder_archive import MAX_ARCHIVE, ArchiveError, unpack_archive

RESERVED = frozenset({TIMESTAMP, SECRET})  # the exchange writes them


class SubmissionUpload:
    """One upload. Until `store()` returns, nothing of it is in the inbox, and afterwards nothing is left in staging."""

    def __init__(self, exchange: ExchangeFolder, student: str, lab: str) -> None:
        self._exchange, self._student, self._lab = exchange, student, lab
        self._place = Path(tempfile.mkdtemp(dir=exchange.staging))
        self._body = (self._place / "body").open("w+b")
        self._problem = ""
        self._is_storing = False
        self.size = 0
        """How many bytes have arrived."""

    def write(self, piece: bytes) -> None:
        """Keep a piece of the body. What goes wrong is reported by `store()`."""
        self.size += len(piece)
        if self._problem:
            return
        if self._body.tell() + len(piece) > MAX_ARCHIVE:
            self._problem = f"it has more than {MAX_ARCHIVE:,} bytes"
            return
        try:
            self._body.write(piece)
        except OSError as error:
            self._problem = f"it can't be stored: {error.strerror}"

    def store(self) -> dict[str, str]:
        """Unpack the body, and store the submission.

        Returns:
            The receipt.

        Raises:
            SubmissionRefused: If the student can't submit this.
        """
        self._is_storing = True
        try:
            if self._problem:
                raise SubmissionRefused(self._problem)
            self._body.seek(0)
            folder = self._place / "submission"
            unpack_archive(self._body, folder, RESERVED)
            return self._exchange.store(folder, self._student, self._lab)
        except ArchiveError as error:
            raise SubmissionRefused(f"this can't be submitted: {error}") from None
        except OSError as error:
            raise SubmissionRefused(f"it can't be stored: {error.strerror}") from None
        finally:
            self._is_storing = False
            self.remove()

    def remove(self) -> None:
        """Remove what is left, unless it's being stored."""
        if not self._is_storing:
            with contextlib.suppress(OSError):  # a full disk
                self._body.close()
            shutil.rmtree(self._place, ignore_errors=True)
