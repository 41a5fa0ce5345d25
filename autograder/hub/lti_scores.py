"""Sends scores to the learning management system: each one that has changed, again after a failure, never twice."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from autograder.hub.lti_ledger import Ledger, SentScore
from autograder.hub.lti_platform import LINE_ITEM, SCORE, Platform, PlatformRefusal, PlatformUnavailable
from autograder.hub.lti_records import Context, LaunchRecords, Role
from autograder.lms.scores import LabScore

log = logging.getLogger(__name__)
FIRST_PAUSE, LAST_PAUSE = 2.0, 900.0  # seconds: each failure doubles the pause
NOT_FOUND = (404, 410)


@dataclass
class Pause:
    """When to try again after failures."""

    failures: int = 0
    end: float = 0.0

    def extend(self) -> float:
        """Begin the next pause, and return its seconds."""
        seconds = min(FIRST_PAUSE * 2.0**self.failures, LAST_PAUSE)
        self.failures, self.end = min(self.failures + 1, 32), time.monotonic() + seconds
        return seconds

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self.end


@dataclass
class ScoreSender:
    """Sends the scores of a course."""

    platform: Platform
    ledger: Ledger
    _sent: dict[tuple[str, str, str], SentScore] = field(init=False)
    _outage: Pause = field(default_factory=Pause)
    _refusals: dict[tuple[str, str, str], Pause] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._sent = self.ledger.read_scores()

    def send(self, scores: Sequence[LabScore], records: LaunchRecords) -> None:
        """Send what has changed.

        Args:
            scores: Everyone's.
            records: Of this course only.
        """
        if not self._outage.is_over:
            return
        places = self._find_places(records)
        try:
            for score in scores:
                for context, subject in places.get(score.student, ()):
                    self._send_one(score, context, records.contexts[context], subject)
        except PlatformUnavailable as error:
            log.warning("scores wait for %.0f seconds: %s", self._outage.extend(), error)

    def _find_places(self, records: LaunchRecords) -> dict[str, set[tuple[str, str]]]:
        """Find where each student's scores go: contexts, and the person's ID."""
        places: dict[str, set[tuple[str, str]]] = {}
        for name, user in records.users.items():
            for context, role in user.roles.items():
                if role is Role.STUDENT and context in records.contexts:
                    places.setdefault(name, set()).add((context, user.subject))
        for context in records.contexts:
            for subject, name in self.ledger.read_members(context).items():
                places.setdefault(name, set()).add((context, subject))
        return places

    def _send_one(self, score: LabScore, context_id: str, context: Context, subject: str) -> None:
        key = (context_id, score.lab, subject)
        pause = self._refusals.get(key, Pause())
        if SCORE not in context.scopes or not pause.is_over:
            return
        try:
            column = self._find_column(score, context_id, context)
            if not column:
                return
            new = SentScore(score.points, score.worth, score.is_final, column)
            if self._sent.get(key) == new:
                return
            self.platform.put_score(column, _build_score(score, subject))
        except PlatformRefusal as error:
            if error.status in NOT_FOUND:
                self.ledger.forget_column(context_id, score.lab)  # a teacher may have deleted it
            self._refusals[key] = pause
            seconds = pause.extend()
            log.warning("%s's score in %s waits for %.0f seconds: %s", score.student, score.lab, seconds, error)
            return
        self.ledger.record_score(*key, new)
        self._sent[key] = new
        self._refusals.pop(key, None)
        self._outage = Pause()
        log.info("sent %s's score in %s", score.student, score.lab)

    def _find_column(self, score: LabScore, context_id: str, context: Context) -> str:
        """Find the lab's column: its link's own, or the one with its name, which is created if it's missing."""
        known = context.labs.get(score.lab) or self.ledger.find_column(context_id, score.lab)
        if known or not context.line_items or LINE_ITEM not in context.scopes:
            return known
        column = self.platform.find_column(context.line_items, score.lab)
        if not column:
            column = self.platform.create_column(context.line_items, score.lab, score.title, score.worth)
        self.ledger.record_column(context_id, score.lab, column)
        return column


def _build_score(score: LabScore, subject: str) -> dict[str, object]:
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return {
        "userId": subject,
        "scoreGiven": score.points,
        "scoreMaximum": score.worth,
        "activityProgress": "Completed" if score.is_final else "Submitted",
        "gradingProgress": "FullyGraded" if score.is_final else "PendingManual",
        "timestamp": now,
    }
