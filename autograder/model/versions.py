"""The versions that a submission was graded with: apart from result.py, which loads torch, for who reads many marks."""

from __future__ import annotations

from autograder.model.course import Model


class Versions(Model):
    """What it was graded with. gpu: names and drivers, where the device is no CPU."""

    gradlab: str
    python: str
    torch: str
    gpu: str = ""
