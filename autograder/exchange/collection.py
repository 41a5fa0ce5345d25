"""Copies a submission from the exchange to submitted/, where grading finds it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from autograder.base.atomic_files import replace_folder
from autograder.base.submission_files import SECRET, TIMESTAMP
from autograder.base.timestamps import convert_file_time, get_utc_now, read_time
from autograder.exchange.inbox import SUBMIT_GRACE, find_newest_change, get_user_name
from autograder.gradebook.submission_folders import get_submitted_path
from autograder.intake.copying import copy_folder, open_folder
from autograder.model.arrivals import CLOCK_TOLERANCE, Arrival


class SubmissionChangedError(OSError):
    """The submission changed after it was chosen: its time in the file system is a different one."""


def collect_submission(arrival: Arrival, course: Path) -> None:
    """Copy a submission to submitted/STUDENT/LAB, replacing an older one, as `nbgrader collect --update` does.

    It keeps the time by which it was chosen, whatever its timestamp says. Raises OSError if it can't be copied.
    """
    target = get_submitted_path(course, arrival.lab, arrival.student)
    if read_time(target) == arrival.submitted:
        return
    wait = get_utc_now() - arrival.changed_at < SUBMIT_GRACE
    with replace_folder(target) as new:
        with open_folder(arrival.folder) as descriptor:
            owner = os.fstat(descriptor).st_uid
            if owner != arrival.owner:
                raise OSError(
                    f"its folder belonged to {get_user_name(arrival.owner)}, and now belongs to {get_user_name(owner)}"
                )
            # If students share a user, a folder's owner says nothing about its files.
            copy_folder(descriptor, new, owner if get_user_name(owner) == arrival.student else None, wait)
            if convert_file_time(find_newest_change(descriptor)) > arrival.changed_at + CLOCK_TOLERANCE:
                raise SubmissionChangedError("it changed after it was chosen")
        for name, text in ((TIMESTAMP, f"{arrival.submitted:%Y-%m-%d %H:%M:%S.%f} UTC"), (SECRET, arrival.secret)):
            _replace_file(new / name, text)


def _replace_file(path: Path, text: str) -> None:
    """Write the file, replacing any file or folder of this name."""
    if path.is_dir():
        shutil.rmtree(path)
    path.write_text(text, encoding="utf-8")
