"""Brings a submission from the exchange into submitted/, where grading finds it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from autograder.arrivals import CLOCKS, Arrival
from autograder.grading.inbox import HANDING_IN, name_of_uid, newest_change
from autograder.handed_in import SECRET, TIMESTAMP, time_in, utc_now, utc_of_file
from autograder.intake.copying import copy_plain, opened_folder
from autograder.whole_files import in_place_of


class ChangedError(OSError):
    """A submission is no longer what was decided on: its time by the file system's clock is another."""


def bring_in(arrival: Arrival, course: Path) -> None:
    """Copy it to submitted/STUDENT/LAB, in place of an older one, as `nbgrader collect --update` does.

    Its time is the one by which it was chosen, whatever its timestamp says. Raises OSError where it cannot be copied.
    """
    target = submitted_folder(arrival, course)
    if time_in(target) == arrival.when:
        return
    wait = utc_now() - arrival.written < HANDING_IN
    with in_place_of(target) as new:
        with opened_folder(arrival.folder) as descriptor:
            owner = os.fstat(descriptor).st_uid
            if owner != arrival.owner:
                raise OSError(f"its folder was {name_of_uid(arrival.owner)}'s, and is {name_of_uid(owner)}'s")
            # Where students share a user, a folder's owner says nothing of its files.
            copy_plain(descriptor, new, owner if name_of_uid(owner) == arrival.student else None, wait)
            if utc_of_file(newest_change(descriptor)) > arrival.written + CLOCKS:
                raise ChangedError("it changed after it was looked at, and is looked at anew")
        for name, text in ((TIMESTAMP, f"{arrival.when:%Y-%m-%d %H:%M:%S.%f} UTC"), (SECRET, arrival.secret)):
            _put(new / name, text)


def submitted_folder(arrival: Arrival, course: Path) -> Path:
    return course / "submitted" / arrival.student / arrival.lab


def superseded(arrival: Arrival, course: Path, members: Iterable[str]) -> bool:
    """Whether a later submission of these students, whose mark it would be, lies in submitted/."""
    times = (time_in(submitted_folder(replace(arrival, student=member), course)) for member in members)
    return any(time is not None and time > arrival.when for time in times)


def _put(path: Path, text: str) -> None:
    """In place of whatever came under this name."""
    if path.is_dir():
        shutil.rmtree(path)
    path.write_text(text, encoding="utf-8")
