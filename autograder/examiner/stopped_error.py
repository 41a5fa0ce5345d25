"""The error of a student process that could not reply. It needs no torch, nor do programs that only plan a run."""

from __future__ import annotations

from labkit.cause import StopReason


class StoppedError(Exception):
    """The student process could not reply: it ran out of time, died, or sent an invalid message."""

    stored_name = "Stopped"  # as the error of a check in result documents

    def __init__(self, reason: StopReason | str) -> None:
        super().__init__(str(reason))
        self.reason = StopReason(reason) if isinstance(reason, str) else reason
