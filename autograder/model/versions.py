"""The versions that a submission was graded with."""

from __future__ import annotations

from autograder.model.strict_model import StrictModel


class Versions(StrictModel):
    """What a submission was graded with."""

    gradlab: str
    python: str
    torch: str
    gpu: str = ""
    """Names and drivers of the GPUs, if the device isn't a CPU."""
