"""Which submissions a watch marks: attempts, the wait between them, and the end, as term.toml sets them."""

from datetime import UTC, datetime, timedelta

from autograder.gradebook.history import PastMark
from autograder.grading.attempts import decide
from autograder.result import Versions
from autograder.term import LabTerm

NOW = datetime(2027, 2, 1, 12, 0)
VERSIONS = Versions(gradlab="0", python="3", torch="2")


def mark(minutes_ago: float, cause: str = "watch") -> PastMark:
    """Of a submission that came a minute before it was marked."""
    when = NOW - timedelta(minutes=minutes_ago)
    submitted = when - timedelta(minutes=1)
    return PastMark(
        when=when.replace(tzinfo=UTC), cause=cause, points=1, worth=2, submitted=submitted, versions=VERSIONS
    )


def test_without_settings_every_submission_is_marked() -> None:
    assert decide(NOW, [mark(n) for n in range(50)], LabTerm(), NOW).now


def test_attempts_are_those_that_a_watch_has_marked() -> None:
    settings = LabTerm(attempts=2)
    assert decide(NOW, [mark(9), mark(5, "grade"), mark(4, "regrade")], settings, NOW).now
    assert decide(NOW, [mark(9), mark(5)], settings, NOW).never == "its 2 attempts are used up"
    same = mark(5).model_copy(update={"points": 2.0})
    assert decide(NOW, [mark(5), same], settings, NOW).now, "one submission that was marked twice is one attempt"


def test_a_wait_begins_with_the_last_mark() -> None:
    found = decide(NOW, [mark(30), mark(4)], LabTerm(wait_minutes=10), NOW)
    assert not found.now and found.later == NOW + timedelta(minutes=6)
    assert decide(NOW, [mark(10)], LabTerm(wait_minutes=10), NOW).now


def test_what_came_after_the_end_is_left_for_grade() -> None:
    until = LabTerm(until=datetime(2027, 2, 1, 13, 0, tzinfo=UTC))
    assert decide(NOW, [], until, NOW + timedelta(days=1)).now, "it came in time"
    assert "until when this lab is watched" in decide(NOW + timedelta(hours=2), [], until, NOW).never


def test_what_has_its_mark_may_still_get_its_page() -> None:
    before = mark(5)
    assert before.submitted and decide(before.submitted, [before], LabTerm(attempts=1), NOW).now


def test_who_says_the_time_of_another_submission_of_the_team_gets_no_further_attempt() -> None:
    marks = [mark(30)]
    (when,) = (each.submitted for each in marks)
    assert when is not None
    assert decide(when, marks, LabTerm(attempts=3), NOW, brought_in=True).now, "perhaps its page is missing"
    assert "the very same time" in decide(when, marks, LabTerm(attempts=3), NOW, brought_in=False).never
